"""Thinking levels from the phone: each agent gets its own names for them, never the phone's."""

import unittest

from codex_stage import CodexStage
from harness import Stage
from oppi_stage import OppiStage, in_both
from pi_home import said
from pi_stage import LINES, PiStage
from scheduling import Scenarios, scenario
from stories import ERAS

LEVELS = ["max", "max", "extended", "default", None, "max", None]
ADMIN = {"connections": [{"agent": {"kind": "openclaw", "admin": True}}]}


async def ask_all(stage, kill_before=6):
    """Sends a message of each level in one chat; the bridge is killed before the last one. Returns the texts of their bubbles."""
    session, texts = stage.relay.new_session(), []
    for number, level in enumerate(LEVELS):
        if number == kill_before:
            await stage.bridge.restart_after_kill()
        turn = stage.relay.ask(f"Question {number}?", session, thought_level=level)
        await stage.ended(turn)
        texts.append(stage.phone.by_interaction[turn.interaction].final)
    return texts


def patched_in_era(era):
    @scenario(90)
    async def test(self):
        async with Stage(era, start=False) as stage:
            stage.configure(ADMIN)
            await stage.bridge.start()
            texts = await ask_all(stage)
            self.assertEqual(texts, [f"You said: Question {number}?" for number in range(len(LEVELS))])
            levels = [patch["thinkingLevel"] for patch in stage.gateway.patches]
            # The double's model does not accept `xhigh`.
            self.assertEqual(levels, ["xhigh", "high", "high", None, "xhigh", "high", None])
    return test


class LevelTests(Scenarios):
    for era in ERAS:
        vars()[f"test_patched_in_{era}"] = patched_in_era(era)

    @scenario(120)
    async def test_codex_gets_one_of_its_own_efforts_and_keeps_none(self):
        async with CodexStage() as stage:
            texts = await ask_all(stage)
            efforts = [note["effort"] for note in stage.codex.log("started")]
            self.assertEqual(efforts, ["xhigh", "xhigh", "high", "medium", "medium", "xhigh", "medium"])
            sent = [note["params"].get("effort") for note in stage.codex.log("started")]
            self.assertEqual(sent, ["xhigh", "xhigh", "high", "medium", None, "xhigh", "medium"])
            self.assertEqual([text for text in texts if "level" in text], [])

    @scenario(120)
    async def test_pi(self):
        for line in LINES:
            async with PiStage({"": [said("Yes.")]}, line, pi={"levels": 4}) as stage:
                texts = await ask_all(stage)
                levels = [level for _, level in stage.log("levels")]
                self.assertEqual(levels, ["medium", "medium", "medium", "low", "low", "medium", "low"])
                lines = [text.split("\n\n")[1] for text in texts if "\n\n" in text]
                self.assertEqual(len(lines), 1, texts)
                self.assertIn("cannot think at the level “extended”; it answers with its level “medium”", texts[2])

    @in_both(scenario(120))
    async def test_oppi(self, dialect):
        async with OppiStage(dialect) as stage:
            texts = await ask_all(stage)
            # The requested levels: the server does not report the applied ones.
            levels = [note["level"] for note in stage.oppi.disk.notes("prompts")]
            self.assertEqual(levels, ["xhigh", "xhigh", "high", "medium", "medium", "xhigh", "medium"])
            self.assertEqual([text for text in texts if "level" in text], [])


if __name__ == "__main__":
    unittest.main()
