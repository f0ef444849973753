"""Questions beyond yes or no of a scripted Oppi server (oppi.md#extension-dialogs): asked in the bubble, answered by the chat's next
message."""

import json
import unittest

from harness import until
from oppi_stage import OppiStage
from peers.oppi_steps import Dialog, Say
from scheduling import Scenarios, scenario


class QuestionTests(Scenarios):
    """Questions beyond yes or no: asked in the bubble, answered by the chat's next message."""

    async def asked(self, stage, turn, *words):
        def shown():
            bubble = stage.phone.bubble(turn.interaction)
            return bubble and all(word in bubble.text for word in words)
        await until(shown, 30, f"{words} in the bubble, which shows {getattr(stage.phone.bubble(turn.interaction), 'text', None)!r}")

    async def answers(self, dialog, *replies, words, note):
        """The value that the agent received for these messages."""
        async with OppiStage("head") as stage:
            turn = stage.ask("question", Say(["Let me ask."]), dialog)
            said = []
            for reply, shown in zip(replies, words):
                await self.asked(stage, turn, *shown)
                said.append(stage.ask(reply, session=turn.session))
                await stage.ended(said[-1])
                self.assertNotIn(reply, stage.oppi.prompts())
            await stage.ended(turn)
            self.assertIn("The answer", stage.phone.final(turn.interaction))
            answer, = stage.oppi.disk.notes("answers")
            self.assertEqual({name: value for name, value in answer.items() if name != "id"}, note)
            stage.check(turn, *said)
            return stage, turn, said

    @scenario(120)
    async def test_a_choice_by_number_and_by_name(self):
        dialog = Dialog("select", {"title": "Which bed?", "options": ["east", "west"]})
        for reply in ("2", "west"):
            stage, _, said = await self.answers(dialog, reply, words=[("Which bed?", "1", "east", "2", "west")], note={"value": "west"})
            self.assertIn("Answered", stage.phone.final(said[0].interaction))

    @scenario(120)
    async def test_own_words(self):
        await self.answers(Dialog("input", {"title": "A name?", "placeholder": "letters"}), "Carrot bed",
                           words=[("A name?",)], note={"value": "Carrot bed"})
        await self.answers(Dialog("editor", {"title": "The label?", "prefill": "old"}), "new\nlabel",
                           words=[("The label?",)], note={"value": "new\nlabel"})

    @scenario(120)
    async def test_several_questions_are_asked_one_after_the_other(self):
        questions = [{"id": "bed", "question": "Which bed?", "options": [{"value": "e", "label": "East"}, {"value": "w", "label": "West"}]},
                     {"id": "crops", "question": "Which crops?", "multiSelect": True,
                      "options": [{"value": value, "label": value.title()} for value in ("peas", "beans", "corn")]}]
        async with OppiStage("head") as stage:
            turn = stage.ask("question", Dialog("ask", {"questions": questions, "allowCustom": True}))
            await self.asked(stage, turn, "Which bed?", "West")
            first = stage.ask("2", session=turn.session)
            await self.asked(stage, turn, "Which crops?", "Corn")
            # Each subscription repeats a pending `ask`; the person is asked once.
            made = stage.oppi.sockets_made
            stage.oppi.cut()
            await stage.link_up(since=made)
            second = stage.ask("1, 3", session=turn.session)
            await stage.ended(turn, first, second)
            answer, = stage.oppi.disk.notes("answers")
            self.assertEqual(json.loads(answer["value"]), {"bed": "West", "crops": "Peas, Corn"})
            self.assertEqual(stage.oppi.disk.notes("asked"), [{"bed": "w", "crops": ["Peas, Corn"]}])
            stage.check(turn, first, second)

    @scenario(120)
    async def test_one_whose_time_is_over_ends_with_a_line_and_a_late_answer_is_a_message(self):
        fields = {"title": "Which bed?", "options": ["east", "west"], "timeout": 2_000}
        async with OppiStage("head") as stage:
            turn = stage.ask("question", Dialog("select", fields, {"nothing": "Then neither."}))
            await self.asked(stage, turn, "Which bed?")
            await stage.ended(turn)
            self.assertIn("Then neither.", stage.phone.final(turn.interaction))
            late = stage.ask("west", Say(["A late west."]), session=turn.session)
            await stage.ended(late)
            stage.expect(late, "A late west.")
            stage.check(turn, late)

    @scenario(120)
    async def test_an_answer_survives_a_kill_of_the_bridge(self):
        async with OppiStage("head") as stage:
            ask = Dialog("ask", {"questions": [{"id": "q", "question": "Which bed?", "options": [{"value": "e", "label": "East"}]}]})
            turn = stage.ask("question", ask)
            await self.asked(stage, turn, "Which bed?")
            await stage.bridge.restart_after_kill()
            answer = stage.ask("1", session=turn.session)
            await stage.ended(turn, answer, seconds=60)
            self.assertEqual(len(stage.oppi.disk.notes("answers")), 1)
            stage.check(turn, answer)


if __name__ == "__main__":
    unittest.main()
