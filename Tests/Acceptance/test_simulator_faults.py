"""The real bridge with the real simulator, which fails at random."""

import asyncio
import unittest

from peers.steps import Say
from scheduling import Scenarios, scenario
from simulated import SimulatedStage
from stories import journey, with_approval, words


class MixTests(Scenarios):
    async def bear(self, *options):
        async with SimulatedStage(*options) as stage:
            asked = []
            decider = asyncio.create_task(stage.decide())
            for number in range(5):
                steps, final = journey(f"journey {number}.", "E3")
                asked.append((await stage.ask(f"journey {number}.", *steps), final))
            steps, final = with_approval("server", "E3")
            asked.append((await stage.ask("restart it.", *steps), final))
            asked.append((await stage.ask("plain", Say(words("plain", 80))), "".join(words("plain", 80)).strip()))
            await stage.ended(*(turn for turn, _ in asked), seconds=80)
            decider.cancel()
            # Calls after the faults succeed as well.
            after = await stage.ask("after", Say(words("after")), session=asked[0][0]["session_id"])
            asked.append((after, "".join(words("after")).strip()))
            await stage.ended(after)
            for turn, final in asked:
                bubbles = await stage.answers(turn)
                self.assertEqual([bubble["text"] for bubble in bubbles], [final])
            self.assertEqual(await stage.simulator.breaches(), [])
            self.assertEqual(len(stage.gateway.commands), 1)
            self.assertEqual({count for count in stage.gateway.starts.values()}, {1})
            state = await self.settled(stage)
            # The number of faults that strike depends on how many calls the text is joined into.
            self.assertGreater(state["tally"]["faults"], 2)

    async def settled(self, stage):
        """Waits until no update is pending: a lost acknowledgement is repeated with its update, after 5 s."""
        for _ in range(600):
            state = await stage.simulator.call("GET", "/v1/simulator/state")
            if not state["pending_updates"]:
                return state
            await asyncio.sleep(0.1)
        self.fail(f"{state['pending_updates']} updates are still not acknowledged")

    @scenario(120)
    async def test_a_mix_by_seed_1_is_borne(self):
        await self.bear("--fault-rate", "0.1", "--fault-seed", "1")

    @scenario(120)
    async def test_a_mix_by_seed_2_is_borne(self):
        await self.bear("--fault-rate", "0.1", "--fault-seed", "2")

    @scenario(120)
    async def test_a_mix_by_seed_3_is_borne(self):
        await self.bear("--fault-rate", "0.1", "--fault-seed", "3")

    @scenario(120, weight=2)
    async def test_each_bearable_fault_alone_is_borne(self):
        async with SimulatedStage() as stage:
            kinds = (await stage.simulator.call("GET", "/v1/simulator/faults"))["kinds"]
        waiting = [kind for kind in kinds if kind["is_bearable"]]

        async def work():
            while waiting:
                kind = waiting.pop()
                await self.bear_alone(kind["kind"], kind["strikes"])
        await asyncio.gather(*(work() for _ in range(3)))

    async def bear_alone(self, kind, strikes):
        # Consecutive failed connections make a bridge's pauses longer, so each kind has a bridge of its own.
        async with SimulatedStage() as stage:
            await stage.simulator.call("POST", "/v1/simulator/faults", {"kind": kind, "count": 3 if strikes == "call" else 1})
            if strikes == "connection":
                await stage.simulator.call("POST", "/v1/simulator/socket/drop", {})
            steps, final = journey(f"through {kind}.", "E3", count=4)
            turn = await stage.ask(f"through {kind}.", *steps)
            await stage.ended(turn)
            self.assertEqual([bubble["text"] for bubble in await stage.answers(turn)], [final], kind)
            self.assertEqual(await stage.simulator.breaches(), [], kind)
            self.assertGreater((await self.settled(stage))["tally"]["faults"], 0)

    @scenario(120)
    async def test_restarts_of_the_relay_are_borne(self):
        await self.bear("--fault", "restart:2", "--fault", "reply_lost:4", "--fault", "backlog:2")


if __name__ == "__main__":
    unittest.main()
