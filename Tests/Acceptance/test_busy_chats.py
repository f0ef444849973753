"""Answers of a gateway under another id: in a chat with another client's run, after a restart, and behind a Stop."""

import asyncio
import time
import unittest

from harness import Stage, until
from peers.steps import Fail, Hold, Say, Tool
from scheduling import Scenarios, scenario
from stories import words


class BusyChatTests(Scenarios):
    async def visited(self, era):
        async with Stage(era) as stage:
            first = stage.ask("hello", Say(["Hello."]))
            await stage.ended(first)
            session = stage.gateway.sends[-1]["session"]
            stage.gateway.plan("from the desk", Say(words("desk", 4)), Hold("desk"), Say(["Desk done."]))
            stage.gateway.other_client_sends("from the desk", session, "desk-1")
            await stage.run_of("from the desk")
            turn = stage.ask("and mine", Say(["Mine is 1"]), Tool(), Say(["10", "00", "0."]), session=first.session)
            await stage.run_of("and mine")
            stage.gateway.release("desk")
            await stage.ended(turn)
            stage.expect(turn, "Mine is 1\n\n10000.")
            self.assertEqual([text for text, _ in stage.gateway.answered].count("and mine"), 1)
            stage.check(first, turn)

    @scenario(60)
    async def test_a_message_behind_another_clients_run_is_answered_in_E1(self):
        await self.visited("E1")

    @scenario(60)
    async def test_a_message_behind_another_clients_run_is_answered_in_E2(self):
        await self.visited("E2")

    @scenario(60)
    async def test_a_message_within_another_clients_run_is_answered_in_E3(self):
        await self.visited("E3")

    @scenario(60)
    async def test_a_run_that_the_gateway_resumes_is_followed(self):
        async with Stage("E3") as stage:
            turn = stage.ask("long", Say(["Half of it."]), Hold("restarted"), Say(["The other half."]))
            await stage.streaming(turn, letters=8)
            await stage.gateway.restart()
            await stage.link_up(30, since=1)
            stage.gateway.release("restarted")
            await stage.ended(turn, seconds=40)
            self.assertTrue(stage.phone.final(turn.interaction).endswith("The other half."))
            self.assertEqual([send["text"] for send in stage.gateway.sends], ["long"])
            stage.check(turn, is_prefix=False)

    @scenario(60)
    async def test_a_stop_of_a_message_leaves_the_run_of_an_equal_one_alone(self):
        async with Stage("E3", start=False) as stage:
            stage.configure({"connections": [{"when_busy": "steer"}]})
            await stage.bridge.start()
            stage.gateway.joins_after = 1.5
            first = stage.ask("go on", Say(words("on", 20)), Hold("rest"), Say(["The end."]))
            await stage.streaming(first)
            second = stage.ask("go on", session=first.session)
            await until(lambda: len(stage.gateway.sends) == 2, 20, "the second message has left")
            stage.relay.stop(second.session, second.interaction)
            await stage.ended(second)
            # The answer names the run of the first message.
            await asyncio.sleep(3)
            self.assertEqual(stage.gateway.aborts, [])
            stage.gateway.release("rest")
            await stage.ended(first)
            self.assertTrue(stage.phone.final(first.interaction).endswith("The end."))
            self.assertEqual(stage.phone.problems([first.interaction, second.interaction], True), [])

    async def stopped(self, era):
        async with Stage(era) as stage:
            first = stage.ask("long", Say(words("long", 1000)))
            await stage.streaming(first)
            second = stage.ask("short", Say(["Short."]), session=first.session)
            stage.relay.stop(first.session, first.interaction)
            await stage.ended(first, second)
            stage.expect(second, "Short.")
            self.assertEqual([text for text, _ in stage.gateway.answered], ["long", "short"])
            stage.check(first, second)

    @scenario(60)
    async def test_the_message_behind_a_stop_is_run_once_in_E1(self):
        await self.stopped("E1")

    @scenario(60)
    async def test_the_message_behind_a_stop_is_run_once_in_E3(self):
        await self.stopped("E3")

    async def failed(self, era):
        async with Stage(era) as stage:
            stage.gateway.hold_back_seconds = 15.0
            turn = stage.ask("fails", Say(["I begin,"]), Fail("the disk of the vendor is full", None))
            await stage.streaming(turn)
            since = time.monotonic()
            await stage.ended(turn, seconds=40)
            self.assertLess(time.monotonic() - since, 10)
            stage.expect_begins(turn, "I begin,\n\n")
            stage.expect_said(turn, "the disk of the vendor is full")
            stage.check(turn)

    @scenario(60)
    async def test_a_failed_run_says_why_in_E2(self):
        await self.failed("E2")

    @scenario(60)
    async def test_a_failed_run_says_why_in_E3(self):
        await self.failed("E3")


if __name__ == "__main__":
    unittest.main()
