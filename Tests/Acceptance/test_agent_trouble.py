"""Faults of the agent that only a person can repair: reported, retried by itself, and never the end of the link."""

import asyncio
import json
import unittest

from commands import once
from harness import Stage, until
from peers.handshake import Refusal
from peers.steps import Say
from scheduling import Scenarios, scenario


def agent_of(stage):
    """The agent's link in the form of `status`."""
    return json.loads((stage.state / "status.json").read_text())["connections"][0]["agent"]["link"]


def pause(stage):
    """The longest pause between two tries, as the gateway saw them: the bridge's events may be read late."""
    times = [at for at, _, direction, frame in stage.gateway.frames
             if direction == "out" and isinstance(frame, dict) and frame.get("method") == "connect"]
    return max(after - before for before, after in zip(times, times[1:]))


class AgentTroubleTests(Scenarios):
    @scenario(90)
    async def test_a_pairing_that_is_approved_after_ten_seconds_answers_the_message_that_waited(self):
        for era in ("E1", "E3"):
            async with Stage(era, start=False) as stage:
                stage.gateway.pairs_silently = False
                await stage.bridge.start(ready_seconds=0)
                await stage.bridge.event("sophon_connected", 15)
                turn = stage.ask("hello", Say(["Hello."]))
                await until(lambda: "openclaw devices approve" in "".join(stage.bridge.stderr), 15, "the remedy in the log")
                await until(lambda: agent_of(stage)["state"] == "waiting", 15, "the status")
                self.assertIn("openclaw devices approve", agent_of(stage)["remedy"])
                status = await once("status", directory=stage.directory, environment=stage.environment())
                self.assertIn("openclaw devices approve", status.out)
                error = await stage.bridge.event("error")
                self.assertEqual(error["code"], 13)
                await asyncio.sleep(10)  # The person reads the remedy, and walks over to the other machine.
                stage.gateway.pairs_silently = True
                await stage.bridge.event("ready", 20)
                await stage.ended(turn)
                stage.expect(turn, "Hello.")
                stage.check(turn)
                await until(lambda: agent_of(stage)["state"] == "up", 15, "the status")
                self.assertNotIn("remedy", agent_of(stage))
                # The log has the line at most once a minute, though each pairing request has another id.
                said = [line for line in stage.bridge.stderr if "openclaw devices approve" in line]
                self.assertEqual(len(said), 1, said)

    @scenario(60)
    async def test_a_pairing_that_is_never_approved_is_said_in_the_bubble(self):
        async with Stage("E4", start=False, scale=20) as stage:
            stage.gateway.pairs_silently = False
            await stage.bridge.start(ready_seconds=0)
            await stage.bridge.event("sophon_connected", 15)
            turn = stage.ask("hello", Say(["Never."]))
            await stage.ended(turn, seconds=20)
            self.assertIn("openclaw devices approve", stage.phone.final(turn.interaction))
            self.assertEqual(stage.gateway.sends, [])

    @scenario(60)
    async def test_a_gateway_token_that_is_mended_in_its_file_is_found_without_a_reload(self):
        async with Stage("E4", start=False, scale=10, environment={"OPENCLAW_TOKEN": ""}) as stage:
            file = stage.directory / "openclaw" / "openclaw.json"
            file.parent.mkdir()
            write = lambda token: file.write_text(json.dumps({"gateway": {"auth": {"mode": "token", "token": token}}}))
            write("a-token-of-yesterday")
            await stage.bridge.start(ready_seconds=0)
            # A slow handshake on a loaded machine loses the link as well, but is no refusal.
            await stage.bridge.event("error", 15)
            write(stage.gateway.token)
            await stage.bridge.event("ready", 20)
            self.assertGreater(pause(stage) * 10, 10)
            turn = stage.ask("hello", Say(["Hello."]))
            await stage.ended(turn)
            stage.check(turn)

    @scenario(60)
    async def test_a_gateway_that_counts_attempts_is_left_alone_for_a_quarter_of_an_hour(self):
        scale = 100
        async with Stage("E4", start=False, scale=scale) as stage:
            stage.gateway.refusals = [Refusal("INVALID_REQUEST", "too many failed attempts",
                                              details={"code": "AUTH_RATE_LIMITED", "retryAfterMs": 1000})]
            await stage.bridge.start(ready_seconds=0)
            await stage.bridge.event("ready", 40)
            self.assertGreater(pause(stage) * scale, 800)
            self.assertEqual(len(stage.gateway.connects), 2)

    @scenario(60)
    async def test_a_gateway_of_another_version_is_tried_each_minute_until_it_is_updated(self):
        scale = 20
        async with Stage("E4", start=False, scale=scale) as stage:
            stage.gateway.protocol = 5
            await stage.bridge.start(ready_seconds=0)
            await until(lambda: len(stage.gateway.connects) >= 3, 20, "three tries")
            tries, stage.gateway.protocol = len(stage.gateway.connects), 4
            await stage.bridge.event("ready", 20)
            self.assertEqual(len(stage.gateway.connects), tries + 1)


if __name__ == "__main__":
    unittest.main()
