"""The further work of `run`: reloading its configuration, closing its runs, recording."""

import os
import signal
import stat
import unittest

from commands import once
from harness import Stage, until
from peers.steps import Hold, Say, Tool
from scheduling import Scenarios, scenario
from stories import with_approval, words


class RunTests(Scenarios):
    @scenario(60)
    async def test_SIGHUP_takes_the_log_level_and_the_token_and_a_fault_changes_nothing(self):
        async with Stage("E3", start=False) as stage:
            stage.bridge.environment.pop("SOPHON_BOT_TOKEN")
            token = lambda text: [{"relay": {"token": text}}]
            stage.configure({"connections": token(stage.relay.token), "log": {"level": "error"}})
            await stage.bridge.start()
            said = lambda: "".join(stage.bridge.stderr)
            turn = stage.ask("before", Say(["Before."]))
            await stage.ended(turn)
            self.assertEqual(said(), "")

            new = f"{stage.relay.installation}:s_test_another_token_of_the_same_bridge"
            stage.configure({"connections": token(new), "log": {"level": "info"}})
            stage.relay.token = new
            os.kill(stage.bridge.pid, signal.SIGHUP)
            await until(lambda: "the configuration was read anew" in said(), 30, "a word about the configuration")
            stage.relay.cut()
            await until(lambda: stage.relay.sockets_made == 2, 30, "a second socket")

            stage.configure({"log": {"level": "loud"}})
            os.kill(stage.bridge.pid, signal.SIGHUP)
            await until(lambda: "the configuration was not taken" in said(), 30, "a word about the fault")
            turn = stage.ask("after", Say(["After."]))
            await stage.ended(turn)
            stage.expect(turn, "After.")
            await until(lambda: "turn ended" in said(), 30, "the log at its new level")
            self.assertIn('reason="the configuration has a fault"', said())
            self.assertNotIn("s_test_", said())

    @scenario(60)
    async def test_on_stop_close_ends_what_runs_with_a_line_and_aborts_it(self):
        async with Stage("E3", configuration={"on_stop": "close"}) as stage:
            turn = stage.ask("long", Say(words("long")), Hold("never"))
            await stage.streaming(turn, letters=20)
            stage.bridge.terminate()
            self.assertEqual(await stage.bridge.exit(), 0)
            stage.expect_begins(turn, "long-0")
            self.assertIn("The bridge was stopped", stage.phone.final(turn.interaction))
            self.assertEqual((await stage.run_of("long")).state, "aborted")
            await stage.bridge.start()
            self.assertEqual(stage.bridge.process.returncode, None)
            stage.check(turn)

    @scenario(60)
    async def test_on_stop_close_refuses_the_approvals_that_are_open(self):
        for era in ("E1", "E4"):
            async with Stage(era, configuration={"on_stop": "close"}) as stage:
                steps, _ = with_approval("server", era)
                turn = stage.ask("approval", *steps)
                await stage.approval(turn)
                stage.bridge.terminate()
                self.assertEqual(await stage.bridge.exit(), 0)
                self.assertIn("The bridge was stopped", stage.phone.final(turn.interaction))
                decisions = [frame["params"]["decision"] for _, _, direction, frame in stage.gateway.frames
                             if direction == "out" and str(frame.get("method")).endswith("approval.resolve")]
                self.assertEqual(decisions, ["deny"])

    @scenario(60)
    async def test_a_recording_is_private_and_can_be_replayed(self):
        async with Stage("E3", start=False) as stage:
            recordings = stage.directory / "recordings"
            stage.configure({"record_dir": str(recordings)})
            await stage.bridge.start()
            turn = stage.ask("on", Say(["Look. "]), Tool(), Say(["Done."]))
            await stage.ended(turn)
            stage.bridge.terminate()
            self.assertEqual(await stage.bridge.exit(), 0)
            file, = recordings.iterdir()
            self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o600)
            self.assertTrue(file.name.startswith("default-"))
            for secret in (stage.relay.token, stage.gateway.token):
                self.assertNotIn(secret, file.read_text())
            outcome = await once("replay", str(file), "--json", directory=stage.directory)
            self.assertEqual(outcome.code, 0, outcome)
            self.assertIn("Done.", outcome.out)


if __name__ == "__main__":
    unittest.main()
