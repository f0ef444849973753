"""The bridge between a scripted Oppi server and the scripted relay."""

import asyncio
import functools
import json
import sys

from harness import HERE, Stage, _die_with_the_parent, until
from peers.oppi_disk import Disk
from peers.oppi_server import OppiServer
from peers.oppi_steps import Plan, answer, plan_to_json
from peers.oppi_tls import Certificates
from peers.wire import next_port

DIALECTS = ("seed", "head")


def in_both(mark):
    """Runs a scenario in each dialect."""
    def wrap(function):
        @functools.wraps(function)
        async def each(self):
            for dialect in DIALECTS:
                try:
                    await function(self, dialect)
                except BaseException as error:
                    error.add_note(f"in the {dialect} dialect")
                    raise
        return mark(each)
    return wrap


class OppiStage(Stage):
    """`agent` is the environment's variables for the server, or None for its address and its owner's token."""

    def __init__(self, dialect="head", tls=False, agent=None, begins=True, prepare=None, server=None, **options):
        self.dialect, self._tls, self._agent, self._begins, self._prepare = dialect, tls, agent, begins, prepare
        self._server = server or self._in_process
        super().__init__(start=False, recording=False, **options)

    async def __aenter__(self):
        await super().__aenter__()
        try:
            self.certificates = Certificates(self.directory / "tls") if self._tls else None
            self.oppi = await self._server(self).__aenter__()
            if self._prepare:
                self._prepare(self)
            self.bridge.environment = self.environment()
            if self._begins:
                await self.bridge.start()
        except BaseException as error:
            await self._leave(error)
            raise
        return self

    @staticmethod
    def _in_process(stage):
        server = OppiServer(stage.directory / "oppi", stage.dialect, clock=stage.clock, certificates=stage.certificates)
        server.has_extension = True
        return server

    async def _leave(self, error):
        # The bridge ends first: the servers' account includes its disconnects.
        await super()._leave(error)
        if hasattr(self, "oppi"):
            await self.oppi.__aexit__()

    def environment(self):
        base = super().environment()
        for name in ("OPENCLAW_URL", "OPENCLAW_TOKEN", "OPENCLAW_STATE_DIR"):
            base.pop(name)
        base["SOPHON_AGENT"] = "oppi"
        if hasattr(self, "oppi"):
            base |= {"OPPI_URL": self.oppi.url, "OPPI_TOKEN": self.oppi.token} if self._agent is None else self._agent(self)
        return base | self._extra

    # Acting

    def ask(self, text, *steps, session=None, **options):
        if steps:
            self.oppi.plan(text, *steps, **options)
        return self.relay.ask(text, session)

    # Waiting

    async def link_up(self, seconds=30.0, since=0):
        await until(lambda: self.oppi.sockets_made > since and self.oppi.sockets, seconds, "a socket to the Oppi server")

    async def session_of(self, text, seconds=30.0):
        """The Oppi session that received this prompt."""
        note = await until(lambda: next((note for note in self.oppi.disk.notes("prompts") if note["text"] == text), None),
                           seconds, f"the prompt {text!r}")
        return note["session"]

    async def run_ended(self, text, seconds=30.0):
        session = await self.session_of(text, seconds)
        def is_over():
            activation = self.oppi.activations.get(session)
            return activation is None or not activation.is_busy
        await until(is_over, seconds, f"the run of {text!r} has ended at the server")

    # Checking

    def expect_answer(self, turn, steps):
        self.expect(turn, answer(steps))

    def expect_begins_with(self, turn, steps):
        """Expects the answer, with or without a line of the bridge after it."""
        final, text = self.phone.final(turn.interaction), answer(steps)
        if not final.startswith(text):
            raise AssertionError(f"ended with {final!r} and not with {text!r}")

    def expect_subsequence(self, turn, pieces):
        """Expects the streamed text to consist of these pieces, in order and none twice; some may be missing, and the last may be cut."""
        rest = iter(pieces)
        text = self.phone.bubble(turn.interaction).streamed
        while text:
            piece = next((piece for piece in rest if text.startswith(piece) or piece.startswith(text)), None)
            if piece is None:
                raise AssertionError(f"streamed out of order or twice: {text[:200]!r}")
            text = text[len(piece):]

    def check(self, *asked, is_prefix=True):
        super().check(*asked, is_prefix=is_prefix)
        prompts = [note["text"] for note in self.oppi.disk.notes("prompts")]
        twice = [f"{text!r} was prompted {prompts.count(text)} times" for text in sorted(set(prompts)) if prompts.count(text) > 1]
        problems = twice + getattr(self.oppi, "violations", []) + getattr(self.oppi, "faults", [])
        if problems:
            raise AssertionError("\n".join(problems[:20]))

    def story(self):
        frames = getattr(getattr(self, "oppi", None), "frames", None) or []
        frames = [entry for entry in frames if entry[3].get("type") not in ("state", "turn_start", "turn_end")][-30:]
        lines = "\n".join(f"  {direction} {json.dumps(frame)[:240]}" for _, _, direction, frame in frames)
        requests = getattr(getattr(self, "oppi", None), "requests", [])[-12:]
        return f"{super().story()}\nlast Oppi requests: {requests}\nlast Oppi frames:\n{lines}"


class OppiProcess:
    """The scripted server in a process of its own, which can be killed."""

    def __init__(self, stage):
        self.home, self.dialect, self.clock = stage.directory / "oppi", stage.dialect, stage.clock
        self.port, self.plans = next_port(), []
        self.sockets_made, self.sockets = 0, []

    async def __aenter__(self):
        self.disk = Disk(self.home, self.clock)
        self.plan_file = self.home / "plans.json"
        self.plan_file.write_text("[]")
        await self.start()
        return self

    async def __aexit__(self, *_):
        await self.kill()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    @property
    def token(self):
        return self.disk.state["owner"]

    def plan(self, match, *steps, **options):
        self.plans.append(plan_to_json(Plan(match, list(steps), **options)))
        beside = self.plan_file.with_suffix(".new")
        beside.write_text(json.dumps(self.plans))
        beside.replace(self.plan_file)

    def release(self, name):
        self.disk.open_gate(name)

    async def start(self):
        self.process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "peers.oppi_server", "--home", str(self.home), "--port", str(self.port), "--dialect", self.dialect,
            cwd=HERE, stdout=asyncio.subprocess.PIPE, preexec_fn=_die_with_the_parent)
        line = await asyncio.wait_for(self.process.stdout.readline(), 30)
        assert line, "the Oppi server did not start"

    async def kill(self):
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()
