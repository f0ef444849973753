"""Conversations between a phone and an agent when nothing breaks, in each era of the gateway."""

import asyncio
import unittest

from harness import Stage, until
from peers.relay import base62
from peers.steps import Approval, Fail, Hold, Retry, Say, Tool
from scheduling import Scenarios, scenario
from stories import ERAS, INLINE_ERAS, journey, with_approval, words


def in_each_era(*eras):
    """Makes one test per era out of a coroutine."""
    def mark(function):
        function.eras = eras or ERAS
        return function
    return mark


def spread(test_class):
    for name, function in list(vars(test_class).items()):
        for era in getattr(function, "eras", ()):
            async def test(self, function=function, era=era):
                await function(self, era)
            test.__name__ = f"test_{era}_{name}"
            setattr(test_class, test.__name__, scenario(60)(test))
    return test_class


@spread
class EraTests(Scenarios):
    @in_each_era()
    async def text_and_tools_end_in_one_bubble(self, era):
        async with Stage(era) as stage:
            steps, final = journey("disk", era)
            plain = stage.ask("plain", Say(words("plain")[:6]), Hold("half"), Say(words("plain")[6:]), Hold("whole"))
            tools = stage.ask("tools", *steps)
            failing = stage.ask("failing tool", Tool(failed=True, output="no such file"), Say(["It is not there."]))
            await stage.streaming(plain)
            before = len(stage.phone.bubble(plain.interaction).deltas)
            stage.gateway.release("half")
            await until(lambda: len(stage.phone.bubble(plain.interaction).deltas) > before, 30, "the text grows")
            stage.gateway.release("whole")
            await stage.ended(plain, tools, failing)
            stage.expect(plain, "".join(words("plain")).strip())
            stage.expect(tools, final)
            stage.expect(failing, "It is not there.")
            self.assertEqual(len(stage.phone.tasks_of(tools.interaction)), 1)
            self.assertEqual(list(stage.phone.tasks_of(failing.interaction).values())[0][-1], "task_failed")
            stage.check(plain, tools, failing)

    @in_each_era(*INLINE_ERAS)
    async def an_approval_inside_the_run(self, era):
        await self.approve(era, detached=False)

    @in_each_era()
    async def a_call_id_that_comes_again_is_a_task_of_its_own(self, era):
        async with Stage(era) as stage:
            session = stage.relay.new_session()
            asked = []
            for name in ("one", "two", "three"):
                if name == "three":
                    await stage.bridge.restart_after_kill()
                stage.gateway.plan(name, Say([f"{name} "]), Tool(), Say(["done"]), call_id="call_0")
                asked.append(stage.relay.ask(name, session))
                await stage.ended(asked[-1])
            for turn in asked:
                self.assertEqual(len(stage.phone.tasks_of(turn.interaction)), 1)
            stage.check(*asked)

    @in_each_era()
    async def an_approval_with_a_follow_up_run(self, era):
        await self.approve(era, detached=True)

    async def approve(self, era, detached):
        async with Stage(era) as stage:
            steps, final = with_approval("server", era, detached)
            turn = stage.ask("restart it", *steps)
            name = await stage.approval(turn)
            self.assertFalse(stage.phone.is_ended(turn.interaction))
            stage.relay.decide(name, "approve")
            await stage.ended(turn)
            stage.expect(turn, final)
            self.assertEqual([command for _, command in stage.gateway.commands], ["restart server"])
            self.assertEqual(len(stage.phone.approvals), 1)
            stage.check(turn)

    @in_each_era()
    async def a_denied_approval_runs_nothing(self, era):
        async with Stage(era) as stage:
            shapes = [True, False] if era in INLINE_ERAS else [True]
            asked = [stage.ask(f"deny {detached}", *with_approval(f"server {detached}", era, detached)[0])
                     for detached in shapes]
            for turn in asked:
                stage.relay.decide(await stage.approval(turn), "deny")
            await stage.ended(*asked)
            self.assertEqual(stage.gateway.commands, [])
            self.assertEqual([decision for _, decision in stage.gateway.resolve_calls], ["deny"] * len(shapes))
            stage.check(*asked)

    @in_each_era()
    async def stop_in_the_middle(self, era):
        async with Stage(era) as stage:
            turn = stage.ask("count", Say(words("count", 1000)))
            tool = stage.ask("dig", Say(["Digging. "]), Tool(seconds=60))
            await stage.streaming(turn, letters=20)
            await until(lambda: stage.phone.tasks_of(tool.interaction), 30, "a task")
            for one in (turn, tool):
                stage.relay.stop(one.session, one.interaction)
            await stage.ended(turn, tool)
            self.assertTrue(stage.phone.final(turn.interaction).startswith("count-0 count-1 "))
            self.assertEqual(list(stage.phone.tasks_of(tool.interaction).values())[0][-1], "task_cancelled")
            self.assertEqual({run.state for run in stage.gateway.runs.values()}, {"aborted"})
            stage.check(turn, tool)

    @in_each_era()
    async def a_run_that_fails_says_so(self, era):
        async with Stage(era) as stage:
            silent = stage.ask("silent", Fail())
            spoken = stage.ask("spoken", Say(["Looking"]), Tool(), Fail("the model is overloaded", "overloaded"))
            await stage.ended(silent, spoken)
            self.assertGreater(len(stage.phone.final(silent.interaction)), 10)
            stage.expect_begins(spoken, "Looking")
            stage.check(silent, spoken)

    @in_each_era()
    async def a_retry_under_one_run_id_forgets_the_first_attempt(self, era):
        async with Stage(era) as stage:
            turn = stage.ask("again", Say(["First try, that fails. "]), Retry(), Say(["The second ", "try ", "worked."]))
            early = stage.ask("early", Retry(after=1.5), Say(words("late")))
            await stage.ended(turn, early)
            stage.expect(turn, "The second try worked.")
            stage.expect(early, "".join(words("late")).strip())
            # The first attempt's streamed text stays in the preview: the relay cannot take it back.
            stage.check(turn, early, is_prefix=False)

    @in_each_era()
    async def a_final_without_a_text_that_the_history_has(self, era):
        async with Stage(era) as stage:
            bare = stage.ask("bare", Say(["It is in ", "the history."]), deltas=False, text_only_in_history=True)
            shown = stage.ask("shown", Say(["Shown, then ", "an empty final."]), text_only_in_history=True)
            await stage.ended(bare, shown)
            stage.expect(bare, "It is in the history.")
            stage.expect(shown, "Shown, then an empty final.")
            stage.check(bare, shown)

    @in_each_era()
    async def two_messages_at_once_in_one_session(self, era):
        async with Stage(era) as stage:
            session = stage.relay.new_session()
            asked = [stage.ask(f"question {name}", Say(words(name)), session=session) for name in ("one", "two", "three")]
            await stage.ended(*asked)
            for turn, name in zip(asked, ("one", "two", "three")):
                stage.expect(turn, "".join(words(name)).strip())
            stage.check(*asked)

    @in_each_era("E3", "E4")
    async def a_foreign_run_id_in_the_answer_is_adopted(self, era):
        async with Stage(era) as stage:
            turn = stage.ask("foreign", Say(words("foreign")), foreign_run_id="run-of-somebody-else")
            await stage.ended(turn)
            stage.expect(turn, "".join(words("foreign")).strip())
            stage.check(turn)

    @in_each_era()
    async def a_stop_with_an_approval_open_is_final(self, era):
        async with Stage(era) as stage:
            turn = stage.ask("dangerous", Say(["Careful. "]), Approval("rm -r build", followup=[Say(["Gone."])]), Say(["Well."]))
            name = await stage.approval(turn)
            stage.relay.stop(turn.session, turn.interaction)
            await stage.ended(turn)
            stage.relay.decide(name, "approve")
            await until(lambda: not stage.relay.updates, 30, "the late decision acknowledged")
            after = stage.ask("after", Say(["Here."]), session=turn.session)
            await stage.ended(after)
            self.assertEqual(stage.gateway.commands, [])
            self.assertNotIn("allow-once", [decision for _, decision in stage.gateway.resolve_calls])
            stage.check(turn, after)


