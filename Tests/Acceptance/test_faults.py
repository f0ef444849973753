"""A relay that fails a quarter of all calls in five ways."""

import unittest

from harness import Stage
from peers.relay import FAULTS, Faults
from peers.steps import Say
from scheduling import Scenarios, scenario
from stories import journey, with_approval, words


class FaultTests(Scenarios):
    async def fail_a_quarter(self, era, seed):
        async with Stage(era) as stage:
            stage.relay.faults = Faults(0.25, seed)
            asked = []
            for number in range(6):
                steps, final = journey(f"journey {number}.", era)
                asked.append((stage.ask(f"journey {number}.", *steps), final))
            for number, detached in enumerate((None, True)):
                steps, final = with_approval(f"server {number}.", era, detached)
                asked.append((stage.ask(f"restart {number}.", *steps), final))
                stage.relay.decide(await stage.approval(asked[-1][0], 30), "approve")
            asked.append((stage.ask("plain", Say(words("plain", 60))), "".join(words("plain", 60)).strip()))
            await stage.ended(*(turn for turn, _ in asked), seconds=60)
            for turn, final in asked:
                stage.expect(turn, final)
            self.assertEqual({call.fault for call in stage.relay.calls} - {None}, set(FAULTS))
            self.assertEqual(len(stage.gateway.commands), 2)
            stage.check(*(turn for turn, _ in asked))

    @scenario(90)
    async def test_a_quarter_of_all_calls_fails_and_nobody_sees_it_in_E1(self):
        await self.fail_a_quarter("E1", 11)

    @scenario(90)
    async def test_a_quarter_of_all_calls_fails_and_nobody_sees_it_in_E2(self):
        await self.fail_a_quarter("E2", 12)

    @scenario(90)
    async def test_a_quarter_of_all_calls_fails_and_nobody_sees_it_in_E3(self):
        await self.fail_a_quarter("E3", 13)

    @scenario(90)
    async def test_a_quarter_of_all_calls_fails_and_nobody_sees_it_in_E4(self):
        await self.fail_a_quarter("E4", 14)

    @scenario(90)
    async def test_kills_while_a_quarter_of_all_calls_fails(self):
        async with Stage("E3") as stage:
            stage.relay.faults = Faults(0.25, 15)
            asked = []
            for number in range(4):
                steps, final = journey(f"both {number}.", "E3", every=0.1)
                asked.append((stage.ask(f"both {number}.", *steps), final))
                await stage.streaming(asked[-1][0], 30)
                await stage.bridge.restart_after_kill()
            await stage.ended(*(turn for turn, _ in asked), seconds=60)
            for turn, final in asked:
                stage.expect(turn, final)
            stage.check(*(turn for turn, _ in asked))


if __name__ == "__main__":
    unittest.main()
