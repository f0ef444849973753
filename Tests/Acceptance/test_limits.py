"""Limits of the configuration, with values that differ from the defaults."""

import asyncio
import time
import unittest

from harness import Stage, until
from peers.steps import Hold, Say
from scheduling import Scenarios, scenario
from stories import words


class LimitTests(Scenarios):
    @scenario(60)
    async def test_a_call_that_takes_longer_than_relay_call_is_tried_again(self):
        async with Stage("E3", configuration={"limits": {"relay_call": "1s"}}) as stage:
            stage.relay.hold["sendMessageEnd"] = asyncio.Event()
            turn = stage.ask("on", Say(words("on")), Hold("said"))
            ends = lambda: [call for call in stage.relay.calls if call.method == "sendMessageEnd"]
            await stage.streaming(turn)
            begun = time.monotonic()
            stage.gateway.release("said")
            await until(lambda: len(ends()) >= 2, 30, "a second try of the end")
            first, second = ends()[:2]
            self.assertEqual(first.body, second.body)
            self.assertGreater(second.at - begun, 0.9)
            # Below the default.
            self.assertLess(second.at - first.at, 10)
            stage.relay.hold.pop("sendMessageEnd").set()
            await stage.ended(turn)
            stage.check(turn)

    @scenario(60)
    async def test_more_than_64_calls_are_under_way_where_relay_connections_allows_it(self):
        async with Stage("E3", configuration={"limits": {"relay_connections": 90, "relay_call": "60s"}}) as stage:
            stage.gateway.lane = asyncio.Semaphore(75)
            # A bucket allows one call before the relay's first answer.
            first = stage.ask("first", Say(words("first")))
            await stage.ended(first)
            asked = [stage.ask(f"session {number}.", Hold("opened"), Say(words("text")), Hold("said")) for number in range(75)]
            await until(lambda: all(stage.phone.bubble(turn.interaction) for turn in asked), 30, "75 bubbles")
            under_way = set()

            def count(what, fields):
                if fields.get("method") == "sendMessageDelta" and what in ("applied", "answered"):
                    {"applied": under_way.add, "answered": under_way.discard}[what](fields["body"]["idempotency_key"])

            stage.relay.hooks.append(count)
            stage.relay.hold["sendMessageDelta"] = asyncio.Event()
            stage.gateway.release("opened")
            await until(lambda: len(under_way) == 75, 30, "75 calls under way at once")
            stage.relay.hold.pop("sendMessageDelta").set()
            stage.gateway.release("said")
            await stage.ended(*asked, seconds=40)
            stage.check(first, *asked)


if __name__ == "__main__":
    unittest.main()
