"""The commands that report: `doctor`, `status`, `config`."""

import asyncio
import json
import os
import re
import tempfile
import unittest
from pathlib import Path

from commands import lines_of, once
from harness import Stage, until
from peers.steps import Hold, Say
from scheduling import Scenarios, scenario
from stories import words


def files_under(directory):
    """Every file with its content, which must not change."""
    return {path: path.read_bytes() for path in sorted(directory.rglob("*")) if path.is_file()}


async def say(stage, *arguments, without=(), **environment):
    variables = {name: value for name, value in stage.environment().items() if name not in without} | environment
    return await once(*arguments, directory=stage.directory, environment=variables)


class TableTests(Scenarios):
    @scenario(60)
    async def test_each_command_of_the_help_has_a_help_and_is_completed(self):
        with tempfile.TemporaryDirectory() as directory:
            async def printed(*arguments):
                outcome = await once(*arguments, directory=Path(directory))
                self.assertEqual((outcome.code, outcome.err), (0, ""), arguments)
                return outcome.out

            section = (await printed("--help")).split("\n\n")[2]
            commands = [line.split()[0] for line in section.splitlines()]
            self.assertLessEqual({"run", "record", "demo", "pair", "doctor", "completion"}, set(commands))
            scripts = [await printed("completion", shell) for shell in ("bash", "zsh", "fish")]
            for command in commands:
                page = await printed(command, "--help")
                self.assertTrue(page.startswith(f"usage: sophon-bridge {command} "), page)
                for option in re.findall(r"^  --([\w-]+)", page, re.MULTILINE):
                    for script in scripts:
                        self.assertRegex(script, rf"{command}\b.*(--|-l ){option}\b")

    @scenario(60)
    async def test_programs_are_told_the_text_of_the_help_by_one_event(self):
        with tempfile.TemporaryDirectory() as directory:
            for arguments in (["--help"], ["help", "run"], ["run", "--help"]):
                page = await once(*arguments, directory=Path(directory))
                told = await once(*arguments, "--json", directory=Path(directory))
                self.assertEqual([(event["event"], event["text"] + "\n") for event in lines_of(told.out)], [("help", page.out)])


class CommandLineTests(Scenarios):
    @scenario(60)
    async def test_record_needs_one_directory_and_folders_of_the_command_line_may_be_relative(self):
        async with Stage("E3", start=False) as stage:
            for operands in ((), ("a", "b")):
                outcome = await say(stage, "record", *operands)
                self.assertEqual((outcome.code, outcome.out), (2, ""), outcome)
                self.assertIn("record needs", outcome.err)
            # Without a token the run ends before its links, and after the check of the folders.
            shown = await say(stage, "config", "show", "--state-dir", "st", without=("SOPHON_STATE_DIR",))
            self.assertRegex(shown.out, rf"(?m)^state_dir +\"{stage.directory}/st\"  \(--state-dir\)$")
            refused = await say(stage, "status", SOPHON_STATE_DIR="st")
            self.assertEqual(refused.code, 2, refused)
            self.assertIn("state_dir is \"st\", expected the path of a directory, from / or ~", refused.err)
            outcome = await say(stage, "record", "rec", without=("SOPHON_BOT_TOKEN",))
            self.assertEqual(outcome.code, 23, outcome)

    @scenario(60)
    async def test_a_variable_that_is_mistyped_is_told_and_holds_nothing_up(self):
        async with Stage("E3", start=False) as stage:
            outcome = await say(stage, "config", "check", SOPHON_BOTTOKEN="inst_secret")
            self.assertEqual((outcome.code, outcome.out), (0, "ok: 1 connection, default\n"))
            self.assertEqual(outcome.err, "config: SOPHON_BOTTOKEN is set, and nothing reads it; did you mean SOPHON_BOT_TOKEN?\n")


