"""The bridge with gateways that behave like running ones: queues, lanes, heartbeats, restarts, and frames that omit parts of the rows."""

import asyncio
import time
import unittest

from harness import Stage, until
from peers.steps import Approval, Aside, Fail, Hold, Retry, Say, TimeOver, Tool
from scheduling import Scenarios, scenario
from stories import words


class TextTests(Scenarios):
    async def numbers(self, era):
        """Pieces without a pause, repeated ones behind a tool, and joints that overlap."""
        async with Stage(era) as stage:
            steps = [Say(["Result:", " 100"], every=0), Tool(seconds=0.1), Say(["00", " is", " wrong", "."], every=0), Tool(seconds=0.1),
                     Say(["The", " total", " is", " 1", "0", "0", "0", " and", " ha", "ha", "ha", "."], every=0), Tool(seconds=0.1),
                     Say(["Done."], every=0), Tool(seconds=0.1), Say(["Done."], every=0)]
            turn = stage.ask("numbers", *steps)
            await stage.ended(turn)
            stage.expect(turn, "Result: 100\n\n00 is wrong.\n\nThe total is 1000 and hahaha.\n\nDone.\n\nDone.")
            stage.check(turn)

    @scenario(30)
    async def test_repeated_pieces_stay_in_E1(self):
        await self.numbers("E1")

    @scenario(30)
    async def test_repeated_pieces_stay_in_E2(self):
        await self.numbers("E2")

    @scenario(30)
    async def test_repeated_pieces_stay_in_E3(self):
        await self.numbers("E3")

    @scenario(30)
    async def test_a_file_that_the_agent_sends_is_named(self):
        for era in ("E1", "E2", "E3"):
            async with Stage(era) as stage:
                turn = stage.ask("draw", Say(["Here it is.\n", "MEDIA: ./pic.png\n"]))
                await stage.ended(turn)
                final = stage.phone.final(turn.interaction)
                self.assertTrue(final.startswith("Here it is."), final)
                self.assertIn("pic.png", final)
                stage.check(turn, is_prefix=False)

    @scenario(30)
    async def test_an_aside_is_the_answer(self):
        for era in ("E2", "E3"):
            async with Stage(era) as stage:
                turn = stage.ask("/btw what day is it?", Aside("It is Monday."))
                await stage.ended(turn)
                stage.expect(turn, "It is Monday.")
                stage.check(turn)

    @scenario(60)
    async def test_a_long_answer_is_whole_though_the_bridge_was_away(self):
        async with Stage("E3") as stage:
            long = "".join(f"line {number}\n" for number in range(14_000)).strip()
            turn = stage.ask("much", Say(["Begun. "]), Hold("rest"), Say([long]))
            await stage.streaming(turn)
            stage.bridge.kill9()
            await stage.bridge.exit()
            stage.gateway.release("rest")
            run = await stage.run_of("much")
            await asyncio.wait_for(run.finished.wait(), 20)
            await stage.bridge.start()
            await stage.ended(turn)
            said = lambda: "".join([stage.phone.final(turn.interaction), *stage.phone.loose_messages(turn.session)])
            await until(lambda: "line 13999" in said(), 30, "the last line")
            self.assertTrue(all(f"line {number}" in said() for number in range(0, 14_000, 97)))
            self.assertEqual(len(stage.gateway.sends), 1)


