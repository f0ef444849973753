"""Runs one command of the program to its end, and returns its output and exit code."""

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
    """Parses the output of `--json`, one object per line."""
    return [json.loads(line) for line in text.splitlines()]


async def once(*arguments, directory, environment=None, path=None, command=None, seconds=60):
    """Runs a command with none of the caller's environment but the variables that any program needs to start."""
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