class DoctorTests(Scenarios):
    @scenario(60)
    async def test_doctor_finds_nothing_wrong_and_changes_nothing(self):
        async with Stage("E3") as stage:
            stage.bridge.terminate()
            self.assertEqual(await stage.bridge.exit(), 0)
            before = files_under(stage.directory)
            outcome = await say(stage, "doctor", "--json")
            self.assertEqual(outcome.code, 0, outcome)
            checks = [event for event in lines_of(outcome.out) if event["event"] == "doctor_check"]
            self.assertEqual([check["check"] for check in checks if check["outcome"] != "ok"], [], checks)
            self.assertLessEqual({"config", "state_dir", "credentials", "relay", "relay_token", "agent_token", "gateway",
                                  "scopes"}, {check["check"] for check in checks})
            self.assertEqual(lines_of(outcome.out)[-1]["event"], "doctor_summary")
            self.assertEqual(files_under(stage.directory), before)
            people = await say(stage, "doctor")
            self.assertIn("all is well", people.out)
            for secret in (stage.relay.token, stage.gateway.token):
                self.assertNotIn(secret, outcome.out + outcome.err + people.out + people.err)

    @scenario(60)
    async def test_without_a_place_for_the_device_s_key_a_start_is_a_mistake_of_the_configuration(self):
        async with Stage("E3", start=False) as stage:
            outcome = await say(stage, "run", "--json", without=("SOPHON_CONFIG_DIR",), HOME="", SOPHON_BOT_TOKEN=stage.relay.token)
            # systemd restarts the bridge after any other code.
            self.assertEqual(outcome.code, 2, outcome)
            self.assertIn("set HOME or SOPHON_CONFIG_DIR", outcome.err)
            self.assertEqual([event["code"] for event in lines_of(outcome.out) if event["event"] == "error"], [2])

    @scenario(60)
    async def test_doctor_beside_a_running_bridge_takes_nothing_from_it(self):
        async with Stage("E3") as stage:
            turn = stage.ask("on", Say(words("before")), Hold("doctor"), Say(words("after")))
            await stage.streaming(turn)
            outcome = await say(stage, "doctor")
            self.assertEqual(outcome.code, 0, outcome)
            self.assertIn(f"process {stage.bridge.pid}", outcome.out)
            self.assertIn("the relay takes the token of the bridge that runs", outcome.out)
            shell = await say(stage, "doctor", without=("SOPHON_BOT_TOKEN",))
            self.assertEqual(shell.code, 0, shell.out)
            self.assertIn("the bridge that runs has one from its own environment", shell.out)
            self.assertEqual(stage.relay.sockets_made, 1)
            stage.gateway.release("doctor")
            await stage.ended(turn)
            stage.check(turn)

    @scenario(90)
    async def test_doctor_ends_with_the_code_of_the_first_failure_and_a_remedy(self):
        async with Stage("E3", start=False) as stage:
            away = "127.0.0.1:1"
            cases = [
                (20, "SOPHON_BASE_URL", (), {"SOPHON_BASE_URL": f"http://{away}"}),
                (12, "openclaw gateway start", (), {"OPENCLAW_URL": f"ws://{away}"}),
                (23, "sophon-bridge pair", (), {"SOPHON_BOT_TOKEN": "inst_0000000000000000:s_test_wrong"}),
                (23, "sophon-bridge pair", ("SOPHON_BOT_TOKEN",), {}),
                (10, "install OpenClaw", ("OPENCLAW_URL", "OPENCLAW_TOKEN"), {}),
            ]
            for code, remedy, without, environment in cases:
                outcome = await say(stage, "doctor", without=without, **environment)
                self.assertEqual(outcome.code, code, outcome)
                self.assertIn(remedy, outcome.out)
                self.assertIn("failed", outcome.out)
                self.assertNotIn("s_test_wrong", outcome.out + outcome.err)
            self.assertFalse((stage.directory / "config").exists())


    @scenario(60)
    async def test_doctor_tells_of_keys_in_two_folders_and_fails_where_they_differ(self):
        async with Stage("E3") as stage:
            stage.bridge.terminate()
            self.assertEqual(await stage.bridge.exit(), 0)
            keys = {"keys": {"ses_1": "ab" * 32}, "savedAt": "2026-03-01T00:00:00.000Z"}
            for other, code, outcome in ((keys, 0, "warning"), (keys | {"keys": {}}, 1, "failed")):
                for folder, saved in (("config", keys), ("state", other)):
                    path = stage.directory / folder / "session-keys.json"
                    path.write_text(json.dumps(saved))
                    path.chmod(0o600)
                before = files_under(stage.directory)
                said = await say(stage, "doctor", "--json")
                self.assertEqual(said.code, code, said)
                found = [event for event in lines_of(said.out) if event.get("check") == "key_folder"]
                self.assertEqual([event["outcome"] for event in found], [outcome], said)
                # `doctor` changes nothing.
                self.assertEqual(files_under(stage.directory), before)
                self.assertNotIn("ab" * 32, said.out + said.err)


