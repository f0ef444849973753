"""`journal` and `explain`: what the bridge has written down, for those who ask."""

import unittest

from commands import once
from harness import Stage
from peers.steps import Say
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


if __name__ == "__main__":
    unittest.main()
