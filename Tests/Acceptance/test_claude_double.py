"""The scripted Claude Code follows the rules of the real one (`claude_rules.py`, Tests/RealAgents), and has the scripted bad habits."""

import asyncio
import os
import signal
import tempfile
import unittest
from contextlib import asynccontextmanager
from pathlib import Path

from claude_double import COMMAND, ClaudeDouble
from claude_rules import STORY, waiting
from claude_session_rules import ClaudeSessionRules
from peers.claude_client import ClaudeClient, block
from peers.claude_steps import Call, Complain, Die, Emit, Limit, Line, LongLine, LoseEnd, Refuse, Say, bash
from scheduling import Scenarios, scenario


class Lab:
    is_real = False

    def __init__(self, home):
        self.double = ClaudeDouble(Path(home) / "claude")
        self.folder, self.configuration = self.double.folder, self.double.configuration
        self.plan, self.release, self.asked = self.double.plan, self.double.open_gate, self.double.texts

    def client(self, *flags, environment=None, **options):
        variables = {"PATH": os.environ["PATH"], "HOME": str(self.double.directory)} | self.double.environment | (environment or {})
        return ClaudeClient(COMMAND, self.folder, variables, *flags, **options)


@asynccontextmanager
async def lab(**habits):
    with tempfile.TemporaryDirectory(prefix="claude-double-") as home:
        made = Lab(os.path.realpath(home))
        made.double.habits(**habits)
        try:
            yield made
            if violations := made.double.log("violations"):
                raise AssertionError(violations)
        except BaseException as error:
            error.add_note(f"violations of the double: {made.double.log('violations')}")
            raise
        finally:
            made.double.end()


class ScriptedRulesTests(ClaudeSessionRules, Scenarios):
    lab = staticmethod(lab)


