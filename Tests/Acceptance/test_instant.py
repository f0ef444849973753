"""The agent's first frame follows its acknowledgement at once."""

import unittest

from harness import Stage
from peers.steps import Say
from scheduling import Scenarios, scenario


class InstantTests(Scenarios):
    async def speak(self, era, instant):
        async with Stage(era) as stage:
            stage.gateway.instant = instant
            asked = [(stage.ask(f"quick {number}.", Say([f"All {number} ", "said ", f"at once ({number})."], every=0)), number)
                     for number in range(100)]
            await stage.ended(*(turn for turn, _ in asked), seconds=60)
            for turn, number in asked:
                stage.expect(turn, f"All {number} said at once ({number}).")
            stage.check(*(turn for turn, _ in asked))

    @scenario(90)
    async def test_100_of_100_runs_are_whole_when_the_frames_follow_the_answer_in_one_write(self):
        await self.speak("E3", "after")

    @scenario(90)
    async def test_100_of_100_runs_are_whole_when_the_frames_come_before_the_answer(self):
        await self.speak("E4", "before")

    @scenario(90)
    async def test_100_of_100_runs_are_whole_on_an_early_gateway(self):
        await self.speak("E1", "after")


if __name__ == "__main__":
    unittest.main()
