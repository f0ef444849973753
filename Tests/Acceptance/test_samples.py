"""A bridge with the habits of the relay's own sample connectors, against `simulate` and `simulate --strict`."""

import asyncio
import json
import signal
import sys
import tempfile
import unittest
from contextlib import asynccontextmanager

from commands import once
from harness import HERE, _children, _die_with_the_parent, until
from scheduling import Scenarios, scenario
from simulator import Simulator

SAMPLE = HERE.parent / "Peers" / "sample_bridge.py"


class Sample:
    def __init__(self, simulator, style):
        self.simulator, self.style, self.said = simulator, style, []

    async def start(self):
        self.process = await asyncio.create_subprocess_exec(
            sys.executable, str(SAMPLE), self.simulator.url, self.simulator.token, self.style,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
            preexec_fn=_die_with_the_parent)
        _children.add(self.process.pid)
        self._reader = asyncio.create_task(self._read())
        await self.simulator.connected()
        return self

    async def _read(self):
        while line := await self.process.stdout.readline():
            self.said.append(line.decode().split())

    async def close(self):
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()
        await self._reader
        _children.discard(self.process.pid)


@asynccontextmanager
async def world(style, *options, is_strict=False):
    with tempfile.TemporaryDirectory(prefix="samples-") as directory:
        simulator = Simulator(directory, *options, is_strict=is_strict)
        sample = None
        try:
            await simulator.start()
            sample = await Sample(simulator, style).start()
            yield simulator, sample
        finally:
            if sample:
                await sample.close()
            await simulator.close()


async def warnings(simulator):
    found = (await simulator.user("GET", "/v1/simulator/warnings"))["warnings"]
    return {(warning["code"], warning["method"]): warning["count"] for warning in found}


class SampleTests(Scenarios):
    @scenario(60)
    async def test_a_bridge_like_the_samples_converses_and_is_warned(self):
        text = "héllo — one two three four five six seven eight"
        for style in ("index", "text"):
            async with world(style) as (simulator, sample):
                sent = await simulator.write(text)
                bubble = await simulator.ended(sent)
                self.assertEqual(bubble["text"], f"Echo from the sample: {text}")
                self.assertEqual(await simulator.breaches(), [])
                deltas = -(-len(bubble["text"]) // 24)
                self.assertEqual(await warnings(simulator), {
                    ("emptyPlaceholder", "sendMessage"): 1, ("keyOutsideAlphabet", "sendMessage"): 1,
                    ("keyOutsideAlphabet", "sendMessageDelta"): deltas, ("keyOutsideAlphabet", "sendMessageEnd"): 1})
                # Each answer has the warning as well.
                await until(lambda: ["answered", sent["interaction_id"]] in sample.said, 30, "the sample has answered")
                self.assertEqual([words[:3] for words in sample.said if words[1] == "sendMessage"],
                                 [["warned", "sendMessage", "emptyPlaceholder:"], ["warned", "sendMessage", "keyOutsideAlphabet:"]])
                self.assertEqual(sum(words[:2] == ["warned", "sendMessageDelta"] for words in sample.said), deltas)
                state = await simulator.user("GET", "/v1/simulator/state")
                self.assertEqual((state["warnings"], state["breaches"]), (deltas + 3, 0))
                errors = asyncio.create_task(simulator.process.stderr.read())
                events = asyncio.create_task(simulator.process.stdout.read())
                self.assertEqual(await simulator.end(signal.SIGTERM), 0)
                said = (await errors).decode()
                self.assertIn(f"0 breaches of the relay's rules, {deltas + 3} warnings", said)
                last = json.loads((await events).splitlines()[-1])
                self.assertEqual([last[name] for name in ("event", "breaches", "warnings")], ["shutdown", 0, deltas + 3])
                self.assertIn(f"warning keyOutsideAlphabet in {deltas} sendMessageDelta", said)

    @scenario(60)
    async def test_deltas_that_do_not_wait_and_an_end_in_error_are_warned_of(self):
        async with world("stdio", "--fault", "slow:3") as (simulator, _):
            sent = await simulator.write("one two three four five six seven eight nine ten")
            await simulator.ended(sent)
            self.assertEqual(await simulator.breaches(), [])
            found = await warnings(simulator)
            self.assertIn(("overlap", "sendMessageDelta"), found)
            self.assertEqual(found["undocumentedFinishReason", "sendMessageEnd"], 1)

    @scenario(60)
    async def test_a_strict_simulator_refuses_the_same_bridge(self):
        async with world("index", is_strict=True) as (simulator, sample):
            sent = await simulator.write("hello")
            await until(lambda: sample.said, 30, "the sample is refused")
            self.assertEqual(sample.said[0][:3], ["refused", "sendMessage", "400"])
            self.assertEqual(await simulator.bubbles(sent), [])
            self.assertEqual([breach["code"] for breach in await simulator.breaches()], ["malformedRequest"])
            self.assertEqual(await warnings(simulator), {})

    @scenario(60)
    async def test_warnings_are_kept_with_the_state(self):
        with tempfile.TemporaryDirectory(prefix="samples-") as directory:
            simulator = Simulator(directory, "--state", f"{directory}/relay.json", is_strict=False)
            try:
                await simulator.start()
                sample = await Sample(simulator, "index").start()
                await simulator.ended(await simulator.write("hello"))
                before = await warnings(simulator)
                await sample.close()
                self.assertEqual(await simulator.end(signal.SIGTERM), 0)
                await simulator.start()
                self.assertEqual(await warnings(simulator), before)
            finally:
                await simulator.close()


FOREIGN = """\
{"at_ms":0,"dir":"out","frame":{"_proc":"spawn","args":["--acp"]}}
{"at_ms":1,"dir":"out","frame":{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s1"}}}
{"at_ms":2,"dir":"in","frame":{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1"}}}
"""


class RecordingTests(Scenarios):
    @scenario(60)
    async def test_replay_asks_which_agent_a_recording_comes_from_and_says_when_it_could_read_nothing(self):
        with tempfile.TemporaryDirectory(prefix="recording-") as directory:
            for name, text in (("foreign.jsonl", FOREIGN), ("empty.jsonl", "")):
                with open(f"{directory}/{name}", "w") as file:
                    file.write(text)
            for more in ([], ["--expect", "calls.golden", "--rewrite"]):
                asked = await once("replay", "foreign.jsonl", *more, directory=directory)
                self.assertEqual(asked.code, 2, asked)
                self.assertIn("say it with --agent", asked.err)
                for agent in ("openclaw", "oppi", "pi"):
                    wrong = await once("replay", "foreign.jsonl", "--agent", agent, *more, directory=directory)
                    self.assertEqual(wrong.code, 1, wrong)
                    self.assertIn(f"none of its 3 frames can be read as {agent}'s", wrong.err)
                empty = await once("replay", "empty.jsonl", *more, directory=directory)
                self.assertEqual(empty.code, 1, empty)
                self.assertIn("holds no frame of an agent", empty.err)


if __name__ == "__main__":
    unittest.main()
