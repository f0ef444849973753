"""The folder in which a scripted Codex works for a chat of the real program."""

import unittest

from codex_stage import CodexStage
from scheduling import Scenarios, scenario


class CodexWorkspaceTests(Scenarios):
    @scenario(120)
    async def test_a_thread_begins_in_the_workspace(self):
        async with CodexStage() as stage:
            turn = stage.ask("hello")
            await stage.ended(turn)
            self.assertEqual(stage.codex.log("threads")[0]["params"]["cwd"], str(stage.project))
            await stage.bridge.restart_after_kill()
            stage.kill_codex()
            again = stage.ask("hello again", session=turn.session)
            await stage.ended(again)
            self.assertEqual({entry["params"]["cwd"] for entry in stage.codex.log("resumes")}, {str(stage.project)})
            stage.check(turn, again)

    @scenario(120)
    async def test_a_workspace_that_is_gone(self):
        async with CodexStage() as stage:
            stage.project.rmdir()
            turn = stage.ask("hello")
            await stage.ended(turn)
            self.assertNotIn("hello", stage.codex.texts())
            stage.expect_said(turn, "project")
            stage.project.mkdir()
            again = stage.ask("hello again", session=turn.session)
            await stage.ended(again)
            stage.expect(again, "Understood.")


if __name__ == "__main__":
    unittest.main()
