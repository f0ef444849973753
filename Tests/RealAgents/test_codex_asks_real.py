"""Cards of the real Codex that nobody answers in time, with kills of the bridge at each step: a late approval runs once, and Codex receives
no refusal that no person gave."""

import asyncio
import os
import signal
import unittest
import urllib.error

from asking_stage import STAGES, WAITS, AskingStage, shown
from model import Hold, Patch, Say
from scheduling import Scenarios, scenario

FINAL = f"I ask.\n\n{WAITS}\n\nAs you decided."
STEPS = ("card", "end", "second card", "decision")
"""Steps after which the bridge is killed and restarted."""


def beside_ask(text):
    """An answer without the line that says that its message decides no ask."""
    answer, *lines = text.split("\n\n")
    assert len(lines) == 1 and lines[0].startswith("An approval waits for your answer"), text
    return answer


class ExpiredCardTests(Scenarios):
    async def walk(self, stage, killed=()):
        """Lets a card expire, return with a message, and be allowed."""
        async def step(name):
            if name in killed:
                await stage.bridge.restart_after_kill()
        turn, first = await stage.begins()
        await step("card")
        await stage.expires(turn, first)
        await step("end")
        other = await stage.ask("Are you there?", [Say("I am.")], session=turn["session_id"])
        second = await stage.card()
        self.assertEqual(second["approval_id"], first["approval_id"] + "-ask-2")
        self.assertEqual(shown(second), shown(first))
        await step("second card")
        self.assertEqual(await stage.cards_open(), [second["approval_id"]])
        self.assertEqual(stage.ran(), [])
        await stage.decide_card(second, "approve")
        await step("decision")
        await self.ends(stage, turn, other)

    async def ends(self, stage, turn, *others, final=FINAL, cards=2):
        self.assertEqual(await stage.final(turn), final)
        for other in others:
            self.assertEqual(beside_ask(await stage.final(other)), "I am.")
        self.assertEqual(stage.ran(), ["ran"])
        self.assertEqual(stage.home.refusals(), [])
        self.assertEqual(stage.model.texts().count("Write a line."), 2)
        self.assertEqual(len(stage.cards_asked()), cards)
        self.assertEqual(await stage.cards_open(), [])
        await stage.check(turn, *others)

    @scenario(120)
    async def test_one_comes_back_with_a_message_under_a_new_id_and_is_allowed_once(self):
        for kind in STAGES:
            async with kind() as stage:
                await self.walk(stage)

    @scenario(290)
    async def test_the_same_where_the_bridge_is_killed_behind_each_step(self):
        for kind in STAGES:
            for killed in (*((step,) for step in STEPS), STEPS):
                async with kind() as stage:
                    try:
                        await self.walk(stage, killed)
                    except BaseException as error:
                        error.add_note(f"{kind.__name__}, killed behind {killed}")
                        raise

    @scenario(120)
    async def test_what_the_person_does_while_the_bridge_is_dead_counts_when_it_is_back(self):
        for kind in STAGES:
            async with kind() as stage:
                turn, first = await stage.begins()
                stage.bridge.kill9()
                await stage.bridge.exit()
                await stage.simulator.call("POST", "/v1/simulator/approvals/expire", {"approval_id": first["approval_id"]})
                await stage.bridge.start()
                await stage.shows(turn, WAITS)
                stage.bridge.kill9()
                await stage.bridge.exit()
                other = await stage.ask("Are you there?", [Say("I am.")], session=turn["session_id"])
                await stage.bridge.start()
                second = await stage.card()
                self.assertEqual((second["approval_id"], shown(second)), (first["approval_id"] + "-ask-2", shown(first)))
                stage.bridge.kill9()
                await stage.bridge.exit()
                await stage.decide_card(second, "approve")
                await stage.bridge.start()
                await self.ends(stage, turn, other)

    @scenario(290)
    async def test_a_kill_in_the_instant_of_the_decision_runs_it_once(self):
        for kind in STAGES:
            for milliseconds in (0, 2, 5, 10, 20, 40):
                async with kind() as stage:
                    turn, first = await stage.begins()
                    await stage.expires(turn, first)
                    other = await stage.ask("Are you there?", [Say("I am.")], session=turn["session_id"])
                    second = await stage.card()
                    await stage.decide_card(second, "approve")
                    await asyncio.sleep(milliseconds / 1000)
                    await stage.bridge.restart_after_kill()
                    await self.ends(stage, turn, other)

    @scenario(120)
    async def test_a_decision_that_codex_reads_when_the_bridge_is_dead_runs_it_once(self):
        async with AskingStage() as stage:
            turn, first = await stage.begins()
            await stage.expires(turn, first)
            other = await stage.ask("Are you there?", [Say("I am.")], session=turn["session_id"])
            second = await stage.card()
            server, = stage.servers()
            os.kill(server, signal.SIGSTOP)
            try:
                await stage.decide_card(second, "approve")
                await stage.all_told()
                stage.bridge.kill9()
                await stage.bridge.exit()
            finally:
                os.kill(server, signal.SIGCONT)
            await stage.bridge.start()
            self.assertTrue((await stage.final(turn)).startswith(f"I ask.\n\n{WAITS}\n\n"))
            self.assertEqual(beside_ask(await stage.final(other)), "I am.")
            self.assertEqual((stage.ran(), stage.home.refusals()), (["ran"], []))
            self.assertEqual(await stage.cards_open(), [])
            await stage.check(turn, other)

    @scenario(120)
    async def test_a_tap_on_an_earlier_card_decides_nothing(self):
        """A tap that crosses the end of its card counts for no later card, neither as a yes nor as a no."""
        for early, late, lines in (("approve", "deny", []), ("deny", "approve", ["ran"])):
            for is_killed in (False, True):
                async with AskingStage() as stage:
                    turn, first = await stage.begins()
                    await stage.expires(turn, first)
                    with self.assertRaises(urllib.error.HTTPError) as refused:
                        await stage.decide_card(first, early)
                    self.assertEqual(refused.exception.code, 409)
                    other = await stage.ask("Are you there?", [Say("I am.")], session=turn["session_id"])
                    second = await stage.card()
                    if is_killed:
                        await stage.bridge.restart_after_kill()
                    await stage.tap_crosses(first, early)
                    self.assertEqual(await stage.cards_open(), [second["approval_id"]])
                    await stage.decide_card(second, late)
                    self.assertEqual(await stage.final(turn), FINAL)
                    self.assertEqual(beside_ask(await stage.final(other)), "I am.")
                    self.assertEqual(stage.ran(), lines)
                    self.assertEqual(bool(stage.home.refusals()), late == "deny")
                    await stage.check(turn, other)

    @scenario(120)
    async def test_after_a_stop_none_comes_back(self):
        for is_killed in (False, True):
            async with AskingStage() as stage:
                turn, first = await stage.begins()
                await stage.expires(turn, first)
                await stage.stop(turn)
                if is_killed:
                    await stage.bridge.restart_after_kill()
                self.assertNotIn("As you decided.", await stage.final(turn))
                other = await stage.ask("Are you there?", [Say("I am.")], session=turn["session_id"])
                self.assertEqual(await stage.final(other), "I am.")
                asked = await stage.ask("/bridge asks", session=turn["session_id"])
                self.assertIn("Nothing waits", await stage.final(asked))
                self.assertEqual((len(stage.cards_asked()), await stage.cards_open(), stage.ran()), (1, [], []))
                await stage.check(turn, other)

    @scenario(120)
    async def test_where_an_end_is_a_denial_codex_writes_a_refusal_down(self):
        """Proves that the other tests would notice a refusal: with `when_unanswered` `deny` the end of a card is forwarded."""
        stage = AskingStage()
        stage.configuration = {"connections": [{"when_unanswered": "deny"}]}
        async with stage:
            turn, first = await stage.begins()
            await stage.simulator.call("POST", "/v1/simulator/approvals/expire", {"approval_id": first["approval_id"]})
            self.assertIn("As you decided.", await stage.final(turn))
            self.assertEqual((len(stage.home.refusals()) > 0, stage.ran()), (True, []))
            await stage.check(turn)

    @scenario(120)
    async def test_codex_that_ends_takes_its_ask_with_it(self):
        """OPERATING.md#codex: the turn ended with the server, and nothing is repeated."""
        for is_open in (True, False):
            for is_killed in (False, True):
                async with AskingStage() as stage:
                    turn, card = await stage.begins()
                    if not is_open:
                        await stage.expires(turn, card)
                    if is_killed:
                        stage.bridge.kill9()
                        await stage.bridge.exit()
                    stage.kill_codex()
                    if is_killed:
                        await stage.bridge.start()
                    self.assertIn("Codex's server ended", await stage.final(turn))
                    if is_open:
                        await stage.tap_crosses(card, "approve")
                    other = await stage.ask("Are you there?", [Say("I am.")], session=turn["session_id"])
                    self.assertEqual(await stage.final(other), "I am.")
                    asked = await stage.ask("/bridge asks", session=turn["session_id"])
                    self.assertIn("Nothing waits", await stage.final(asked))
                    self.assertEqual((len(stage.cards_asked()), stage.ran()), (1, []))
                    await stage.check(turn, other)


