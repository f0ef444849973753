"""The real program with a scripted Codex: everything goes well, or as a person decides (codex.md)."""

import asyncio
import shlex
import unittest

from codex_stage import CodexStage
from harness import until
from peers.codex_steps import (AskLate, Change, Command, Compact, Flood, Form, Hold, Parallel, Question, Retry, Say, SubAgent, Think, Tool,
                               answer)
from pi_home import words
from scheduling import Scenarios, scenario

MOULDY = Command("rm -rv labels/mouldy | wc -l", None, asks="Delete the mouldy labels?")


def story(name, *between):
    return [Say(words(f"{name} a"), "commentary"), *between, Say(words(f"{name} b"))]


class CodexTests(Scenarios):
    async def approvals(self, stage, turn, count=1, seconds=30):
        def found():
            names = [name for name, body in stage.phone.approvals.items() if body["session_id"] == turn.session]
            return names if len(names) >= count else None
        return await until(found, seconds, f"{count} approvals")

    @scenario(120)
    async def test_text_tools_and_usage_end_in_one_bubble(self):
        async with CodexStage() as stage:
            steps = story("disk", Think(["**Looking**"]), Command(parts=["a\n"]), Command("false", code=1), Compact())
            turn = stage.ask("disk please", *steps)
            await stage.ended(turn)
            stage.expect(turn, answer(steps))
            self.assertEqual(len(stage.phone.tasks_of(turn.interaction)), 2)
            self.assertEqual([start["params"]["clientUserMessageId"] is not None for start in stage.codex.log("started")], [True])
            stage.check(turn)

    @scenario(120)
    async def test_a_chat_keeps_its_thread_and_each_chat_has_its_own(self):
        async with CodexStage() as stage:
            one = stage.ask("one", *story("one"))
            await stage.ended(one)
            two = stage.ask("two", *story("two"), session=one.session)
            other = stage.ask("other", *story("other"))
            await stage.ended(two, other)
            await stage.bridge.restart_after_kill()
            three = stage.ask("three", *story("three"), session=one.session)
            await stage.ended(three)
            threads = {entry["text"]: entry["thread"] for entry in stage.codex.log("turns")}
            self.assertEqual(threads["one"], threads["two"])
            self.assertEqual(threads["one"], threads["three"])
            self.assertNotEqual(threads["one"], threads["other"])
            self.assertEqual(len(stage.codex.servers()), 1)
            started, _ = stage.codex.log("threads")
            self.assertEqual({name: started["params"][name] for name in ("sandbox", "approvalPolicy", "approvalsReviewer")},
                             {"sandbox": "workspace-write", "approvalPolicy": "on-request", "approvalsReviewer": "user"})
            stage.check(one, two, three, other)

    @scenario(120)
    async def test_approvals_of_commands(self):
        for decision, sent, ran in (("approve", "accept", 1), ("deny", "decline", 0), ("approve_always", "acceptForSession", 1)):
            async with CodexStage() as stage:
                steps = story("labels", MOULDY)
                turn = stage.ask("labels", *steps)
                name = await stage.approval(turn)
                self.assertEqual(stage.phone.approvals[name]["title"], "Delete the mouldy labels?")
                # The whole command with its shell, not Codex's summary of it.
                self.assertEqual(stage.phone.approvals[name]["command"], f"/bin/bash -lc {shlex.quote(MOULDY.command)}")
                stage.relay.decide(name, decision)
                await stage.ended(turn)
                if decision == "approve_always":
                    # The bridge says that it granted less than was chosen.
                    stage.expect_begins(turn, answer(steps))
                else:
                    stage.expect(turn, answer(steps))
                self.assertEqual([entry["result"] for entry in stage.codex.log("answers")], [{"decision": sent}])
                self.assertEqual(len(stage.codex.ran()), ran)
                if decision == "approve_always":
                    again = stage.ask("labels again", session=turn.session)
                    await stage.ended(again)
                    self.assertEqual(len(stage.phone.approvals), 1)
                stage.check(turn)

    @scenario(120)
    async def test_approvals_of_changes_and_of_tools(self):
        for decision, sent in (("approve", ({"decision": "accept"}, {"action": "accept", "content": {}})),
                               ("deny", ({"decision": "decline"}, {"action": "decline"}))):
            async with CodexStage() as stage:
                steps = story("garden", Change(), Tool())
                turn = stage.ask("garden", *steps)
                change, = await self.approvals(stage, turn)
                self.assertIn("labels.txt", str(stage.phone.approvals[change]))
                stage.relay.decide(change, decision)
                tool = (await self.approvals(stage, turn, 2))[-1]
                self.assertIn("water", str(stage.phone.approvals[tool]))
                stage.relay.decide(tool, decision)
                await stage.ended(turn)
                stage.expect(turn, answer(steps))
                self.assertEqual([entry["result"] for entry in stage.codex.log("answers")], list(sent))
                self.assertEqual(len(stage.codex.ran()), 2 if decision == "approve" else 0)
                stage.check(turn)

    @scenario(120)
    async def test_two_equal_calls_of_a_tool_at_once_are_two_cards(self):
        async with CodexStage() as stage:
            turn = stage.ask("garden", Parallel([Tool(), Tool()]), Say(["Watered."]))
            first, second = await self.approvals(stage, turn, 2)
            stage.relay.decide(first, "approve")
            stage.relay.decide(second, "deny")
            await stage.ended(turn)
            stage.expect(turn, "Watered.")
            self.assertEqual(sorted(entry["result"]["action"] for entry in stage.codex.log("answers")), ["accept", "decline"])
            self.assertEqual(stage.codex.ran(), ["garden/water"])
            stage.check(turn)

    @scenario(120)
    async def test_an_approval_survives_the_bridge(self):
        for renumbers in (False, True):
            async with CodexStage(lambda codex: codex.habits(renumber=renumbers)) as stage:
                # Request numbers belong to the process: the other chat's request comes first.
                other = stage.ask("other labels", *story("other", MOULDY))
                await stage.approval(other)
                steps = story("labels", MOULDY)
                turn = stage.ask("mouldy labels", *steps)
                name = await stage.approval(turn)
                await stage.bridge.restart_after_kill()
                stage.relay.decide(name, "deny")
                await stage.ended(turn)
                stage.expect(turn, answer(steps))
                self.assertEqual(stage.codex.ran(), [])
                stage.relay.decide(await stage.approval(other), "approve")
                await stage.ended(other)
                self.assertEqual(stage.codex.ran(), [MOULDY.command])
                self.assertEqual(len(stage.phone.approvals), 2)
                stage.check(turn, other)

    @scenario(120)
    async def test_stop_in_a_message_at_an_approval_and_in_a_command(self):
        for name, steps in (("text", story("long", Hold("never"))), ("card", story("long", MOULDY)),
                            ("command", story("long", Command("sleep 600", None, gate="never")))):
            async with CodexStage() as stage:
                turn = stage.ask("long", *steps)
                await stage.streaming(turn)
                if name == "card":
                    await stage.approval(turn)
                if name == "command":
                    await until(lambda: stage.codex.ran(), 30, "the command")
                stage.relay.stop(turn.session, turn.interaction)
                await stage.ended(turn)
                self.assertNotIn("long b", stage.phone.final(turn.interaction))
                self.assertEqual([entry["status"] for entry in stage.codex.log("ended")], ["interrupted"])
                self.assertEqual(stage.codex.ran(), ["sleep 600"] if name == "command" else [])
                # A command continues in Codex after the interrupt, so the bridge ends it.
                await until(lambda: name != "command" or stage.codex.log("terminated"), 30, "the end of the command")
                again = stage.ask("hello", session=turn.session)
                await stage.ended(again)
                stage.expect(again, "Understood.")

    @scenario(120)
    async def test_a_stop_before_the_turn_has_begun(self):
        async with CodexStage(lambda codex: codex.habits(started_after=1)) as stage:
            turn = stage.ask("long", *story("long", Hold("never")))
            await until(lambda: stage.codex.log("started"), 30, "the start of the turn")
            stage.relay.stop(turn.session, turn.interaction)
            await stage.ended(turn)
            await until(lambda: stage.codex.log("ended"), 30, "the end of the turn in Codex")
            self.assertEqual([entry["status"] for entry in stage.codex.log("ended")], ["interrupted"])

    @scenario(120)
    async def test_a_message_during_a_run_waits_and_is_not_merged(self):
        async with CodexStage() as stage:
            one = stage.ask("first", *story("first", Hold("go")))
            await stage.streaming(one)
            two = stage.ask("second", *story("second"), session=one.session)
            other = stage.ask("other", *story("other"))
            await stage.ended(other)
            self.assertEqual(stage.codex.texts(), ["first", "other"])
            stage.codex.open_gate("go")
            await stage.ended(one, two)
            stage.expect(one, answer(story("first")))
            stage.expect(two, answer(story("second")))
            self.assertEqual(stage.codex.log("steers"), [])
            stage.check(one, two, other)

    @scenario(120)
    async def test_what_is_retried_leaves_no_trace_and_keeps_what_was_before(self):
        async with CodexStage() as stage:
            steps = [Say(words("kept"), "commentary"), Command(), Say(["Half a sen"], cut=True), Retry(), Retry("Reconnecting... 2/2"),
                     Say(["Third time lucky."])]
            turn = stage.ask("flaky", *steps)
            await stage.ended(turn)
            stage.expect(turn, "".join(words("kept")) + "\n\nThird time lucky.")
            self.assertEqual(len(stage.phone.tasks_of(turn.interaction)), 1)
            stage.check(turn, is_prefix=False)

    @scenario(180)
    async def test_100_approvals_at_once(self):
        # The relay accepts two approvals a second, so the clocks run faster here.
        async with CodexStage(scale=4) as stage:
            commands = [Command(f"rm {number}", None, asks=f"Delete {number}?") for number in range(100)]
            turn = stage.ask("many", Parallel(commands), Say(["All done."]))
            names = await self.approvals(stage, turn, 100, seconds=120)
            self.assertEqual(len(set(names)), 100)
            for name in names:
                stage.relay.decide(name, "approve")
            await stage.ended(turn, seconds=60)
            stage.expect(turn, "All done.")
            self.assertEqual(sorted(stage.codex.ran()), sorted(f"rm {number}" for number in range(100)))

    @scenario(120)
    async def test_an_approval_after_the_end_of_its_turn_changes_no_bubble(self):
        async with CodexStage() as stage:
            turn = stage.ask("late", *story("late"), AskLate())
            await stage.ended(turn)
            stage.expect(turn, answer(story("late")))
            again = stage.ask("hello", session=turn.session)
            await stage.ended(again)
            stage.expect(again, "Understood.")
            self.assertEqual(stage.codex.ran(), [])
            stage.check(turn, again)

    @scenario(120)
    async def test_a_sub_agent_asks_in_the_bubble_and_says_nothing_there(self):
        async with CodexStage() as stage:
            steps = [SubAgent("apprentice", [Say(["I ask first."], "commentary"), MOULDY, Say(["The labels are gone."])]),
                     Say(["The apprentice is done."])]
            turn = stage.ask("apprentice", *steps)
            name = await stage.approval(turn)
            self.assertIn("apprentice", str(stage.phone.approvals[name]))
            stage.relay.decide(name, "approve")
            await stage.ended(turn)
            stage.expect(turn, "The apprentice is done.")
            self.assertEqual(stage.codex.ran(), [MOULDY.command])
            stage.check(turn)

    @scenario(120)
    async def test_a_command_that_outlives_its_turn_does_not_hold_the_bubble(self):
        async with CodexStage() as stage:
            turn = stage.ask("sprinkler", Command("sprinkle", "drop\n", ["drop\n"], gate="dry", outlives=True), Say(["It runs."]))
            await stage.ended(turn)
            stage.expect(turn, "It runs.")
            stage.codex.open_gate("dry")
            again = stage.ask("hello", session=turn.session)
            await stage.ended(again)
            stage.check(turn, again)

    @scenario(120)
    async def test_a_question_is_answered_by_the_next_message(self):
        async with CodexStage() as stage:
            turn = stage.ask("plan", Say(["Let me ask."], "commentary"), Question())
            await until(lambda: (bubble := stage.phone.bubble(turn.interaction)) and "2. Blue" in bubble.streamed, 30, "the question")
            reply = stage.ask("2", session=turn.session)
            await stage.ended(turn, reply)
            stage.expect(reply, "Answered: Blue")
            self.assertTrue(stage.phone.final(turn.interaction).endswith("got Blue"), stage.phone.final(turn.interaction))
            self.assertEqual(stage.codex.texts(), ["plan"])
            stage.check(turn, reply)

    @scenario(120)
    async def test_a_form_with_one_field_is_a_question_and_a_page_is_refused(self):
        async with CodexStage() as stage:
            turn = stage.ask("form", Form(), Form("Open the page", mode="url", url="https://example.org"))
            await until(lambda: (bubble := stage.phone.bubble(turn.interaction)) and "Which bed?" in bubble.streamed, 30, "the question")
            reply = stage.ask("north", session=turn.session)
            await stage.ended(turn, reply)
            self.assertIn("accept: bed=north", stage.phone.final(turn.interaction))
            self.assertRegex(stage.phone.final(turn.interaction), "cancel: |decline: ")
            stage.check(turn, reply)

    @scenario(120)
    async def test_an_asynchronous_question_is_text_and_its_answer_a_message(self):
        async with CodexStage() as stage:
            steps = [Say(["Which colour?\n- Red\n- Blue"], delivery="async", questions=[{"title": "Which colour?", "options": ["Red", "Blue"]}]),
                     Say(["I go on meanwhile."])]
            turn = stage.ask("colours", *steps)
            await stage.ended(turn)
            stage.expect(turn, answer(steps))
            reply = stage.ask("Red", *story("red"), session=turn.session)
            await stage.ended(reply)
            self.assertEqual(stage.codex.texts(), ["colours", "Red"])
            stage.check(turn, reply)

    @scenario(90)
    async def test_20_000_deltas_are_one_text(self):
        async with CodexStage() as stage:
            turn = stage.ask("flood", Flood(20_000))
            await stage.ended(turn, seconds=60)
            stage.expect(turn, "".join(Flood(20_000).chunks()))
            stage.check(turn)

    @scenario(120)
    async def test_two_chats_at_once(self):
        async with CodexStage() as stage:
            turns = [stage.ask(f"chat {number}.", *story(f"chat {number}", Command(), Hold(f"gate {number}"))) for number in range(5)]
            await asyncio.gather(*(stage.streaming(turn) for turn in turns))
            for number in reversed(range(5)):
                stage.codex.open_gate(f"gate {number}")
            await stage.ended(*turns)
            for number, turn in enumerate(turns):
                stage.expect(turn, answer(story(f"chat {number}")))
            stage.check(*turns)


if __name__ == "__main__":
    unittest.main()
