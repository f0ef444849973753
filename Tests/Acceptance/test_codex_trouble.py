"""The real program with a Codex that is missing, faulty, or in use elsewhere: each message is answered, at least by a sentence."""

import asyncio
import os
import shutil
import unittest

from codex_double import CodexProcess
from codex_stage import CodexStage
from harness import until
from peers.codex_client import CodexClient
from peers.codex_steps import Command, Die, Fail, Garbage, Hold, LoseEnd, Say, answer
from pi_home import words
from scheduling import Scenarios, scenario
from test_codex import story


def habits(**values):
    return lambda codex: codex.habits(**values)


class CodexTroubleTests(Scenarios):
    async def answered(self, stage, *said, text="hello", session=None, seconds=40):
        """Sends a message, and expects one of these words at its end."""
        turn = stage.ask(text, session=session)
        await stage.ended(turn, seconds=seconds)
        stage.expect_said(turn, *said)
        return turn

    async def mended(self, stage, turn, text="hello again"):
        """Checks that the next message finds the fault repaired."""
        again = stage.ask(text, session=turn.session)
        await stage.ended(again, seconds=40)
        stage.expect(again, "Understood.")

    # Starts that fail

    @scenario(120)
    async def test_a_program_that_is_missing(self):
        async with CodexStage(environment={"CODEX_COMMAND": "/nowhere/codex"}, begins=False) as stage:
            await stage.bridge.start()
            turn = await self.answered(stage, "Codex cannot be found")
            again = stage.ask("hello again", session=turn.session)
            await stage.ended(again)

    @scenario(120)
    async def test_a_version_that_is_too_old_and_then_is_not(self):
        async with CodexStage(habits(version="0.120.0")) as stage:
            turn = await self.answered(stage, "too old")
            self.assertEqual(stage.codex.servers(), [])
            stage.codex.habits(version="0.163.0")
            await self.mended(stage, turn)

    @scenario(90)
    async def test_one_that_is_logged_out_and_then_is_not(self):
        async with CodexStage(habits(logged_out=True)) as stage:
            turn = await self.answered(stage, "codex login")
            self.assertEqual(stage.codex.log("started"), [])
            stage.codex.habits(logged_out=False)
            await self.mended(stage, turn)

    @scenario(90)
    async def test_a_broken_configuration_is_no_reason_to_use_another(self):
        async with CodexStage(habits(broken_configuration=True)) as stage:
            turn = await self.answered(stage, "configuration")
            self.assertEqual(stage.codex.log("started"), [])
            stage.codex.habits(broken_configuration=False)
            # Codex reads its file at its start alone.
            stage.kill_codex()
            await self.mended(stage, turn)

    @scenario(90)
    async def test_one_that_dies_at_once(self):
        async with CodexStage(habits(start_error="Error: the disk is full")) as stage:
            turn = await self.answered(stage, "the disk is full")
            stage.codex.habits(start_error=None)
            await self.mended(stage, turn)

    @scenario(120)
    async def test_one_that_never_listens(self):
        async with CodexStage(habits(never_listens=True)) as stage:
            turn = await self.answered(stage, "Codex", seconds=90)
            stage.codex.habits(never_listens=False)
            stage.codex.end()

    # Servers that misbehave

    async def mute(self, method, scale):
        async with CodexStage(habits(mute=[method]), begins=False, scale=scale) as stage:
            await stage.bridge.start(ready_seconds=None)
            turn = stage.ask("hello")
            await stage.ended(turn, seconds=150)
            self.assertNotEqual(stage.phone.final(turn.interaction), "Understood.")
            self.assertTrue(stage.phone.final(turn.interaction).strip(), method)

    @scenario(160, weight=0)
    async def test_one_that_never_answers_the_handshake(self):
        # A message waits two minutes for an absent agent.
        await self.mute("initialize", 3)

    @scenario(160, weight=0)
    async def test_one_that_never_answers_the_start_of_a_thread(self):
        await self.mute("thread/start", 1)

    @scenario(160, weight=0)
    async def test_one_that_never_answers_the_start_of_a_turn(self):
        await self.mute("turn/start", 1)

    @scenario(120)
    async def test_garbage_is_passed_over(self):
        rubbish = ["Segmentation fault", "[]", "{}", '{"method":"what/is/this","params":null}', '{"id":0,"method":"future/request","params":{}}']
        async with CodexStage(habits(greeting_garbage=rubbish)) as stage:
            steps = story("rubbish", Garbage())
            turn = stage.ask("rubbish", *steps)
            await stage.ended(turn)
            stage.expect(turn, answer(steps))
            stage.check(turn)

    @scenario(120)
    async def test_an_overloaded_server_is_asked_again(self):
        async with CodexStage(habits(overloads=3)) as stage:
            turn = stage.ask("hello")
            await stage.ended(turn, seconds=40)
            stage.expect(turn, "Understood.")
            stage.check(turn)

    @scenario(120)
    async def test_a_flood_in_its_log_is_bounded_while_it_runs(self):
        async with CodexStage(habits(floods_megabytes=20)) as stage:
            log = stage.state / "codex-default.log"
            await until(lambda: log.with_name("codex-default.log.1").exists() and log.stat().st_size < 8 << 20, 60, "the cut")
            self.assertLessEqual(log.with_name("codex-default.log.1").stat().st_size, 8 << 20)
            turn = stage.ask("hello")
            await stage.ended(turn)
            stage.expect(turn, "Understood.")
            self.assertEqual(len(stage.codex.servers()), 1)
            stage.check(turn)

    @scenario(120)
    async def test_a_lost_end_is_found(self):
        async with CodexStage() as stage:
            steps = story("lost", Command())
            turn = stage.ask("lost", LoseEnd(), *steps)
            await stage.ended(turn)
            stage.expect(turn, answer(steps))
            again = stage.ask("hello", session=turn.session)
            await stage.ended(again)
            stage.check(turn, again)

    @scenario(120)
    async def test_errors_are_sentences(self):
        async with CodexStage() as stage:
            limit = stage.ask("limit", Fail("You've hit your usage limit.", "usageLimitExceeded"))
            login = stage.ask("login", Fail("unexpected status 401", {"httpConnectionFailed": {"httpStatusCode": 401}}))
            other = stage.ask("other", *story("other")[:1], Fail("unexpected status 500", {"futureKind": {"x": 1}}))
            await stage.ended(limit, login, other)
            stage.expect_said(limit, "usage limit")
            stage.expect_said(login, "needs a login")
            stage.expect_said(login, "codex login")
            stage.expect_said(other, "unexpected status 500")
            again = stage.ask("hello", session=limit.session)
            await stage.ended(again)
            stage.expect(again, "Understood.")
            stage.check(limit, login, again, is_prefix=False)

    @scenario(120)
    async def test_a_turn_that_is_refused(self):
        async with CodexStage(habits(refuses_turns="rollout: No space left on device")) as stage:
            turn = await self.answered(stage, "No space left on device")
            stage.codex.habits(refuses_turns=None)
            await self.mended(stage, turn)

    @scenario(90)
    async def test_a_stop_that_is_ignored_ends_the_bubble_and_the_next_message_waits(self):
        async with CodexStage(habits(ignores_interrupt=True)) as stage:
            turn = stage.ask("long", *story("long", Hold("go")))
            await stage.streaming(turn)
            stage.relay.stop(turn.session, turn.interaction)
            await stage.ended(turn)
            again = stage.ask("hello", session=turn.session)
            await asyncio.sleep(1)
            self.assertEqual(stage.codex.log("steers"), [])
            stage.codex.open_gate("go")
            await stage.ended(again, seconds=40)
            stage.expect(again, "Understood.")
            self.assertEqual(stage.codex.log("steers"), [])

    # Servers that die

    @scenario(120)
    async def test_a_server_that_dies_in_a_turn_ends_its_bubbles_and_runs_nothing_twice(self):
        async with CodexStage() as stage:
            one = stage.ask("one", *story("one", Command(), Hold("never")))
            two = stage.ask("two", Command("touch x", None), Hold("now"), Die())
            await stage.streaming(one)
            await stage.reached("two")
            stage.codex.open_gate("now")
            await stage.ended(one, two, seconds=40)
            again = stage.ask("hello", session=one.session)
            await stage.ended(again, seconds=40)
            stage.expect(again, "Understood.")
            self.assertEqual(stage.codex.texts().count("one") + stage.codex.texts().count("two"), 2)
            self.assertEqual(len(stage.codex.servers()), 2)

    @scenario(120)
    async def test_a_kill_right_after_the_reply_is_sent_again_because_it_left_no_trace(self):
        async with CodexStage() as stage:
            first = stage.ask("first")
            await stage.ended(first)
            stage.codex.habits(dies_after="turn/start")
            turn = stage.ask("hello", session=first.session)
            await until(lambda: len(stage.codex.log("started")) == 2, 30, "the second turn")
            stage.codex.habits(dies_after=None)
            await stage.ended(turn, seconds=40)
            # The message ran once, or its end says that it did not.
            self.assertLessEqual(stage.codex.texts().count("hello"), 1)
            self.assertTrue(stage.phone.final(turn.interaction).strip())

    @scenario(120)
    async def test_a_kill_in_the_first_turn_of_a_chat_leaves_a_thread_that_cannot_be_read(self):
        async with CodexStage(habits(dies_after="turn/start")) as stage:
            turn = stage.ask("hello")
            await until(lambda: stage.codex.log("started"), 30, "the turn")
            stage.codex.habits(dies_after=None)
            await stage.ended(turn, seconds=60)
            self.assertLessEqual(stage.codex.texts().count("hello"), 1)
            again = stage.ask("hello again", session=turn.session)
            await stage.ended(again)
            stage.expect(again, "Understood.")

    # Servers and threads in use elsewhere

    @scenario(150)
    async def test_a_thread_that_another_program_has_open(self):
        async with CodexStage() as stage:
            turn = stage.ask("hello")
            await stage.ended(turn)
            thread = stage.codex.log("threads")[0]["thread"]
            stage.kill_codex()
            async with CodexProcess(stage.codex, listen=f"unix://{stage.codex.directory}/other.sock") as other:
                async with CodexClient(other.address) as client:
                    await until(lambda: len(stage.codex.servers()) >= 2, 30, "another server")
                    await client.resume(thread)
                    held = stage.ask("mine", session=turn.session)
                    await stage.ended(held, seconds=100)
                    stage.expect_said(held, "Another program")
                    self.assertNotIn("mine", stage.codex.texts())
            await self.mended(stage, turn)

    @scenario(120)
    async def test_a_turn_of_another_client_in_the_chat_s_thread_is_waited_for_and_not_steered(self):
        async with CodexStage() as stage:
            turn = stage.ask("hello")
            await stage.ended(turn)
            thread = stage.codex.log("threads")[0]["thread"]
            stage.codex.plan("of the desk", Say(words("desk"), "commentary"), Hold("desk"), Say(["Said at the desk."]))
            async with CodexClient(f"unix://{stage.state / 'codex-default.sock'}") as desk:
                await desk.resume(thread)
                running = await desk.start(thread, "of the desk", "desk-1")
                await stage.reached("of the desk")
                mine = stage.ask("mine", Say(["Mine."]), session=turn.session)
                await asyncio.sleep(1)
                self.assertNotIn("mine", stage.codex.texts())
                self.assertEqual(stage.codex.log("steers"), [])
                stage.codex.open_gate("desk")
                self.assertEqual((await desk.ended(running))["status"], "completed")
            await stage.ended(mine)
            stage.expect(mine, "Mine.")
            self.assertEqual(stage.codex.log("steers"), [])
            self.assertEqual(stage.codex.log("interrupts"), [])

    @scenario(120)
    async def test_a_stop_does_not_touch_a_turn_of_another_client(self):
        async with CodexStage() as stage:
            turn = stage.ask("hello")
            await stage.ended(turn)
            thread = stage.codex.log("threads")[0]["thread"]
            stage.codex.plan("of the desk", Say(words("desk"), "commentary"), Hold("desk"), Say(["Said at the desk."]))
            async with CodexClient(f"unix://{stage.state / 'codex-default.sock'}") as desk:
                await desk.resume(thread)
                running = await desk.start(thread, "of the desk", "desk-1")
                await stage.reached("of the desk")
                mine = stage.ask("mine", session=turn.session)
                await until(lambda: stage.phone.bubble(mine.interaction), 30, "the bubble of the message that waits")
                stage.relay.stop(mine.session, mine.interaction)
                await stage.ended(mine)
                stage.codex.open_gate("desk")
                self.assertEqual((await desk.ended(running))["status"], "completed")
            again = stage.ask("hello again", session=turn.session)
            await stage.ended(again)
            stage.expect(again, "Understood.")
            self.assertNotIn("mine", stage.codex.texts())

    @scenario(120)
    async def test_a_thread_that_was_deleted(self):
        async with CodexStage() as stage:
            turn = stage.ask("hello")
            await stage.ended(turn)
            await stage.lose_threads()
            again = stage.ask("hello again", session=turn.session)
            await stage.ended(again, seconds=40)
            # The chat continues in another thread, and the bubble says that the agent does not know the earlier messages.
            self.assertIn("Understood.", stage.phone.final(again.interaction))
            stage.expect_said(again, "does not know what was said before")
            self.assertEqual(len(stage.codex.log("threads")), 2)
            # The sentence comes once.
            third = stage.ask("and again", session=turn.session)
            await stage.ended(third)
            stage.expect(third, "Understood.")

    @scenario(120)
    async def test_a_thread_that_was_archived_elsewhere_goes_on_with_all_that_was_said(self):
        async with CodexStage() as stage:
            turn = stage.ask("hello")
            await stage.ended(turn)
            thread = stage.codex.log("threads")[0]["thread"]
            async with CodexClient(f"unix://{stage.state / 'codex-default.sock'}") as desk:
                await desk.ask("thread/archive", threadId=thread)
            again = stage.ask("hello again", session=turn.session)
            await stage.ended(again, seconds=40)
            stage.expect(again, "Understood.")
            self.assertEqual(len(stage.codex.log("threads")), 1)

    @scenario(120)
    async def test_a_socket_of_another_is_not_joined(self):
        async with CodexStage(begins=False) as stage:
            stage.state.mkdir(mode=0o700, parents=True)
            path = stage.state / "codex-default.sock"
            impostor = await asyncio.start_unix_server(lambda *_: None, str(stage.directory / "impostor.sock"))
            os.chmod(stage.directory / "impostor.sock", 0o666)
            if os.getuid() == 0:
                shutil.chown(stage.directory / "impostor.sock", "nobody")
            path.symlink_to(stage.directory / "impostor.sock")
            await stage.bridge.start(ready_seconds=None)
            turn = stage.ask("hello")
            await stage.ended(turn, seconds=50)
            self.assertTrue(stage.phone.final(turn.interaction).strip())
            impostor.close()

    @scenario(120)
    async def test_a_server_that_a_person_started_is_joined_over_tcp_with_its_token(self):
        async with CodexStage(begins=False) as stage:
            token = stage.directory / "token"
            token.write_text("a-secret-token")
            server = CodexProcess(stage.codex, "--ws-auth", "capability-token", "--ws-token-file", str(token), listen="ws://127.0.0.1:0")
            async with server:
                stage.bridge.environment |= {"CODEX_URL": server.address, "CODEX_TOKEN": "a-secret-token"}
                stage.bridge.environment.pop("CODEX_COMMAND")
                await stage.bridge.start()
                turn = stage.ask("hello")
                await stage.ended(turn)
                stage.expect(turn, "Understood.")
                self.assertEqual(len(stage.codex.servers()), 1)
                stage.check(turn)


if __name__ == "__main__":
    unittest.main()
