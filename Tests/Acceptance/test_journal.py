"""`journal` and `explain`: what the bridge has written down, for those who ask."""

import asyncio
import unittest

from commands import lines_of, once
from harness import Stage
from peers.steps import Say, Tool
from scheduling import Scenarios, scenario
from stories import words


class JournalTests(Scenarios):
    @scenario(60)
    async def test_the_journal_of_a_running_bridge_is_not_cleaned(self):
        async with Stage("E3") as stage:
            outcome = await once("journal", "clean", directory=stage.directory, environment=stage.environment())
            self.assertEqual(outcome.code, 24, outcome)
            self.assertIn(f"process {stage.bridge.pid}", outcome.err)
            turn = stage.ask("on", Say(words("on", 20)))
            await stage.ended(turn)
            stage.check(turn)
            stage.bridge.terminate()
            self.assertEqual(await stage.bridge.exit(), 0)
            outcome = await once("journal", "clean", directory=stage.directory, environment=stage.environment())
            self.assertEqual(outcome.code, 0, outcome)
            self.assertIn("forgot 0 closed turns", outcome.out)

    @scenario(60)
    async def test_explain_tells_the_life_of_a_turn_by_any_of_its_names(self):
        async with Stage("E3") as stage:
            turn = stage.ask("on", Say(words("a")), Tool(), Say(words("b")))
            await stage.ended(turn)
            say = lambda *arguments: once(*arguments, directory=stage.directory, environment=stage.environment())
            end = f"{turn.interaction}-end"
            ids = [turn.interaction, turn.message_id, turn.update_id, end, next(iter(stage.gateway.runs)),
                   next(call.request_id for call in stage.relay.calls if call.method == "sendMessageEnd")]
            # That the end is delivered is written once its answer has been read.
            for _ in range(240):
                if f"call {end}, try 1: delivered" in (await say("explain", turn.interaction)).out:
                    break
                await asyncio.sleep(0.25)
            for name in ids:
                outcome = await say("explain", name)
                self.assertEqual(outcome.code, 0, (name, outcome))
                self.assertIn(f"turn {turn.interaction} of connection default", outcome.out)
                self.assertIn(f"received and accepted message {turn.message_id}", outcome.out)
                self.assertIn(f"call {end}, try 1: delivered", outcome.out)
            told = lines_of((await say("explain", turn.interaction, "--json")).out)
            self.assertEqual(told[0]["event"], "turn")
            calls = {event["key"]: event for event in told if event.get("key")}
            self.assertTrue(calls[end]["delivered"], calls)
            nobody = await say("explain", "int_nobody")
            self.assertEqual(nobody.code, 1)
            self.assertIn("knows nothing of int_nobody", nobody.err)
            # Nothing of what was said is in it.
            self.assertNotIn("a-1 ", outcome.out)


if __name__ == "__main__":
    unittest.main()
