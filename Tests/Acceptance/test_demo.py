"""`demo` without a browser: who may reach the agent behind it, and the end of the show."""

import asyncio
import json
import os
import shlex
import signal
import tempfile
import unittest
from contextlib import asynccontextmanager
from pathlib import Path

from codex_double import COMMAND, CodexDouble
from commands import once
from harness import _die_with_the_parent, bridge_command, until
from peers.gateway import Gateway
from peers.oppi_server import OppiServer
from pi_home import PiHome, said
from scheduling import Scenarios, scenario
from simulator import Simulator


def work(directory):
    """A folder for the agent, which may not work in the home itself."""
    folder = Path(directory, "work")
    folder.mkdir()
    return str(folder)


@asynccontextmanager
async def agent_demo(directory, gateway, *options, **environment):
    demo = Simulator(directory, "--agent", "openclaw", *options, command="demo", environment={
        "OPENCLAW_URL": gateway.url, "OPENCLAW_TOKEN": gateway.token, "TMPDIR": str(directory), "NO_COLOR": "1",
        "OPENCLAW_STATE_DIR": str(Path(directory, "openclaw"))} | environment)
    await demo.start()
    try:
        yield demo
    finally:
        await demo.close()


class DemoWithAnAgentTests(Scenarios):
    @scenario(60)
    async def test_only_who_was_told_the_tokens_reaches_the_agent(self):
        with tempfile.TemporaryDirectory(prefix="demo-") as directory:
            prescribed = await Simulator(directory).start()
            await prescribed.close()
            seen = []
            async with Gateway("E3") as gateway:
                for _ in range(2):
                    async with agent_demo(directory, gateway) as demo:
                        await demo.connected()
                        self.assertRegex(demo.token, r"^inst_[0-9A-Za-z]{16}:s_test_[0-9A-Za-z]{32}$")
                        self.assertRegex(demo.user_token, r"^usr_test_[0-9A-Za-z]{26}$")
                        seen += [demo.token, demo.user_token]
                        demo.user_token = prescribed.user_token
                        with self.assertRaisesRegex(AssertionError, ": 401 "):
                            await demo.write("delete everything")
            self.assertEqual(len(set(seen + [prescribed.token, prescribed.user_token])), 6, seen)

    @scenario(60)
    async def test_what_it_keeps_lies_where_nobody_was_before_and_goes_with_it(self):
        with tempfile.TemporaryDirectory(prefix="demo-") as directory:
            async with Gateway("E3") as gateway:
                async with agent_demo(directory, gateway) as demo:
                    await demo.connected()
                    place, = Path(directory).glob("sophon-demo-*")
                    self.assertNotIn(str(demo.process.pid), place.name)
                    self.assertEqual(place.stat().st_mode & 0o777, 0o700)
                    self.assertEqual(await demo.end(signal.SIGTERM), 0)
                    self.assertEqual(list(Path(directory).glob("sophon-demo-*")), [])
                environment = {"TMPDIR": f"{directory}/none", "OPENCLAW_URL": gateway.url, "OPENCLAW_TOKEN": gateway.token}
                outcome = await once("demo", "--agent", "openclaw", "--json", directory=directory, environment=environment)
                self.assertEqual(outcome.code, 1, outcome)
                self.assertIn("set TMPDIR", outcome.err)


class DemoWithPiTests(Scenarios):
    @scenario(60)
    async def test_what_is_written_on_the_phone_reaches_pi_and_nothing_is_left_behind(self):
        with tempfile.TemporaryDirectory(prefix="demo-") as directory:
            home = PiHome(Path(directory, "pi"), {"disk": [said("I look."), {"tool": {}}, said("It is full.")]})
            demo = Simulator(directory, "--agent", "pi", "--plain", command="demo", environment=home.bridge_environment | {
                "TMPDIR": directory, "NO_COLOR": "1"})
            await demo.start()
            try:
                await demo.connected()
                bubble = await demo.ended(await demo.write("How full is the disk?"))
                self.assertEqual(bubble["text"], "I look.\n\nIt is full.")
                self.assertEqual(await demo.breaches(), [])
                child = home.child()
                self.assertEqual(await demo.end(signal.SIGTERM), 0)
                await until(lambda: not Path(f"/proc/{child}").exists(), 30, "the child is gone")
                self.assertEqual(list(Path(directory).glob("sophon-demo-*")), [])
            finally:
                await demo.close()


