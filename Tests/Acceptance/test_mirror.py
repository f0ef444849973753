"""Runs that no message of the phone began: the agent's scheduler, another client."""

import asyncio
import json
import unittest

from harness import Stage, until
from peers.scheduler import scheduler_runs
from peers.sealed_hand import SealedHand
from peers.steps import Approval, Hold, Say
from scheduling import Scenarios, scenario
from stories import ERAS, INLINE_ERAS

JOB, TERMINAL = "agent:main:cron:backup", "agent:main:terminal"


def finals(stage, session=None):
    """The whole texts of bubbles without an interaction, in order."""
    return [bubble.final for bubble in stage.phone.bubbles.values()
            if bubble.interaction is None and session in (None, bubble.session)]


def configuration(**connection):
    return {"connections": [connection]}


def asked(stage):
    """Number of `createSession` calls."""
    return [call.method for call in stage.relay.calls].count("createSession")


def runs(stage, text, run_id, said):
    stage.gateway.plan(text, Say([said]))
    scheduler_runs(stage.gateway, text, JOB, run_id, "backup")


def in_era(era):
    @scenario(90)
    async def test(self):
        async with Stage(era) as stage:
            stage.gateway.plan("Back up.", Say(["The backup ", "is ", "done."]))
            stage.gateway.other_client_sends("Hello?", TERMINAL, "terminal-1")
            scheduler_runs(stage.gateway, "Back up.", JOB, "job-1", "backup")
            await until(lambda: finals(stage) == ["The backup is done."], 30, "the job's answer")
            chat, = {bubble.session for bubble in stage.phone.bubbles.values()}

            # The next run, after a kill of the bridge: the same chat, and the unfinished answer is whole.
            await stage.bridge.restart_after_kill()
            stage.gateway.plan("And again.", Say(["Half of it "]), Hold("night"), Say(["and the rest."]))
            scheduler_runs(stage.gateway, "And again.", JOB, "job-2", "backup")
            half = lambda: any("Half" in bubble.streamed for bubble in stage.phone.bubbles.values())
            await until(half, 30, "the beginning of the second answer")
            await stage.bridge.restart_after_kill()
            stage.gateway.release("night")
            await until(lambda: len(finals(stage, chat)) == 2 and finals(stage, chat)[1], 40, "the second answer")
            self.assertEqual(finals(stage), ["The backup is done.", "Half of it and the rest."])

            # Messages of the user in this chat go to the job's own session.
            turn = stage.ask("What did you do?", Say(["I made a backup."]), session=chat)
            await stage.ended(turn)
            stage.expect(turn, "I made a backup.")
            self.assertEqual([send["session"] for send in stage.gateway.sends], [JOB])
            self.assertEqual(asked(stage), 1)
            stage.check(turn)

    return test


def private_in_era(era):
    @scenario(60)
    async def test(self):
        async with Stage(era) as stage:
            stage.gateway.plan("Privately?", Say(["A secret."]))
            stage.gateway.other_client_sends("Privately?", JOB, "before")
            await asyncio.sleep(1)
            runs(stage, "Back up.", "job-1", "Done.")
            await until(lambda: finals(stage) == ["Done."], 30, "the job's answer")
            stage.gateway.other_client_sends("Privately?", JOB, "after-1")
            await stage.bridge.restart_after_kill()
            stage.gateway.other_client_sends("Privately?", JOB, "after-2")
            await asyncio.sleep(1)
            runs(stage, "Once more.", "job-2", "Done again.")
            await until(lambda: len(finals(stage)) == 2 and finals(stage)[1], 30, "the job's second answer")
            self.assertEqual(finals(stage), ["Done.", "Done again."])
            self.assertEqual(asked(stage), 1)

    return test


