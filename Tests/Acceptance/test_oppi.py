"""The real program with a scripted Oppi server (oppi.md), in both dialects: runs, tools, stops, errors."""

import asyncio
import unittest

from harness import until
from oppi_stage import OppiStage, in_both
from peers.oppi_client import OppiClient
from peers.oppi_steps import Burst, Compact, EndSession, Emit, Fail, Hold, Parallel, Refuse, Retry, Say, Tool, Trouble
from scheduling import Scenarios, scenario


def words(name, count=8):
    return [f"{name}-{number} " for number in range(count - 1)] + [f"{name}-{count - 1}"]


class OppiTests(Scenarios):
    @in_both(scenario(90))
    async def test_text_and_tools_end_in_one_bubble(self, dialect):
        async with OppiStage(dialect) as stage:
            steps = [Say(words("a"), thinking="Let me see."), Tool(), Say(words("b"), unstreamed=" and more"),
                     Tool("read", {"path": "soil.txt"}, [], call="call_x|fc_1"), Say(["c "]), Say(["d"], block=True)]
            turn = stage.ask("disk please", *steps)
            await stage.ended(turn)
            stage.expect_answer(turn, steps)
            self.assertEqual(len(stage.phone.tasks_of(turn.interaction)), 2)
            stage.check(turn)
            self.assertEqual(stage.oppi.dropped_on_purpose + sum(socket.dropped for socket in stage.oppi.sockets), 0)

    @in_both(scenario(90))
    async def test_calls_side_by_side_a_failed_one_a_long_one_and_one_without_an_id(self, dialect):
        async with OppiStage(dialect) as stage:
            steps = [Parallel([Tool(args={"command": "echo " + "x" * 300}, parts=["x" * 5_000] * 4), Tool("read", {"path": "a"}, ["no"], True)]),
                     Say(["Half."]), Tool("grep", {"pattern": "x"}, ["found"], call=""), Say(["Done."])]
            turn = stage.ask("much", *steps)
            await stage.ended(turn)
            stage.expect_answer(turn, steps)
            tasks = stage.phone.tasks_of(turn.interaction)
            self.assertEqual(sorted(states[-1] for states in tasks.values()), ["task_completed", "task_completed", "task_failed"])
            stage.check(turn)

    @in_both(scenario(90))
    async def test_a_chat_keeps_its_session_also_over_a_restart_of_the_bridge(self, dialect):
        async with OppiStage(dialect) as stage:
            one = stage.ask("one", Say(["First."]))
            await stage.ended(one)
            two = stage.ask("two", Say(["Second."]), session=one.session)
            await stage.ended(two)
            await stage.bridge.restart_after_kill()
            three = stage.ask("three", Say(["Third."]), session=one.session)
            other = stage.ask("other", Say(["Other."]))
            await stage.ended(three, other)
            sessions = [await stage.session_of(text) for text in ("one", "two", "three", "other")]
            self.assertEqual(len(set(sessions[:3])), 1)
            self.assertNotIn(sessions[3], sessions[:3])
            for turn, text in ((one, "First."), (two, "Second."), (three, "Third."), (other, "Other.")):
                stage.expect(turn, text)
            stage.check(one, two, three, other)

    @in_both(scenario(90))
    async def test_many_chats_at_once_each_get_their_own_text(self, dialect):
        async with OppiStage(dialect) as stage:
            plans = {f"chat {number}.": [Say(words(f"c{number}")), Tool(), Say(words(f"d{number}"))] for number in range(6)}
            turns = {text: stage.ask(text, *steps) for text, steps in plans.items()}
            await stage.ended(*turns.values())
            for text, turn in turns.items():
                stage.expect_answer(turn, plans[text])
                self.assertTrue(stage.phone.bubble(turn.interaction).streamed, text)
            stage.check(*turns.values())

    @in_both(scenario(90))
    async def test_messages_of_one_chat_run_one_after_another(self, dialect):
        async with OppiStage(dialect) as stage:
            first = stage.ask("first", Say(["First"]), Hold("go"), Say([" done."]))
            await stage.streaming(first)
            second = stage.ask("second", Say(["Second done."]), session=first.session)
            await until(lambda: stage.phone.bubble(second.interaction), 30, "the bubble of the second")
            self.assertEqual(stage.oppi.prompts(), ["first"])
            stage.oppi.release("go")
            await stage.ended(first, second)
            stage.expect(first, "First done.")
            stage.expect(second, "Second done.")
            stage.check(first, second)

    @in_both(scenario(90))
    async def test_stop_ends_the_run_and_the_chat_goes_on(self, dialect):
        async with OppiStage(dialect) as stage:
            turn = stage.ask("long", Say(words("a")), Hold("never"), Say(["not said"]))
            await stage.streaming(turn)
            stage.relay.stop(turn.session, turn.interaction)
            await stage.ended(turn)
            self.assertIn("a-0", stage.phone.final(turn.interaction))
            self.assertNotIn("not said", stage.phone.final(turn.interaction))
            await stage.run_ended("long")
            again = stage.ask("again", Say(["Here."]), session=turn.session)
            await stage.ended(again)
            stage.expect(again, "Here.")
            stage.check(turn, again)

    @in_both(scenario(90))
    async def test_stop_in_a_tool_finishes_its_task(self, dialect):
        async with OppiStage(dialect) as stage:
            turn = stage.ask("tool", Say(["Wait."]), Tool(hold="never"), Say(["not said"]))
            await until(lambda: stage.phone.tasks_of(turn.interaction), 30, "the task")
            stage.relay.stop(turn.session, turn.interaction)
            await stage.ended(turn)
            stage.check(turn)

    @in_both(scenario(90))
    async def test_a_stop_that_the_agent_ignores_ends_the_bubble(self, dialect):
        async with OppiStage(dialect, scale=4) as stage:
            turn = stage.ask("stubborn", Say(words("a")), Hold("later"), Say(["late"]), stubborn=True)
            await stage.streaming(turn)
            stage.relay.stop(turn.session, turn.interaction)
            await stage.ended(turn)
            stage.oppi.release("later")
            await stage.run_ended("stubborn")
            again = stage.ask("again", Say(["Here."]), session=turn.session)
            await stage.ended(again)
            stage.expect(again, "Here.")
            stage.check(turn, again)

    @in_both(scenario(90))
    async def test_errors_and_retries(self, dialect):
        async with OppiStage(dialect) as stage:
            tries = [Say(["First."]), Tool(), Say(["lost "]), Retry("overloaded"), Say(["kept"])]
            flaky = stage.ask("flaky", *tries)
            broken = stage.ask("broken", Say(["Half"]), Fail("no credit left"))
            twice = stage.ask("given up", Retry("overloaded"), Retry("overloaded"), Fail("overloaded for good"))
            empty = stage.ask("nothing at all", Say([]))
            steps = [Say(["All "]), Trouble(), Say(["is well."])]
            recovers = stage.ask("recovers", *steps)
            await stage.ended(flaky, broken, twice, empty, recovers)
            stage.expect_answer(flaky, tries)
            if dialect == "head":
                stage.expect_said(broken, "no credit left")
            stage.expect_said(twice, "overloaded for good")
            stage.expect_answer(recovers, steps)
            stage.check(flaky, broken, twice, empty, recovers, is_prefix=False)

    @in_both(scenario(90))
    async def test_a_prompt_that_the_agent_refuses_is_said(self, dialect):
        """The seed dialect reports nothing: there the turn has its own deadline."""
        if dialect == "seed":
            return
        async with OppiStage(dialect) as stage:
            turn = stage.ask("refused", Refuse("No API key found"))
            await stage.ended(turn, seconds=40)
            stage.expect_said(turn, "No API key found")
            stage.check(turn)

    @in_both(scenario(90))
    async def test_compaction_between_and_after_runs(self, dialect):
        async with OppiStage(dialect) as stage:
            steps = [Say(["Before."]), Tool(), Compact("overflow", will_retry=True), Say(["After."])]
            overflow = stage.ask("overflow", *steps)
            after = stage.ask("threshold", Say(["All."]), Compact())
            await stage.ended(overflow, after)
            stage.expect_answer(overflow, steps)
            stage.expect(after, "All.")
            again = stage.ask("again", Say(["Still here."]), session=after.session)
            await stage.ended(again)
            stage.expect(again, "Still here.")
            stage.check(overflow, after, again)

    @in_both(scenario(90))
    async def test_what_is_unknown_and_the_state_of_a_child_session_change_nothing(self, dialect):
        async with OppiStage(dialect) as stage:
            child = {"id": "childSes", "status": "ready", "createdAt": 1, "lastActivity": 1, "messageCount": 0, "tokens": {}, "cost": 0}
            steps = [Say(["One "]), Emit({"type": "weather", "sun": True, "seq": "x"}), Emit({"type": "state", "session": child}),
                     *(Emit({"type": "extension_ui_notification", **fields}) for fields in (
                         {"method": "notify", "message": "psst", "notifyType": "info"}, {"method": "setStatus", "statusKey": "k", "statusText": "v"},
                         {"method": "setTitle"}, {"method": "setWidget"})),
                     Say(["and two."])]
            turn = stage.ask("odd", *steps)
            await stage.ended(turn)
            stage.expect(turn, "One and two.")
            stage.check(turn)

    @in_both(scenario(90))
    async def test_a_session_that_ends_under_its_run_ends_the_bubble_and_the_chat_goes_on(self, dialect):
        async with OppiStage(dialect) as stage:
            turn = stage.ask("ends", Say(words("a")), EndSession("terminated"))
            await stage.ended(turn, seconds=60)
            self.assertIn("a-0", stage.phone.final(turn.interaction))
            again = stage.ask("again", Say(["Here."]), session=turn.session)
            await stage.ended(again)
            stage.expect(again, "Here.")
            stage.check(turn, again)

    @in_both(scenario(90))
    async def test_what_another_device_writes_in_the_same_session_stays_out_of_the_bubble(self, dialect):
        async with OppiStage(dialect) as stage:
            one = stage.ask("one", Say(["First."]))
            await stage.ended(one)
            session = await stage.session_of("one")
            stage.oppi.plan("elsewhere", Say(["Not for the phone."]), Hold("elsewhere"), Say([" Really."]))
            async with OppiClient(stage.oppi) as desk:
                await desk.ask("subscribe", sessionId=session)
                mark = len(desk.frames)
                await desk.send("prompt", sessionId=session, message="elsewhere")
                await desk.type("text_delta", mark)
                two = stage.ask("two", Say(["Second."]), session=one.session)
                await until(lambda: stage.phone.bubble(two.interaction), 30, "the bubble of the second")
                stage.oppi.release("elsewhere")
                await stage.ended(two, seconds=60)
            self.assertEqual(stage.phone.final(one.interaction), "First.")
            self.assertEqual(stage.phone.final(two.interaction), "Second.")
            stage.check(one, two)

    @in_both(scenario(120))
    async def test_dropped_deltas_leave_an_exact_end(self, dialect):
        async with OppiStage(dialect) as stage:
            burst = Burst(20_000, kept=8_000)
            turn = stage.ask("much", burst)
            await stage.ended(turn, seconds=90)
            if dialect == "seed":
                self.assertEqual(stage.oppi.dropped_on_purpose, 12_000)
            whole = "".join(burst.pieces()).strip()
            await until(lambda: len(self.all_text(stage, turn).strip()) >= len(whole), 60, "the rest of the text")
            self.assertEqual(self.all_text(stage, turn).strip(), whole)
            stage.expect_subsequence(turn, burst.pieces())
            stage.check(turn, is_prefix=dialect == "head")

    @staticmethod
    def all_text(stage, turn):
        """The text of the bubble and of the messages that continue it."""
        return stage.phone.final(turn.interaction) + "".join(stage.phone.loose_messages(turn.session))

    @scenario(120)
    async def test_with_the_relay_stalled_the_server_drops_nothing(self):
        async with OppiStage("seed") as stage:
            # A busy machine may delay the bridge's reader for a while, the relay never.
            burst = Burst(20_000, "thinking_delta", 1_000, patience=20.0)
            turn = stage.ask("flood", Say(["Here "]), Hold("flood"), burst, Say(words("text", 400), 0))
            await stage.streaming(turn)
            held = asyncio.Event()
            for method in ("sendMessageDelta", "sendMessageEnd", "createTask", "sendMessage"):
                stage.relay.hold[method] = held
            stage.oppi.release("flood")
            await stage.run_ended("flood", 90)
            self.assertFalse(stage.phone.is_ended(turn.interaction))
            self.assertEqual([socket.dropped for socket in stage.oppi.sockets if socket.dropped], [])
            held.set()
            stage.relay.hold.clear()
            await stage.ended(turn, seconds=60)
            stage.expect(turn, "Here " + "".join(words("text", 400)))
            self.assertLess(stage.bridge.peak_megabytes(), 300)
            stage.check(turn)


if __name__ == "__main__":
    unittest.main()
