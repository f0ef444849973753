"""Unusable state directories, which the bridge reports before it connects to anybody."""

import asyncio
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from commands import once
from harness import Stage
from scheduling import Scenarios, scenario


class Mounted:
    """A small file system of its own."""

    def __init__(self, options):
        self.options = options

    def __enter__(self):
        self.path = Path(tempfile.mkdtemp(prefix="bridge-small-disk-"))
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", self.options, "none", str(self.path)], capture_output=True)
        if done.returncode:
            shutil.rmtree(self.path)
            raise unittest.SkipTest("no file system can be mounted here")
        return self.path

    def __exit__(self, *_):
        subprocess.run(["umount", str(self.path)], check=True)
        self.path.rmdir()


class StateTests(Scenarios):
    async def is_refused(self, state, words, doctor=True):
        async with Stage("E3", start=False, environment={"SOPHON_STATE_DIR": str(state)}) as stage:
            say = lambda *arguments: once(*arguments, directory=stage.directory, environment=stage.environment())
            outcome = await say("run")
            self.assertEqual(outcome.code, 1, outcome)
            self.assertIn(words, outcome.err)
            self.assertIn(str(state), outcome.err)
            self.assertEqual(len(outcome.err.splitlines()), 1, outcome.err)
            self.assertEqual((stage.relay.sockets_made, stage.gateway.connects), (0, []))
            if doctor:
                found = await say("doctor")
                self.assertEqual(found.code, 2, found)
                self.assertIn("SOPHON_STATE_DIR", found.out)
            for command in (("journal", "inspect"), ("explain", "int_1")):
                self.assertEqual((await say(*command)).code, 1, command)
            self.assertEqual((await say("status", "--healthy")).code, 1)

    @scenario(60)
    async def test_a_state_directory_below_a_file(self):
        with tempfile.NamedTemporaryFile() as file:
            await self.is_refused(Path(file.name) / "state", "Not a directory")

    @scenario(60)
    async def test_a_state_directory_that_cannot_be_written(self):
        with Mounted("ro,mode=0755") as path:
            await self.is_refused(path, "Read-only file system")
            await self.is_refused(path / "state", "Read-only file system")

    @scenario(60)
    async def test_a_state_directory_on_a_full_disk(self):
        with Mounted("size=64k") as path:
            with open(path / "filler", "wb", buffering=0) as file:
                try:
                    while True:
                        file.write(b"x" * 4096)
                except OSError:
                    pass
            await self.is_refused(path / "state", "the disk is full", doctor=False)

    @scenario(60)
    async def test_a_missing_state_directory_is_made_for_its_owner_alone(self):
        with tempfile.TemporaryDirectory() as directory:
            state = Path(directory) / "a" / "b"
            async with Stage("E3", environment={"SOPHON_STATE_DIR": str(state)}) as stage:
                self.assertEqual(state.stat().st_mode & 0o777, 0o700)
                for name in ("journal.db", "status.json", "sophon-bridge.lock"):
                    self.assertEqual((state / name).stat().st_mode & 0o777, 0o600, name)
                stage.bridge.terminate()
                self.assertEqual(await stage.bridge.exit(), 0)


if __name__ == "__main__":
    unittest.main()