class RunTests(Scenarios):
    async def waits(self, era):
        """A run behind four others is silent for a while; meanwhile its link is cut, and the bridge dies."""
        async with Stage(era, scale=10) as stage:
            held = [stage.ask(f"hold {number}.", Say([f"{number}"]), Hold("all")) for number in range(4)]
            for turn in held:
                await stage.streaming(turn)
            last = stage.ask("patience", Say(["At last."]))
            await stage.run_of("patience")
            stage.gateway.cut()
            await stage.link_up(30, since=1)
            await asyncio.sleep(6)
            await stage.bridge.restart_after_kill()
            await stage.link_up(30, since=2)
            await asyncio.sleep(2)
            self.assertFalse(stage.phone.is_ended(last.interaction), stage.phone.final(last.interaction))
            stage.gateway.release("all")
            await stage.ended(*held, last)
            stage.expect(last, "At last.")
            stage.check(*held, last)

    @scenario(60)
    async def test_a_run_that_waits_for_its_place_is_not_given_up_in_E1(self):
        await self.waits("E1")

    @scenario(60)
    async def test_a_run_that_waits_for_its_place_is_not_given_up_in_E2(self):
        await self.waits("E2")

    @scenario(60)
    async def test_a_run_that_waits_for_its_place_is_not_given_up_in_E3(self):
        await self.waits("E3")

    @scenario(60)
    async def test_a_stop_of_a_run_that_waits_for_its_place(self):
        for era in ("E1", "E2", "E3"):
            async with Stage(era) as stage:
                held = [stage.ask(f"hold {number}.", Say([f"{number}"]), Hold("all")) for number in range(4)]
                for turn in held:
                    await stage.streaming(turn)
                last = stage.ask("patience", Say(["At last."]))
                await stage.run_of("patience")
                stage.relay.stop(last.session, last.interaction)
                await stage.ended(last)
                self.assertNotIn("Agent failed", stage.phone.final(last.interaction))
                again = stage.ask("once more", Say(["Here."]), session=last.session)
                stage.gateway.release("all")
                await stage.ended(*held, again)
                stage.expect(again, "Here.")
                self.assertNotIn("patience", [text for text, _ in stage.gateway.answered])

    @scenario(60)
    async def test_an_agent_that_does_not_let_go_keeps_no_message(self):
        for era in ("E1", "E2", "E3"):
            async with Stage(era) as stage:
                stage.gateway.lets_go_after = 5.0
                first = stage.ask("long", Say(words("long", 1000)))
                await stage.streaming(first)
                stage.relay.stop(first.session, first.interaction)
                await stage.ended(first)
                second = stage.ask("short", Say(["Short."]), session=first.session)
                await stage.ended(second, seconds=30)
                stage.expect(second, "Short.")
                self.assertEqual([text for text, _ in stage.gateway.answered], ["long", "short"])

    @scenario(60)
    async def test_a_message_of_ours_into_our_own_run_is_answered(self):
        for era in ("E1", "E2", "E3"):
            async with Stage(era, start=False) as stage:
                stage.configure({"connections": [{"when_busy": "steer"}]})
                await stage.bridge.start()
                first = stage.ask("first", Say(words("first", 4)), Hold("go"), Say(["First is done."]))
                await stage.streaming(first)
                second = stage.ask("second", Say(["Second."]), session=first.session)
                await until(lambda: len(stage.gateway.sends) == 2 or era in ("E1", "E2"), 20, "the second message has left")
                await asyncio.sleep(1)
                stage.gateway.release("go")
                await stage.ended(first, second)
                stage.expect_begins(first, "".join(words("first", 4)).strip())
                self.assertIn("Second.", stage.phone.final(second.interaction) + stage.phone.final(first.interaction))
                self.assertEqual([text for text, _ in stage.gateway.answered].count("second"), 1)

    @scenario(30)
    async def test_an_answer_without_words(self):
        for era in ("E1", "E2", "E3"):
            async with Stage(era) as stage:
                turn = stage.ask("nothing", Tool())
                await stage.ended(turn)
                self.assertNotIn("Stopped", stage.phone.final(turn.interaction))
                stage.check(turn, is_prefix=False)

    @scenario(120)
    async def test_a_run_whose_time_is_over_ends_with_its_words(self):
        for era in ("E1", "E2", "E3"):
            async with Stage(era, scale=10) as stage:
                turn = stage.ask("long", Say(["Half of", " it."], every=0.2), Tool(seconds=0.1), TimeOver())
                await stage.ended(turn, seconds=60)
                self.assertTrue(stage.phone.final(turn.interaction).startswith("Half of it."), stage.phone.final(turn.interaction))
                self.assertEqual(len(stage.gateway.sends), 1)

    @scenario(60)
    async def test_an_attempt_that_fails_leaves_no_words(self):
        for era in ("E1", "E2", "E3"):
            async with Stage(era) as stage:
                turn = stage.ask("again", Say(["First", " words."], every=0), Retry(after=1.0), Say(["Second", " is whole."], every=0))
                await stage.ended(turn, seconds=40)
                stage.expect(turn, "Second is whole.")
                self.assertEqual([text for text, _ in stage.gateway.answered], ["again"])

    @scenario(60)
    async def test_a_failure_in_E1_is_told_within_the_time_of_an_attempt(self):
        async with Stage("E1") as stage:
            turn = stage.ask("fails", Say(["I begin,"]), Fail("the disk of the vendor is full"))
            await stage.streaming(turn)
            begun = time.monotonic()
            await stage.ended(turn, seconds=40)
            self.assertLess(time.monotonic() - begun, 30)
            stage.expect_said(turn, "the disk of the vendor is full")


