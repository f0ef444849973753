"""Conversations with the real Codex through the bridge, for `make real-agents`: actions of a person and of the model."""

import unittest

from model import Break, Command, Failed, Hold, Patch, Refuse, Say, Think
from real_stage import RealStage
from scheduling import Scenarios, scenario

LABELS = "*** Begin Patch\n*** Add File: labels.txt\n+beans\n+peas\n*** End Patch\n"
OUTSIDE = LABELS.replace("labels.txt", "../outside.txt")
ASKS = ([Say("I ask.", "commentary"), Command("rm -r labels/mouldy", "Delete the mouldy labels?")], [Say("As you decided.")])


class RealCodexTests(Scenarios):
    @scenario(120)
    async def test_text_reasoning_and_tools_with_both_kinds_of_models(self):
        for name in ("gpt-5.5", "gpt-6.1-sol"):
            async with RealStage(name) as stage:
                turn = await stage.ask("Count and write.", [Think("**Looking**\n\nI count."), Say("I look.", "commentary"),
                                                            Command("ls | wc -l"), Patch(LABELS)], [Say("Done. " * 200)])
                self.assertEqual(await stage.final(turn), "I look.\n\n" + "Done. " * 200)
                message, = await stage.answers(turn)
                self.assertTrue(list(stage.directory.rglob("labels.txt")), "the patch was applied")
                await stage.check(turn)

    @scenario(120)
    async def test_approvals(self):
        for decision, remains in (("approve", False), ("deny", True), ("approve_always", False)):
            async with RealStage() as stage:
                turn = await stage.ask("Throw away the mouldy labels.", *ASKS)
                await stage.decide_card(await stage.card(), decision)
                self.assertTrue((await stage.final(turn)).startswith("I ask.\n\nAs you decided."))
                rules = list(stage.home.codex_home.rglob("*.rules"))
                self.assertFalse([path for path in rules if "mouldy" in path.read_text()], "no rule for ever")
                await stage.check(turn)

    @scenario(120)
    async def test_a_change_outside_of_the_workspace_asks(self):
        for decision, changed in (("approve", True), ("deny", False)):
            async with RealStage() as stage:
                turn = await stage.ask("Write outside.", [Patch(OUTSIDE)], [Say("As you decided.")])
                card = await stage.card()
                self.assertIn("outside.txt", str(card))
                await stage.decide_card(card, decision)
                self.assertEqual(await stage.final(turn), "As you decided.")
                self.assertEqual((stage.home.project.parent / "outside.txt").exists(), changed)
                await stage.check(turn)

    @scenario(120)
    async def test_stop_in_a_message_at_a_card_and_in_a_command(self):
        async with RealStage() as stage:
            said = Say("word " * 20, "commentary", every=0.02)
            for text, replies, in_text in (("Talk.", ([said, Say("more " * 2_000, every=0.05)],), "more"),
                                           ("Ask.", ([said, ASKS[0][1]], [Say("not said")]), None),
                                           ("Sleep.", ([said, Command("echo $$ > pid; sleep 300")], [Say("not said")]), "word")):
                turn = await stage.ask(text, *replies)
                if in_text:
                    await stage.shows(turn, in_text)
                else:
                    await stage.card()
                if text == "Sleep.":
                    async def runs():
                        return list(stage.directory.rglob("pid"))
                    await stage.until(runs, "the command")
                await stage.stop(turn)
                self.assertNotIn("not said", await stage.final(turn))
                again = await stage.ask(f"{text} Go on.", [Say("Gone on.")], session=turn["session_id"])
                self.assertEqual(await stage.final(again), "Gone on.")
                await stage.check(turn, again)

    @scenario(120)
    async def test_failures_of_the_model(self):
        async with RealStage() as stage:
            flaky = await stage.ask("Fail once.", [Refuse(500, "upstream is tired")], [Say("Half a sen", is_whole=False), Break()],
                                    [Say("Third time lucky.")])
            self.assertEqual(await stage.final(flaky), "Third time lucky.")
            limit = await stage.ask("Use up the plan.", [Failed("usage_limit_reached", "You have hit your usage limit.")])
            broken = await stage.ask("Always fail.", [Refuse(500, "upstream is tired")])
            refused = await stage.ask("Refuse.", [Refuse(400, "the prompt is not allowed", "invalid_request_error")])
            for turn in (limit, broken, refused):
                self.assertTrue((await stage.final(turn)).strip())
            self.assertIn("not allowed", await stage.final(refused))
            again = await stage.ask("Hello.", [Say("Here.")], session=broken["session_id"])
            self.assertEqual(await stage.final(again), "Here.")
            await stage.check(flaky, again)

    @scenario(120)
    async def test_a_second_message_waits_and_two_chats_run_at_once(self):
        async with RealStage() as stage:
            one = await stage.ask("First.", [Say("One. "), Hold("first"), Say("Done.")])
            await stage.shows(one, "One.")
            second = await stage.ask("Second.", [Say("Two.")], session=one["session_id"])
            other = await stage.ask("Other.", [Say("Other. "), Hold("other"), Say("Done.")])
            await stage.shows(other, "Other.")
            self.assertNotIn("Second.", stage.model.texts())
            stage.model.release("other")
            stage.model.release("first")
            self.assertEqual(await stage.final(one), "One. \n\nDone.")
            self.assertEqual(await stage.final(second), "Two.")
            self.assertEqual(await stage.final(other), "Other. \n\nDone.")
            await stage.check(one, second, other)

    @scenario(120)
    async def test_a_chat_goes_on_after_restarts_of_both(self):
        async with RealStage() as stage:
            turn = await stage.ask("My name is Ada.", [Say("Hello Ada.")])
            await stage.final(turn)
            stage.bridge.terminate()
            self.assertEqual(await stage.bridge.exit(), 0)
            stage.kill_codex()
            await stage.bridge.start()
            again = await stage.ask("What is my name?", [Say("Ada.")], session=turn["session_id"])
            self.assertEqual(await stage.final(again), "Ada.")
            _, body = stage.model.asked[-1]
            self.assertIn("My name is Ada.", str(body["input"]), "Codex still knows the conversation")
            await stage.check(turn, again)

    @scenario(120)
    async def test_logged_out(self):
        async with RealStage() as stage:
            stage.kill_codex()
            stage.home.configure(f'model = "gpt-5.5"\nopenai_base_url = "{stage.model.url}"\n')
            turn = await stage.ask("Hello.")
            self.assertIn("codex login", await stage.final(turn))
            self.assertEqual(stage.model.texts(), [])


if __name__ == "__main__":
    unittest.main()
