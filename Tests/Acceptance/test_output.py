"""Commands whose output is not read: a stalled reader, one that goes away, a full disk."""

import asyncio
import fcntl
import json
import os
import pty
import signal
import tempfile
import termios
import unittest
from contextlib import asynccontextmanager
from pathlib import Path

from commands import once
from harness import Bridge, Stage, _children, _die_with_the_parent, bridge_command, until
from peers.steps import Say
from scheduling import Scenarios, scenario
from simulator import Simulator
from stories import words

F_SETPIPE_SZ = 1031
QUIETLY_CLOSED = 141
MILESTONES = ["starting", "sophon_connected", "openclaw_connected", "agent_connected", "ready", "shutdown"]


class HeldPipe:
    """A pipe of one page, read on demand."""

    def __init__(self):
        self.reader, self.writer = os.pipe()
        fcntl.fcntl(self.writer, F_SETPIPE_SZ, 4096)
        os.set_blocking(self.reader, False)
        self.bytes = b""

    def started(self):
        """Closes the parent's copy of the child's end."""
        os.close(self.writer)

    def read(self):
        try:
            while piece := os.read(self.reader, 65_536):
                self.bytes += piece
        except BlockingIOError:
            pass
        return self.bytes.decode()

    def close(self):
        if self.reader is not None:
            os.close(self.reader)
            self.reader = None

    @property
    def events(self):
        return [json.loads(line) for line in self.read().splitlines() if line.startswith("{")]


class HeldBridge(Bridge):
    """A bridge with outputs of the test's own instead of pipes that are always read."""

    async def start_on(self, out, err, *arguments, command="run"):
        base = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "LANG") if name in os.environ}
        words = [command if word == "run" else word for word in self.command]
        self.process = await asyncio.create_subprocess_exec(
            *words, *arguments, stdin=asyncio.subprocess.DEVNULL, stdout=out, stderr=err, cwd=self.directory,
            preexec_fn=_die_with_the_parent, env=base | {"HOME": str(self.directory)} | self.environment)
        _children.add(self.process.pid)
        self._readers = []
        return self


@asynccontextmanager
async def held_stage(**options):
    async with Stage("E3", start=False, **options) as stage:
        stage.bridge = HeldBridge(stage.directory, stage.environment(), clock=stage.clock)
        yield stage


async def connected(stage):
    await until(lambda: stage.relay.sockets and stage.gateway.connections, 30, "both links are up")


