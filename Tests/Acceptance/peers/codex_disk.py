"""Files of the scripted Codex in its directory, which a restarted one finds again.

plans.json         [{"match", "steps"}] by words of the message, and habits; read again at each use
threads/ID.json    a thread with its turns, as far as they were written when the process ended
locks/ID           held by the process that has the thread loaded, its only writer
starts.log         each start of the program: process id, arguments, names of its variables
turns.log          each message that reached the model, repetitions included
steers.log         each message that was merged into a running turn
ended.log          each turn that ended, and how
threads.log        the parameters of each thread's start; resumes.log, started.log: each resume, each start of a turn; interrupts.log;
terminated.log answers.log        each answer that the server acted on images.log         each picture that was read, in base64; unread.log:
missing ones clashes.log        starts that ended because another was first with this home; `begun` marks the first violations.log     input
that no client should send gates/NAME         a `Hold` waits for this file
"""

import fcntl
import json
import os
from pathlib import Path

from .codex_steps import from_json


class Disk:
    def __init__(self, home):
        self.home = Path(home)
        for name in ("threads", "locks", "gates"):
            (self.home / name).mkdir(parents=True, exist_ok=True)
        self._locks = {}

    # The script

    def script(self):
        try:
            return json.loads((self.home / "plans.json").read_text())
        except FileNotFoundError:
            return {}

    def steps(self, text):
        """The steps for this message, or None if nothing is planned for it."""
        for plan in self.script().get("plans", []):
            if plan["match"] in text:
                return from_json(plan["steps"])
        return None

    def habit(self, name, otherwise=None):
        return self.script().get("habits", {}).get(name, otherwise)

    def gate_is_open(self, name):
        return (self.home / "gates" / name).exists()

    # The account

    def note(self, name, value):
        # One `write` per line, because several processes append to the same file.
        with (self.home / f"{name}.log").open("a") as file:
            file.write(json.dumps(value) + "\n")

    # Threads

    def _path(self, thread):
        return self.home / "threads" / f"{thread}.json"

    def save(self, thread, record):
        beside = self._path(thread).with_suffix(".new")
        beside.write_text(json.dumps(record) if record is not None else "")
        os.replace(beside, self._path(thread))

    def load(self, thread):
        """The stored thread; None if there is none, "" if it was begun and never written."""
        try:
            text = self._path(thread).read_text()
        except FileNotFoundError:
            return None
        return json.loads(text) if text else ""

    def delete(self, thread):
        self._path(thread).unlink(missing_ok=True)

    def lock(self, thread):
        """Takes the thread's lock. Returns whether this process may write it."""
        if thread in self._locks:
            return True
        handle = os.open(self.home / "locks" / thread, os.O_CREAT | os.O_RDWR)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return False
        self._locks[thread] = handle
        return True

    def unlock(self, thread):
        if thread in self._locks:
            os.close(self._locks.pop(thread))
