"""The real program with a scripted Oppi server as unkind as the real one: early stops, attempts, late beginnings, answers, places, restarts
(oppi.md)."""

import json
import unittest

from file_stories import PNG, offered
from harness import until
from oppi_stage import OppiStage, in_both
from peers.oppi_client import OppiClient
from peers.oppi_steps import Compact, Dialog, Fail, Hold, Pause, Retry, Say, Tool
from scheduling import Scenarios, scenario


def trace_texts(stage, session):
    return [event.get("text") for event in stage.oppi.disk.trace(session)]


class StopTests(Scenarios):
    @in_both(scenario(120))
    async def test_a_stop_between_two_attempts_stops_the_run(self, dialect):
        for between in (Retry("overloaded", 4), Compact("overflow", will_retry=True, seconds=4)):
            async with OppiStage(dialect) as stage:
                begun = []
                stage.oppi.hooks.append(lambda what, fields: begun.append(fields["text"]) if what == "text" else None)
                turn = stage.ask("flaky", Say(["lost"]), between, Say(["again "]), Hold("never"), Tool(), Say(["not said"]))
                kind = "retry_start" if isinstance(between, Retry) else "compaction_start"
                await until(lambda: any(frame["type"] == kind for *_, frame in stage.oppi.frames), 30, kind)
                stage.relay.stop(turn.session, turn.interaction)
                await stage.ended(turn)
                # Time for the next attempt to begin, and for a stop to arrive.
                await stage.clock.sleep(2)
                stage.oppi.release("never")
                await stage.run_ended("flaky")
                session = await stage.session_of("flaky")
                self.assertNotIn("not said", trace_texts(stage, session))
                self.assertEqual(stage.phone.tasks_of(turn.interaction), {})
                again = stage.ask("again", Say(["Here."]), session=turn.session)
                await stage.ended(again)
                stage.expect(again, "Here.")
                stage.check(turn, again, is_prefix=False)

    @in_both(scenario(120))
    async def test_a_stop_of_a_run_that_has_not_begun_stops_it_when_it_begins(self, dialect):
        for pause in (Pause(14, compacts=True), Pause(14)):
            async with OppiStage(dialect) as stage:
                turn = stage.ask("late", pause, Say(["begun "]), Hold("never"), Tool(), Say(["not said"]))
                await stage.session_of("late")
                stage.relay.stop(turn.session, turn.interaction)
                await stage.ended(turn)
                await until(lambda: any(frame["type"] == "agent_start" for *_, frame in stage.oppi.frames), 30, "the beginning")
                stage.oppi.release("never")
                await stage.run_ended("late")
                self.assertNotIn("not said", trace_texts(stage, await stage.session_of("late")))
                again = stage.ask("again", Say(["Here."]), session=turn.session)
                await stage.ended(again)
                stage.expect(again, "Here.")
                stage.check(turn, again)

    @in_both(scenario(90))
    async def test_a_run_that_another_client_stops_says_so(self, dialect):
        async with OppiStage(dialect) as stage:
            turn = stage.ask("long", Say(["So far."]), Hold("never"))
            await stage.streaming(turn)
            async with OppiClient(stage.oppi) as desk:
                session = await stage.session_of("long")
                await desk.ask("subscribe", sessionId=session)
                await desk.ask("stop", sessionId=session)
                await stage.ended(turn)
            self.assertTrue(stage.phone.final(turn.interaction).startswith("So far."))
            stage.expect_said(turn, "stopped elsewhere")
            stage.check(turn, is_prefix=False)


class AttemptTests(Scenarios):
    @in_both(scenario(90))
    async def test_the_second_attempt_behind_words_is_the_answer(self, dialect):
        async with OppiStage(dialect) as stage:
            steps = [Say(["First."]), Tool(), Say(["five ", "words ", "that ", "are ", "lost"]), Retry("overloaded", 1), Say(["The answer."])]
            turn = stage.ask("flaky", *steps)
            await stage.ended(turn)
            stage.expect(turn, "First.\n\nThe answer.")
            stage.check(turn, is_prefix=False)

    @in_both(scenario(90))
    async def test_a_failure_behind_words_says_why(self, dialect):
        async with OppiStage(dialect) as stage:
            turn = stage.ask("broken", Say(["Ten words."]), Fail("quota exhausted"))
            await stage.ended(turn)
            self.assertTrue(stage.phone.final(turn.interaction).startswith("Ten words."))
            if dialect == "head":
                stage.expect_said(turn, "quota exhausted")
            stage.check(turn, is_prefix=False)

    @in_both(scenario(120))
    async def test_what_failed_while_the_bridge_was_dead_is_no_answer(self, dialect):
        async with OppiStage(dialect) as stage:
            turn = stage.ask("flaky", Say(["lost"]), Hold("on"), Retry("overloaded"), Say(["kept"]))
            broken = stage.ask("broken", Say(["Half"]), Hold("on"), Fail("quota exhausted"))
            await stage.streaming(turn)
            await stage.streaming(broken)
            stage.bridge.kill9()
            await stage.bridge.exit()
            stage.oppi.release("on")
            await stage.run_ended("flaky")
            await stage.run_ended("broken")
            await stage.bridge.start()
            await stage.ended(turn, broken, seconds=40)
            self.assertNotIn("lost\n\nkept", stage.phone.final(turn.interaction))
            self.assertIn("kept", stage.phone.final(turn.interaction))
            if dialect == "head":
                stage.expect_said(broken, "quota exhausted")
            stage.check(turn, broken, is_prefix=False)

    @in_both(scenario(180))
    async def test_a_run_that_begins_late_is_waited_for(self, dialect):
        async with OppiStage(dialect) as stage:
            one = stage.ask("compacted", Pause(26, compacts=True), Say(["After all."]))
            two = stage.ask("silent", Pause(26), Say(["After silence."]))
            await stage.ended(one, two, seconds=60)
            stage.expect(one, "After all.")
            stage.expect(two, "After silence.")
            stage.check(one, two)