class OutputTests(Scenarios):
    async def conversation(self, stage, *names, count=12):
        turns = [stage.ask(name, Say(words(name, count))) for name in names]
        await stage.ended(*turns, seconds=60)
        for turn, name in zip(turns, names):
            stage.expect(turn, "".join(words(name, count)).strip())
        stage.check(*turns)
        return turns

    async def ends_well(self, stage, seconds=30):
        stage.bridge.terminate()
        self.assertEqual(await stage.bridge.exit(seconds), 0)

    @scenario(150, weight=2)
    async def test_two_stalled_pipes_hold_no_conversation_and_every_milestone_comes_after_all(self):
        async with held_stage(scale=10) as stage:
            out, err = HeldPipe(), HeldPipe()
            await stage.bridge.start_on(out.writer, err.writer, "--log-level", "debug")
            out.started()
            err.started()
            await connected(stage)
            turns = []
            # More lines than the queue holds.
            for batch in range(12):
                turns += await self.conversation(stage, *(f"story {batch}-{number}." for number in range(60)), count=1)
            stage.relay.cut()
            await until(lambda: stage.relay.sockets_made == 2 and stage.relay.sockets, 30, "a second socket")
            await until(lambda: "agent_connected" in [event["event"] for event in out.events], 30, "an event")
            await until(lambda: "sophon_connected" in [event["event"] for event in out.events[10:]], 30, "the second")
            await until(lambda: "were dropped here" in err.read(), 30, "words about the log lines")
            await until(lambda: any(event["event"] == "dropped" for event in out.events), 30, "a dropped event")
            stage.bridge.terminate()
            await until(lambda: "shutdown" in [event["event"] for event in out.events], 30, "the last event")
            self.assertEqual(await stage.bridge.exit(), 0)
            names = [event["event"] for event in out.events]
            self.assertEqual([name for name in MILESTONES if name not in names], [])
            # A dial times out after one second here, so a busy machine may report further losses.
            losses = [event["reason"] for event in out.events if event["event"] == "relay_lost"]
            self.assertEqual(len([reason for reason in losses if "connection was lost" in reason]), 1, losses)
            self.assertEqual(names.count("sophon_connected"), 2)
            dropped = [event for event in out.events if event["event"] == "dropped"]
            self.assertEqual(names.count("turn_ended") + sum(event["turn_ended"] for event in dropped), len(turns))
            lost = sum(event["log_lines"] for event in dropped if event["stream"] == "stderr")
            self.assertGreater(lost, 0)
            self.assertIn(f"{lost} lines were dropped here", err.read())

    @scenario(60)
    async def test_a_stalled_standard_error_does_not_hold_the_events(self):
        async with held_stage() as stage:
            out, err = HeldPipe(), HeldPipe()
            os.set_blocking(err.writer, False)
            while True:
                try:
                    os.write(err.writer, b"x" * 4096)
                except BlockingIOError:
                    break
            os.set_blocking(err.writer, True)
            await stage.bridge.start_on(out.writer, err.writer)
            out.started()
            await until(lambda: "ready" in [event["event"] for event in out.events], 30, "ready")
            await self.conversation(stage, "on")
            await until(lambda: "turn_ended" in [event["event"] for event in out.events], 30, "turn_ended")
            # The unread output delays the end by a second at most.
            await self.ends_well(stage)
            os.close(err.writer)
            self.assertIn("shutdown", [event["event"] for event in out.events])

    @scenario(60)
    async def test_the_reader_is_killed_and_run_goes_on(self):
        async with held_stage() as stage:
            reader = await asyncio.create_subprocess_exec(
                "cat", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL, preexec_fn=_die_with_the_parent)
            pipe = reader.stdin.transport.get_extra_info("pipe")
            await stage.bridge.start_on(pipe, pipe)
            await connected(stage)
            await self.conversation(stage, "before")
            reader.kill()
            await reader.wait()
            reader.stdin.close()
            await self.conversation(stage, "after.", "once more.")
            self.assertIsNone(stage.bridge.process.returncode)
            await self.ends_well(stage)

    @scenario(60)
    async def test_a_full_disk_behind_the_redirect_stops_neither_run_nor_record(self):
        for command in ("run", "record"):
            async with held_stage() as stage:
                more = [str(stage.directory / "recordings")] if command == "record" else []
                with open("/dev/full", "wb") as full:
                    await stage.bridge.start_on(full, full, *more, command=command)
                await connected(stage)
                await self.conversation(stage, "one.", "two.")
                await self.ends_well(stage)
                if more:
                    recording, = (stage.directory / "recordings").iterdir()
                    self.assertIn("two.", recording.read_text())

    @scenario(60)
    async def test_a_closed_pipe_stops_record_neither(self):
        async with held_stage() as stage:
            out = HeldPipe()
            out.close()
            await stage.bridge.start_on(out.writer, out.writer, str(stage.directory / "recordings"), command="record")
            out.started()
            await connected(stage)
            await self.conversation(stage, "on")
            await self.ends_well(stage)

    @scenario(60)
    async def test_a_bridge_without_standard_outputs_writes_into_no_file_of_its_own(self):
        async with held_stage() as stage:
            line = " ".join(stage.bridge.command)
            stage.bridge.command = ["bash", "-c", f"exec {line} >&- 2>&- <&-"]
            await stage.bridge.start_on(None, None)
            await connected(stage)
            for descriptor in range(3):
                try:
                    self.assertEqual(os.readlink(f"/proc/{stage.bridge.pid}/fd/{descriptor}"), "/dev/null")
                except PermissionError:
                    # The bridge hides its descriptors from all but a superuser with that capability.
                    break
            await self.conversation(stage, "on")
            await self.ends_well(stage)
            for file in stage.state.rglob("*"):
                if file.is_file():
                    self.assertNotIn(b'{"event":', file.read_bytes(), file)
            self.assertEqual((await once("journal", "verify", directory=stage.directory, environment=stage.environment())).code, 0)

    @scenario(60)
    async def test_a_terminal_that_is_held_with_Ctrl_S_holds_no_conversation(self):
        async with held_stage() as stage:
            ours, theirs = pty.openpty()
            termios.tcflow(theirs, termios.TCOOFF)
            await stage.bridge.start_on(theirs, theirs)
            await connected(stage)
            await self.conversation(stage, "held")
            os.set_blocking(ours, False)
            with self.assertRaises(BlockingIOError):
                os.read(ours, 65_536)
            termios.tcflow(theirs, termios.TCOON)
            shown = b""

            def read():
                nonlocal shown
                try:
                    shown += os.read(ours, 65_536)
                except BlockingIOError:
                    pass
                return b'"turn_ended"' in shown
            await until(read, 30, "what was held")
            for name in ("starting", "ready"):
                self.assertIn(f'"event":"{name}"'.encode(), shown)
            termios.tcflow(theirs, termios.TCOOFF)
            await self.ends_well(stage)
            os.close(theirs)
            os.close(ours)

    @scenario(60)
    async def test_a_second_signal_ends_a_bridge_whose_output_stalls_at_once(self):
        async with held_stage(configuration={"limits": {"stop_flush": "60s"}}) as stage:
            out = HeldPipe()
            await stage.bridge.start_on(out.writer, out.writer, "--log-level", "debug")
            out.started()
            await connected(stage)
            turn = stage.ask("stuck", Say(words("stuck", 500)))
            await stage.streaming(turn)
            stage.relay.hold["sendMessageDelta"] = asyncio.Event()
            mark = len(stage.relay.calls)
            await until(lambda: any(call.method == "sendMessageDelta" for call in stage.relay.calls[mark:]), 30, "a held call")
            stage.bridge.terminate()
            await until(lambda: not stage.gateway.connections, 30, "the agent's link is closed")
            stage.bridge.terminate()
            self.assertEqual(await stage.bridge.exit(10), 1)
            stage.relay.hold.pop("sendMessageDelta").set()

    # simulate

    @scenario(90)
    async def test_the_simulator_serves_on_when_its_output_is_stalled_closed_or_full(self):
        with tempfile.TemporaryDirectory(prefix="output-") as directory:
            for kind in ("closed", "full", "stalled"):
                simulator = Simulator(directory)
                out = HeldPipe()
                if kind == "closed":
                    out.close()
                if kind == "stalled":
                    os.write(out.writer, b"x" * 4096)
                end = open("/dev/full", "wb") if kind == "full" else out.writer
                simulator.process = await asyncio.create_subprocess_exec(
                    *bridge_command(), "simulate", "--json", "--listen", f"127.0.0.1:{simulator.port}", stdout=end, stderr=end,
                    stdin=asyncio.subprocess.DEVNULL, cwd=directory, preexec_fn=_die_with_the_parent)
                _children.add(simulator.process.pid)
                out.started()
                simulator.url, simulator.user_token = f"http://127.0.0.1:{simulator.port}", "usr_test_0123456789abcdefghijklmnop"

                async def serves():
                    try:
                        return await simulator.write("hello")
                    except OSError:
                        return None
                await simulator.poll(serves, 30, f"the simulator serves with its output {kind}")
                self.assertEqual(await simulator.end(signal.SIGTERM, 10), 0, kind)
                out.close()

    # Other commands

    async def command(self, *arguments, out, directory, err=asyncio.subprocess.PIPE):
        process = await asyncio.create_subprocess_exec(
            *bridge_command(), *arguments, stdin=asyncio.subprocess.DEVNULL, stdout=out, stderr=err, cwd=directory,
            preexec_fn=_die_with_the_parent,
            env={"PATH": os.environ["PATH"], "HOME": str(directory), "NO_COLOR": "1"})
        _, errors = await asyncio.wait_for(process.communicate(), 30)
        return process.returncode, (errors or b"").decode()

    @scenario(60)
    async def test_other_commands_end_quietly_when_their_reader_goes_away(self):
        with tempfile.TemporaryDirectory(prefix="output-") as directory:
            for arguments in (["--help"], ["config", "show"], ["completion", "bash"], ["--version", "--json"], ["status"],
                              ["simulate", "--help"], ["demo", "--once", "--speed", "max"], ["demo", "--stay", "--json"]):
                pipe = HeldPipe()
                pipe.close()
                code, said = await self.command(*arguments, out=pipe.writer, directory=directory)
                pipe.started()
                self.assertEqual((code, said if "demo" not in arguments else ""), (QUIETLY_CLOSED, ""), arguments)

    @scenario(60)
    async def test_other_commands_end_with_a_sentence_when_the_disk_is_full(self):
        with tempfile.TemporaryDirectory(prefix="output-") as directory:
            for arguments in (["--help"], ["config", "show"], ["completion", "bash"]):
                with open("/dev/full", "wb") as full:
                    code, said = await self.command(*arguments, out=full, directory=directory)
                self.assertEqual(code, 1, arguments)
                self.assertIn("standard output cannot be written: No space left on device", said)

    @scenario(60)
    async def test_a_result_waits_for_its_reader_and_is_whole(self):
        with tempfile.TemporaryDirectory(prefix="output-") as directory:
            whole = await once("completion", "zsh", directory=directory)
            self.assertGreater(len(whole.out), 4096)
            pipe = HeldPipe()
            process = await asyncio.create_subprocess_exec(
                *bridge_command(), "completion", "zsh", stdin=asyncio.subprocess.DEVNULL, stdout=pipe.writer,
                stderr=asyncio.subprocess.DEVNULL, cwd=directory, preexec_fn=_die_with_the_parent)
            pipe.started()
            with self.assertRaises(TimeoutError):
                # Longer than a service's flush.
                await asyncio.wait_for(process.wait(), 2)
            await until(lambda: pipe.read() == whole.out, 30, "all of it")
            self.assertEqual(await asyncio.wait_for(process.wait(), 30), 0)

    @scenario(60)
    async def test_a_demo_whose_terminal_is_held_plays_to_its_end(self):
        with tempfile.TemporaryDirectory(prefix="output-") as directory:
            out = HeldPipe()
            os.write(out.writer, b"x" * 4096)
            process = await asyncio.create_subprocess_exec(
                *bridge_command(), "demo", "--stay", "--speed", "max", "--json", "--listen", "127.0.0.1:0",
                stdin=asyncio.subprocess.DEVNULL, stdout=out.writer, stderr=asyncio.subprocess.DEVNULL, cwd=directory,
                preexec_fn=_die_with_the_parent)
            _children.add(process.pid)
            out.started()
            # From here on the program handles an interrupt itself.
            await until(lambda: blocked(process.pid, signal.SIGINT), 30, "it minds signals")
            await asyncio.sleep(1)  # No event shows that the program keeps running.
            self.assertIsNone(process.returncode)
            process.send_signal(signal.SIGINT)
            self.assertEqual(await asyncio.wait_for(process.wait(), 60), 0)
            out.close()


def blocked(pid, number):
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("SigBlk:"))
    return int(line.split()[1], 16) >> (number - 1) & 1


if __name__ == "__main__":
    unittest.main()