class RestartTests(Scenarios):
    async def in_text(self, era, **how):
        """The run is lost after its words were sent, or E3 resumes it; no message is answered twice."""
        async with Stage(era) as stage:
            turn = stage.ask("long", Say(["Half of", " it."], every=0), Hold("go"), Say(["The other half."]))
            await stage.streaming(turn, letters=11)
            await stage.gateway.restart(**how)
            await stage.link_up(30, since=1)
            stage.gateway.release("go")
            await stage.ended(turn, seconds=60)
            final = stage.phone.final(turn.interaction)
            self.assertTrue(final.startswith("Half of it."), final)
            self.assertGreater(len(final), 20)
            self.assertEqual(final.endswith("The other half."), era == "E3")
            self.assertEqual([send["text"] for send in stage.gateway.sends], ["long"])
            later = stage.ask("later", Say(["Here."]), session=turn.session)
            await stage.ended(later)
            stage.expect(later, "Here.")

    @scenario(90)
    async def test_a_gateway_killed_in_text(self):
        for era in ("E1", "E2", "E3"):
            await self.in_text(era, is_killed=True)

    @scenario(90)
    async def test_a_gateway_that_restarts_within_its_process(self):
        for era in ("E1", "E2", "E3"):
            await self.in_text(era, within_process=True)

    @scenario(90)
    async def test_a_gateway_killed_in_a_tool_of_a_later_run(self):
        for era in ("E1", "E2", "E3"):
            async with Stage(era) as stage:
                first = stage.ask("hello", Say(["Hello."]))
                await stage.ended(first)
                turn = stage.ask("work", Say(["Before the tool."]), Tool(seconds=20), Say(["Never."]), session=first.session)
                await until(lambda: any(run.in_tool for run in stage.gateway.runs.values()), 20, "a tool is at work")
                await stage.streaming(turn)
                await stage.gateway.restart(is_killed=True)
                await stage.ended(turn, seconds=60)
                final = stage.phone.final(turn.interaction)
                self.assertTrue(final.startswith("Before the tool.\n\n"), final)
                self.assertEqual([states[-1] for states in stage.phone.tasks.values()], ["task_failed"])

    @scenario(60)
    async def test_a_message_while_E3_drains_is_answered_later(self):
        async with Stage("E3") as stage:
            first = stage.ask("hello", Say(["Hello."]))
            await stage.ended(first)
            restarting = asyncio.create_task(stage.gateway.restart(drains=2.0))
            await asyncio.sleep(0.1)
            turn = stage.ask("now", Say(["Now."]), session=first.session)
            await restarting
            await stage.ended(turn, seconds=40)
            stage.expect(turn, "Now.")
            self.assertEqual([text for text, _ in stage.gateway.answered].count("now"), 1)


