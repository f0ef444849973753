"""A bridge whose clock differs from the relay's: each message has its bubble, and `status` shows the offset."""

import json
import unittest

from harness import Stage, until
from peers.steps import Say
from scheduling import Scenarios, scenario


def apart(minutes):
    @scenario(60)
    async def test(self):
        async with Stage("E3", start=False) as stage:
            stage.relay.ahead_seconds = -60 * minutes
            await stage.bridge.start()
            # The first message precedes any answer with the relay's time.
            for number in range(3):
                turn = stage.ask(f"Question {number}?", Say([f"Answer {number}."]))
                await stage.ended(turn)
                stage.expect(turn, f"Answer {number}.")
                stage.check(turn)
            self.assertEqual([call.code for call in stage.relay.refused()], [])

            def ahead():
                return json.loads((stage.state / "status.json").read_text())["connections"][0]["work"].get("clock_ahead_seconds")
            await until(lambda: ahead() is not None, 20, "status says it")
            self.assertLess(abs(ahead() - 60 * minutes), 3)
    return test


class ClockTests(Scenarios):
    test_ahead_of_the_relays = apart(35)
    test_behind_the_relays = apart(-35)


if __name__ == "__main__":
    unittest.main()
