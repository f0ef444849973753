"""A relay, the bridge, and a scripted Codex that the bridge starts (`peers/codex_program.py`) and that outlives it."""

import os
import shlex
import signal

from codex_double import COMMAND, CodexDouble
from harness import Stage, until


class CodexStage(Stage):
    """`prepare` gets the double before the bridge is started."""

    def __init__(self, prepare=None, begins=True, **options):
        self._prepare, self._begins = prepare, begins
        super().__init__(start=False, recording=False, **options)

    async def __aenter__(self):
        await super().__aenter__()
        try:
            self.project = self.directory / "project"
            self.project.mkdir()
            self.codex = CodexDouble(self.directory / "codex")
            if self._prepare:
                self._prepare(self.codex)
            self.bridge.environment = self.environment()
            if self._begins:
                await self.bridge.start()
        except BaseException as error:
            await self._leave(error)
            raise
        return self

    def environment(self):
        base = super().environment()
        for name in ("OPENCLAW_URL", "OPENCLAW_TOKEN", "OPENCLAW_STATE_DIR"):
            base.pop(name)
        return base | {"SOPHON_AGENT": "codex", "CODEX_COMMAND": shlex.join(COMMAND), "CODEX_DOUBLE": str(self.directory / "codex"),
                       "CODEX_HOME": str(self.directory / "codex-home"), "SOPHON_WORKSPACE": str(self.directory / "project")} | self._extra

    async def _leave(self, error):
        if error is not None and hasattr(self, "codex"):
            error.add_note(self.codex_story())
        if hasattr(self, "bridge"):
            await self.bridge.close()
        if hasattr(self, "codex"):
            self.codex.end()
        await super()._leave(error)

    # Acting

    def ask(self, text, *steps, session=None):
        if steps:
            self.codex.plan(text, *steps)
        return self.relay.ask(text, session)

    def kill_codex(self):
        """Kills the newest server, if it still runs."""
        try:
            os.kill(self.codex.servers()[-1], signal.SIGKILL)
        except ProcessLookupError:
            pass

    async def lose_threads(self):
        """Ends the server, deletes its threads, and waits until the bridge has joined the next server. A message that met the dead socket
        could not be repeated, because no list says whether a thread had it."""
        mark = len(self.bridge.events)
        self.kill_codex()
        for path in (self.codex.directory / "threads").iterdir():
            path.unlink()
        await self.bridge.event("codex_connected", mark=mark)

    # Waiting

    async def reached(self, text, seconds=30.0):
        """Waits until the message has reached the model."""
        await until(lambda: text in self.codex.texts(), seconds, f"{text!r} at the model")

    async def turn_ended(self, text, seconds=30.0):
        """Waits until the turn has ended in Codex, whatever the bridge knows of it."""
        turn = next(entry["turn"] for entry in self.codex.log("turns") if entry["text"] == text)
        await until(lambda: any(entry["turn"] == turn for entry in self.codex.log("ended")), seconds, f"the end of the turn of {text!r}")

    # Checking

    def check(self, *asked, is_prefix=True):
        super().check(*asked, is_prefix=is_prefix)
        problems = [*self.codex.problems(), *self._settings()]
        if problems:
            raise AssertionError("\n".join(problems[:20]))

    def _settings(self):
        """Each start and each resume of a thread must name the thread's permissions."""
        for name in ("threads", "resumes"):
            for entry in self.codex.log(name):
                for key in ("cwd", "sandbox", "approvalPolicy", "approvalsReviewer"):
                    if not entry["params"].get(key):
                        yield f"{name} without {key}: {entry['params']}"

    def codex_story(self):
        logs = {name: self.codex.log(name)[-8:] for name in ("starts", "started", "turns", "answers", "interrupts", "ended", "violations")}
        for start in logs["starts"]:
            start.pop("environment", None)
        return "codex: " + "\n  ".join(f"{name}: {entries}" for name, entries in logs.items())
