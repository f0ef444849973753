"""Files of a scripted Claude Code: its script, its logs, and the files of its own configuration.

`CLAUDE_DOUBLE` names the directory of the double: `plans.json` (plans by words of the prompt, and habits), `gates/NAME` (a `Hold`
waits until it exists), and logs, one JSON text per line:

starts.log   each start: pid, arguments, environment, folder
turns.log    each text that reached the model, with its session, process and uuids
ran.log      each executed call
answers.log  each answer to a question, in time or not
"""

import asyncio
import json
import os
import re
import time
import uuid
from datetime import UTC, datetime
from pathlib import Path

from .claude_steps import Say, from_json

VERSION = "2.1.327"
LATER = 0.1
"""Seconds until a row is on the disk."""


def now():
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Disk:
    def __init__(self, home):
        self.home = Path(home)

    def script(self):
        return json.loads((self.home / "plans.json").read_text())

    def habit(self, name, default=None):
        return self.script()["habits"].get(name, default)

    def steps(self, text):
        for plan in self.script()["plans"]:
            if plan["match"] in text:
                return from_json(plan["steps"])
        return [Say(["Understood."])]

    def has_plan(self, text):
        return any(plan["match"] in text for plan in self.script()["plans"])

    def is_open(self, gate):
        return (self.home / "gates" / gate).exists()

    def note(self, name, entry):
        with (self.home / f"{name}.log").open("a") as log:
            log.write(json.dumps(entry) + "\n")


def configuration():
    return Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path(os.environ.get("HOME", "/")) / ".claude")


class Status:
    """`sessions/PID.json`, which names the process that holds a session. A killed process leaves it behind."""

    def __init__(self, session, exists=True):
        self.path, self.exists = configuration() / "sessions" / f"{os.getpid()}.json", exists
        started = Path("/proc/self/stat").read_text().rsplit(")", 1)[1].split()[19]
        self.fields = {"pid": os.getpid(), "sessionId": session, "cwd": os.getcwd(), "procStart": started, "version": VERSION,
                       "kind": "interactive", "entrypoint": "sdk-cli"}
        self.tell("idle")

    def tell(self, status, **fields):
        self.fields |= {"status": status, "updatedAt": int(time.time() * 1000)} | fields
        if self.exists:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            beside = self.path.with_suffix(".new")
            beside.write_text(json.dumps(self.fields))
            beside.replace(self.path)

    def remove(self):
        self.path.unlink(missing_ok=True)


class Transcript:
    """`projects/*/SESSION.jsonl`: a row per block, complete when the model's whole message is, and on the disk a moment later."""

    def __init__(self, session):
        self.session, self.last, self.rows, self.waiting = session, None, [], []
        self.path = self.find(session)
        is_new = self.path is None
        if is_new:
            folder = re.sub(r"[^A-Za-z0-9]", "-", os.path.realpath(os.getcwd()))
            self.path = configuration() / "projects" / folder / f"{session}.jsonl"
        for line in self.path.read_bytes().split(b"\n") if not is_new else []:
            try:
                self.rows.append(json.loads(line))
            except ValueError:
                pass
        self.last = next((row["uuid"] for row in reversed(self.rows) if "uuid" in row), None)

    @staticmethod
    def find(session):
        return next(configuration().glob(f"projects/*/{session}.jsonl"), None)

    def cost(self):
        return next((row["totalCostUSD"] for row in reversed(self.rows) if row.get("type") == "cost-state"), 0)

    def write(self, row):
        self.rows.append(row)
        self.waiting.append(json.dumps(row, separators=(",", ":")) + "\n")
        if len(self.waiting) == 1:
            asyncio.get_running_loop().call_later(LATER, self.flush)

    def flush(self):
        lines, self.waiting = self.waiting, []
        if lines:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a") as file:
                file.write("".join(lines))

    def keep_house(self, kind, **fields):
        self.write({"type": kind, "sessionId": self.session} | fields)

    def add(self, kind, parent=None, key=None, **fields):
        """Adds a row of the conversation, and returns its uuid."""
        key = key or str(uuid.uuid4())
        self.write({"parentUuid": parent or self.last, "isSidechain": False, "type": kind} | fields | {
            "uuid": key, "timestamp": now(), "userType": "external", "entrypoint": "sdk-cli", "cwd": os.getcwd(),
            "sessionId": self.session, "version": VERSION, "gitBranch": "HEAD"})
        self.last = key
        return key

    def prompt(self, keys, content, mode, **fields):
        """Adds a prompt's row, with the uuid of the last prompt; merged ones are listed beside it."""
        merged = {"mergedSendUuids": keys[:-1]} if keys[1:] else {}
        return self.add("user", key=keys[-1] if keys else None, message={"role": "user", "content": content}, permissionMode=mode,
                        **{"promptSource": "sdk", "turnOrigin": "sdk"} | fields, **merged)

    def answered(self, key):
        """Whether the answer to the prompt of this uuid has begun."""
        found = False
        for row in self.rows:
            if key in (row.get("uuid"), row.get("attachment", {}).get("source_uuid"), *row.get("mergedSendUuids", [])):
                found = True
            elif found and row.get("type") == "user" and row.get("promptSource"):
                return False
            elif found and row.get("type") == "assistant" and row["message"]["model"] != "<synthetic>":
                return True
        return False

    def last_prompt(self):
        return next((row["uuid"] for row in reversed(self.rows) if row.get("promptSource") == "sdk"), None)

    def needs_mending(self):
        """Whether the last turn was interrupted: without an answer, or with a call without its end."""
        spoken = [row for row in self.rows if row.get("type") in ("user", "assistant")]
        return bool(spoken) and (spoken[-1]["type"] == "user" or spoken[-1]["message"]["stop_reason"] == "tool_use")
