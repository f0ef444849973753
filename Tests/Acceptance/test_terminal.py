"""Text of far sides on the person's terminal: it cannot move the cursor, and none of it looks like a line of the bridge."""

import asyncio
import unittest

from commands import once
from harness import Stage, until
from peers.handshake import Refusal
from peers.sealed_phone import SealedPhone
from peers.steps import Fail, Say
from scheduling import Scenarios, scenario
from simulated import SimulatedStage

FORGED = "default  1  pinned  dev_ada  key 3f9c"
HOSTILE = f"no\x1b[3A\x1b[2K\r\n{FORGED}\u202e\u2028\x9b31m\u200b\U000e0041"


class TerminalTests(Scenarios):
    def check(self, said, what):
        for text in (said.out, said.err):
            for letter in ("\x1b", "\x9b", "\r", "\u202e", "\u2028", "\x07", "\u200b", "\U000e0041"):
                self.assertNotIn(letter, text, what)
            self.assertFalse([line for line in text.splitlines() if line.lstrip().startswith(FORGED)], f"{what}: {text}")

    @scenario(90)
    async def test_words_of_an_agent_stay_in_their_line(self):
        async with Stage(start=False) as stage:
            stage.gateway.refusals = [Refusal("INVALID_REQUEST", HOSTILE, details={"code": "AUTH_SCOPE_MISMATCH"}) for _ in range(40)]
            await stage.bridge.start(ready_seconds=0)
            await until(lambda: FORGED in "".join(stage.bridge.stderr), 30, "the refusal in the log")
            async def said(*words):
                return await once(*words, directory=stage.directory, environment=stage.bridge.environment)
            for _ in range(60):
                status = await said("status")
                if FORGED in status.out:
                    break
                await asyncio.sleep(0.25)
            self.assertIn(FORGED, status.out, "the reason is said, and in one line")
            self.check(status, "status")
            self.assertEqual([line for line in "".join(stage.bridge.stderr).splitlines() if line.startswith(FORGED)], [])
            stage.gateway.refusals = [Refusal("INVALID_REQUEST", HOSTILE, details={"code": "AUTH_SCOPE_MISMATCH"})]
            stage.bridge.terminate()
            await stage.bridge.exit()
            doctor = await said("doctor")
            self.assertIn(FORGED, doctor.out)
            self.check(doctor, "doctor")
            stage.gateway.refusals = []
            await stage.bridge.start()
            turn = stage.ask("Hello?", Say(["Yes. "]), Fail(HOSTILE))
            await stage.ended(turn)
            for words in (["explain", turn.interaction], ["journal", "inspect"], ["status"]):
                self.check(await said(*words), words[0])

    @scenario(90)
    async def test_a_label_of_a_device_stays_in_its_line(self):
        async with SimulatedStage() as stage:
            phone = SealedPhone(stage.simulator.url, stage.simulator.user_token, HOSTILE)
            await asyncio.to_thread(phone.bridge)
            await asyncio.to_thread(phone.register)
            for _ in range(80):
                listed = await once("devices", "list", directory=stage.directory, environment=stage.bridge.environment)
                if phone.device in listed.out:
                    break
                await asyncio.sleep(0.25)
            self.assertIn(phone.device, listed.out)
            self.check(listed, "devices list")


if __name__ == "__main__":
    unittest.main()
