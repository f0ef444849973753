"""Files of an Oppi server in its directory, which a restarted server finds again.

sessions/ID.json   a session in the form of REST
traces/ID.jsonl    its history, a trace event a line
state.json         tokens, workspaces, stored rules
prompts.log        each prompt that reached the agent, a line each, repetitions included executed.log       approved calls, in the form in
which the agent ran them
answers.log        each answer to a permission or a dialog that the agent acted on
gates/NAME         a `Hold` waits for this file
"""

import copy
import json
import os
import secrets
from pathlib import Path

SAVE_SECONDS = 1.0


class Disk:
    def __init__(self, home, clock):
        self.home, self.clock = Path(home), clock
        self.late = {}  # Session -> lines of its trace that are not in the file yet.
        for name in ("sessions", "traces", "gates"):
            (self.home / name).mkdir(parents=True, exist_ok=True)
        self.trace_delay, self.save_delay = 0.0, SAVE_SECONDS
        self.load()

    def load(self):
        self.sessions, self.saved, self.unsaved = {}, {}, {}
        # Unwritten lines are lost with the process.
        self.late.clear()
        for path in sorted((self.home / "sessions").glob("*.json")):
            session = json.loads(path.read_text())
            # No agent runs in a new process.
            session["status"] = "stopped"
            self.sessions[session["id"]] = session
            self.saved[session["id"]] = copy.deepcopy(session)
        path = self.home / "state.json"
        self.state = json.loads(path.read_text()) if path.exists() else {
            "owner": "sk_" + secrets.token_urlsafe(18), "devices": [], "rules": [],
            "workspaces": [{"id": "wsGarden", "name": "garden", "skills": []}]}
        self.save_state()

    def save_state(self):
        self._write(self.home / "state.json", self.state)

    def save(self, session):
        self.unsaved.pop(session["id"], None)
        self.saved[session["id"]] = copy.deepcopy(session)
        self._write(self.home / "sessions" / f"{session['id']}.json", session)

    def save_soon(self, session):
        if session["id"] not in self.unsaved:
            timer = self.unsaved[session["id"]] = object()
            self.clock.later(self.save_delay, lambda: self._save_late(session, timer))

    def _save_late(self, session, timer):
        if self.unsaved.get(session["id"]) is timer:
            self.save(session)

    def shown(self, session):
        """The last saved state: REST and the lists are up to a second behind the sockets."""
        return self.saved.get(session["id"], session)

    def delete(self, session):
        for kept in (self.sessions, self.saved, self.unsaved):
            kept.pop(session["id"], None)
        for path in (self.home / "sessions" / f"{session['id']}.json", self._trace_path(session["id"])):
            path.unlink(missing_ok=True)

    @staticmethod
    def _write(path, value):
        beside = path.with_name(path.name + ".new")
        beside.write_text(json.dumps(value))
        os.replace(beside, path)

    # History

    def _trace_path(self, session_id):
        return self.home / "traces" / f"{session_id}.jsonl"

    def add_trace(self, session_id, *events):
        ready = self.clock.now() + self.trace_delay
        self.late.setdefault(session_id, []).extend((ready, event) for event in events)
        self._flush(session_id)

    def _flush(self, session_id):
        waiting = self.late.get(session_id, [])
        ready = [event for at, event in waiting if at <= self.clock.now()]
        # The first answer makes the file.
        begins = self._trace_path(session_id).exists() or any(event["type"] in ("assistant", "thinking", "toolCall") for event in ready)
        if ready and begins:
            self.late[session_id] = waiting[len(ready):]
            with self._trace_path(session_id).open("a") as file:
                file.write("".join(json.dumps(event) + "\n" for event in ready))

    def trace(self, session_id):
        self._flush(session_id)
        path = self._trace_path(session_id)
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def forget_traces(self):
        self.late.clear()
        for path in (self.home / "traces").iterdir():
            path.unlink()

    # The account

    def note(self, name, value):
        with (self.home / f"{name}.log").open("a") as file:
            file.write(json.dumps(value) + "\n")

    def notes(self, name):
        path = self.home / f"{name}.log"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    # Gates

    def gate_is_open(self, name):
        return (self.home / "gates" / name).exists()

    def open_gate(self, name):
        (self.home / "gates" / name).touch()
