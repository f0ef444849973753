"""The real program with children that speak like Claude Code (claude-code.md)."""

import asyncio
import os
import shutil
import signal

from claude_rules import waiting
from claude_stage import ClaudeStage
from commands import once
from harness import until
from peers.claude_steps import Call, LongLine, Refuse, bash, edit, question
from peers.steps import Hold, Say
from scheduling import Scenarios, scenario


def text_of(stage, turn):
    return getattr(stage.phone.bubble(turn.interaction), "text", "")


async def shows(stage, turn, words):
    await until(lambda: words in text_of(stage, turn), 30, f"{words!r} in {text_of(stage, turn)!r}")


class ClaudeTests(Scenarios):
    @scenario(60)
    async def test_text_and_tools_end_in_one_bubble(self):
        async with ClaudeStage() as stage:
            turn = stage.ask("list the folder", Say(["Let me ", "look."]), Call("Bash", {"command": "ls"}, "a.txt"), Say(["One file."]))
            await stage.ended(turn)
            stage.expect(turn, "Let me look.\n\nOne file.")
            self.assertEqual(len(stage.phone.tasks_of(turn.interaction)), 1)
            stage.check(turn)

    @scenario(60)
    async def test_a_message_that_waits_for_a_place_at_SIGTERM_is_answered_by_the_next_bridge(self):
        async with ClaudeStage(configuration={"limits": {"agents": 1}}) as stage:
            long = stage.ask("long", Say(["Working. "]), Hold("long"), Say(["Done."]))
            await stage.streaming(long)
            waits = stage.ask("waits", Say(["Yes."]))
            await until(lambda: stage.phone.tasks_of(waits.interaction), 30, "the card of the wait")
            stage.bridge.terminate()
            self.assertEqual(await stage.bridge.exit(), 0)
            stage.open_gate("long")
            await stage.bridge.start()
            await stage.ended(long, waits)
            stage.expect(long, "Working. Done.")
            stage.expect(waits, "Yes.")
            stage.check(long, waits)
            self.assertEqual(sorted(stage.claude.texts()), ["long", "waits"])

    @scenario(60)
    async def test_a_chat_keeps_its_process_and_its_session(self):
        async with ClaudeStage() as stage:
            one = stage.ask("one", Say(["first"]))
            await stage.ended(one)
            two = stage.ask("two", Say(["second"]), session=one.session)
            await stage.ended(two)
            self.assertEqual(len(stage.claude.log("starts")), 1)
            await stage.bridge.restart_after_kill()
            three = stage.ask("three", Say(["third"]), session=one.session)
            await stage.ended(three)
            first, second = (start["arguments"] for start in stage.claude.log("starts"))
            begun, = (word for word in first if word.startswith("--session-id="))
            self.assertIn(begun.replace("--session-id", "--resume"), second)
            stage.expect(three, "third")

    @scenario(60)
    async def test_a_card_is_answered_and_what_is_refused_does_not_run(self):
        for decision, effects in (("approve", ["x"]), ("deny", [])):
            async with ClaudeStage() as stage:
                turn = stage.ask("plant", bash("echo x >> effects"), Say(["Done."]))
                approval = await stage.approval(turn)
                self.assertEqual(stage.phone.approvals[approval]["command"], "echo x >> effects")
                stage.relay.decide(approval, decision)
                await stage.ended(turn)
                self.assertEqual(stage.claude.effects(), effects)

    @scenario(60)
    async def test_the_words_of_a_refusal_go_with_the_denial(self):
        async with ClaudeStage() as stage:
            turn = stage.ask("tidy up", bash("rm -r build"), Say(["I use make then."]))
            await stage.approval(turn)
            words = stage.ask("/bridge no use make clean instead", session=turn.session)
            await stage.ended(turn, words)
            await until(lambda: "use make clean instead" in str(stage.transcript()), 30, "the denial is in the transcript")
            self.assertIn("The user declined this call and says: use make clean instead", str(stage.transcript()))
            self.assertEqual(stage.claude.effects(), [])
            self.assertEqual(len(stage.claude.texts()), 1)

    @scenario(60)
    async def test_always_is_a_rule_of_the_session_for_all_edits(self):
        async with ClaudeStage() as stage:
            (stage.folder / "a.txt").write_text("red\nblue\n")
            turn = stage.ask("paint", edit(stage.folder / "a.txt", "red", "green"), edit(stage.folder / "a.txt", "blue", "green"), Say(["Painted."]))
            approval = await stage.approval(turn)
            card = stage.phone.approvals[approval]
            self.assertIn("all edits in this folder", str(card))
            self.assertIn("red", str(card))
            self.assertIn("green", str(card))
            stage.relay.decide(approval, "approve_always")
            await stage.ended(turn)
            self.assertEqual((stage.folder / "a.txt").read_text(), "green\ngreen\n")
            self.assertEqual(len(stage.phone.approvals), 1)

    @scenario(60)
    async def test_questions_are_asked_one_after_the_other(self):
        async with ClaudeStage() as stage:
            turn = stage.ask("plan the garden", question("Which hedge?", "Which gate?"), Say(["As you like."]))
            await shows(stage, turn, "Which hedge?")
            stage.ask("2", session=turn.session)
            await shows(stage, turn, "Which gate?")
            # The relay shows the question before the bridge knows it: a message in that instant would answer the previous one.
            await asyncio.sleep(0.3)
            stage.ask("a wooden one", session=turn.session)
            await stage.ended(turn)
            await until(lambda: "a wooden one" in str(stage.transcript()), 30, "the answers are in the transcript")
            self.assertIn("Blue", str(stage.transcript()))

    @scenario(60)
    async def test_a_stop_ends_the_turn_and_its_open_ask(self):
        async with ClaudeStage() as stage:
            turn = stage.ask("plant", Say(["Let me see. "]), bash("echo x >> effects"), Say(["Done."]))
            approval = await stage.approval(turn)
            stage.relay.stop(turn.session, turn.interaction)
            await stage.ended(turn)
            stage.relay.decide(approval, "approve")
            again = stage.ask("again", Say(["Here."]), session=turn.session)
            await stage.ended(again)
            self.assertEqual(stage.claude.effects(), [])
            stage.expect(again, "Here.")

    @scenario(60)
    async def test_a_stop_in_mid_text_keeps_what_was_said(self):
        async with ClaudeStage() as stage:
            turn = stage.ask("count", Say(["one ", "two "]), Say(["three "] * 500, every=0.02))
            await shows(stage, turn, "three")
            stage.relay.stop(turn.session, turn.interaction)
            await stage.ended(turn)
            stage.expect_begins(turn, "one two")

    @scenario(60)
    async def test_a_login_that_is_refused_is_said_at_once_and_the_next_message_has_another_process(self):
        async with ClaudeStage() as stage:
            turn = stage.ask("hello", Refuse(401, "authentication_error", "invalid x-api-key"))
            await stage.ended(turn, seconds=15)
            self.assertIn("/login", stage.phone.final(turn.interaction))
            again = stage.ask("again", Say(["Here."]), session=turn.session)
            await stage.ended(again)
            stage.expect(again, "Here.")
            self.assertEqual(len(stage.claude.log("starts")), 2)

    @scenario(60)
    async def test_an_orphan_finishes_before_its_session_is_taken_up(self):
        async with ClaudeStage() as stage:
            turn = stage.ask("work", bash("echo x >> effects"), Hold("go"), Say(["Finished alone."]))
            approval = await stage.approval(turn)
            stage.relay.decide(approval, "approve")
            await until(lambda: stage.claude.effects() == ["x"], 30, "the call ran")
            stage.bridge.kill9()
            await stage.bridge.start()
            stage.open_gate("go")
            await stage.ended(turn, seconds=40)
            stage.expect_said(turn, "Finished alone.")
            self.assertEqual(stage.claude.effects(), ["x"])
            self.assertEqual(stage.claude.problems(), [])

    @scenario(60)
    async def test_what_an_orphan_had_to_refuse_is_told_to_the_person_and_to_the_model(self):
        async with ClaudeStage() as stage:
            turn = stage.ask("plant", bash("echo x >> effects"), Say(["I could not."]))
            await stage.approval(turn)
            stage.bridge.kill9()
            await stage.bridge.start()
            await stage.ended(turn, seconds=40)
            stage.expect_said(turn, "I could not.")
            self.assertIn("1 call could not be asked about while the bridge was away", stage.phone.final(turn.interaction))
            again = stage.ask("go on", Say(["Now."]), session=turn.session)
            await stage.ended(again)
            self.assertIn("These calls were refused because nobody could be asked", stage.claude.texts()[-1])
            self.assertEqual(stage.claude.effects(), [])

    @scenario(90)
    async def test_a_process_that_is_killed_runs_the_prompt_once(self):
        async with ClaudeStage() as stage:
            turn = stage.ask("work", Say(["Thinking "] * 20, every=0.05), bash("echo x >> effects"), Say(["Done."]))
            await shows(stage, turn, "Thinking")
            os.kill(stage.claude.processes()[-1], signal.SIGKILL)
            approval = await stage.approval(turn)
            stage.relay.decide(approval, "approve")
            await stage.ended(turn)
            self.assertEqual(stage.claude.effects(), ["x"])
            self.assertTrue(stage.phone.final(turn.interaction).endswith("Done."), stage.phone.final(turn.interaction))

    @scenario(60)
    async def test_a_session_that_is_gone_begins_another_conversation_and_says_so(self):
        async with ClaudeStage() as stage:
            turn = stage.ask("one", Say(["first"]))
            await stage.ended(turn)
            await stage.bridge.restart_after_kill()
            shutil.rmtree(stage.claude.configuration / "projects")
            again = stage.ask("two", Say(["second"]), session=turn.session)
            await stage.ended(again)
            stage.expect_said(again, "second")
            self.assertIn("no longer has this chat's earlier conversation", stage.phone.final(again.interaction))

    @scenario(60)
    async def test_a_line_of_16_megabytes_is_read(self):
        async with ClaudeStage() as stage:
            turn = stage.ask("long", LongLine(), Say(["Short."]))
            await stage.ended(turn)
            stage.expect(turn, "Short.")

    @scenario(60)
    async def test_a_program_of_last_spring(self):
        async with ClaudeStage(arguments=["--era", "old"]) as stage:
            turn = stage.ask("hello", Say(["Good ", "morning."]), Call("Bash", {"command": "ls"}, "a"), Say(["Yes."]))
            await stage.ended(turn)
            stage.expect(turn, "Good morning.\n\nYes.")
            stopped = stage.ask("count", Say(["tick "] * 500, every=0.02), session=turn.session)
            await shows(stage, stopped, "tick")
            stage.relay.stop(stopped.session, stopped.interaction)
            await stage.ended(stopped)

    @scenario(60)
    async def test_ten_chats_at_once(self):
        async with ClaudeStage() as stage:
            turns = [stage.ask(f"chat {number}.", Say([f"Answer {number}."])) for number in range(10)]
            await stage.ended(*turns, seconds=50)
            for number, turn in enumerate(turns):
                stage.expect(turn, f"Answer {number}.")
            self.assertEqual(stage.claude.problems(), [])

    @scenario(60)
    async def test_a_turn_that_begins_by_itself_has_a_bubble_in_its_chat(self):
        async with ClaudeStage() as stage:
            stage.claude.plan("task-notification", Say(["The watering is done."]))
            turn = stage.ask("Water", bash(waiting("watered"), run_in_background=True), Say(["The water runs."]))
            stage.relay.decide(await stage.approval(turn), "approve")
            await stage.ended(turn)
            (stage.folder / "watered").touch()
            await until(lambda: "The watering is done." in stage.phone.loose_messages(turn.session), 30, "a bubble of its own")
            again = stage.ask("and now", Say(["Nothing."]), session=turn.session)
            await stage.ended(again)
            self.assertEqual(len(stage.claude.log("starts")), 1)

    @scenario(60)
    async def test_the_first_bubble_says_what_runs_unasked(self):
        async with ClaudeStage(environment={"CLAUDE_PERMISSION_MODE": "acceptEdits"}) as stage:
            turn = stage.ask("one", Say(["first"]))
            await stage.ended(turn)
            self.assertIn("run without asking", stage.phone.final(turn.interaction))
            again = stage.ask("two", Say(["second"]), session=turn.session)
            await stage.ended(again)
            stage.expect(again, "second")
            refused = await once("config", "show", directory=stage.directory, environment=stage.environment() | {"CLAUDE_PERMISSION_MODE": "bypassPermissions"})
            self.assertEqual(refused.code, 2)
            self.assertIn("bypassPermissions", refused.err)

    @scenario(60)
    async def test_doctor_says_whether_it_is_there_and_logged_in(self):
        async with ClaudeStage() as stage:
            async def doctor(**more):
                found = await once("doctor", "--json", directory=stage.directory, environment=stage.environment() | more)
                return found.code, next((line for line in found.out.splitlines() if "Claude Code" in line), found.out + found.err)
            code, line = await doctor(CLAUDE_PERMISSION_MODE="acceptEdits")
            self.assertIn("Claude Code runs", line)
            self.assertIn("run without asking", line)
            code, line = await doctor(CLAUDE_COMMAND="/nowhere/claude")
            self.assertEqual(code, 10, line)
            stage.claude.habits(logged_out=True)
            code, line = await doctor()
            self.assertEqual(code, 11, line)
            self.assertIn("/login", line)
