"""The 30-minute window, and a relay that is away for long. Clocks run faster than the world."""

import unittest

from harness import Stage, until
from peers.relay import base62
from peers.steps import Approval, Hold, Say, Tool
from scheduling import Scenarios, scenario
from stories import words

# 30 minutes last 90 seconds. No faster: if this machine stalls for a second, a third of a minute passes here.
SCALE = 20


class WindowTests(Scenarios):
    @scenario(200, weight=0)
    async def test_a_run_past_the_window_ends_its_bubble_in_time_and_the_rest_follows(self):
        async with Stage("E3", scale=SCALE) as stage:
            turn = stage.ask("long", Say(["The first part. "]), Tool(seconds=31 * 60 / SCALE), Say(["The second part."]))
            quick = stage.ask("quick", Say(["Quick."]))
            await stage.ended(quick)
            await stage.ended(turn, seconds=130)
            bubble = stage.phone.bubble(turn.interaction)
            minutes = (bubble.ended_at - turn.at) * SCALE / 60
            self.assertTrue(28.5 < minutes < 30, f"ended at minute {minutes:.1f}")
            stage.expect_begins(turn, "The first part.")
            self.assertEqual(stage.phone.loose_messages(turn.session), [])
            await until(lambda: stage.phone.loose_messages(turn.session), 30, "the late message")
            self.assertEqual([text.strip() for text in stage.phone.loose_messages(turn.session)], ["The second part."])
            # The end of the tool's task, and those of the tasks that show since when it runs.
            ends = [states[-1] for states in stage.phone.tasks_of(turn.interaction).values()]
            self.assertEqual((ends[:2], set(ends)), (["task_completed"] * 2, {"task_completed"}))
            stage.check(turn, quick)

    @scenario(200, weight=0)
    async def test_an_approval_after_the_window_goes_without_an_interaction_and_stop_still_works(self):
        async with Stage("E4", scale=SCALE) as stage:
            asking = stage.ask("asking", Say(["Begun. "]), Hold("late"), Approval("uptime", detached=False), Say(["Up."]))
            stopping = stage.ask("stopping", Say(["Going on. "]), Hold("stopped"), Say(["Never said."]))
            await stage.ended(asking, stopping, seconds=130)
            stage.gateway.release("late")
            name = await stage.approval(asking)
            self.assertNotIn("interaction_id", stage.phone.approvals[name])
            stage.relay.decide(name, "approve")
            await until(lambda: stage.phone.loose_messages(asking.session), 20, "the late message")
            self.assertIn("Up.", stage.phone.loose_messages(asking.session)[-1])
            self.assertEqual(len(stage.gateway.commands), 1)
            stage.relay.stop(stopping.session, stopping.interaction)
            run = await stage.run_of("stopping")
            await until(lambda: run.state == "aborted", 30, "the run is stopped")
            stage.check(asking, stopping)

    @scenario(60)
    async def test_a_message_that_is_expired_on_arrival_is_answered_beside_it(self):
        async with Stage("E3") as stage:
            interaction = base62("int_")
            stage.relay.rules.interactions[interaction] = stage.clock.now() - 3600
            stage.gateway.plan("old", Say(["Better late than never."]))
            turn = stage.relay.ask("old", interaction=interaction,
                                   created_at=str(stage.clock.milliseconds() - 3_600_000))
            await until(lambda: stage.phone.loose_messages(turn.session), 30, "the late message")
            self.assertEqual(stage.phone.loose_messages(turn.session), ["Better late than never."])
            self.assertIsNone(stage.phone.bubble(turn.interaction))

    @scenario(200, weight=0)
    async def test_a_relay_away_for_20_minutes_gets_everything_in_order(self):
        async with Stage("E3", scale=SCALE) as stage:
            session = stage.relay.new_session()
            first = stage.ask("first", Say(words("first")), Hold("away"), Tool(), Say(words("rest")), session=session)
            second = stage.ask("second", Say(words("second")), session=session)
            third = stage.ask("third", Say(words("third", 30), 0.05))
            await stage.streaming(first)
            await until(lambda: stage.phone.bubble(second.interaction), 30, "the second bubble")
            await stage.relay.go_down()
            stage.gateway.release("away")
            await stage.clock.sleep(20 * 60)
            self.assertFalse(stage.phone.is_ended(first.interaction))
            await stage.relay.come_up()
            await stage.ended(first, second, third, seconds=30)
            stage.expect(first, "".join(words("first")).strip() + "\n\n" + "".join(words("rest")).strip())
            stage.expect(second, "".join(words("second")).strip())
            stage.expect(third, "".join(words("third", 30)).strip())
            stage.check(first, second, third)

    @scenario(200, weight=0)
    async def test_a_relay_away_for_longer_than_the_window_gets_the_answer_as_a_fresh_message(self):
        async with Stage("E4", scale=SCALE) as stage:
            turn = stage.ask("away", Say(words("before")), Hold("away"), Say(words("after")))
            await stage.streaming(turn)
            await stage.relay.go_down()
            stage.gateway.release("away")
            await stage.clock.sleep(32 * 60)
            await stage.relay.come_up()
            await until(lambda: stage.phone.loose_messages(turn.session), 30, "the answer as a fresh message")
            said = "".join(stage.phone.loose_messages(turn.session))
            self.assertIn("after-11", said)
            new = stage.ask("new", Say(["As before."]), session=turn.session)
            await stage.ended(new)
            stage.expect(new, "As before.")
            self.assertEqual(stage.phone.broken, [])
            stage.check(new)


if __name__ == "__main__":
    unittest.main()
