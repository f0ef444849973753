"""Runs that no message of the phone began: the agent's scheduler, another client."""

import unittest

from harness import Stage, until
from peers.steps import Hold, Say
from scheduling import Scenarios, scenario
from stories import ERAS

JOB, TERMINAL = "agent:main:cron:backup", "agent:main:terminal"


def finals(stage, session=None):
    """The whole texts of bubbles without an interaction, in order."""
    return [bubble.final for bubble in stage.phone.bubbles.values()
            if bubble.interaction is None and session in (None, bubble.session)]


def in_era(era):
    @scenario(90)
    async def test(self):
        async with Stage(era) as stage:
            stage.gateway.plan("Back up.", Say(["The backup ", "is ", "done."]))
            stage.gateway.other_client_sends("Hello?", TERMINAL, "terminal-1")
            stage.gateway.other_client_sends("Back up.", JOB, "job-1")
            await until(lambda: finals(stage) == ["The backup is done."], 30, "the job's answer")
            chat, = {bubble.session for bubble in stage.phone.bubbles.values()}

            # The next morning, and the bridge was killed meanwhile: the same chat, and the answer that was on its way is whole.
            await stage.bridge.restart_after_kill()
            stage.gateway.plan("And again.", Say(["Half of it "]), Hold("night"), Say(["and the rest."]))
            stage.gateway.other_client_sends("And again.", JOB, "job-2")
            half = lambda: any("Half" in bubble.streamed for bubble in stage.phone.bubbles.values())
            await until(half, 30, "the beginning of the second answer")
            await stage.bridge.restart_after_kill()
            stage.gateway.release("night")
            await until(lambda: len(finals(stage, chat)) == 2 and finals(stage, chat)[1], 40, "the second answer")
            self.assertEqual(finals(stage), ["The backup is done.", "Half of it and the rest."])

            # What the user writes in this chat goes to the job's own session.
            turn = stage.ask("What did you do?", Say(["I made a backup."]), session=chat)
            await stage.ended(turn)
            stage.expect(turn, "I made a backup.")
            self.assertEqual([send["session"] for send in stage.gateway.sends], [JOB])
            self.assertEqual([call.method for call in stage.relay.calls].count("createSession"), 1)
            stage.check(turn)

    return test


class MirrorTests(Scenarios):
    for era in ERAS:
        locals()[f"test_{era}_a_job_has_one_chat_and_a_terminal_has_none"] = in_era(era)

if __name__ == "__main__":
    unittest.main()