EDIT = "*** Begin Patch\n*** Update File: ../beds.txt\n@@\n beans\n+peas\n*** End Patch\n"


class OpenChangeTests(Scenarios):
    """Changes outside of the workspace, whose requests have no diff."""

    async def asks(self, stage, is_seen=True):
        """With `is_seen` False Codex asks while no bridge is there."""
        self.beds = stage.directory / "beds.txt"
        self.beds.write_text("beans\n")
        turn = await stage.ask("Sow.", [Say("I ask.", "commentary"), Hold("patch"), Patch(EDIT)], [Say("As you decided.")])
        await stage.shows(turn, "I ask.")
        if not is_seen:
            stage.bridge.kill9()
            await stage.bridge.exit()
        stage.model.release("patch")
        if not is_seen:
            await stage.bridge.start()
        return turn, await stage.card()

    def is_whole(self, card):
        self.assertEqual(card["title"], "Change files?")
        for words in (f"Edit {self.beds}", "+peas", "File 1 of 1"):
            self.assertIn(words, card["message"])

    async def ends(self, stage, turn, *others, cards):
        final = f"I ask.\n\n{WAITS}\n\nAs you decided." if others else "I ask.\n\nAs you decided."
        self.assertEqual(await stage.final(turn), final)
        for other in others:
            self.assertEqual(beside_ask(await stage.final(other)), "I am.")
        self.assertEqual(self.beds.read_text(), "beans\npeas\n")
        self.assertEqual((len(stage.cards_asked()), await stage.cards_open(), stage.home.refusals()), (cards, [], []))
        await stage.check(turn, *others)

    @scenario(200)
    async def test_one_that_is_open_over_a_restart_keeps_its_card_and_is_written_once(self):
        for kind in STAGES:
            for model in ("gpt-5.5", "gpt-6.1-sol"):
                async with kind(model) as stage:
                    turn, first = await self.asks(stage)
                    self.is_whole(first)
                    await stage.bridge.restart_after_kill()
                    status = await stage.ask("/bridge asks", session=turn["session_id"])
                    await stage.final(status)
                    self.assertEqual(await stage.cards_open(), [first["approval_id"]])
                    await stage.decide_card(first, "approve")
                    await self.ends(stage, turn, cards=1)

    @scenario(120)
    async def test_one_that_expired_over_a_restart_comes_back_with_its_diff(self):
        async with AskingStage() as stage:
            turn, first = await self.asks(stage)
            await stage.expires(turn, first)
            await stage.bridge.restart_after_kill()
            other = await stage.ask("Are you there?", [Say("I am.")], session=turn["session_id"])
            second = await stage.card()
            self.assertEqual((second["approval_id"], shown(second)), (first["approval_id"] + "-ask-2", shown(first)))
            await stage.bridge.restart_after_kill()
            self.assertEqual(await stage.cards_open(), [second["approval_id"]])
            await stage.decide_card(second, "approve")
            await self.ends(stage, turn, other, cards=2)

    @scenario(120)
    async def test_one_that_is_asked_while_no_bridge_is_there_is_shown_whole(self):
        for model in ("gpt-5.5", "gpt-6.1-sol"):
            async with AskingStage(model) as stage:
                turn, card = await self.asks(stage, is_seen=False)
                self.is_whole(card)
                await stage.decide_card(card, "approve")
                await self.ends(stage, turn, cards=1)

    @scenario(120)
    async def test_one_that_is_decided_while_no_bridge_is_there_is_written_once_or_not_at_all(self):
        for decision, text in (("approve", "beans\npeas\n"), ("deny", "beans\n")):
            async with AskingStage() as stage:
                turn, card = await self.asks(stage)
                stage.bridge.kill9()
                await stage.bridge.exit()
                await stage.decide_card(card, decision)
                await stage.bridge.start()
                self.assertEqual(await stage.final(turn), "I ask.\n\nAs you decided.")
                self.assertEqual((self.beds.read_text(), len(stage.cards_asked())), (text, 1))
                self.assertEqual(bool(stage.home.refusals()), decision == "deny")
                await stage.check(turn)


if __name__ == "__main__":
    unittest.main()