class HabitTests(Scenarios):
    @scenario(60)
    async def test_an_older_one_lacks_what_is_new(self):
        async with lab() as made, made.client("--era=old") as client:
            made.plan("story", Say(STORY, every=0.05))
            self.assertEqual(client.greeting["capabilities"], [])
            end = await client.run("Hello.")
            for field in ("user_message_uuids", "terminal_reason", "result_index", "model_usage_since_last_result"):
                self.assertNotIn(field, end)
            self.assertEqual(client.came("command_lifecycle"), [])
            self.assertNotIn("user_message_uuids", str(client.frames))
            self.assertFalse((made.configuration / "sessions").exists())
            await client.user("Tell a story.")
            await client.words()
            self.assertEqual(await client.control("interrupt"), {})
            end = await client.result()
            self.assertEqual((end["subtype"], end["is_error"]), ("error_during_execution", True))

    @scenario(60)
    async def test_habits_of_the_account(self):
        async with lab(logged_out=True) as made, made.client() as client:
            self.assertEqual(client.greeting["account"], {"tokenSource": "none"})
            end = await client.run("Hello.")
            self.assertEqual((end["result"], end["api_error_status"]), ("Not logged in · Please run /login", None))
            self.assertEqual((client.came("assistant")[-1]["error"], made.asked()), ("authentication_failed", []))
            self.assertEqual(await client.close(), 1)
        async with lab(subscription=True) as made, made.client() as client:
            made.plan("limit", Refuse(429, "rate_limit_error", "This request would exceed your limit."))
            made.plan("Hello", Limit(), Say(["Hello."]))
            self.assertIn("You've hit your 5-hour limit", (await client.run("Use up the limit."))["result"])
            await client.run("Hello.")
            self.assertEqual([frame["rate_limit_info"]["status"] for frame in client.came("rate_limit_event")], ["rejected", "allowed"])
            self.assertEqual(await client.close(), 0)
        async with lab(retry_seconds=0.01) as made, made.client(environment={"CLAUDE_CODE_MAX_RETRIES": "2"}) as client:
            made.plan("key", Refuse(401, "authentication_error", "invalid x-api-key"))
            end = await client.run("Lose the key.")
            self.assertEqual((end["result"], len(client.came("system", "api_retry"))), ("Invalid API key · Fix external API key", 2))

    @scenario(60)
    async def test_habits_of_frames_and_lines(self):
        async with lab() as made, made.client() as client:
            made.plan("odd", Line("DEBUG no frame"), LongLine(), Emit({"type": "keep_alive"}), Complain(["a warning"]), Say(["Odd."]))
            for _ in range(2):
                await client.run("Be odd.")
            # Frames of unknown kinds come unasked.
            self.assertIn("novelty", [frame.get("subtype") for frame in client.came("system")])
            self.assertGreater(max(len(frame.get("weight", "")) for frame in client.came("novelty") if isinstance(frame.get("weight"), str)), 16_000_000)
            self.assertEqual(client.lines, [b"DEBUG no frame\n"] * 2)
            self.assertIn(b"a warning", client.stderr)

    @scenario(60)
    async def test_habits_of_ends(self):
        async with lab() as made:
            made.plan("lose", Say(["Lost."]), LoseEnd())
            made.plan("die", Say(["I "]), Die(3))
            async with made.client() as client:
                key = await client.user("You lose the end.")
                await client.lifecycle(key, "completed")
                self.assertEqual(client.came("result"), [])
                self.assertEqual((await client.run("Hello."))["result"], "Understood.")
                await client.user("You die.")
                self.assertEqual(await client.exit(), 3)
        async with lab(ignores_interrupt=True, mute=["mcp_status"]) as made, made.client() as client:
            made.plan("story", Say(STORY[:10], every=0.05))
            await client.user("Tell a story.")
            await client.words()
            silent = [await client.begin("interrupt"), await client.begin("mcp_status")]
            self.assertEqual((await client.result())["terminal_reason"], "completed")
            self.assertFalse([frame for frame in client.came("control_response") if frame["response"]["request_id"] in silent])
        async with lab(refuses="discarded") as made, made.client() as client:
            key = await client.user("Hello.")
            await client.lifecycle(key, "discarded")
            self.assertEqual((client.fates(key), made.asked()), (["discarded"], []))

    @scenario(60)
    async def test_a_schedule_starts_turns_that_are_nobodys(self):
        async with lab(schedule_seconds=0.3) as made, made.client() as client:
            made.plan("Remind", Call("CronCreate", {"cron": "* * * * *", "prompt": "Water the beds.", "recurring": False}), Say(["I will."]))
            made.plan("Water", Say(["Watered."]))
            await client.run("Remind me.")
            end = await client.result()
            self.assertEqual(end["result"], "Watered.")
            self.assertFalse({"origin", "user_message_uuids"} & set(end))
            woken, = [frame for frame in client.came("command_lifecycle") if frame.get("wakeup_source") and frame["state"] == "started"]
            self.assertEqual(woken["wakeup_source"], "schedule_wakeup")
            await asyncio.sleep(0.3)
            row, = [row for row in made.double.rows(end["session_id"]) if row.get("wakeupSource")]
            self.assertEqual((row["isMeta"], row["promptSource"], row["turnOrigin"]), (True, "system", "scheduled"))
            self.assertEqual(await client.close(), 0)

    @scenario(60)
    async def test_two_processes_on_one_session_fork_its_file(self):
        async with lab() as made:
            made.plan("label", bash("echo one >> effects"), Say(["The first."]))
            made.plan("Hello", Say(["The second."]))
            async with made.client() as first:
                await first.run("Hello.")
                session = first.came("result")[0]["session_id"]
                await first.user("Write the label.")
                ask = await first.asked()
                async with made.client(f"--resume={session}") as second:
                    await second.run("Hello again.")
                    await second.close()
                await first.allow(ask)
                await first.result()
                await first.close()
            rows = [row for row in made.double.rows(session) if row.get("type") in ("user", "assistant")]
            parents = [row["parentUuid"] for row in rows]
            self.assertTrue([parent for parent in parents if parents.count(parent) > 1])
            self.assertEqual(made.double.problems(), [])

    @scenario(60)
    async def test_nobody_reads_and_nothing_stops(self):
        async with lab() as made:
            made.plan("much", Say(["word " * 20_000] * 10, every=0), bash("echo done >> effects"), Say(["Read at last."]))
            async with made.client("--allowedTools=Bash") as client:
                client.process.stdout._transport.pause_reading()
                await client.user("Say much.")
                async with asyncio.timeout(30):
                    while made.double.effects() != ["done"]:
                        await asyncio.sleep(0.05)
                client.process.stdout._transport.resume_reading()
                self.assertEqual((await client.result())["result"], "Read at last.")

    @scenario(60)
    async def test_what_a_killed_process_leaves_behind(self):
        async with lab() as made, made.client("--allowedTools=Bash") as client:
            made.plan("wait", Say(["I wait."]), bash(waiting("later")))
            await client.user("You wait.")
            call = block(await client.called())
            await asyncio.sleep(0.4)
            os.kill(client.pid, signal.SIGKILL)
            await client.process.wait()
            # The orphaned shell lives on, and carries out its command.
            (made.folder / "later").touch()
            async with asyncio.timeout(30):
                while made.double.effects() != ["later"]:
                    await asyncio.sleep(0.05)
            self.assertTrue((made.configuration / "sessions" / f"{client.pid}.json").exists())
            rows = [row["message"] for row in made.double.rows(client.came("system", "init")[0]["session_id"]) if row["type"] == "assistant"]
            self.assertEqual([(message["content"][0].get("id"), message["stop_reason"]) for message in rows], [(None, "tool_use"), (call["id"], "tool_use")])


if __name__ == "__main__":
    unittest.main()
