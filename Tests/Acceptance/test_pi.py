"""The real program with a child that speaks like pi (pi.md), in both lines of the protocol."""

import asyncio
import json
import os
import pwd
import random
import shutil
import signal
import subprocess
import unittest
from pathlib import Path

from commands import once
from harness import bridge_command, until
from pi_home import COMMAND, said, words
from pi_stage import LINES, PiStage
from scheduling import Scenarios, scenario

SEED = int(os.environ.get("KILL_SEED", "7"))


class PiTests(Scenarios):
    @scenario(60)
    async def test_text_tools_and_usage_end_in_one_bubble(self):
        for line in LINES:
            plans = {"disk": [said(*words("a")), {"tool": {}}, said(*words("b"))]}
            async with PiStage(plans, line) as stage:
                turn = stage.ask("disk please")
                await stage.ended(turn)
                stage.expect(turn, "".join(words("a")).strip() + "\n\n" + "".join(words("b")).strip())
                self.assertEqual(len(stage.phone.tasks_of(turn.interaction)), 1)
                stage.check(turn)
                stage.check_prompts(turn)

    @scenario(60)
    async def test_a_message_that_waits_for_a_place_at_SIGTERM_is_answered_by_the_next_bridge(self):
        plans = {"long": [said("Working"), {"hold": "long"}, said("done")], "waits": [said("Yes.")]}
        async with PiStage(plans, configuration={"limits": {"agents": 1}}) as stage:
            long = stage.ask("long")
            await stage.streaming(long)
            waits = stage.ask("waits")
            await until(lambda: stage.phone.tasks_of(waits.interaction), 30, "the card of the wait")
            stage.bridge.terminate()
            self.assertEqual(await stage.bridge.exit(), 0)
            stage.open_gate("long")
            await stage.bridge.start()
            await stage.ended(long, waits)
            stage.expect(waits, "Yes.")
            stage.check(long, waits)
            stage.check_prompts(long, waits)

    @scenario(60)
    async def test_a_chat_keeps_its_process_and_its_session(self):
        async with PiStage({"one": [said("first")], "two": [said("second")]}) as stage:
            one = stage.ask("one")
            await stage.ended(one)
            two = stage.ask("two", session=one.session)
            await stage.ended(two)
            self.assertEqual(len(stage.log("starts")), 1)
            await stage.bridge.restart_after_kill()
            three = stage.ask("one more", session=one.session)
            await stage.ended(three)
            starts = stage.log("starts")
            self.assertEqual(len(starts), 2)
            self.assertIn("--session", starts[1]["arguments"])

    @scenario(60)
    async def test_the_card_of_a_guard_of_the_shell_has_the_command_and_both_labels(self):
        command = "rm -rf " + "labels/" * 60
        async with PiStage({"clean": [{"gate": {"command": command}}]}) as stage:
            turn = stage.ask("clean up")
            approval = await stage.approval(turn)
            message = stage.phone.approvals[approval]["message"]
            self.assertIn(command, message)
            self.assertIn("Yes / No", message)
            stage.relay.decide(approval, "approve")
            await stage.ended(turn)
            stage.expect(turn, "Done.")
            ran, = stage.log("executed")
            self.assertEqual((ran["approval"], ran["command"], ran["option"]), (approval, command, "Yes"))

    @scenario(60)
    async def test_an_option_for_ever_is_no_button(self):
        gate = {"command": "rm x", "options": ["Always allow", "No"], "yes": ["Always allow"]}
        async with PiStage({"clean": [{"gate": gate}]}) as stage:
            turn = stage.ask("clean up")
            await until(lambda: "1. Always allow" in getattr(stage.phone.bubble(turn.interaction), "text", ""), 30, "a question")
            self.assertEqual(stage.phone.approvals, {})
            stage.ask("2", session=turn.session)
            await stage.ended(turn)
            self.assertEqual(stage.log("executed"), [])

    @scenario(60)
    async def test_a_dialog_is_a_card_and_its_answer_reaches_pi(self):
        for decision, text in (("approve", "It is done."), ("deny", "I leave it.")):
            plans = {"clean": [said("Let me look."), {"confirm": {"title": "Delete?", "yes": "It is done.", "no": "I leave it."}}]}
            async with PiStage(plans) as stage:
                turn = stage.ask("clean up")
                approval = await stage.approval(turn)
                stage.relay.decide(approval, decision)
                await stage.ended(turn)
                stage.expect(turn, f"Let me look.\n\n{text}")
                stage.check(turn)

    @scenario(60)
    async def test_stop_ends_the_run(self):
        async with PiStage({"long": [said(*words("a")), {"hold": "never"}, said("not said")]}) as stage:
            turn = stage.ask("long")
            await stage.streaming(turn)
            stage.relay.stop(turn.session, turn.interaction)
            await stage.ended(turn)
            self.assertNotIn("not said", stage.phone.final(turn.interaction))
            again = stage.ask("hello", session=turn.session)
            await stage.ended(again)
            stage.expect(again, "Hello.")
            self.assertEqual(len(stage.log("starts")), 1)

    @scenario(90)
    async def test_a_stop_that_pi_ignores_ends_its_process(self):
        async with PiStage({"long": [said(*words("a")), {"hold": "never"}]}, pi={"ignores_abort": True}) as stage:
            turn = stage.ask("long")
            await stage.streaming(turn)
            child = stage.child()
            stage.relay.stop(turn.session, turn.interaction)
            await stage.ended(turn, seconds=40)
            await until(lambda: not Path(f"/proc/{child}").exists(), 20, "the child is gone")

    @scenario(60)
    async def test_errors_and_retries(self):
        for line in LINES:
            plans = {"flaky": [said("looked"), {"retry": "overloaded"}, said("found")], "broken": [{"fail": "no credit left"}],
                     "refused": [{"refuse": "No model selected"}]}
            async with PiStage(plans, line) as stage:
                flaky, broken, refused = (stage.ask(text) for text in ("flaky", "broken", "refused"))
                await stage.ended(flaky, broken, refused)
                stage.expect(flaky, "looked\n\nfound")
                stage.expect_said(broken, "no credit left")
                stage.expect_said(refused, "No model selected")

    @scenario(60)
    async def test_noise_around_records_is_survived(self):
        plans = {"noisy": [{"print": "npm warn something"}, said("heard"), {"noise": "\u001b]777;notify;done\u0007"}]}
        async with PiStage(plans) as stage:
            turn = stage.ask("noisy")
            await stage.ended(turn)
            stage.expect(turn, "heard")

    @scenario(60)
    async def test_a_line_of_100_megabytes_fails_the_run_and_not_the_bridge(self):
        async with PiStage({"huge": [said("before"), {"long_line": 100 << 20}, {"hold": "never"}]}) as stage:
            turn = stage.ask("huge")
            await stage.ended(turn, seconds=40)
            stage.expect_said(turn, "one line")
            self.assertLess(stage.bridge.peak_megabytes(), 300)
            again = stage.ask("hello", session=turn.session)
            await stage.ended(again)
            stage.expect(again, "Hello.")

    @scenario(60)
    async def test_a_child_that_is_killed_in_mid_run_ends_its_bubble(self):
        async with PiStage({"long": [said(*words("a")), {"hold": "never"}]}) as stage:
            turn = stage.ask("long")
            await stage.streaming(turn)
            os.kill(stage.child(), signal.SIGKILL)
            await stage.ended(turn)
            stage.expect_said(turn, "pi", "process")
            again = stage.ask("hello", session=turn.session)
            await stage.ended(again)
            stage.check_prompts(turn, again)

    @scenario(60)
    async def test_a_program_that_is_missing_or_exits_at_once_is_a_sentence(self):
        async with PiStage({}, environment={"PI_COMMAND": "/nowhere/pi --mode rpc"}) as stage:
            turn = stage.ask("hello")
            await stage.ended(turn)
            stage.expect_said(turn, "could not be started")
        key = "sk-ant-" + "0123456789abcdef" * 3
        words = f"node: deprecated\nANTHROPIC_API_KEY={key}\nNo API key found\nSee the manual"
        async with PiStage({}, pi={"start_error": words}) as stage:
            turn = stage.ask("hello")
            await stage.ended(turn)
            stage.expect_said(turn, "No API key found / See the manual")
            log = "".join(stage.bridge.stderr)
            self.assertIn("standard error: node: deprecated", log)
            self.assertIn("[redacted]", log)
            self.assertNotIn(key, log + stage.phone.final(turn.interaction))

    @scenario(60)
    async def test_no_child_outlives_the_bridge(self):
        for end in ("kill9", "terminate"):
            async with PiStage({"long": [said(*words("a")), {"hold": "never"}]}) as stage:
                turn = stage.ask("long")
                await stage.streaming(turn)
                child = stage.child()
                getattr(stage.bridge, end)()
                await stage.bridge.exit()
                await until(lambda: not Path(f"/proc/{child}").exists(), 10, "the child is gone")

    @scenario(60)
    async def test_the_child_gets_the_environment_without_what_is_ours(self):
        async with PiStage({}, environment={"NOTIFY_SOCKET": "/nowhere", "EDITOR": "vi", "OPENCLAW_TOKEN": "o"}) as stage:
            turn = stage.ask("hello")
            await stage.ended(turn)
            names = stage.log("starts")[0]["environment"]
            self.assertIn("EDITOR", names)
            self.assertFalse([name for name in names if name.startswith("SOPHON_") or name in ("NOTIFY_SOCKET", "OPENCLAW_TOKEN")])

    @scenario(60)
    async def test_much_on_standard_error_does_not_fill_the_log(self):
        async with PiStage({"loud": [{"complain": 5_000}, said("done")]}) as stage:
            turn = stage.ask("loud")
            await stage.ended(turn)
            stage.expect(turn, "done")
            lines = [line for line in stage.bridge.stderr if "standard error" in line]
            self.assertIn("complaint 0", lines[0])
            self.assertLessEqual(len(lines), 60)

    async def kill_at_random(self, kill, name):
        """Ten runs, each killed once at a seeded moment."""
        generator = random.Random(f"{SEED} {name}")
        plans = {"work": [said(*words("a")), {"tool": {}}, {"confirm": {"title": "Go on?", "yes": "Gone on.", "no": "Left."}},
                          said(*words("b"))]}
        moments = []
        async with PiStage(plans) as stage:
            try:
                asked, decided = [], set()
                for number in range(10):
                    turn = stage.ask(f"work {number}")
                    asked.append(turn)
                    part, after = generator.choice(["message", "text", "card"]), generator.uniform(0, 0.2)
                    moments.append(f"{number}: {after * 1000:.0f} ms after the {part}")
                    await self.reached(stage, turn, part, decided)
                    await asyncio.sleep(after)
                    await kill(stage)
                    # Settle everything, including work found by the next process, before the next kill.
                    await self.settled(stage, turn, decided)
                stage.check_prompts(*asked)
                stage.check(*asked, is_prefix=False)
                again = stage.ask("hello", session=asked[-1].session)
                await stage.ended(again)
                stage.expect(again, "Hello.")
            except BaseException as error:
                error.add_note(f"KILL_SEED={SEED}, {name}, kills: " + "; ".join(moments))
                raise

    async def reached(self, stage, turn, part, decided):
        def ended():
            return stage.phone.is_ended(turn.interaction)
        if part == "text":
            await until(lambda: ended() or (bubble := stage.phone.bubble(turn.interaction)) and bubble.streamed, 30, "text")
        elif part == "card":
            await until(lambda: ended() or self.card(stage, turn, decided), 30, "a card")

    def card(self, stage, turn, decided):
        """Decides an undecided card of this turn."""
        for name, body in stage.phone.approvals.items():
            if body["session_id"] == turn.session and name not in decided:
                decided.add(name)
                stage.relay.decide(name, "approve")
                return True
        return False

    async def settled(self, stage, turn, decided):
        await until(lambda: self.card(stage, turn, decided) or stage.phone.is_ended(turn.interaction), 60, "a card or the end")
        await stage.ended(turn, seconds=60)

    @scenario(170)
    async def test_kills_of_the_bridge_at_random_moments_repeat_no_prompt(self):
        async def kill(stage):
            await stage.bridge.restart_after_kill()
        await self.kill_at_random(kill, "the bridge")

    @scenario(170)
    async def test_kills_of_the_child_at_random_moments_repeat_no_prompt(self):
        async def kill(stage):
            # Kills the previous message's child if this message has none yet.
            if stage.log("starts") and Path(f"/proc/{stage.child()}").exists():
                os.kill(stage.child(), signal.SIGKILL)
        await self.kill_at_random(kill, "the child")

    @scenario(60)
    async def test_a_recording_of_several_children_is_replayed_chat_by_chat(self):
        plans = {"one": [said(*words("a")), {"hold": "first"}, said("One."), {"noise": "\u001b]777;notify;done\u0007"}],
                 "two": [said(*words("b")), {"hold": "second"}, said("Two.")]}
        async with PiStage(plans) as stage:
            records = stage.directory / "records"
            stage.configure({"record_dir": str(records)})
            await stage.bridge.restart_after_kill()
            one, two = stage.ask("one"), stage.ask("two")
            await stage.streaming(one)
            await stage.streaming(two)
            stage.open_gate("second")
            await stage.ended(two)
            stage.open_gate("first")
            await stage.ended(one)
            stage.bridge.terminate()
            await stage.bridge.exit()
            recording, = records.iterdir()
            replayed = await once("replay", str(recording), "--json", directory=stage.directory)
            self.assertEqual(replayed.code, 0, replayed)
            for text in ("".join(words("a")) + "\n\nOne.", "".join(words("b")) + "\n\nTwo."):
                self.assertIn(json.dumps(text)[1:-1], replayed.out)

    def nobody(self):
        """A user without rights to run as, if this one may become it."""
        if os.getuid() != 0 or not shutil.which("setpriv"):
            self.skipTest("needs root and setpriv")
        user = pwd.getpwnam("nobody")
        return user, ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]

    @scenario(60)
    async def test_the_bridge_shows_its_environment_to_no_process_of_its_user_once_it_has_a_child(self):
        user, as_nobody = self.nobody()
        # The tests' own Python may be unreachable for other users.
        python = shutil.which("python3", path="/usr/bin:/bin") or self.skipTest("there is no python3 for all users")
        async with PiStage({}, environment={"PI_COMMAND": " ".join([python, *COMMAND[1:]])}) as stage:
            stage.bridge.kill9()
            await stage.bridge.exit()
            stage.directory.chmod(0o755)
            for path in (stage.directory, *stage.directory.rglob("*")):
                os.chown(path, user.pw_uid, user.pw_gid)
            for program in ([*bridge_command(), "--version"], ["head", "-c", "1", COMMAND[1]]):
                if subprocess.run([*as_nobody, *program], capture_output=True, cwd="/").returncode != 0:
                    self.skipTest("another user may not read the project here")
            stage.bridge.command = as_nobody + stage.bridge.command
            await stage.bridge.start()
            turn = stage.ask("hello")
            await stage.ended(turn)

            def read(path):
                return subprocess.run([*as_nobody, "cat", path], capture_output=True, cwd="/", timeout=30)
            child = read(f"/proc/{stage.child()}/environ")
            self.assertEqual(child.returncode, 0, "its own child can be looked into by the same user")
            self.assertNotIn(b"SOPHON_", child.stdout)
            for file in ("environ", "mem", "maps"):
                bridge = read(f"/proc/{stage.bridge.pid}/{file}")
                self.assertNotEqual(bridge.returncode, 0, file)
                self.assertEqual(bridge.stdout, b"")
            listed = subprocess.run([*as_nobody, "ls", f"/proc/{stage.bridge.pid}/fd"], capture_output=True, cwd="/")
            self.assertNotEqual(listed.returncode, 0)
            # THREAT_MODEL lists these as readable all the same.
            self.assertIn(b"sophon-bridge", read(f"/proc/{stage.bridge.pid}/cmdline").stdout)
            for file in ("journal.db", "status.json"):
                self.assertEqual(read(str(stage.state / file)).returncode, 0, file)


if __name__ == "__main__":
    unittest.main()
