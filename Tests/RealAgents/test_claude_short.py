"""The shortest test with the real Claude Code, run by CI: one conversation, in one process."""

import unittest

from claude_real_stage import ClaudeRealStage
from peers.claude_steps import Say, bash
from scheduling import Scenarios, scenario


class ShortTests(Scenarios):
    @scenario(60)
    async def test_a_conversation_with_a_call_that_is_allowed(self):
        async with ClaudeRealStage() as stage:
            turn = await stage.ask("Write a label.", Say(["I ", "ask."]), bash("echo one >> effects"), Say(["It is ", "written."]))
            card = await stage.card(turn)
            self.assertEqual((card["command"], stage.effects()), ("echo one >> effects", []))
            await stage.decide_card(card, "approve")
            self.assertEqual(await stage.final(turn), "I ask.\n\nIt is written.")
            process = stage.children()
            self.assertEqual(len(process), 1)
            again = await stage.ask("Thank you.", Say(["You are ", "welcome."]), session=turn["session_id"])
            self.assertEqual(await stage.final(again), "You are welcome.")
            self.assertEqual((stage.children(), stage.effects()), (process, ["one"]))
            self.assertEqual(stage.model.texts(), ["Write a label."] * 2 + ["Thank you."])
            await stage.check(turn, again)


if __name__ == "__main__":
    unittest.main()