def deleted_with(choice, archives=False):
    @scenario(60)
    async def test(self):
        options = {} if choice is None else {"configuration": configuration(deleted_job_chats=choice)}
        async with Stage("E3", **options) as stage:
            runs(stage, "Back up.", "job-1", "Done.")
            await until(lambda: finals(stage) == ["Done."], 30, "the job's answer")
            first, = {bubble.session for bubble in stage.phone.bubbles.values()}
            stage.relay.delete_session(first, archives)
            await until(lambda: not stage.relay.updates, 20, "the deletion is acknowledged")
            await stage.bridge.restart_after_kill()
            runs(stage, "Again.", "job-2", "Done again.")
            if choice == "mute":
                await asyncio.sleep(3)
                self.assertEqual(asked(stage), 1)
                self.assertEqual(finals(stage), ["Done."])
                # Another job has another chat.
                stage.gateway.plan("Mail.", Say(["No mail."]))
                scheduler_runs(stage.gateway, "Mail.", "agent:main:cron:mail", "mail-1", "mail")
                await until(lambda: finals(stage)[-1] == "No mail.", 30, "the other job's answer")
                return
            await until(lambda: len(finals(stage)) == 2 and finals(stage)[1], 30, "the next answer")
            self.assertEqual(finals(stage), ["Done.", "Done again."])
            self.assertNotEqual(list(stage.phone.bubbles.values())[1].session, first)
            self.assertEqual(asked(stage), 2)

    return test


def untouched_in_era(era):
    """An approval and a run of another client, with a relay that refuses the card, then deletes the chat."""
    @scenario(60)
    async def test(self):
        async with Stage(era, configuration=configuration(mirror="all")) as stage:
            stage.relay.planned["requestApproval"] = [(400, "invalid_request")] * 3
            stage.gateway.plan("Reboot.", Say(["May I? "]), Approval("reboot", detached=False), Say(["Done."]))
            run = stage.gateway.other_client_sends("Reboot.", TERMINAL, "terminal-1")
            await until(lambda: "requestApproval" in [call.method for call in stage.relay.calls], 30, "the refused card")
            await asyncio.sleep(2)
            self.assertEqual((run.state, stage.gateway.resolve_calls, stage.gateway.aborts), ("running", [], []))
            next(iter(stage.gateway.approvals.values())).decide("allow-once", "Somebody else")
            await until(lambda: finals(stage) and finals(stage)[0], 30, "the answer")
            self.assertTrue(finals(stage)[0].startswith("May I?\n\nDone."), finals(stage))
            self.assertIn("could not be shown here", finals(stage)[0])

            # The same run again; its chat is deleted while the approval is open.
            stage.relay.planned.clear()
            again = stage.gateway.other_client_sends("Reboot.", TERMINAL, "terminal-2")
            await until(lambda: stage.phone.approvals, 30, "the card")
            stage.relay.delete_session(next(iter(stage.phone.bubbles.values())).session)
            await until(lambda: not stage.relay.updates, 20, "the deletion is acknowledged")
            await asyncio.sleep(2)
            self.assertEqual((again.state, stage.gateway.resolve_calls, stage.gateway.aborts), ("running", [], []))

    return test


class MirrorTests(Scenarios):
    for era in ERAS:
        locals()[f"test_{era}_a_job_has_one_chat_and_a_terminal_has_none"] = in_era(era)
        locals()[f"test_{era}_a_private_run_in_a_job_s_session_stays_private"] = private_in_era(era)
    for era in INLINE_ERAS:
        locals()[f"test_{era}_a_run_of_others_is_neither_aborted_nor_answered"] = untouched_in_era(era)
    test_a_deleted_chat_is_followed_by_another = deleted_with(None)
    test_an_archived_chat_is_followed_by_another = deleted_with("new", archives=True)
    test_a_deleted_chat_is_followed_by_none_with_mute = deleted_with("mute")


