"""The bridge as a child process between two scripted peers."""

import asyncio
import contextlib
import atexit
import ctypes
import json
import os
import shlex
import shutil
import signal
import tempfile
import time
import unittest
from pathlib import Path

from peers.clock import Clock
from peers.gateway import Gateway
from peers.relay import Relay
from scheduling import LEEWAY

HERE = Path(__file__).resolve().parent
DEFAULT_BINARY = HERE.parent.parent / ".build" / "debug" / "sophon-bridge"
_children = set()


@atexit.register
def _kill_children():
    for pid in _children:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


_libc = ctypes.CDLL(None)


def _die_with_the_parent():
    """Kills the bridge if the test is killed."""
    _libc.prctl(1, signal.SIGKILL)


def bridge_command():
    """`SOPHON_BRIDGE` may be a path or a whole command line."""
    if named := os.environ.get("SOPHON_BRIDGE"):
        return shlex.split(named)
    if DEFAULT_BINARY.exists():
        return [str(DEFAULT_BINARY)]
    raise unittest.SkipTest(f"there is no bridge: build it, or set SOPHON_BRIDGE ({DEFAULT_BINARY})")


async def until(condition, seconds, what):
    """Waits for a condition, and fails with a sentence."""
    seconds *= LEEWAY
    end = time.monotonic() + seconds
    is_over = False
    while not (result := condition()):
        if is_over:
            raise AssertionError(f"after {seconds} s still not: {what}")
        # After a stall, check once more past the deadline: input that arrived meanwhile has not been read yet.
        is_over = time.monotonic() > end
        await asyncio.sleep(0.5 if is_over else 0.01)
    return result


