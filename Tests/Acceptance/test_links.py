"""Links that break: cut, closed, restarted, silent, both at once, away at the start."""

import time
import unittest

from harness import Stage, until
from peers.steps import Hold, Say
from scheduling import Scenarios, scenario
from stories import journey, words


class LinkTests(Scenarios):
    async def broken_twice(self, era, break_it, lost=lambda stage: len(stage.gateway.connects), scale=1):
        """A run with a tool, broken while it streams and again in its end part."""
        async with Stage(era, scale=scale) as stage:
            steps, final = journey("journey", era, hold="journey")
            turn = stage.ask("journey", *steps)
            plain = stage.ask("plain", Say(words("plain", 60), 0.05))
            stage.gateway.release("journey-say")
            for part in ("tool", "end"):
                await stage.streaming(turn)
                before = lost(stage)
                await break_it(stage)
                stage.gateway.release(f"journey-{part}")
                await until(lambda: lost(stage) > before, 60 / scale + 10, "the link is back")
            await stage.ended(turn, plain, seconds=60)
            stage.expect(turn, final)
            stage.expect(plain, "".join(words("plain", 60)).strip())
            stage.check(turn, plain)

    async def cut_gateway(self, stage):
        stage.gateway.cut()

    async def cut_relay(self, stage):
        stage.relay.cut()

    async def cut_both(self, stage):
        stage.gateway.cut()
        stage.relay.cut()

    async def close_gateway(self, stage):
        stage.gateway.close_all(1012, "service restart")

    async def close_slow(self, stage):
        stage.gateway.close_all(1008, "slow consumer")

    @scenario(120)
    async def test_the_gateway_link_cut_in_mid_run_in_E1(self):
        await self.broken_twice("E1", self.cut_gateway)

    @scenario(120)
    async def test_the_gateway_link_cut_in_mid_run_in_E2(self):
        await self.broken_twice("E2", self.cut_gateway)

    @scenario(120)
    async def test_the_gateway_link_cut_in_mid_run_in_E3(self):
        await self.broken_twice("E3", self.cut_gateway)

    @scenario(120)
    async def test_the_gateway_link_cut_in_mid_run_in_E4(self):
        await self.broken_twice("E4", self.cut_gateway)

    @scenario(120)
    async def test_the_gateway_link_closed_with_1012(self):
        await self.broken_twice("E3", self.close_gateway)

    @scenario(120)
    async def test_the_gateway_link_closed_for_a_slow_consumer(self):
        await self.broken_twice("E4", self.close_slow)

    @scenario(120)
    async def test_the_relay_link_cut_in_mid_run(self):
        await self.broken_twice("E3", self.cut_relay, lambda stage: stage.relay.sockets_made)

    @scenario(120)
    async def test_both_links_cut_at_once(self):
        await self.broken_twice("E4", self.cut_both)

    async def restarted(self, era):
        async with Stage(era) as stage:
            turn = stage.ask("lost with it", Say(words("spoken")), Hold("never"))
            await stage.streaming(turn, letters=40)
            await stage.gateway.restart()
            await stage.link_up(30, since=1)
            after = stage.ask("after", Say(["Here again."]))
            await stage.ended(after, seconds=30)
            stage.expect(after, "Here again.")
            await stage.ended(turn, seconds=60)
            stage.expect_begins(turn, "spoken-0 spoken-1")
            stage.check(turn, after)

    @scenario(120)
    async def test_a_run_that_dies_with_the_gateway_ends_with_a_line_in_E2(self):
        await self.restarted("E2")

    @scenario(120)
    async def test_a_run_that_dies_with_the_gateway_ends_with_a_line_in_E4(self):
        await self.restarted("E4")

    @scenario(90)
    async def test_a_relay_that_falls_silent_is_noticed(self):
        scale = 5
        async with Stage("E3", scale=scale) as stage:
            before = stage.ask("before", Say(words("before", 200), 0.05))
            await stage.streaming(before)
            stage.relay.go_silent()
            made, told = stage.relay.sockets_made, len(stage.bridge.events)
            turn = stage.ask("during", Say(["Heard."]))
            lost = await stage.bridge.event("relay_lost", mark=told)
            self.assertIn("silent", lost["reason"])
            await until(lambda: stage.relay.sockets_made > made, 30, "a new socket")
            await stage.ended(before, turn, seconds=30)
            stage.expect(turn, "Heard.")
            stage.expect(before, "".join(words("before", 200)).strip())
            stage.check(before, turn)

    @scenario(90)
    async def test_a_gateway_that_falls_silent_is_noticed(self):
        scale = 5
        async with Stage("E4", scale=scale) as stage:
            turn = stage.ask("silent", Say(words("before")), Hold("silence"), Say(words("after")))
            await stage.streaming(turn)
            for connection in list(stage.gateway.connections):
                connection.socket.go_silent()
            stage.gateway.release("silence")
            await stage.link_up(60 / scale + 10, since=1)
            await stage.ended(turn, seconds=30)
            stage.expect(turn, "".join(words("before") + words("after")).strip())
            stage.check(turn)

    @scenario(60)
    async def test_a_relay_that_closes_right_after_accepting_is_tried_again_with_growing_pauses(self):
        async with Stage("E3", start=False) as stage:
            stage.relay.closes_after_accept = 3
            await stage.bridge.start(ready_seconds=30)
            self.assertEqual(stage.relay.sockets_made, 4)
            turn = stage.ask("hello", Say(["Hello."]))
            await stage.ended(turn)
            stage.check(turn)

    @scenario(60)
    async def test_a_relay_that_is_away_at_the_start_is_waited_for(self):
        async with Stage("E3", start=False) as stage:
            await stage.relay.go_down()
            await stage.bridge.start(ready_seconds=0)
            await stage.bridge.event("openclaw_connected", 15)
            await stage.relay.come_up()
            await stage.bridge.event("ready", 30)
            turn = stage.ask("hello", Say(["Hello."]))
            await stage.ended(turn)
            stage.check(turn)

    @scenario(90)
    async def test_an_agent_that_is_away_at_the_start_answers_a_message_that_waited(self):
        async with Stage("E4", start=False, scale=5) as stage:
            await stage.gateway.go_away()
            await stage.bridge.start(ready_seconds=0)
            await stage.bridge.event("sophon_connected", 15)
            turn = stage.ask("hello", Say(["Hello."]))
            await until(lambda: stage.phone.bubble(turn.interaction), 30, "the bubble")
            await stage.gateway.come_back()
            await stage.ended(turn, seconds=30)
            stage.expect(turn, "Hello.")
            stage.check(turn)

    @scenario(90)
    async def test_a_message_waits_two_minutes_for_an_absent_agent_and_is_never_sent_later(self):
        scale = 20
        async with Stage("E3", start=False, scale=scale) as stage:
            await stage.gateway.go_away()
            await stage.bridge.start(ready_seconds=0)
            await stage.bridge.event("sophon_connected", 15)
            begun = time.monotonic()
            turn = stage.ask("hello", Say(["Never."]))
            await stage.ended(turn, seconds=20)
            self.assertGreater((time.monotonic() - begun) * scale, 100)
            self.assertGreater(len(stage.phone.final(turn.interaction)), 10)
            await stage.gateway.come_back()
            later = stage.ask("later", Say(["Later."]), session=turn.session)
            await stage.ended(later, seconds=30)
            self.assertEqual([send["text"] for send in stage.gateway.sends], ["later"])
            stage.check(turn, later)

    @scenario(60)
    async def test_a_suspended_bridge_catches_up(self):
        async with Stage("E4", scale=12) as stage:
            turn = stage.ask("sleep", Say(words("before")), Hold("asleep"), Say(words("after")))
            await stage.streaming(turn)
            stage.bridge.suspend()
            stage.gateway.release("asleep")
            run = await stage.run_of("sleep")
            await run.finished.wait()
            # A minute on the bridge's clock: a stopped process reports no progress to wait for.
            await stage.clock.sleep(60)
            stage.bridge.resume()
            await stage.ended(turn, seconds=30)
            stage.expect(turn, "".join(words("before") + words("after")).strip())
            stage.check(turn)


if __name__ == "__main__":
    unittest.main()
