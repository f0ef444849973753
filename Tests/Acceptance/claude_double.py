"""One scripted Claude Code (peers/claude_program.py): its directory, with its script and its logs."""

import json
import os
import signal
import sys
from pathlib import Path

from peers.claude_steps import to_json

PROGRAM = Path(__file__).resolve().parent / "peers" / "claude_program.py"
COMMAND = [sys.executable, str(PROGRAM)]


class ClaudeDouble:
    def __init__(self, directory):
        self.directory = Path(directory)
        (self.directory / "gates").mkdir(parents=True)
        self.folder.mkdir()
        self._script = {"plans": [], "habits": {}}
        self._write()

    @property
    def folder(self):
        """Folder in which the agent works."""
        return self.directory / "work"

    @property
    def configuration(self):
        """The folder of its transcripts, settings and living sessions."""
        return self.directory / "configuration"

    @property
    def environment(self):
        return {"CLAUDE_DOUBLE": str(self.directory), "CLAUDE_CONFIG_DIR": str(self.configuration)}

    @property
    def bridge_environment(self):
        """Environment of a bridge whose agent this double is."""
        return {"SOPHON_AGENT": "claude", "CLAUDE_COMMAND": " ".join(COMMAND), "SOPHON_WORKSPACE": str(self.folder)} | self.environment

    # The script, which a running process reads again at each use

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

    def texts(self):
        """Texts that reached the model."""
        return [turn["text"] for turn in self.log("turns")]

    def ran(self):
        """Inputs of the executed calls."""
        return [entry["input"] for entry in self.log("ran")]

    def effects(self, name="effects"):
        """Lines that calls appended to a file of the folder, one per executed call."""
        path = self.folder / name
        return path.read_text().split() if path.exists() else []

    def rows(self, session):
        path, = self.configuration.glob(f"projects/*/{session}.jsonl")
        return [json.loads(line) for line in path.read_text().splitlines()]

    def processes(self):
        """Ids of the processes that still run. A process that reuses an id does not count."""
        found = []
        for start in self.log("starts"):
            try:
                if str(self.directory).encode() in Path(f"/proc/{start['pid']}/environ").read_bytes():
                    found.append(start["pid"])
            except OSError:
                pass
        return found

    def end(self):
        for pid in self.processes():
            os.kill(pid, signal.SIGKILL)

    def problems(self):
        uuids = [key for turn in self.log("turns") for key in turn["uuids"]]
        return [f"the prompt {key} ran {uuids.count(key)} times" for key in sorted(set(uuids)) if uuids.count(key) > 1] + self.log("violations")