class DemoWithOppiTests(Scenarios):
    @scenario(60)
    async def test_what_is_written_on_the_phone_reaches_oppi(self):
        with tempfile.TemporaryDirectory(prefix="demo-") as directory:
            async with OppiServer(Path(directory, "oppi")) as server:
                demo = Simulator(directory, "--agent", "oppi", "--plain", command="demo", environment={
                    "OPPI_URL": server.url, "OPPI_TOKEN": server.token, "TMPDIR": directory, "NO_COLOR": "1"})
                await demo.start()
                try:
                    await demo.connected()
                    bubble = await demo.ended(await demo.write("hello"))
                    self.assertEqual(bubble["text"], "You said: hello")
                    self.assertEqual(await demo.breaches(), [])
                    self.assertEqual(await demo.end(signal.SIGTERM), 0)
                finally:
                    await demo.close()


class DemoWithCodexTests(Scenarios):
    @scenario(60)
    async def test_a_second_signal_leaves_no_server_and_no_keys(self):
        with tempfile.TemporaryDirectory(prefix="demo-") as directory:
            codex = CodexDouble(Path(directory, "codex"))
            demo = Simulator(directory, "--agent", "codex", command="demo", environment=codex.environment | {
                "CODEX_COMMAND": shlex.join(COMMAND), "CODEX_HOME": f"{directory}/home", "TMPDIR": directory, "NO_COLOR": "1",
                "SOPHON_WORKSPACE": work(directory)})
            await demo.start()
            try:
                await demo.connected()
                await until(codex.servers, 30, "the server is there")
                # The signals are of two kinds, because two pending ones of one kind count as one.
                demo.process.send_signal(signal.SIGTERM)
                demo.process.send_signal(signal.SIGINT)
                self.assertIn(await demo.end(), (0, 1))
                self.assertEqual(list(Path(directory).glob("sophon-demo-*")), [])
                server = codex.servers()[-1]
                await until(lambda: not Path(f"/proc/{server}").exists(), 10, "the server is gone")
            finally:
                await demo.close()
                codex.end()


class DemoWithoutAgentTests(Scenarios):
    @scenario(60)
    async def test_a_program_that_is_missing_is_said_before_the_first_message(self):
        with tempfile.TemporaryDirectory(prefix="demo-") as directory:
            demo = Simulator(directory, "--agent", "claude", command="demo", environment={
                "CLAUDE_COMMAND": "/nowhere/claude", "TMPDIR": directory, "NO_COLOR": "1", "SOPHON_WORKSPACE": work(directory)})
            await demo.start()
            try:
                said = (await asyncio.wait_for(demo.process.stderr.readline(), 30)).decode()
                self.assertIn("Claude Code cannot be used: the program /nowhere/claude was not found", said)
                self.assertIn("CLAUDE_COMMAND", said)
                self.assertEqual(await demo.end(signal.SIGTERM), 0)
            finally:
                await demo.close()

    @scenario(30)
    async def test_a_workspace_that_cannot_be_used_ends_it(self):
        with tempfile.TemporaryDirectory(prefix="demo-") as directory:
            outcome = await once("demo", "--agent", "claude", directory=directory, environment={
                "SOPHON_WORKSPACE": f"{directory}/none", "TMPDIR": directory})
            self.assertEqual(outcome.code, 2, outcome)
            self.assertIn("is not there", outcome.err)
            self.assertIn("SOPHON_WORKSPACE", outcome.err)
            self.assertEqual(list(Path(directory).glob("sophon-demo-*")), [])


class DemoOptionsTests(Scenarios):
    @scenario(30)
    async def test_what_does_not_fit_together_or_cannot_be_listened_on_is_said_with_a_remedy(self):
        with tempfile.TemporaryDirectory(prefix="demo-") as directory:
            for options, words in (
                    (("--agent", "openclaw", "--once"), "--once ends with the recorded runs"),
                    (("--agent", "openclaw", "--speed", "4"), "--speed is that of recorded runs"),
                    (("--agent", "nobody"), "expected one that this version runs: openclaw"),
                    (("--stay", "--once"), "opposite things")):
                outcome = await once("demo", *options, "--listen", "127.0.0.1:0", directory=directory)
                self.assertEqual((outcome.code, outcome.out), (2, ""), outcome)
                self.assertIn(words, outcome.err)
                self.assertIn("try: sophon-bridge demo", outcome.err)
            for address in ("0.0.0.0:0", "relay.example:0", "127.0.0.1:99999"):
                told = [await once(command, "--listen", address, directory=directory) for command in ("demo", "simulate")]
                self.assertEqual([outcome.code for outcome in told], [2, 2], told)
                self.assertEqual(told[0].err, told[1].err)