class Bridge:
    def __init__(self, directory, environment, command=None, clock=None):
        self.directory, self.environment = Path(directory), environment
        self.command = (command or bridge_command()) + ["run", "--json"] + (
            ["--time-scale", f"{clock.scale:g}"] if clock and clock.scale != 1 else [])
        self.clock = clock
        self.process = None
        self.events = []
        self.stderr = []
        self.starts = 0

    @property
    def pid(self):
        return self.process.pid

    async def start(self, ready_seconds=30.0):
        """Starts the process. With a limit, waits for `ready` too."""
        mark = len(self.events)
        self.starts += 1
        if self.clock and self.clock.scale != 1:
            self.clock.rebase()
        base = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "LANG", "TSAN_OPTIONS") if name in os.environ}
        self.process = await asyncio.create_subprocess_exec(
            *self.command, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            cwd=self.directory, limit=1 << 22, preexec_fn=_die_with_the_parent,
            env=base | {"HOME": str(self.directory), "PYTHONPATH": str(HERE)} | self.environment)
        _children.add(self.process.pid)
        self._readers = [asyncio.create_task(self._read_events(self.process.stdout)),
                         asyncio.create_task(self._read_errors(self.process.stderr))]
        if ready_seconds:
            await self.event("ready", ready_seconds, mark)
        return self

    async def _read_events(self, stream):
        while line := await stream.readline():
            try:
                self.events.append(json.loads(line))
            except ValueError:
                self.events.append({"event": "NOT JSON", "line": line.decode(errors="replace")})

    async def _read_errors(self, stream):
        while line := await stream.readline():
            self.stderr.append(line.decode(errors="replace"))

    def names(self, mark=0):
        return [event.get("event") for event in self.events[mark:]]

    async def event(self, name, seconds=30.0, mark=0):
        def found():
            if self.process.returncode is not None and name not in self.names(mark):
                raise AssertionError(f"the bridge ended with {self.process.returncode} before its event {name}")
            return next((event for event in self.events[mark:] if event.get("event") == name), None)
        return await until(found, seconds, f"the event {name}; there were {self.names(mark)}")

    # Signals, always by process id

    def kill9(self):
        self._signal(signal.SIGKILL)

    def terminate(self):
        self._signal(signal.SIGTERM)

    def suspend(self):
        self._signal(signal.SIGSTOP)

    def resume(self):
        self._signal(signal.SIGCONT)

    def _signal(self, number):
        if self.process is not None and self.process.returncode is None:
            # The process may have ended a moment ago.
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.process.pid, number)

    async def exit(self, seconds=30.0):
        seconds *= LEEWAY
        try:
            code = await asyncio.wait_for(self.process.wait(), seconds)
        except TimeoutError:
            raise AssertionError(f"the bridge had not ended after {seconds} s") from None
        await asyncio.gather(*self._readers)
        _children.discard(self.process.pid)
        return code

    async def restart_after_kill(self, ready_seconds=30.0):
        self.kill9()
        await self.exit()
        await self.start(ready_seconds)

    async def close(self):
        if self.process is not None and self.process.returncode is None:
            self.resume()
            self.kill9()
        if self.process is not None:
            await self.exit()

    def peak_megabytes(self):
        """Peak memory of the process."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
        raise AssertionError("no VmHWM")

    def story(self):
        return (f"bridge events: {json.dumps(self.events[-15:])}\n"
                f"bridge stderr:\n{''.join(self.stderr[-40:])}")


class Stage:
    """A gateway, a relay and the bridge between them, in a directory of their own."""

    def __init__(self, era="E3", scale=1, start=True, environment=None, relay_token=None, command=None, recording=True,
                 configuration=None, **relay):
        self.clock = Clock(scale)
        self.gateway = Gateway(era, clock=self.clock, recording=recording)
        self.relay = Relay(**relay, clock=self.clock)
        self.phone = self.relay.phone
        self._start, self._extra, self._command = start, environment or {}, command
        self._relay_token, self._configuration = relay_token, configuration

    async def __aenter__(self):
        self.directory = Path(tempfile.mkdtemp(prefix="bridge-acceptance-"))
        self.state = self.directory / "state"
        await self.gateway.__aenter__()
        await self.relay.__aenter__()
        try:
            if self._configuration is not None:
                self.configure(self._configuration)
            self.bridge = Bridge(self.directory, self.environment(), self._command, self.clock)
            if self._start:
                await self.bridge.start()
        except BaseException as error:
            await self._leave(error)
            raise
        return self

    def configure(self, configuration):
        """Writes the configuration that the bridge reads at its start or at a reload."""
        file = self.directory / "config" / "bridge.json"
        file.parent.mkdir(mode=0o700, exist_ok=True)
        file.write_text(json.dumps(configuration))
        file.chmod(0o600)

    def environment(self):
        return {
            "SOPHON_BASE_URL": self.relay.url, "SOPHON_BOT_TOKEN": self._relay_token or self.relay.token,
            "SOPHON_CONFIG_DIR": str(self.directory / "config"), "SOPHON_STATE_DIR": str(self.state),
            "SOPHON_AGENT": "openclaw", "OPENCLAW_URL": self.gateway.url, "OPENCLAW_TOKEN": self.gateway.token,
            "OPENCLAW_STATE_DIR": str(self.directory / "openclaw"), "NO_COLOR": "1",
        } | self._extra

    async def __aexit__(self, kind, error, trace):
        await self._leave(error)

    async def _leave(self, error):
        if error is not None and not isinstance(error, asyncio.CancelledError) and hasattr(self, "bridge"):
            error.add_note(self.story())
        if hasattr(self, "bridge"):
            await self.bridge.close()
        await self.relay.__aexit__()
        await self.gateway.__aexit__()
        shutil.rmtree(self.directory, ignore_errors=True)

    # Acting

    def ask(self, text, *steps, session=None, **options):
        """Sends a message from the phone; `steps` script the agent's turn."""
        if steps:
            self.gateway.plan(text, *steps, **options)
        return self.relay.ask(text, session)

    # Waiting

    def expect_begins(self, turn, text):
        """Expects an end with a line of the bridge after the agent's text."""
        final = self.phone.final(turn.interaction)
        if not final.startswith(text) or not final[len(text):].strip():
            raise AssertionError(f"{self.phone.asked[turn.interaction][1]!r} ended with\n  {_short(final)}\nand not with "
                                 f"{_short(text)} and a line of the bridge")

    def expect_said(self, turn, *words):
        """Expects one of the words, in the bubble or in a message beside it."""
        said = [self.phone.final(turn.interaction) or "", *self.phone.loose_messages(turn.session)]
        if not any(word.lower() in text.lower() for word in words for text in said):
            raise AssertionError(f"none of {words} in {[_short(text) for text in said]}")

    async def ended(self, *asked, seconds=20.0):
        def waiting():
            return [turn.interaction for turn in asked if not self.phone.is_ended(turn.interaction)]
        try:
            await until(lambda: not waiting(), seconds, "all bubbles ended")
        except AssertionError as error:
            error.add_note(f"{len(waiting())} still open: " + "; ".join(
                f"{name} {self.phone.asked[name][1]!r} shows {getattr(self.phone.bubble(name), 'text', None)!r}"
                for name in waiting()[:5]))
            raise

    async def streaming(self, turn, seconds=30.0, letters=1):
        await until(lambda: (bubble := self.phone.bubble(turn.interaction)) and len(bubble.streamed) >= letters,
                    seconds, f"text streaming into {turn.interaction}")

    async def approval(self, turn, seconds=30.0):
        """Waits for the approval of this turn, and returns its id."""
        def found():
            return next((name for name, body in self.phone.approvals.items()
                         if body["session_id"] == turn.session), None)
        return await until(found, seconds, f"an approval in {turn.session}")

    async def card(self, turn, seconds=30.0):
        """Waits for an open approval of this chat, and returns the newest."""
        return await until(lambda: (self.phone.open_cards(turn.session) or [None])[-1], seconds, f"an open card in {turn.session}")

    async def link_up(self, seconds=30.0, since=0):
        """Waits until the bridge has shaken hands with the gateway again."""
        await until(lambda: len(self.gateway.connects) > since and self.gateway.connections, seconds, "the gateway link is up")

    async def run_of(self, text, seconds=30.0):
        return await until(lambda: next((run for run in self.gateway.runs.values() if run.user_text == text), None),
                           seconds, f"an agent run for {text!r}")

    # Checking

    def expect(self, turn, text):
        final = self.phone.final(turn.interaction)
        if final != text:
            raise AssertionError(f"{self.phone.asked[turn.interaction][1]!r} ended with\n  {_short(final)}\nand not with\n  "
                                 f"{_short(text)}")

    def check(self, *asked, is_prefix=True, starts=1):
        """Checks the invariants of the relay's documentation: one run per key, no conflict, no refused call, no 429 caused by the
        bridge."""
        problems = self.phone.problems([turn.interaction for turn in asked] or None, is_prefix)
        if starts is not None:
            problems += [f"{count} agent runs under the key {key}" for key, count in self.gateway.starts.items()
                         if count != starts]
        problems += self._second_sends(asked)
        problems += [f"the gateway refused: {problem}" for problem, _ in self.gateway.violations]
        problems += [f"idempotency_conflict in {method}: {earlier} and then {later}"
                     for method, earlier, later in self.relay.rules.conflicts]
        problems += [f"{method} came again with another body: {earlier} and then {later}"
                     for method, earlier, later in self.relay.rules.rewrites]
        problems += [f"{len(self.relay.natural_429s())} calls beyond the rate limit"] if self.relay.natural_429s() else []
        problems += [f"{call.method} was refused with {call.status} {call.code}: {call.body}"
                     for call in self.relay.refused() if call.code not in ("message_finalized", "interaction_expired")]
        if problems:
            raise AssertionError("\n".join(problems[:20]))

    def _second_sends(self, asked):
        """Messages sent to the agent under more than one key, which therefore ran twice."""
        for turn in asked:
            session, text, _ = self.phone.asked[turn.interaction]
            keys = {send["key"] for send in self.gateway.sends
                    if send["text"] == text and session.lower() in send["session"].lower()}
            if len(keys) > 1:
                yield f"{text!r} went to the agent under {len(keys)} keys: {sorted(keys)}"

    def story(self):
        calls = [(call.method, call.status, call.code, call.fault) for call in self.relay.calls[-12:]]
        frames = [(direction, json.dumps(frame)[:300]) for _, _, direction, frame in list(self.gateway.frames or [])[-12:]]
        lines = "\n".join(f"  {direction} {text}" for direction, text in frames)
        return f"{self.bridge.story()}\nlast relay calls: {calls}\nlast gateway frames:\n{lines}"


def _short(text):
    shown = repr(text)
    return shown if len(shown) < 600 else f"{shown[:280]} … {shown[-280:]}"
