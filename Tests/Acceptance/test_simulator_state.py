"""`simulate --state FILE`: a killed and restarted relay still has its chats, and the real bridge continues."""

import asyncio
import json
import os
import shutil
import signal
import tempfile
import unittest
from contextlib import asynccontextmanager
from pathlib import Path

from harness import Bridge, bridge_command, until
from peers.gateway import Gateway
from peers.steps import Hold, Say
from scheduling import Scenarios, scenario
from simulator import PhoneStream, Simulator
from stories import words


@asynccontextmanager
async def world(start_bridge=True):
    """A gateway in Python, the real bridge, and the simulator with a state file."""
    directory = Path(tempfile.mkdtemp(prefix="simulator-state-"))
    gateway = Gateway("E3")
    simulator = Simulator(directory, "--state", str(directory / "relay.json"))
    await gateway.__aenter__()
    bridge = None
    try:
        await simulator.start()
        bridge = Bridge(directory, {
            "SOPHON_BASE_URL": simulator.url, "SOPHON_BOT_TOKEN": simulator.token, "NO_COLOR": "1",
            "SOPHON_CONFIG_DIR": str(directory / "config"), "SOPHON_STATE_DIR": str(directory / "state"),
            "SOPHON_AGENT": "openclaw", "OPENCLAW_URL": gateway.url, "OPENCLAW_TOKEN": gateway.token,
            "OPENCLAW_STATE_DIR": str(directory / "openclaw")})
        if start_bridge:
            await bridge.start()
            await simulator.connected()
        yield simulator, bridge, gateway
    except BaseException as error:
        if bridge:
            error.add_note(bridge.story())
        raise
    finally:
        if bridge:
            await bridge.close()
        await simulator.close()
        await gateway.__aexit__()
        shutil.rmtree(directory, ignore_errors=True)