# Reports how it was started, with shell builtins alone: the shell blocks signals when it starts other programs.
BROWSER = """#!/bin/sh
exec > "$PLACE/new"
while IFS= read -r line; do echo "$line"; done < /proc/self/status
IFS= read -r line < /proc/self/stat
echo "$line"
echo "$1"
exec mv "$PLACE/new" "$PLACE/opened"
"""


class DemoOnATerminalTests(Scenarios):
    @scenario(60)
    async def test_the_browser_is_free_of_us_and_is_not_left_behind(self):
        with tempfile.TemporaryDirectory(prefix="demo-") as directory:
            browser, opened = Path(directory, "browser"), Path(directory, "opened")
            browser.write_text(BROWSER)
            browser.chmod(0o755)
            terminal, ours = os.openpty()
            loop = asyncio.get_running_loop()
            process = await asyncio.create_subprocess_exec(
                *bridge_command(), "demo", "--listen", "127.0.0.1:0", stdin=asyncio.subprocess.DEVNULL, stdout=ours,
                stderr=ours, cwd=directory, preexec_fn=_die_with_the_parent,
                env={"PATH": os.environ["PATH"], "HOME": directory, "BROWSER": str(browser), "PLACE": directory})
            os.close(ours)
            # Unread output would block the program.
            os.set_blocking(terminal, False)
            loop.add_reader(terminal, drained, terminal)
            try:
                await until(opened.exists, 15, "the browser is started")
                lines = opened.read_text().splitlines()
                self.assertRegex(lines[-1], r"^http://127\.0\.0\.1:\d+/.*#")
                about = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
                self.assertEqual(int(about["SigBlk"], 16), 0)
                self.assertEqual(int(about["SigIgn"], 16) & 1 << signal.SIGPIPE - 1, 0)
                self.assertEqual(lines[-2].rsplit(")", 1)[1].split()[3], about["Pid"], "a session of its own")
                await until(lambda: not Path("/proc", about["Pid"]).exists(), 10, "the browser is reaped")
                self.assertIsNone(process.returncode)
                process.send_signal(signal.SIGINT)
                self.assertEqual(await asyncio.wait_for(process.wait(), 60), 0)
            finally:
                loop.remove_reader(terminal)
                os.close(terminal)
                if process.returncode is None:
                    process.kill()
                    await process.wait()


def drained(terminal):
    try:
        os.read(terminal, 65_536)
    except OSError:
        # The reader is removed: an ended terminal would be reported again and again.
        asyncio.get_running_loop().remove_reader(terminal)


class DemoOfRecordingsTests(Scenarios):
    async def strike(self, kind):
        """Plays the recorded runs, with one refusal of a call that asks the person."""
        with tempfile.TemporaryDirectory(prefix="demo-") as directory:
            demo = Simulator(directory, "--once", "--speed", "4", command="demo", environment={"NO_COLOR": "1"})
            try:
                await demo.start()
                await demo.user("POST", "/v1/simulator/faults", {"kind": kind, "method": "requestApproval", "count": 2})
                self.assertEqual(await demo.end(seconds=40), 0)
                events = [json.loads(line) for line in (await demo.process.stdout.read()).splitlines()]
                self.assertEqual([event["event"] for event in events].count("turn_ended"), 5, events)
                self.assertRegex((await demo.process.stderr.read()).decode(), r"refused approval\(.*: 4\d\d .* As asked for")
            finally:
                await demo.close()

    @scenario(60)
    async def test_it_ends_though_the_relay_may_not_show_an_approval(self):
        await self.strike("permission_denied")

    @scenario(60)
    async def test_it_ends_though_the_turn_of_an_approval_is_too_old(self):
        await self.strike("interaction_expired")

    @scenario(60)
    async def test_it_ends_though_the_chat_of_an_approval_was_deleted(self):
        await self.strike("session_deleted")


if __name__ == "__main__":
    unittest.main()
