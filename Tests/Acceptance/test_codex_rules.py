"""The scripted Codex follows the rules of the real one (`codex_rules.py`, Tests/RealAgents), and has the scripted bad habits."""

import tempfile
import unittest
from contextlib import asynccontextmanager
from pathlib import Path

from codex_double import CodexDouble, CodexProcess
from codex_rules import REQUEST, CodexRules
from peers.codex_client import CodexClient, Refused
from peers.codex_steps import AskLate, Command, Garbage, LoseEnd, Parallel, Say
from scheduling import Scenarios, scenario
from websockets.exceptions import InvalidStatus


class Lab:
    cwd = "/home/ada/project"

    def __init__(self, home):
        self.double = CodexDouble(Path(home) / "codex")
        self.server = CodexProcess(self.double)
        self.plan, self.release, self.asked = self.double.plan, self.double.open_gate, self.double.texts

    async def second_on_the_same_socket(self):
        """Starts a second server on the same socket, and returns its exit code."""
        other = CodexProcess(self.double)
        try:
            await other.start()
        except AssertionError:
            return await other.exit()

    def second(self):
        return CodexProcess(self.double, listen=f"unix://{self.double.directory}/second.sock")


@asynccontextmanager
async def lab(*arguments, **habits):
    with tempfile.TemporaryDirectory(prefix="codex-double-") as home:
        made = Lab(home)
        made.server.arguments += arguments
        made.double.habits(**habits)
        async with made.server:
            yield made


class ScriptedRulesTests(CodexRules, Scenarios):
    lab = staticmethod(lab)


class HabitTests(Scenarios):
    @scenario(60)
    async def test_over_tcp_a_token_is_asked_for_and_no_page_may_come(self):
        with tempfile.TemporaryDirectory(prefix="codex-double-") as home:
            double = CodexDouble(Path(home) / "codex")
            token = double.directory / "token"
            token.write_text("a secret\n")
            async with CodexProcess(double, "--ws-auth", "capability-token", "--ws-token-file", str(token), listen="ws://127.0.0.1:0") as server:
                async with CodexClient(server.address, token="a secret") as client:
                    await client.ask("account/read")
                for options, status in (({}, 401), ({"token": "wrong"}, 401),
                                        ({"token": "a secret", "headers": {"Origin": "http://localhost"}}, 403)):
                    with self.assertRaises(InvalidStatus) as caught:
                        await CodexClient(server.address, **options).__aenter__()
                    self.assertEqual(caught.exception.response.status_code, status)

    @scenario(60)
    async def test_habits_of_the_account_and_of_the_configuration(self):
        async with lab(logged_out=True, broken_configuration=True, version="0.120.0") as made, \
                CodexClient(made.server.address, greets=False) as client:
            agent = (await client.greet())["userAgent"]
            self.assertTrue(agent.startswith("peer/0.120.0 "), agent)
            self.assertEqual(await client.ask("account/read"), {"account": None, "requiresOpenaiAuth": True, "workspaceRouting": None})
            warning = await client.method("configWarning")
            self.assertEqual(warning["params"]["summary"], "Invalid configuration; using defaults.")

    @scenario(60)
    async def test_habits_of_silence_and_of_death(self):
        async with lab(mute=["thread/start"]) as made, CodexClient(made.server.address) as client:
            number = await client.begin("thread/start", cwd=made.cwd)
            await client.ask("account/read")
            self.assertFalse([frame for frame in client.frames if frame.get("id") == number])
        async with lab(dies_after="turn/start") as made:
            async with CodexClient(made.server.address) as client:
                thread = await client.thread(made.cwd)
                await client.start(thread, "Hello.")
                await client.closed()
            self.assertEqual((await made.server.exit(), made.double.texts()), (1, []))
            # The model got no request, and a thread without an earlier turn has an empty file.
            made.double.habits(dies_after=None)
            await made.server.start()
            async with CodexClient(made.server.address) as client:
                for method in ("thread/resume", "thread/turns/list"):
                    with self.assertRaises(Refused) as caught:
                        await client.ask(method, threadId=thread)
                    self.assertEqual(caught.exception.code, -32603)
                    self.assertTrue(caught.exception.message.endswith("is empty"), caught.exception.message)

    @scenario(60)
    async def test_habits_of_a_turn(self):
        async with lab(ignores_interrupt=True) as made, CodexClient(made.server.address) as client:
            made.plan("late", Say(["Done."]), AskLate())
            made.plan("lost", Say(["Done."]), LoseEnd())
            made.plan("rubbish", Garbage(), Say(["Done."]))
            made.plan("many", Parallel([Command(f"rm {number}", asks=f"Delete {number}?") for number in range(100)]), Say(["Done."]))
            thread = await client.thread(made.cwd)
            await client.run(thread, "late")
            asked = await client.method(REQUEST)
            ended = await client.method("turn/completed")
            self.assertLess(client.frames.index(ended), client.frames.index(asked))
            mark = len(client.frames)
            await client.start(thread, "lost")
            await client.until(lambda frame: frame.get("method") == "thread/status/changed" and frame["params"]["status"]["type"] == "idle", mark)
            await client.ask("account/read")
            self.assertNotIn("turn/completed", client.methods(mark))
            other = await client.thread(made.cwd)
            mark = len(client.frames)
            turn = await client.start(other, "many")
            for number in range(100):
                asked = await client.until(lambda frame: frame.get("method") == REQUEST and frame["params"]["reason"] == f"Delete {number}?", mark)
                await client.answer(asked, decision="accept")
            self.assertEqual((await client.ended(turn))["status"], "completed")
            self.assertEqual(len(made.double.ran()), 100)

    @scenario(60)
    async def test_answers_of_a_client_that_has_not_resumed_are_lost(self):
        async with lab(renumber=True) as made:
            made.plan("mouldy", Command("rm -r x", asks="Delete?"), Say(["Done."]))
            async with CodexClient(made.server.address) as client:
                thread = await client.thread(made.cwd)
                turn = await client.start(thread, "mouldy")
                asked = await client.method(REQUEST)
                await client.cut()
            async with CodexClient(made.server.address) as client:
                await client.answer(asked, decision="accept")
                await client.resume(thread)
                again = await client.method(REQUEST)
                self.assertNotEqual(again["id"], asked["id"])
                # The old number belongs to no request now.
                await client.answer(asked, decision="decline")
                await client.answer(again, decision="accept")
                self.assertEqual((await client.ended(turn))["status"], "completed")
            self.assertEqual(len(made.double.log("answers")), 1)

    @scenario(60)
    async def test_a_thread_without_subscribers_is_unloaded(self):
        async with lab(unload_seconds=0.1) as made, CodexClient(made.server.address) as client:
            thread = await client.thread(made.cwd)
            await client.run(thread, "Hello.")
            await client.ask("thread/unsubscribe", threadId=thread)
            await client.method("thread/closed")
            with self.assertRaises(Refused):
                await client.start(thread, "Hello again.")
            await client.resume(thread)
            self.assertEqual((await client.run(thread, "Hello again."))["status"], "completed")


if __name__ == "__main__":
    unittest.main()
