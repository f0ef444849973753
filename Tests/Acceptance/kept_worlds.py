"""A stage per agent, on which a journal is made (make_journal.py) and continued (test_upgrade.py). All worlds have the same words for
their agent's actions, so that one story fits all of them."""

import asyncio
import gzip
import json
import os
import re
import shutil
import signal
import sqlite3
from pathlib import Path

from codex_stage import CodexStage
from harness import HERE, Stage
from oppi_stage import OppiStage
from peers import codex_steps, oppi_steps, saved, saved_codex, saved_gateway, saved_oppi, steps
from peers.codex_server import CodexServer
from peers.sealed_hand import SealedHand
from pi_stage import PiStage

FIXTURES = HERE.parent / "Fixtures" / "journal" / "v2"
GO_ON = "go on"
"""Gate that holds the runs when their bridge is killed."""
# More chats at once than children are allowed by default.
MANY = {"limits": {"agents": 32}}


class World:
    agent = ""
    has_questions = True
    beside = ()
    """Turns whose answer is a message beside their bubble."""
    outlives = True
    """Asks of the agent are still open when its bridge returns."""

    def __init__(self, **options):
        self.stage = self.new_stage(**options)

    async def __aenter__(self):
        await self.stage.__aenter__()
        self.seals = SealedHand(self.stage.relay)
        return self

    async def __aexit__(self, *error):
        await self.stage.__aexit__(*error)

    # Acting

    def ask(self, text, *steps, session=None, **message):
        """Sends a message; a text that begins with "sealed" goes to a sealed chat."""
        if steps:
            self.plan(text, *steps)
        hand = self.seals if text.startswith("sealed") else self.stage.relay
        return hand.ask(text, session, **message)

    # Keeping

    def keep(self, folder, name="killed"):
        """Keeps the journal as the killed process left it, with its log merged in, and the peers' knowledge."""
        folder.mkdir(parents=True, exist_ok=True)
        keep_journal(self.stage, folder / f"{name}.db")
        kept = saved.save(self.stage) | {"agent": self.save_agent()}
        text = json.dumps(kept, ensure_ascii=False, separators=(",", ":"))
        (folder / f"{name}.peers.json.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
        (folder / "device.hex").write_text(saved.device_secret(self.stage).hex() + "\n")

    async def put(self, folder=None, name="killed"):
        """Loads a kept world on a stage whose bridge was not started."""
        folder, stage = folder or FIXTURES / self.agent, self.stage
        kept = json.loads(gzip.decompress((folder / f"{name}.peers.json.gz").read_bytes()))
        move = saved.load(stage, kept)
        stage.state.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.copy(folder / f"{name}.db", stage.state / "journal.db")
        saved.move_journal(stage.state / "journal.db", move, saved.device_secret(stage))
        await self.load_agent(kept["agent"], move.milliseconds)
        # The loaded state has another token.
        stage.bridge.environment = stage.environment()
        return kept

    def save_agent(self):
        return None

    async def load_agent(self, kept, elapsed):
        pass

    def hears_decisions(self, value):
        """Sets whether decisions, answers and stops reach the agent."""

    def is_met(self):
        """Whether the bridge has taken up its business with the agent again."""
        return True

    def heard(self):
        """Frames that reached the agent, in order: (chat, fields)."""
        return []


def keep_journal(stage, target):
    for ending in ("", "-wal"):
        shutil.copy(stage.state / f"journal.db{ending}", f"{target}{ending}")
    database = sqlite3.connect(target)
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.execute("VACUUM")
    database.close()
    for ending in ("-wal", "-shm"):
        Path(f"{target}{ending}").unlink(missing_ok=True)


class OpenClawWorld(World):
    agent, has_questions = "openclaw", False
    beside = ("window", "expired")

    def new_stage(self, **options):
        return Stage("E4", start=False, **options)

    async def __aenter__(self):
        await super().__aenter__()
        self.gateway = self.stage.gateway
        self.hangs = lambda method, params: False
        self._call, self.gateway._call = self.gateway._call, self.call
        self.heard_frames = []
        return self

    async def call(self, connection, frame):
        """Leaves some requests without an answer."""
        method, params = frame["method"], frame.get("params", {})
        if method in ("chat.send", "chat.abort") or method.endswith("approval.resolve"):
            approval = self.gateway.approvals.get(params.get("id"))
            self.heard_frames.append((approval.run.key if approval else params["sessionKey"], {"method": method} | params))
        if not self.hangs(method, params):
            await self._call(connection, frame)

    def plan(self, text, *steps, **options):
        self.gateway.plan(text, *steps, **options)

    say = staticmethod(lambda *chunks: steps.Say(list(chunks)))
    tool = staticmethod(lambda: steps.Tool())
    held_tool = staticmethod(lambda: steps.Tool(seconds=3600))
    asks = staticmethod(lambda command: steps.Approval(command))
    hold = staticmethod(lambda name: steps.Hold(name))

    def hears_decisions(self, value):
        self.hangs = lambda method, params: not value and (
            method == "chat.send" and "handed over" in params["message"] or method == "chat.abort"
            or method.endswith("approval.resolve"))

    def release(self, gate):
        self.gateway.release(gate)

    def save_agent(self):
        return saved_gateway.save(self.gateway)

    async def load_agent(self, kept, elapsed):
        self.ran = len(kept["commands"])
        saved_gateway.load(self.gateway, kept, elapsed)

    def is_met(self):
        """Whether both owed stops have arrived."""
        return len([1 for _, frame in self.heard_frames if frame["method"] == "chat.abort"]) >= 2

    def heard(self):
        return self.heard_frames + [("commands", {"ran": command}) for command in sorted(
            command for _, command in self.gateway.commands[self.ran:])]


class OppiWorld(World):
    agent = "oppi"

    def new_stage(self, **options):
        def prepare(stage):
            # Longer than any test waits, and for more chats at once than usual.
            stage.oppi.permissions.timeout_seconds = 7_200.0
            stage.oppi.workspace_limit = stage.oppi.limit = 100
        return OppiStage(begins=False, prepare=prepare, **options)

    async def __aenter__(self):
        await super().__aenter__()
        self.oppi = self.stage.oppi
        self.frames = []
        self.is_deaf = False
        self.oppi.hears = self.hears
        return self

    KEPT = ("prompt", "steer", "follow_up", "stop", "abort", "stop_session", "permission_response", "extension_ui_response")

    def hears(self, frame):
        if frame.get("type") in self.KEPT:
            pending = self.oppi.permissions.pending.get(frame.get("id"))
            session = frame.get("sessionId") or (pending and pending[0].id) or ""
            self.frames.append((session, {name: value for name, value in frame.items() if name not in ("requestId", "sessionId")}))
        return not self.is_deaf or frame.get("type") not in ("stop", "abort", "permission_response", "extension_ui_response")

    def plan(self, text, *steps, **options):
        self.oppi.plan(text, *steps, **options)

    say = staticmethod(lambda *chunks: oppi_steps.Say(list(chunks)))
    tool = staticmethod(lambda: oppi_steps.Tool())
    held_tool = staticmethod(lambda: oppi_steps.Tool(parts=["6"], hold=GO_ON))
    asks = staticmethod(lambda command: oppi_steps.Tool(args={"command": command}, asks="The policy says so", parts=["done"]))
    hold = staticmethod(lambda name: oppi_steps.Hold(name))
    question = staticmethod(lambda: oppi_steps.Dialog("ask", {"questions": [
        {"id": "bed", "question": "Which bed?", "options": [{"value": "e", "label": "East"}, {"value": "w", "label": "West"}]}],
        "allowCustom": True}))
    last_option = "West"

    def hears_decisions(self, value):
        self.is_deaf = not value

    def release(self, gate):
        self.oppi.release(gate)

    def save_agent(self):
        return saved_oppi.save(self.oppi)

    async def load_agent(self, kept, elapsed):
        self.known = {entry["session"]["id"] for entry in kept["activations"]}
        saved_oppi.load(self.oppi, kept, elapsed)

    def is_met(self):
        return all(activation.subscribers for activation in self.oppi.activations.values() if activation.is_busy)

    def heard(self):
        return [(session if session in self.known else "new", fields) for session, fields in self.frames]


class CodexInProcess(CodexStage):
    """A named server in the test's own process, where the test can inspect it. It outlives the bridge, as a server started by the bridge
    does."""

    async def __aenter__(self):
        await super().__aenter__()
        try:
            self.listening = False
            self.server = CodexServer(self.codex.directory)
        except BaseException as error:
            await self._leave(error)
            raise
        return self

    async def listen(self):
        await self.server.listen(f"unix://{self.directory / 'codex.sock'}")
        self.listening = True

    def environment(self):
        return super().environment() | {"CODEX_URL": f"unix://{self.directory / 'codex.sock'}"}

    async def _leave(self, error):
        if hasattr(self, "bridge"):
            await self.bridge.close()
        if getattr(self, "listening", False):
            await self.server.close()
            commands = [run for thread in self.server.threads.values() for _, run in thread.terminals.values()]
            for run in commands:
                run.cancel()
            await asyncio.gather(*self.server._tasks, *commands, return_exceptions=True)
        await super()._leave(error)


class CodexWorld(World):
    agent = "codex"

    def new_stage(self, **options):
        return CodexInProcess(begins=False, **options)

    async def __aenter__(self):
        await super().__aenter__()
        self.codex, self.server = self.stage.codex, self.stage.server
        self.is_deaf, self.frames = False, []
        self.server.hears = self.hears
        return self

    def hears(self, frame):
        method, params = frame.get("method"), frame.get("params") or {}
        if method in ("turn/start", "turn/steer", "turn/interrupt"):
            self.frames.append((params.get("threadId", ""), {"method": method} | {
                name: value for name, value in params.items() if name != "threadId"}))
        elif method is None:
            thread = next((thread for thread in self.server.threads.values() if frame.get("id") in thread.requests), None)
            self.frames.append((thread.id if thread else "", {"answer": frame.get("result")}))
        return not self.is_deaf or method not in (None, "turn/interrupt")

    def plan(self, text, *steps):
        self.codex.plan(text, *steps)

    say = staticmethod(lambda *chunks: codex_steps.Say(list(chunks), "commentary"))
    tool = staticmethod(lambda: codex_steps.Command())
    held_tool = staticmethod(lambda: codex_steps.Command("sleep 60", "done\n", ["do"], gate=GO_ON))
    asks = staticmethod(lambda command: codex_steps.Command(command, "done\n", asks="It is needed"))
    hold = staticmethod(lambda name: codex_steps.Hold(name))
    question = staticmethod(lambda: codex_steps.Question())
    last_option = "Blue"

    def hears_decisions(self, value):
        self.is_deaf = not value

    def release(self, gate):
        self.codex.open_gate(gate)

    async def begin(self):
        await self.stage.listen()

    def save_agent(self):
        return saved_codex.save(self.server)

    async def load_agent(self, kept, elapsed):
        self.known = {entry["record"]["id"] for entry in kept["threads"]}
        self.marks = len(self.codex.log("ran"))
        saved_codex.load(self.server, kept, elapsed)
        await self.stage.listen()

    def is_met(self):
        return all(thread.subscribers for thread in self.server.threads.values() if thread.turn)

    def heard(self):
        """Pictures are spool files with any name."""
        frames = json.loads(re.sub(r"state/files/[^\"]+", "state/files/…", json.dumps(self.frames)))
        return [(thread if thread in self.known else "new", fields) for thread, fields in frames] + [
            ("commands", {"ran": command}) for command in sorted(entry["command"] for entry in self.codex.log("ran")[self.marks:])]


class PiWorld(World):
    agent = "pi"
    outlives = False

    def new_stage(self, **options):
        return PiStage({}, start=False, configuration=MANY, **options)

    async def __aenter__(self):
        await super().__aenter__()
        self.pi, self.plans, self.marks = self.stage.pi, {}, {}
        return self

    def plan(self, text, *steps):
        self.plans[text] = list(steps)
        self.pi.write_plans({"plans": self.plans, "line": "B"})

    say = staticmethod(lambda *chunks: {"say": list(chunks)})
    tool = staticmethod(lambda: {"tool": {}})
    held_tool = staticmethod(lambda: {"tool": {"hold": GO_ON}})
    asks = staticmethod(lambda command: {"confirm": {"title": "May I?", "message": command, "yes": "It is done.", "no": "I leave it."}})
    hold = staticmethod(lambda name: {"hold": name})
    question = staticmethod(lambda: {"ask": [{"method": "select", "title": "Which colour?", "options": ["Red", "Blue"]}]})
    last_option = "Blue"

    def hears_decisions(self, value):
        """Stops the processes of turns with a decision or a stop by SIGSTOP, or continues them."""
        for text, pid in self.pi.log("pids"):
            if text.split()[-1] in ("allowed", "stopping"):
                os.kill(pid, signal.SIGCONT if value else signal.SIGSTOP)

    def release(self, gate):
        self.pi.open_gate(gate)

    async def load_agent(self, kept, elapsed):
        self.plans = json.loads((self.pi.directory / "plans.json").read_text())["plans"]
        self.marks = {name: len(self.pi.log(name)) for name in ("prompts", "images", "answers", "starts")}
        self.known = self.pi.log("prompts")

    def is_met(self):
        """Whether everything that its processes had begun has ended with them."""
        asked = self.stage.phone.asked
        return all(self.stage.phone.is_ended(name) for name, (_, text, _) in asked.items() if text in self.known)

    def heard(self):
        """Entries by kind, because no log tells the processes apart."""
        new = {name: self.pi.log(name)[mark:] for name, mark in self.marks.items()}
        return ([("prompts", {"prompt": text}) for text in sorted(new["prompts"])]
                + [("images", {"prompt": entry["text"], "images": entry["images"]}) for entry in sorted(new["images"], key=str)]
                + [("answers", answer) for answer in sorted(new["answers"], key=str)]
                + [("starts", {"start": arguments}) for arguments in sorted(start["arguments"] for start in new["starts"])])


WORLDS = {world.agent: world for world in (OpenClawWorld, OppiWorld, CodexWorld, PiWorld)}
