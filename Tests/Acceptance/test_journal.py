"""`journal` and `explain`: reports of the bridge's stored records."""

import asyncio
import os
import shutil
import sqlite3
import unittest

from commands import Outcome, lines_of, once
from harness import Stage, bridge_command
from peers.steps import Hold, Say, Tool
from scheduling import Scenarios, scenario
from stories import words


class JournalTests(Scenarios):
    @scenario(60)
    async def test_the_journal_of_a_running_bridge_is_not_cleaned(self):
        async with Stage("E3") as stage:
            outcome = await once("journal", "clean", directory=stage.directory, environment=stage.environment())
            self.assertEqual(outcome.code, 24, outcome)
            self.assertIn(f"process {stage.bridge.pid}", outcome.err)
            turn = stage.ask("on", Say(words("on", 20)))
            await stage.ended(turn)
            stage.check(turn)
            stage.bridge.terminate()
            self.assertEqual(await stage.bridge.exit(), 0)
            outcome = await once("journal", "clean", directory=stage.directory, environment=stage.environment())
            self.assertEqual(outcome.code, 0, outcome)
            self.assertIn("forgot 0 closed turns", outcome.out)

    @scenario(60)
    async def test_explain_tells_the_life_of_a_turn_by_any_of_its_names(self):
        async with Stage("E3") as stage:
            turn = stage.ask("on", Say(words("a")), Tool(), Say(words("b")))
            await stage.ended(turn)
            say = lambda *arguments: once(*arguments, directory=stage.directory, environment=stage.environment())
            end = f"{turn.interaction}-end"
            ids = [turn.interaction, turn.message_id, turn.update_id, end, next(iter(stage.gateway.runs)),
                   next(call.request_id for call in stage.relay.calls if call.method == "sendMessageEnd")]
            # The delivery of the end is stored after its answer was read.
            for _ in range(240):
                if f"call {end}, try 1: delivered" in (await say("explain", turn.interaction)).out:
                    break
                await asyncio.sleep(0.25)
            for name in ids:
                outcome = await say("explain", name)
                self.assertEqual(outcome.code, 0, (name, outcome))
                self.assertIn(f"turn {turn.interaction} of connection default", outcome.out)
                self.assertIn(f"received and accepted message {turn.message_id}", outcome.out)
                self.assertIn(f"call {end}, try 1: delivered", outcome.out)
            told = lines_of((await say("explain", turn.interaction, "--json")).out)
            self.assertEqual(told[0]["event"], "turn")
            calls = {event["key"]: event for event in told if event.get("key")}
            self.assertTrue(calls[end]["delivered"], calls)
            nobody = await say("explain", "int_nobody")
            self.assertEqual(nobody.code, 1)
            self.assertIn("knows nothing of int_nobody", nobody.err)
            # The report contains no text of the conversation.
            self.assertNotIn("a-1 ", outcome.out)

    @scenario(60)
    async def test_an_open_turn_says_since_when_nothing_came_and_the_newest_are_listed(self):
        async with Stage("E3") as stage:
            ended = stage.ask("first", Say(words("first")))
            await stage.ended(ended)
            held = stage.ask("second", Say(words("second")), Hold("held"))
            await stage.streaming(held)
            say = lambda *arguments: once(*arguments, directory=stage.directory, environment=stage.environment())
            self.assertRegex((await say("explain", held.interaction)).out.splitlines()[-1],
                             r"^  still open; the journal has nothing since 20\S+Z, \d+ s ago$")
            for _ in range(240):
                listed = (await say("journal", "inspect", "--last", "2")).out
                if f"ended: turn {ended.interaction} of default, since " in listed:
                    break
                await asyncio.sleep(0.25)
            self.assertIn(f"ended: turn {ended.interaction} of default, since ", listed)
            self.assertIn(f"open: turn {held.interaction} of default, since ", listed)
            self.assertNotIn("still open", (await say("explain", ended.interaction)).out)
            newest = [event for event in lines_of((await say("journal", "inspect", "--last", "1", "--json")).out)
                      if event["event"] == "journal_turn"]
            self.assertEqual([(event["turn"], event["closed_at"]) for event in newest], [(held.interaction, None)])
            for wrong in (("journal", "inspect", "--last", "0"), ("journal", "verify", "--last", "2")):
                self.assertEqual((await say(*wrong)).code, 2)
            stage.gateway.release("held")
            await stage.ended(held)

    @unittest.skipUnless(os.getuid() == 0, "only root can run the bridge as a user who may not end the process")
    @scenario(60)
    async def test_a_connection_with_a_process_that_cannot_be_ended_is_not_forgotten(self):
        async with Stage("E3") as stage:
            stage.bridge.terminate()
            self.assertEqual(await stage.bridge.exit(), 0)
            sleeper = await asyncio.create_subprocess_exec("sleep", "600")
            try:
                with open(f"/proc/{sleeper.pid}/stat") as file:
                    ticks = file.read().rpartition(")")[2].split()[19]
                row = ("gone", f"agent pi process {sleeper.pid} {ticks}", b"by_itself pi")
                with sqlite3.connect(stage.state / "journal.db") as journal:
                    journal.execute("INSERT INTO settings VALUES (?, ?, ?)", row)
                journal.close()
                for place, folders, files in os.walk(stage.directory):
                    for name in [".", *folders, *files]:
                        shutil.chown(os.path.join(place, name), "nobody")
                outcome = await self._clean_as_nobody(stage)
                self.assertEqual(outcome.code, 1, outcome)
                self.assertIn(f"pi, process {sleeper.pid} of connection gone cannot be ended", outcome.err)
                with sqlite3.connect(stage.state / "journal.db") as journal:
                    left = journal.execute("SELECT * FROM settings WHERE connection = 'gone'").fetchall()
                journal.close()
                self.assertEqual(left, [row])
            finally:
                sleeper.kill()
                await sleeper.wait()
            self.assertEqual((await self._clean_as_nobody(stage)).code, 0)

    @staticmethod
    async def _clean_as_nobody(stage):
        environment = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
        process = await asyncio.create_subprocess_exec(
            *bridge_command(), "journal", "clean", "--connection", "gone", stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, cwd=stage.directory, user="nobody",
            env=environment | {"HOME": str(stage.directory)} | stage.environment())
        out, err = await asyncio.wait_for(process.communicate(), 40)
        return Outcome(process.returncode, out.decode(), err.decode())


if __name__ == "__main__":
    unittest.main()