class SimulatorStateTests(Scenarios):
    async def check(self, simulator, sent, text):
        bubble = await simulator.ended(sent)
        self.assertEqual(bubble["text"], text)
        self.assertEqual(await simulator.breaches(), [])

    @scenario(90)
    async def test_an_answer_goes_on_when_the_relay_is_killed_between_its_parts(self):
        async with world() as (simulator, _, gateway):
            gateway.plan("go on", Say(words("before")), Hold("gate"), Say(words("after")))
            phone = await PhoneStream(simulator).attach()
            sent = await simulator.write("go on")
            await simulator.saved("before-11")
            await simulator.kill9_and_start()
            await phone.task
            again = await PhoneStream(simulator, phone.last).attach()
            await simulator.connected()
            gateway.release("gate")
            await self.check(simulator, sent, "".join(words("before") + words("after")).strip())
            await until(lambda: any(name == "message_finalized" for _, name, _ in again.events), 30, "the end is seen")
            ids = [number for number, _, _ in phone.events + again.events]
            self.assertEqual(ids, sorted(set(ids)), "no event twice, none out of order")
            streamed = phone.text(sent["interaction_id"]) + again.text(sent["interaction_id"])
            self.assertEqual(streamed.strip(), "".join(words("before") + words("after")).strip())
            states = [data["state"] for _, name, data in again.events if name == "installation_updated"]
            self.assertEqual(states, ["degraded", "connected"])

    @scenario(90)
    async def test_an_answer_is_whole_though_the_relay_is_killed_while_it_streams(self):
        async with world() as (simulator, _, gateway):
            text = words("word", 80)
            gateway.plan("stream", Say(text, every=0.05))
            sent = await simulator.write("stream")
            for mark in ("word-10 ", "word-30 "):
                await simulator.saved(mark)
                await simulator.kill9_and_start()
            await self.check(simulator, sent, "".join(text).strip())

    @scenario(90)
    async def test_a_message_that_nobody_has_taken_comes_after_the_relay_was_killed(self):
        async with world(start_bridge=False) as (simulator, bridge, gateway):
            gateway.plan("wait for me", Say(["Here I am."]))
            sent = await simulator.write("wait for me")
            await simulator.saved("wait for me")
            await simulator.kill9_and_start()
            await bridge.start()
            await self.check(simulator, sent, "Here I am.")
            await simulator.kill9_and_start()
            await simulator.connected()
            gateway.plan("and again", Say(["Still here."]))
            second = await simulator.write("and again", sent["session_id"])
            await self.check(simulator, second, "Still here.")
            self.assertEqual([send["text"] for send in gateway.sends], ["wait for me", "and again"])

    @scenario(60)
    async def test_what_is_no_state_is_left_alone_and_said(self):
        with tempfile.TemporaryDirectory(prefix="simulator-state-") as directory:
            file = Path(directory, "relay.json")
            for content, words_expected in (
                    ('{"name": "package"}', "is not a state of the simulator"), ("", "is broken at byte 0"),
                    ('{"format":"sophon-relay-simulator-state","version":99}', "has version 99"),
                    ('{"format":"sophon-relay-simulator-state","version":1,"iden', "is broken at byte")):
                file.write_text(content)
                code, said = await run("simulate", "--listen", "127.0.0.1:0", "--state", str(file))
                self.assertEqual(code, 2, said)
                self.assertIn(words_expected, said)
                self.assertIn("move it away", said)
                self.assertEqual(len(said.strip().splitlines()), 1, said)
                self.assertEqual(file.read_text(), content)

    @scenario(60)
    async def test_a_number_that_makes_no_sense_is_named(self):
        with tempfile.TemporaryDirectory(prefix="simulator-state-") as directory:
            file = Path(directory, "relay.json")
            simulator = await Simulator(directory, "--state", str(file)).start()
            self.assertEqual(await simulator.end(signal.SIGTERM), 0)
            whole = json.loads(file.read_text())
            for name, odd in (("next_update", -1_000_000), ("next_event", 2 ** 64 - 1)):
                file.write_text(json.dumps(whole | {name: odd}))
                code, said = await run("simulate", "--listen", "127.0.0.1:0", "--state", str(file))
                self.assertEqual(code, 2, said)
                self.assertIn(f"{name} is no whole number from 1", said)
                self.assertIn("move it away", said)

    @scenario(60)
    async def test_what_cannot_be_written_at_the_end_ends_with_1_and_the_remedy(self):
        with tempfile.TemporaryDirectory(prefix="simulator-state-") as directory:
            file = Path(directory, "relay.json")
            simulator = await Simulator(directory, "--state", str(file)).start()
            try:
                # A directory in the file's place cannot be written to, not even by root.
                Path(f"{file}.new").mkdir()
                await simulator.write("keep me")
                self.assertEqual(await simulator.end(signal.SIGTERM), 1)
                said = (await simulator.process.stderr.read()).decode().splitlines()
                self.assertRegex(said[-1], r"^sophon-bridge: cannot write .*relay\.json.*; the file lacks what came after")
                self.assertNotIn("keep me", file.read_text())
            finally:
                await simulator.close()

    @scenario(60)
    async def test_half_a_file_of_a_killed_writer_harms_nothing_and_one_process_alone_keeps_the_file(self):
        with tempfile.TemporaryDirectory(prefix="simulator-state-") as directory:
            file = Path(directory, "relay.json")
            simulator = await Simulator(directory, "--state", str(file)).start()
            try:
                sent = await simulator.write("keep me")
                self.assertEqual(await simulator.end(signal.SIGTERM), 0)
                whole = file.read_text()
                json.loads(whole)
                self.assertEqual(file.stat().st_mode & 0o777, 0o600)
                Path(f"{file}.new").write_text(whole[:200])
                await simulator.start()
                history = await simulator.history(sent["session_id"])
                self.assertEqual([message["text"] for message in history["messages"]], ["keep me"])
                code, said = await run("simulate", "--listen", "127.0.0.1:0", "--state", str(file))
                self.assertEqual(code, 24, said)
                self.assertIn("another process keeps", said)
            finally:
                await simulator.close()
            code, said = await run("simulate", "--listen", "127.0.0.1:0", "--state", f"{directory}/relay.json/below")
            self.assertEqual(code, 2, said)


async def run(*words_of_command):
    process = await asyncio.create_subprocess_exec(
        *bridge_command(), *words_of_command, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE, env={"PATH": os.environ["PATH"], "NO_COLOR": "1"})
    try:
        _, errors = await asyncio.wait_for(process.communicate(), 30)
    except TimeoutError:
        process.kill()
        raise AssertionError(f"{words_of_command} goes on instead of refusing") from None
    return process.returncode, errors.decode()


if __name__ == "__main__":
    unittest.main()
