"""One scripted Codex (peers/codex_program.py): its directory, with its script and its logs."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

from harness import HERE, _children, _die_with_the_parent, until
from peers.codex_steps import to_json

PROGRAM = HERE / "peers" / "codex_program.py"
COMMAND = [sys.executable, str(PROGRAM)]


class CodexDouble:
    def __init__(self, directory):
        self.directory = Path(directory)
        (self.directory / "gates").mkdir(parents=True)
        self._script = {"plans": [], "habits": {}}
        self._write()

    @property
    def environment(self):
        return {"CODEX_DOUBLE": str(self.directory)}

    # The script, which a running server reads again at each use

    def _write(self):
        beside = self.directory / "plans.new"
        beside.write_text(json.dumps(self._script))
        beside.replace(self.directory / "plans.json")

    def plan(self, match, *steps):
        self._script["plans"].insert(0, {"match": match, "steps": to_json(list(steps))})
        self._write()

    def habits(self, **habits):
        self._script["habits"] |= habits
        self._write()

    def open_gate(self, name):
        (self.directory / "gates" / name).touch()

    # Logs of the double

    def log(self, name):
        path = self.directory / f"{name}.log"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def servers(self):
        """Process ids of the started servers, the newest last."""
        return [start["pid"] for start in self.log("starts") if "app-server" in start["arguments"]]

    def texts(self):
        """Texts that reached the model."""
        return [turn["text"] for turn in self.log("turns")]

    def ran(self):
        return [entry.get("command") or entry.get("change") or entry.get("tool") or entry.get("input") for entry in self.log("ran")]

    def executed(self):
        """Executed actions, as the double parsed them: `argv` and `cwd`, `stdin`, `patch`, or a `tool` with its `arguments`."""
        return self.log("executed")

    def end(self):
        """Ends the servers of this directory that still run. A process that reuses an id is left alone."""
        for pid in self.servers():
            try:
                if str(self.directory).encode() in Path(f"/proc/{pid}/environ").read_bytes():
                    os.kill(pid, signal.SIGKILL)
            except OSError:
                pass

    def problems(self):
        texts = self.texts() + [steer["text"] for steer in self.log("steers")]
        return ([f"{text!r} ran {texts.count(text)} times" for text in sorted(set(texts)) if texts.count(text) > 1]
                + [f"merged into a running turn: {steer['text']!r}" for steer in self.log("steers")] + self.log("violations"))


class CodexProcess:
    """The program as a test starts it, without a bridge."""

    def __init__(self, double, *arguments, listen=None):
        self.double, self.path = double, double.directory / "codex.sock"
        self.arguments = ["app-server", "--listen", listen or f"unix://{self.path}", *arguments]

    async def __aenter__(self):
        await self.start()
        return self

    async def __aexit__(self, *_):
        await self.kill()

    async def start(self):
        self.process = await asyncio.create_subprocess_exec(
            *COMMAND, *self.arguments, env=dict(os.environ) | self.double.environment, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE, preexec_fn=_die_with_the_parent)
        _children.add(self.process.pid)
        line = await asyncio.wait_for(self.process.stdout.readline(), 30)
        if not line:
            raise AssertionError(f"codex ended: {(await self.process.stderr.read()).decode()}")
        self.address = line.decode().strip()

    async def kill(self):
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()
        _children.discard(self.process.pid)

    async def exit(self):
        return await asyncio.wait_for(self.process.wait(), 30)

    async def gone(self):
        await until(lambda: self.process.returncode is not None, 30, "the end of the process")