class NoChatTests(Scenarios):
    """`createSession` fails."""

    @scenario(60)
    async def test_told_to_wait_it_waits_as_told(self):
        async with Stage("E3") as stage:
            stage.relay.planned["createSession"] = [(429, "rate_limited", 3.0), (503, "temporarily_unavailable", 4.0)] * 2
            runs(stage, "Back up.", "job-1", "Done.")
            await until(lambda: finals(stage) == ["Done."], 60, "the job's answer")
            calls = [call for call in stage.relay.calls if call.method == "createSession"]
            self.assertEqual(len(calls), 5)
            waits = [after.at - before.at for before, after in zip(calls, calls[1:])]
            for wait, least in zip(waits, [3.0, 4.0, 3.0, 4.0]):
                self.assertGreaterEqual(wait, least)

    @scenario(90)
    async def test_unknown_outcomes_are_three_tries_and_the_words_are_kept(self):
        async with Stage("E2") as stage:
            stage.relay.planned["createSession"] = ["applied-but-lost", "500", "applied-but-lost"]
            runs(stage, "Back up.", "job-1", "Done.")
            await until(lambda: asked(stage) == 3, 40, "three tries")
            await asyncio.sleep(15)
            self.assertEqual((asked(stage), finals(stage)), (3, []))
            runs(stage, "Again.", "job-2", "Done again.")
            await until(lambda: len(finals(stage)) == 2 and all(finals(stage)), 30, "both answers")
            self.assertEqual(finals(stage), ["Done.", "Done again."])
            self.assertEqual(asked(stage), 4)

    @scenario(60)
    async def test_after_a_final_refusal_the_words_go_into_the_next_run_s_chat(self):
        async with Stage("E4") as stage:
            stage.relay.planned["createSession"] = [(400, "invalid_request")]
            runs(stage, "Back up.", "job-1", "Done.")
            await until(lambda: asked(stage) == 1, 30, "the refusal")
            await asyncio.sleep(2)
            # The text outlives the process: this era's history tells whose it is.
            await stage.bridge.restart_after_kill()
            runs(stage, "Again.", "job-2", "Done again.")
            await until(lambda: len(finals(stage)) == 2 and all(finals(stage)), 40, "both answers")
            self.assertEqual(sorted(finals(stage)), ["Done again.", "Done."])
            self.assertEqual(asked(stage), 2)

    @scenario(60)
    async def test_an_answer_that_names_a_chat_with_a_key_or_a_turn_makes_no_chat(self):
        async with Stage("E4") as stage:
            hand = SealedHand(stage.relay)
            await stage.bridge.restart_after_kill()
            await until(lambda: hand.bridge, 20, "the bridge as a device")
            stage.gateway.plan("Seal it.", Say(["Sealed."]))
            sealed = hand.ask("Seal it.")
            await stage.ended(sealed)
            busy = stage.ask("Wait.", Say(["Half "]), Hold("wait"), Say(["and whole."]))
            await stage.run_of("Wait.")
            make, named = stage.relay.rules._createSession, [sealed.session, busy.session]
            stage.relay.rules._createSession = lambda body: {"session_id": named.pop(0)} if named else make(body)
            keys = stage.directory / "config" / "session-keys.json"
            before = json.loads(keys.read_text())["keys"]
            stage.relay.push("device_added", {"device_id": "dev_ada", "pubkey": "09" + 31 * "00", "label": "Phone"})
            for number in (1, 2):
                runs(stage, f"Back up {number}.", f"job-{number}", "Done.")
                await until(lambda: asked(stage) == number, 30, "the answer of another chat")
                await until(lambda: sum("was there before" in line for line in stage.bridge.stderr) == number, 20, "the line")
            self.assertEqual(json.loads(keys.read_text())["keys"], before)
            stage.gateway.release("wait")
            await stage.ended(busy)
            stage.gateway.plan("Again.", Say(["Under the same key."]))
            turn = hand.ask("Again.", sealed.session)
            await stage.ended(turn)
            self.assertEqual(stage.phone.final(turn.interaction), "Under the same key.")

    @scenario(60)
    async def test_an_intent_outlives_the_process(self):
        async with Stage("E3") as stage:
            stage.relay.planned["createSession"] = [(503, "temporarily_unavailable", 5.0)]
            stage.gateway.plan("Back up.", Say(["Slowly "]), Hold("night"), Say(["done."]))
            scheduler_runs(stage.gateway, "Back up.", JOB, "job-1", "backup")
            await until(lambda: asked(stage) == 1, 30, "the first try")
            await stage.bridge.restart_after_kill()
            await until(lambda: asked(stage) == 2, 30, "the next process asks")
            stage.gateway.release("night")
            await until(lambda: finals(stage) == ["Slowly done."], 40, "the job's answer")


if __name__ == "__main__":
    unittest.main()
