"""The shortest test with the real Codex, run by CI: one conversation and one kill."""

import unittest

from model import Command, Hold, Say
from real_stage import RealStage
from scheduling import Scenarios, scenario


class ShortTests(Scenarios):
    @scenario(120)
    async def test_a_conversation_and_a_kill_of_the_bridge(self):
        async with RealStage() as stage:
            turn = await stage.ask("Count the packets.", [Say("I look.", "commentary"), Command("ls packets | wc -l")],
                                   [Say("There are 3 packets.")])
            self.assertEqual(await stage.final(turn), "I look.\n\nThere are 3 packets.")
            again = await stage.ask("Water the beds.", [Say("I begin.", "commentary"), Command("touch watered")],
                                    [Say("Half of them. "), Hold("rest"), Say("All of them.")], session=turn["session_id"])
            await stage.shows(again, "Half of them.")
            stage.bridge.kill9()
            await stage.bridge.exit()
            stage.model.release("rest")
            server, = stage.servers()
            await stage.bridge.start()
            self.assertEqual(await stage.final(again), "I begin.\n\nHalf of them. \n\nAll of them.")
            self.assertEqual(stage.servers(), [server])
            self.assertEqual(stage.model.texts(), ["Count the packets."] * 2 + ["Water the beds."] * 2)
            self.assertTrue(list(stage.directory.rglob("watered")))
            await stage.check(turn, again)


if __name__ == "__main__":
    unittest.main()