class PromptTests(Scenarios):
    @in_both(scenario(120))
    async def test_a_message_with_a_picture_survives_a_kill_of_the_bridge(self, dialect):
        async with OppiStage(dialect) as stage:
            stage.oppi.plan("look", Say(["I see"]), Hold("on"), Say([" a bean."]))
            turn = stage.relay.ask("look", attachments=offered(stage.relay, ("bean.png", "image/png", PNG)))
            await stage.streaming(turn)
            await stage.bridge.restart_after_kill()
            stage.oppi.release("on")
            await stage.ended(turn, seconds=60)
            self.assertEqual(stage.oppi.prompts(), ["look"])
            stage.expect(turn, "I see a bean.")
            stage.check(turn)

    @in_both(scenario(120))
    async def test_a_chat_more_than_the_server_has_places_for(self, dialect):
        def few(stage):
            stage.oppi.workspace_limit = 3
        async with OppiStage(dialect, prepare=few) as stage:
            turns = []
            for number in range(5):
                turns.append(stage.ask(f"chat {number}.", Say([f"Answer {number}."])))
                await stage.ended(turns[-1], seconds=60)
                stage.expect(turns[-1], f"Answer {number}.")
                # A recently busy session would keep its place.
                for activation in stage.oppi.activations.values():
                    activation.session["lastActivity"] -= 120_000
                    stage.oppi.disk.save(activation.session)
            stage.check(*turns)


class AnswerTests(Scenarios):
    QUESTION = {"id": "go", "question": "Deploy?", "options": [
        {"value": "now", "label": "Do it now"}, {"value": "always", "label": "Yes, always"}, {"value": "yes", "label": "Yes"},
        {"value": "no", "label": "No, wait"}]}

    async def answered(self, reply, got, words):
        async with OppiStage("head") as stage:
            turn = stage.ask("question", Dialog("ask", {"questions": [self.QUESTION], "allowCustom": True}))
            await until(lambda: "No, wait" in getattr(stage.phone.bubble(turn.interaction), "text", ""), 30, "the question")
            answer = stage.ask(reply, session=turn.session)
            await stage.ended(turn, answer, seconds=40)
            self.assertEqual(stage.oppi.disk.notes("asked"), got)
            stage.expect_said(turn, words)
            stage.check(turn, answer)

    @scenario(120)
    async def test_an_option_reaches_the_agent_as_that_option(self):
        await self.answered("4", [{"go": "no"}], 'The answer: {"go":"no"}')

    @scenario(120)
    async def test_an_option_that_the_server_would_mistake_is_not_sent_and_the_person_reads_why(self):
        await self.answered("3", [], "“Yes”")

    @scenario(120)
    async def test_own_words_that_are_a_part_of_a_label_stay_own_words(self):
        await self.answered("wait", [{"go": "“wait”"}], 'The answer: {"go":"“wait”"}')

    @scenario(120)
    async def test_an_answer_waits_for_the_permission_of_the_tool_that_asks(self):
        async with OppiStage("head") as stage:
            turn = stage.ask("question", Dialog("ask", {"questions": [self.QUESTION], "allowCustom": True}, asks="Ask?"))
            await until(lambda: "No, wait" in getattr(stage.phone.bubble(turn.interaction), "text", ""), 30, "the question")
            answer = stage.ask("4", session=turn.session)
            stage.relay.decide(await stage.approval(turn), "approve")
            await stage.ended(turn, answer, seconds=40)
            self.assertEqual(stage.oppi.disk.notes("asks_lost"), [])
            self.assertEqual(stage.oppi.disk.notes("asked"), [{"go": "no"}])

    @scenario(120)
    async def test_several_choices_reach_the_agent_together(self):
        question = {"id": "in", "question": "In which?", "multiSelect": True,
                    "options": [{"value": value, "label": label} for value, label in (("sw", "Swift"), ("py", "Python"), ("go", "Go"))]}
        async with OppiStage("head") as stage:
            turn = stage.ask("question", Dialog("ask", {"questions": [question]}))
            await until(lambda: "Python" in getattr(stage.phone.bubble(turn.interaction), "text", ""), 30, "the question")
            answer = stage.ask("1, 3", session=turn.session)
            await stage.ended(turn, answer, seconds=40)
            self.assertEqual(stage.oppi.disk.notes("asked"), [{"in": ["Swift, Go"]}])
            self.assertEqual(json.loads(stage.oppi.disk.notes("answers")[0]["value"]), {"in": "Swift, Go"})
            stage.check(turn, answer)


if __name__ == "__main__":
    unittest.main()
