"""Questions of pi's extensions, from the bubble to the program and back (DESIGN.md#questions)."""

import asyncio
import json
import tempfile
import unittest
from pathlib import Path

from harness import until
from peers.sealed_phone import SealedPhone
from pi_home import PiHome, said
from pi_stage import LINES, PiStage
from scheduling import Scenarios, scenario
from simulated import SimulatedStage

COLOURS = {"method": "select", "title": "Which colour?", "options": ["Red", "Light Green", "Blue"]}
NAME = {"method": "input", "title": "Which name?", "placeholder": "Ada"}
TEXT = {"method": "editor", "title": "Which words?", "prefill": "old words\nof two lines"}
HINT = "/skip declines."


def asking(*dialogs):
    return {"paint": [said("Let me ask."), {"ask": list(dialogs)}]}


def asked(title="Which colour?"):
    options = "1. Red\n2. Light Green\n3. Blue"
    return f"Let me ask.\n\n{title}\n\n{options}\n\nReply with the number of one option. {HINT}"


class QuestionStage(PiStage):
    async def asked(self, turn, title="Which colour?"):
        """Waits until the phone shows this question."""
        def found():
            bubble = self.phone.bubble(turn.interaction)
            return bubble and title in bubble.streamed and bubble.streamed.rstrip().endswith(HINT)
        await until(found, 30, f"the question {title!r}")

    def answer(self, turn, text):
        return self.ask(text, session=turn.session)

    def answers(self):
        """pi's received answers, in the order of its questions."""
        return [answer.get("value", "cancelled") for answer in self.log("answers")]

    async def closed(self, turn):
        """Waits until the relay has confirmed the end of the bubble, and the bridge knows it."""
        await until(lambda: any(event["event"] == "turn_ended" and event.get("turn") == turn.interaction
                                for event in self.bridge.events), 30, "the turn is closed")