class QueueTests(Scenarios):
    async def several(self, era):
        """Two messages of the phone wait behind another client's run; one run answers both."""
        async with Stage(era, start=False) as stage:
            stage.configure({"connections": [{"when_busy": "steer"}]})
            await stage.bridge.start()
            first = stage.ask("hello", Say(["Hello."]))
            await stage.ended(first)
            session = stage.gateway.sends[-1]["session"]
            stage.gateway.plan("from the desk", Say(["At the desk."]), Hold("desk"))
            stage.gateway.other_client_sends("from the desk", session, "desk-1")
            await stage.run_of("from the desk")
            one = stage.ask("one more", Say(["One."]), session=first.session)
            await stage.run_of("one more")
            two = stage.ask("two more", Say(["Two."]), session=first.session)
            await asyncio.sleep(1.5)
            stage.gateway.release("desk")
            await stage.ended(one, two)
            shown = stage.phone.final(one.interaction) + stage.phone.final(two.interaction)
            self.assertIn("One.", shown)
            self.assertIn("Two.", shown)
            answered = [text for text, _ in stage.gateway.answered]
            self.assertEqual((answered.count("one more"), answered.count("two more")), (1, 1))

    @scenario(60)
    async def test_messages_that_wait_together_are_answered_in_E1(self):
        await self.several("E1")

    @scenario(60)
    async def test_messages_that_wait_together_are_answered_in_E2(self):
        await self.several("E2")

    @scenario(60)
    async def test_messages_that_wait_together_are_answered_in_E3(self):
        await self.several("E3")


class ApprovalTests(Scenarios):
    @scenario(60)
    async def test_a_heartbeat_of_E1_brings_what_follows_a_yes_or_a_no(self):
        for decision, rest in (("approve", "It is done."), ("deny", "I was not allowed to do that.")):
            async with Stage("E1") as stage:
                turn = stage.ask("do", Say(["I ask. "]), Approval("rm x", followup=[Say(["It is done."])]), Say(["Asked."]))
                stage.relay.decide(await stage.approval(turn), decision)
                await stage.ended(turn)
                final = stage.phone.final(turn.interaction)
                self.assertTrue(final.startswith("I ask.\n\nAsked."), final)
                self.assertTrue(final.endswith(rest), final)
                self.assertEqual(len(stage.gateway.commands), int(decision == "approve"))
                stage.check(turn, is_prefix=False)

    @scenario(60)
    async def test_a_gateway_of_E1_without_heartbeats_leaves_no_bubble_open(self):
        async with Stage("E1", scale=20) as stage:
            stage.gateway.has_heartbeats = False
            turn = stage.ask("do", Say(["I ask. "]), Approval("rm x"))
            stage.relay.decide(await stage.approval(turn), "approve")
            await stage.ended(turn, seconds=60)
            self.assertEqual(len(stage.gateway.commands), 1)

    @scenario(60)
    async def test_words_behind_a_question_of_E2_are_not_lost_with_its_answer(self):
        async with Stage("E2") as stage:
            turn = stage.ask("do", Say(["I ask. "]), Approval("rm x", followup=[Say(["It is done."])]), Say(["Asked."]))
            stage.relay.decide(await stage.approval(turn), "approve")
            await stage.ended(turn)
            final = stage.phone.final(turn.interaction)
            self.assertTrue(final.startswith("I ask.") and final.endswith("It is done."), final)

    async def withdrawn(self, era):
        async with Stage(era) as stage:
            turn = stage.ask("do", Say(["I ask. "]), Approval("rm x"))
            name = await stage.approval(turn)
            await asyncio.sleep(1)
            await stage.gateway.restart()
            await stage.link_up(30, since=1)
            stage.relay.decide(name, "approve")
            begun = time.monotonic()
            await stage.ended(turn, seconds=60)
            self.assertLess(time.monotonic() - begun, 10)
            self.assertEqual(stage.phone.open_cards(), [])
            self.assertEqual(stage.gateway.commands, [])

    @scenario(90)
    async def test_a_question_that_died_with_its_gateway_is_withdrawn_in_E1(self):
        await self.withdrawn("E1")

    @scenario(90)
    async def test_a_question_that_died_with_its_gateway_is_withdrawn_in_E2(self):
        await self.withdrawn("E2")

    @scenario(90)
    async def test_a_question_that_died_with_its_gateway_is_withdrawn_in_E3(self):
        await self.withdrawn("E3")


if __name__ == "__main__":
    unittest.main()
