"""One command of the program, run to its end: what it says and how it leaves."""

import asyncio
import json
import os
from dataclasses import dataclass

from harness import bridge_command


@dataclass
class Outcome:
    code: int
    out: str
    err: str


def lines_of(text):
    """What `--json` has written, one object a line."""
    return [json.loads(line) for line in text.splitlines()]


async def once(*arguments, directory, environment=None, path=None, command=None, seconds=60):
    """Nothing of the caller's environment goes in but what a program needs to start at all."""
    base = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "LANG") if name in os.environ}
    if path:
        base["PATH"] = f"{path}:{base['PATH']}"
    process = await asyncio.create_subprocess_exec(
        *(command or bridge_command()), *arguments, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE, cwd=directory, env=base | {"HOME": str(directory)} | (environment or {}))
    try:
        out, err = await asyncio.wait_for(process.communicate(), seconds)
    except TimeoutError:
        process.kill()
        await process.wait()
        raise AssertionError(f"{' '.join(arguments)} had not ended after {seconds} s") from None
    return Outcome(process.returncode, out.decode(), err.decode())
