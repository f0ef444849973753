"""The real program with a child that speaks like pi (pi.md), in both lines of the protocol."""

import asyncio
import json
import os
import signal
import sys
import unittest
from pathlib import Path

from harness import HERE, Stage, until
from scheduling import Scenarios, scenario

LINES = ("B", "L")


class PiStage(Stage):
    """A relay and the bridge; the agent is the bridge's own child."""

    def __init__(self, plans, line="B", **options):
        self._plans = {"plans": plans, "line": line} | options.pop("pi", {})
        super().__init__(environment=options.pop("environment", {}), start=False, **options)

    async def __aenter__(self):
        await super().__aenter__()
        self.pi = self.directory / "pi"
        (self.pi / "gates").mkdir(parents=True)
        self.write_plans(self._plans)
        self.bridge.environment = self.environment()
        await self.bridge.start()
        return self

    def write_plans(self, plans):
        (self.pi / "plans.json").write_text(json.dumps(plans))

    def environment(self):
        base = super().environment()
        for name in ("OPENCLAW_URL", "OPENCLAW_TOKEN", "OPENCLAW_STATE_DIR"):
            base.pop(name)
        command = f"{sys.executable} {HERE / 'peers' / 'pi_program.py'} --mode rpc"
        return base | {"SOPHON_AGENT": "pi", "PI_COMMAND": command, "PI_DOUBLE": str(self.directory / "pi")} | self._extra

    def open_gate(self, name):
        (self.pi / "gates" / name).touch()

    def log(self, name):
        path = self.pi / f"{name}.log"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def child(self):
        return self.log("starts")[-1]["pid"]

    def check_prompts(self, *asked):
        """Each message was prompted once."""
        texts = [self.phone.asked[turn.interaction][1] for turn in asked]
        prompts = self.log("prompts")
        for text in texts:
            assert prompts.count(text) <= 1, f"{text!r} was prompted {prompts.count(text)} times"


def said(*parts):
    return {"say": list(parts)}


def words(name, count=12):
    """The last one without white space: pi does not trim, and neither does the bridge inside a text."""
    return [f"{name}-{number} " for number in range(count - 1)] + [f"{name}-{count - 1}"]


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
            plans = {"flaky": [said("lost "), {"retry": "overloaded"}, said("kept")], "broken": [{"fail": "no credit left"}],
                     "refused": [{"refuse": "No model selected"}]}
            async with PiStage(plans, line) as stage:
                flaky, broken, refused = (stage.ask(text) for text in ("flaky", "broken", "refused"))
                await stage.ended(flaky, broken, refused)
                stage.expect(flaky, "kept")
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
        async with PiStage({}, pi={"start_error": "No API key found"}) as stage:
            turn = stage.ask("hello")
            await stage.ended(turn)
            stage.expect_said(turn, "No API key found")

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
        async with PiStage({}, environment={"NOTIFY_SOCKET": "/nowhere", "EDITOR": "vi"}) as stage:
            turn = stage.ask("hello")
            await stage.ended(turn)
            names = stage.log("starts")[0]["environment"]
            self.assertIn("EDITOR", names)
            self.assertFalse([name for name in names if name.startswith("SOPHON_") or name == "NOTIFY_SOCKET"])

    @scenario(170)
    async def test_kills_of_the_bridge_at_any_moment_repeat_no_prompt(self):
        plans = {"work": [said(*words("a")), {"tool": {}}, said(*words("b"))]}
        async with PiStage(plans) as stage:
            asked = []
            for number in range(10):
                turn = stage.ask(f"work {number}")
                asked.append(turn)
                await asyncio.sleep(0.05 * number)
                await stage.bridge.restart_after_kill()
            await stage.ended(*asked, seconds=60)
            stage.check_prompts(*asked)
            stage.check(*asked, is_prefix=False)


if __name__ == "__main__":
    unittest.main()
