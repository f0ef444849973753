"""The example for authors of bridges converses through the simulator, as the real bridge would."""

import asyncio
import os
import signal
import sys
import tempfile
import unittest
from contextlib import asynccontextmanager
from pathlib import Path

from harness import HERE, _children, _die_with_the_parent, until
from scheduling import Scenarios, scenario
from simulator import PhoneStream, Simulator

EXAMPLE = HERE.parent.parent / "Examples" / "python_bridge.py"


class Example:
    def __init__(self, simulator):
        self.simulator = simulator

    async def start(self):
        self.process = await asyncio.create_subprocess_exec(
            sys.executable, str(EXAMPLE), stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE, preexec_fn=_die_with_the_parent,
            env={"PATH": os.environ["PATH"], "SOPHON_BASE_URL": self.simulator.url,
                 "SOPHON_BOT_TOKEN": self.simulator.token})
        _children.add(self.process.pid)
        await self.simulator.connected()
        return self

    async def kill(self):
        if self.process.returncode is None:
            os.kill(self.process.pid, signal.SIGKILL)
        await self.process.wait()
        _children.discard(self.process.pid)


@asynccontextmanager
async def world(*options):
    with tempfile.TemporaryDirectory(prefix="python-bridge-") as directory:
        simulator = Simulator(directory, *options)
        example = None
        try:
            await simulator.start()
            example = await Example(simulator).start()
            yield simulator, example
        finally:
            if example:
                await example.kill()
            await simulator.close()


class PythonBridgeTests(Scenarios):
    async def ends_with(self, simulator, sent, text):
        bubble = await simulator.ended(sent, 45)
        self.assertEqual(bubble["text"], text)
        self.assertEqual(await simulator.breaches(), [])

    async def approval(self, simulator):
        async def asked():
            return (await simulator.user("GET", "/v1/me/snapshot"))["pending_approvals"]
        return (await simulator.poll(asked, 30, "an approval is asked"))[0]

    @scenario(60)
    async def test_the_python_bridge_streams_its_answer_and_shows_a_task(self):
        async with world() as (simulator, _):
            phone = await PhoneStream(simulator).attach()
            sent = await simulator.write("one two three four five")
            await self.ends_with(simulator, sent, "one two three four five")
            await until(lambda: any(name == "message_finalized" for _, name, _ in list(phone.events)), 30, "the phone has seen it")
            self.assertEqual(phone.text(sent["interaction_id"]), "one two three four five ")
            names = [name for _, name, data in phone.events if data.get("interaction_id") == sent["interaction_id"]]
            self.assertEqual(names, ["message_added", "message_added", "task_created", "task_completed",
                                     *["message_delta"] * 5, "message_finalized"])
            tasks = (await simulator.bubbles(sent))[0]["tasks"]
            self.assertEqual([(task["kind"], task["status"], task["result"]) for task in tasks],
                             [("count", "completed", {"words": 5})])

    @scenario(60)
    async def test_the_python_bridge_asks_and_does_as_it_is_told(self):
        async with world() as (simulator, _):
            for decision, text in (("approve", "You said yes. approve it?"), ("deny", "You said no. approve it?")):
                sent = await simulator.write("approve it?")
                asked = await self.approval(simulator)
                self.assertEqual((asked["severity"], asked["command"]), ("medium", "echo approve it?"))
                await simulator.user("POST", f"/v1/me/approvals/{asked['approval_id']}", {"decision": decision})
                await self.ends_with(simulator, sent, text)

    @scenario(60)
    async def test_the_python_bridge_obeys_stop(self):
        async with world() as (simulator, _):
            for body in ({"interaction_id": None}, {}):
                sent = await simulator.write("approve this one")
                await self.approval(simulator)
                if body:
                    body = {"interaction_id": sent["interaction_id"]}
                await simulator.user("POST", f"/v1/me/sessions/{sent['session_id']}/stop", body)
                await self.ends_with(simulator, sent, "Stopped.")

    @scenario(60)
    async def test_what_the_python_bridge_has_not_the_phone_is_told(self):
        async with world() as (simulator, _):
            for path in ("/v1/me/models", "/v1/me/cron"):
                with self.assertRaisesRegex(AssertionError, "502 .*unknown_request"):
                    await simulator.user("GET", path)
            self.assertEqual(await simulator.breaches(), [])

    @scenario(120)
    async def test_the_python_bridge_bears_limits_failures_and_lost_answers(self):
        options = [word for kind in ("429:2", "reply_lost:2", "503", "reset:2", "truncated:2", "html", "doubled:2",
                                     "second_id") for word in ("--fault", kind)]
        async with world(*options) as (simulator, _):
            text = " ".join(f"word-{number}" for number in range(30))
            sent = await simulator.write(text)
            await self.ends_with(simulator, sent, text)

    @scenario(90)
    async def test_four_streams_of_the_python_bridge_stay_within_the_limits(self):
        async with world() as (simulator, _):
            texts = [" ".join(f"{chat}-{number}" for number in range(60)) for chat in range(4)]
            asked = [await simulator.write(text) for text in texts]
            for sent, text in zip(asked, texts):
                await self.ends_with(simulator, sent, text)

    @scenario(60)
    async def test_the_python_bridge_goes_on_after_a_kill(self):
        async with world() as (simulator, example):
            sent = await simulator.write("approve me")
            asked = await self.approval(simulator)
            await example.kill()
            await simulator.user("POST", f"/v1/me/approvals/{asked['approval_id']}", {"decision": "approve"})
            await example.start()
            await self.ends_with(simulator, sent, "You said yes. approve me")


if __name__ == "__main__":
    unittest.main()