class OddOrderTests(Scenarios):
    @scenario(60)
    async def test_a_stop_that_comes_before_its_message(self):
        async with Stage("E3") as stage:
            session, interaction = stage.relay.new_session(), base62("int_")
            stage.relay.stop(session, interaction)
            await until(lambda: not stage.relay.updates, 30, "the stop acknowledged")
            stage.gateway.plan("never", Say(words("never", 500)))
            turn = stage.relay.ask("never", session, interaction=interaction)
            await stage.ended(turn)
            # The run was aborted, and did not end by itself.
            self.assertLessEqual({run.state for run in stage.gateway.runs.values()}, {"aborted"})
            stage.check(turn, starts=None)

    @scenario(60)
    async def test_a_stop_without_an_interaction_ends_every_turn_of_its_session(self):
        async with Stage("E4") as stage:
            session = stage.relay.new_session()
            first = stage.ask("first", Say(words("first", 1000)), session=session)
            second = stage.ask("second", Say(words("second", 1000)), session=session)
            other = stage.ask("other", Say(words("other", 60)))
            await stage.streaming(first)
            await until(lambda: stage.phone.bubble(second.interaction), 30, "the second bubble")
            stage.relay.stop(session)
            await stage.ended(first, second)
            await stage.ended(other)
            stage.expect_begins(second, "Stopped before it began")
            stage.expect(other, "".join(words("other", 60)).strip())
            self.assertLessEqual({run.state for run in stage.gateway.runs.values() if run.user_text in ("first", "second")},
                                 {"aborted"})
            stage.check(first, second, other)

    @scenario(60)
    async def test_a_message_that_waits_begins_when_the_one_before_is_stopped(self):
        async with Stage("E3") as stage:
            session = stage.relay.new_session()
            first = stage.ask("long", Say(words("long", 1000)), session=session)
            await stage.streaming(first)
            second = stage.ask("short", Say(words("short")), session=session)
            stage.relay.stop(session, first.interaction)
            await stage.ended(first, second)
            stage.expect(second, "".join(words("short")).strip())
            stage.check(first, second)

    @scenario(60)
    async def test_a_second_message_has_its_bubble_while_the_first_runs(self):
        async with Stage("E2") as stage:
            session = stage.relay.new_session()
            first = stage.ask("held", Say(["I wait. "]), Hold("go"), Say(["Done."]), session=session)
            await stage.streaming(first)
            second = stage.ask("next", Say(["Next."]), session=session)
            await until(lambda: stage.phone.bubble(second.interaction), 30, "the second bubble")
            self.assertFalse(stage.phone.is_ended(second.interaction))
            stage.gateway.release("go")
            await stage.ended(first, second)
            stage.expect(first, "I wait. Done.")
            stage.expect(second, "Next.")
            stage.check(first, second)

    async def say_much(self, era):
        line = "Zeile %05d – ünïcode 🚀 and plain words to fill it up, line after line.\n"
        pieces, size = [], 0
        while size < 480_000:
            pieces.append("".join(line % (len(pieces) * 50 + number) for number in range(50)))
            size += len(pieces[-1].encode())
        async with Stage(era) as stage:
            turn = stage.ask("much", Say(pieces, every=0.01))
            await stage.ended(turn, seconds=60)
            rest = lambda: stage.phone.loose_messages(turn.session)
            whole = "".join("".join(pieces).split())
            said = lambda: "".join("".join([stage.phone.final(turn.interaction), *rest()]).split())
            await until(lambda: len(said()) >= len(whole), 30, "the rest of the text")
            await asyncio.sleep(0)
            self.assertGreaterEqual(len(rest()), 7)
            self.assertTrue(said() == whole, f"{len(said())} of {len(whole)} letters, or other ones")
            stage.check(turn)

    @scenario(90, weight=2)
    async def test_480_KB_of_text_arrive_whole_and_in_order_in_E2(self):
        await self.say_much("E2")

    @scenario(90, weight=2)
    async def test_480_KB_of_text_arrive_whole_and_in_order_in_E4(self):
        await self.say_much("E4")


if __name__ == "__main__":
    unittest.main()