class StatusTests(Scenarios):
    async def healthy(self, stage):
        return await say(stage, "status", "--healthy")

    @scenario(90)
    async def test_status_follows_the_bridge_from_before_its_start_to_after_its_end(self):
        async with Stage("E3", start=False) as stage:
            none = await say(stage, "status")
            self.assertEqual((none.code, none.out.strip()), (0, "not running, and no bridge has run here"))
            self.assertEqual((await self.healthy(stage)).code, 1)
            await stage.bridge.start()
            turn = stage.ask("on", Say(words("before")), Hold("status"), Say(words("after")))
            await stage.streaming(turn)
            # The status is written on changes, and every five seconds.
            async def shown(text):
                for _ in range(300):
                    if text in (outcome := await say(stage, "status")).out:
                        return outcome
                    await asyncio.sleep(0.1)
                self.fail(outcome.out)
            people = await shown("1 turn open")
            self.assertIn(f"process {stage.bridge.pid}", people.out)
            self.assertIn("ready", people.out)
            self.assertEqual((await self.healthy(stage)).code, 0)
            told = lines_of((await say(stage, "status", "--json")).out)[-1]
            self.assertTrue(told["running"] and told["healthy"] and told["ready"], told)
            self.assertEqual(told["status"]["pid"], stage.bridge.pid)
            self.assertNotIn(stage.relay.token, json.dumps(told))

            await stage.relay.go_down()
            await stage.bridge.event("relay_lost", 20)
            await shown("no connection to the relay")
            sick = await self.healthy(stage)
            self.assertEqual(sick.code, 20, sick)
            self.assertIn("no connection to the relay", sick.err)
            await stage.relay.come_up()
            await until(lambda: stage.relay.sockets, 20, "the relay's socket is back")
            await shown("connected to the relay")
            self.assertEqual((await self.healthy(stage)).code, 0)

            stage.gateway.release("status")
            await stage.ended(turn)
            stage.bridge.terminate()
            self.assertEqual(await stage.bridge.exit(), 0)
            over = await self.healthy(stage)
            self.assertEqual(over.code, 1, over)
            self.assertIn("no bridge runs here", over.err)
            self.assertIn("not running; the last bridge here", (await say(stage, "status")).out)

    @scenario(60)
    async def test_a_bridge_that_says_nothing_for_15_seconds_is_not_healthy(self):
        async with Stage("E3") as stage:
            self.assertEqual((await self.healthy(stage)).code, 0)
            file = stage.state / "status.json"
            stage.bridge.suspend()
            status = json.loads(file.read_text())
            status["ts"] -= 16_000
            file.write_text(json.dumps(status))
            sick = await self.healthy(stage)
            self.assertEqual(sick.code, 1, sick)
            self.assertRegex(sick.err, r"has said nothing for \d+ s")
            stage.bridge.resume()


class ConfigTests(Scenarios):
    FAULTY = {
        "connections": [{"name": "a b", "relay": {"base_url": "htp://x", "token": 7}, "mirror": "some"}],
        "limits": {"relay_call": "10 minutes", "relay_connections": 3}, "log": {"level": "loud"}, "on_stopp": "close",
    }
    PATHS = {"connections[0].name", "connections[0].relay.base_url", "connections[0].relay.token", "connections[0].mirror",
             "limits.relay_call", "limits.relay_connections", "log.level", "on_stopp"}

    @scenario(30)
    async def test_config_check_tells_every_fault_at_once_and_run_begins_with_none(self):
        async with Stage("E3", start=False) as stage:
            file = stage.directory / "faulty.json"
            file.write_text(json.dumps(self.FAULTY, indent=2))
            without = ("SOPHON_BASE_URL", "SOPHON_BOT_TOKEN")
            outcome = await say(stage, "config", "check", "--config", str(file), "--json", without=without)
            self.assertEqual(outcome.code, 2, outcome)
            faults = [event for event in lines_of(outcome.out) if event["event"] == "config_fault"]
            self.assertEqual({fault["path"] for fault in faults}, self.PATHS)
            self.assertTrue(all(fault["remedy"] and fault["expected"] for fault in faults))
            for path in self.PATHS:
                self.assertIn(path, outcome.err)
            self.assertIn("the configuration has 8 faults", outcome.err)
            self.assertIn("on_stop", outcome.err)
            for command in (("run",), ("doctor",), ("status",), ("journal", "inspect")):
                self.assertEqual((await say(stage, *command, "--config", str(file), without=without)).code, 2, command)
            self.assertFalse(stage.state.exists())

    @scenario(30)
    async def test_the_example_is_a_configuration_without_a_fault(self):
        async with Stage("E3", start=False) as stage:
            example = await say(stage, "config", "example")
            file = stage.directory / "example.json"
            file.write_text(example.out)
            outcome = await say(stage, "config", "check", "--config", str(file))
            self.assertEqual((outcome.code, outcome.out), (0, "ok: 1 connection, default\n"))
            shown = await say(stage, "config", "show", "--config", str(file))
            self.assertIn("(hidden)", shown.out)
            self.assertNotIn(stage.relay.token, shown.out)


if __name__ == "__main__":
    unittest.main()