class PiQuestionTests(Scenarios):
    @scenario(120)
    async def test_a_choice_is_answered_by_number_label_and_skip(self):
        for line in LINES:
            for text, value, words in (("2", "Light Green", "Answered: Light Green"), ("light green", "Light Green", "Answered: Light Green"),
                                       ("/skip", "cancelled", "The question was declined.")):
                async with QuestionStage(asking(COLOURS), line) as stage:
                    turn = stage.ask("paint it")
                    await stage.asked(turn)
                    answer = stage.answer(turn, text)
                    await stage.ended(turn, answer)
                    stage.expect(answer, words)
                    got = "nothing" if value == "cancelled" else repr(value)
                    stage.expect(turn, f"{asked()}\n\n{words}\n\ngot {got}")
                    self.assertEqual(stage.answers(), [value])
                    stage.check(turn, answer)
                    stage.check_prompts(turn)
                    self.assertEqual(len(stage.log("prompts")), 1)

    @scenario(60)
    async def test_own_words_go_to_pi_as_they_are(self):
        async with QuestionStage(asking(NAME, TEXT)) as stage:
            turn = stage.ask("paint it")
            await stage.asked(turn, "Which name?")
            name = stage.answer(turn, "Grace Hopper")
            await stage.ended(name)
            await stage.asked(turn, "Which words?")
            self.assertIn("> old words\n> of two lines", stage.phone.bubble(turn.interaction).streamed)
            text = stage.answer(turn, "1\n\nnew words")
            await stage.ended(text, turn)
            stage.expect(name, "Answered: Grace Hopper")
            stage.expect(text, "Answered: 1 new words")
            self.assertEqual(stage.answers(), ["Grace Hopper", "1\n\nnew words"])
            stage.check(turn, name, text)

    @scenario(60)
    async def test_an_answer_that_does_not_fit_keeps_the_question_open(self):
        async with QuestionStage(asking(COLOURS)) as stage:
            turn = stage.ask("paint it")
            await stage.asked(turn)
            for text, why in (("4", "There is no option 4."), ("purple", "That is none of the options.")):
                wrong = stage.answer(turn, text)
                await stage.ended(wrong)
                stage.expect(wrong, f"{why} The question is still open. Reply with the number of one option. {HINT}")
            self.assertEqual(stage.answers(), [])
            right = stage.answer(turn, "3")
            await stage.ended(turn, right)
            self.assertEqual(stage.answers(), ["Blue"])
            self.assertEqual(len(stage.log("prompts")), 1)

    @scenario(60)
    async def test_several_at_once_are_asked_one_after_the_other(self):
        dialogs = [COLOURS | {"title": f"Colour {number}?"} for number in (1, 2, 3)]
        async with QuestionStage(asking(*dialogs)) as stage:
            turn = stage.ask("paint it")
            answers = []
            for number in (1, 2, 3):
                await stage.asked(turn, f"Colour {number}?")
                self.assertNotIn(f"Colour {number + 1}?", stage.phone.bubble(turn.interaction).streamed)
                answers.append(stage.answer(turn, str(number)))
                await stage.ended(answers[-1])
            await stage.ended(turn)
            stage.expect_begins(turn, "Let me ask.")
            self.assertTrue(stage.phone.final(turn.interaction).endswith("got 'Red', 'Light Green', 'Blue'"))
            stage.check(turn, *answers)

    @scenario(60)
    async def test_answered_twice_the_second_is_too_late(self):
        async with QuestionStage(asking(COLOURS)) as stage:
            turn = stage.ask("paint it")
            await stage.asked(turn)
            first, second = stage.answer(turn, "1"), stage.answer(turn, "2")
            await stage.ended(turn, first, second)
            stage.expect(first, "Answered: Red")
            stage.expect_said(second, "The question was over before this came")
            self.assertEqual(stage.answers(), ["Red"])
            self.assertEqual(len(stage.log("prompts")), 1)

    @scenario(60)
    async def test_a_question_expires_and_what_comes_later_is_a_message(self):
        plans = {"paint": [said("Let me ask."), {"ask": [COLOURS | {"timeout": 1_000}]}, {"hold": "end"}]}
        async with QuestionStage(plans) as stage:
            turn = stage.ask("paint it")
            await until(lambda: (bubble := stage.phone.bubble(turn.interaction)) and "not answered in time" in bubble.streamed,
                        30, "the question expired")
            stage.open_gate("end")
            await stage.ended(turn)
            await stage.closed(turn)
            later = stage.answer(turn, "2")
            await stage.ended(later)
            stage.expect(later, "Hello.")
            # pi's own timeout began a moment before the bridge's.
            paragraphs = stage.phone.final(turn.interaction).removeprefix(asked()).strip().split("\n\n")
            self.assertEqual(sorted(paragraphs), ["The question was not answered in time.", "got nothing"])
            self.assertEqual(stage.answers(), [])
            stage.check_prompts(turn, later)

    @scenario(60)
    async def test_an_answer_passes_the_messages_that_wait(self):
        async with QuestionStage({"paint": [{"hold": "ask"}, {"ask": [COLOURS]}]}) as stage:
            turn = stage.ask("paint it")
            waiting = stage.ask("and then this", session=turn.session)
            await until(lambda: stage.phone.bubble(waiting.interaction), 30, "its bubble")
            stage.open_gate("ask")
            await stage.asked(turn)
            answer = stage.answer(turn, "1")
            await stage.ended(answer, turn, waiting)
            stage.expect(answer, "Answered: Red")
            stage.expect(waiting, "Hello.")
            stage.check_prompts(turn, waiting)

    @scenario(60)
    async def test_stop_cancels_the_question_and_the_next_message_goes_to_the_agent(self):
        async with QuestionStage(asking(COLOURS)) as stage:
            turn = stage.ask("paint it")
            await stage.asked(turn)
            stage.relay.stop(turn.session, turn.interaction)
            await stage.ended(turn)
            stage.expect(turn, asked())
            again = stage.answer(turn, "1")
            await stage.ended(again)
            stage.expect(again, "Hello.")
            self.assertNotIn("Red", stage.answers())
            stage.check_prompts(turn, again)

    @scenario(60)
    async def test_a_bridge_that_is_killed_ends_its_question(self):
        async with QuestionStage(asking(COLOURS)) as stage:
            turn = stage.ask("paint it")
            await stage.asked(turn)
            await stage.bridge.restart_after_kill()
            await stage.ended(turn, seconds=40)
            stage.expect_begins(turn, asked())
            await stage.closed(turn)
            later = stage.answer(turn, "2")
            await stage.ended(later)
            stage.expect(later, "Hello.")
            self.assertEqual(stage.answers(), [])
            stage.check(turn, later)
            stage.check_prompts(turn, later)

    @scenario(60)
    async def test_an_answer_that_meets_a_killed_bridge_is_not_taken_for_a_prompt(self):
        async with QuestionStage(asking(COLOURS)) as stage:
            turn = stage.ask("paint it")
            await stage.asked(turn)
            stage.bridge.kill9()
            await stage.bridge.exit()
            answer = stage.answer(turn, "2")
            await stage.bridge.start()
            await stage.ended(turn, answer, seconds=40)
            self.assertEqual(stage.answers(), [])
            self.assertEqual(stage.log("prompts").count("2"), 0)
            stage.expect_said(answer, "The question was over before this came", "may not have got it")

    @scenario(90)
    async def test_a_sealed_chat_is_asked_and_answered_sealed(self):
        with tempfile.TemporaryDirectory(prefix="pi-sealed-") as folder:
            home = PiHome(Path(folder) / "pi", asking(COLOURS))
            without = dict.fromkeys(("OPENCLAW_URL", "OPENCLAW_TOKEN", "OPENCLAW_STATE_DIR"))
            environment = without | home.bridge_environment
            async with SimulatedStage(environment=environment) as stage:
                phone = SealedPhone(stage.simulator.url, stage.simulator.user_token)
                try:
                    for step in (phone.bridge, phone.register, phone.follow):
                        await asyncio.to_thread(step)
                    turn = await asyncio.to_thread(phone.send, await asyncio.to_thread(phone.new_chat), "paint it")
                    await until(lambda: phone.streamed(turn).endswith(HINT), 30, "the question")
                    answer = await asyncio.to_thread(phone.send, turn["session_id"], "2")
                    self.assertEqual((await asyncio.to_thread(phone.ended, answer))["text"], "Answered: Light Green")
                    final = await asyncio.to_thread(phone.ended, turn)
                    self.assertEqual(final["text"], f"{asked()}\n\nAnswered: Light Green\n\ngot 'Light Green'")
                    self.assertEqual(phone.unreadable, [])
                    self.assertNotIn("Green", json.dumps(await stage.simulator.messages(turn["session_id"])))
                    self.assertEqual(await stage.simulator.breaches(), [])
                finally:
                    phone.close()

    @scenario(60)
    async def test_a_child_that_dies_ends_its_question(self):
        plans = {"paint": [said("Let me ask."), {"ask_beside": COLOURS}, {"hold": "exit"}, {"exit": 1}]}
        async with QuestionStage(plans) as stage:
            turn = stage.ask("paint it")
            await stage.asked(turn)
            stage.open_gate("exit")
            await stage.ended(turn)
            stage.expect_said(turn, "ended before the question was answered")
            self.assertEqual(len(stage.log("prompts")), 1)

    @scenario(60)
    async def test_a_dialog_ends_with_the_run_that_did_not_wait_for_it(self):
        sure = {"method": "confirm", "title": "Sure?", "message": "Really?"}
        async with QuestionStage({"leave": [{"ask_beside": sure}, said("Left.")], "/tidy": [{"command": True}]}) as stage:
            turn = stage.ask("leave it")
            await stage.ended(turn)
            await until(lambda: stage.log("answers"), 10, "the dialog is answered")
            self.assertEqual(stage.answers(), ["cancelled"])
            command, behind = (stage.ask(text, session=turn.session) for text in ("/tidy up", "and then"))
            # The bridge asks pi once, after 10 s, whether a run began.
            await stage.ended(command, behind, seconds=30)
            stage.expect(behind, "Hello.")
            self.assertEqual(len(stage.log("answers")), 1)
            stage.check_prompts(turn, command, behind)


if __name__ == "__main__":
    unittest.main()
