"""Access to an Oppi server: tokens, pins, certificates and invitations (oppi.md#transport-tls-authentication-pairing)."""

import json
import unittest

from commands import lines_of, once
from harness import until
from oppi_stage import OppiStage, in_both
from peers.oppi_steps import Say, Tool
from scheduling import Scenarios, scenario


def secrets_of(stage):
    return [stage.oppi.token, *stage.oppi.disk.state["devices"], stage.relay.token]


def written(stage):
    """All output and files of the bridge, except the files that store a token."""
    kept = b""
    for path in stage.directory.rglob("*"):
        if path.is_file() and not path.is_relative_to(stage.directory / "oppi") and not path.is_relative_to(stage.directory / "config"):
            kept += path.read_bytes()
    return "".join(stage.bridge.stderr) + json.dumps(stage.bridge.events) + kept.decode(errors="replace")


async def say(stage, *arguments, seconds=40, **environment):
    return await once(*arguments, directory=stage.directory, environment=stage.environment() | environment, seconds=seconds)


class AccessTests(Scenarios):
    async def converses(self, stage, text="hello"):
        turn = stage.ask(text, Say(["Good morning."]))
        await stage.ended(turn)
        stage.expect(turn, "Good morning.")
        stage.check(turn)

    @in_both(scenario(90))
    async def test_a_wrong_token_says_pair_again_and_a_message_gets_that_answer(self, dialect):
        agent = lambda stage: {"OPPI_URL": stage.oppi.url, "OPPI_TOKEN": "dt_" + "wrong" * 4 + "abcd"}
        async with OppiStage(dialect, agent=agent, begins=False, scale=20) as stage:
            await stage.bridge.start(ready_seconds=0)
            turn = stage.ask("hello")
            await stage.ended(turn, seconds=40)
            stage.expect_said(turn, "pair")
            self.assertLess(len(stage.oppi.requests), 12)
            self.assertNotIn("wrong" * 4, written(stage))
            self.assertEqual(stage.oppi.sockets_made, 0)
            doctor = await say(stage, "doctor")
            self.assertNotEqual(doctor.code, 0)
            self.assertIn("pair", doctor.out)
            self.assertNotIn("wrong" * 4, doctor.out + doctor.err)

    @in_both(scenario(90))
    async def test_a_token_that_is_taken_back_in_mid_life(self, dialect):
        """A revoked token that returns: it is retried each minute."""
        async with OppiStage(dialect, scale=10) as stage:
            await self.converses(stage)
            owner = stage.oppi.disk.state["owner"]
            stage.oppi.disk.state["owner"] = "sk_" + "x" * 24
            stage.oppi.cut()
            await until(lambda: "pair again" in "".join(stage.bridge.stderr), 30, "the remedy in the log")
            turn = stage.ask("again")
            await stage.ended(turn, seconds=60)
            stage.expect_said(turn, "pair")
            self.assertNotIn(owner, written(stage))
            made = stage.oppi.sockets_made
            stage.oppi.disk.state["owner"] = owner
            await stage.link_up(40, since=made)
            await self.converses(stage, "here again")

    @scenario(90)
    async def test_the_right_pin_a_wrong_one_and_a_private_authority(self):
        def connection(stage, **agent):
            stage.configure({"connections": [{"agent": {"kind": "oppi", "url": stage.oppi.url, "token": stage.oppi.token} | agent}]})

        right = lambda stage: connection(stage, pin=stage.certificates.pin)
        authority = lambda stage: connection(stage, ca_file=str(stage.certificates.ca_file))
        wrong = lambda stage: connection(stage, pin="sha256:" + "A" * 43)
        nothing = lambda stage: connection(stage)
        for prepare in (right, authority):
            async with OppiStage("head", tls=True, agent=lambda stage: {}, prepare=prepare) as stage:
                await self.converses(stage)
        for prepare in (wrong, nothing):
            async with OppiStage("head", tls=True, agent=lambda stage: {}, prepare=prepare, begins=False, scale=20) as stage:
                await stage.bridge.start(ready_seconds=0)
                turn = stage.ask("hello")
                await stage.ended(turn, seconds=40)
                # The bridge sent no byte to the wrong server.
                self.assertEqual(stage.oppi.requests, [])

    @in_both(scenario(90))
    async def test_an_invitation_pairs_once_and_serves_after_a_restart(self, dialect):
        kept = {}

        def agent(stage):
            kept.setdefault("link", stage.oppi.invite())
            return {"OPPI_INVITE": kept["link"]}

        async with OppiStage(dialect, tls=dialect == "head", agent=agent) as stage:
            await self.converses(stage)
            device, = stage.oppi.disk.state["devices"]
            pairings = [request for request in stage.oppi.requests if request[1] == "/pair"]
            self.assertEqual(len(pairings), 1)
            await stage.bridge.restart_after_kill()
            await self.converses(stage, "again")
            self.assertEqual([request for request in stage.oppi.requests if request[1] == "/pair"], pairings)
            for secret in (device, *stage.oppi.pairing.issued, kept["link"]):
                self.assertNotIn(secret, written(stage))

    @in_both(scenario(90))
    async def test_a_link_is_needed_once_where_the_address_is_configured(self, dialect):
        """The pin is kept with the token, and a link's pin counts beside an address that is the link's."""
        kept = {}

        def agent(stage):
            kept.setdefault("link", stage.oppi.invite())
            return {"OPPI_INVITE": kept["link"], "OPPI_URL": stage.oppi.url}

        async with OppiStage(dialect, tls=dialect == "head", agent=agent) as stage:
            await self.converses(stage)
            del stage.bridge.environment["OPPI_INVITE"]
            await stage.bridge.restart_after_kill()
            await self.converses(stage, "again")
            self.assertEqual(len(stage.oppi.disk.state["devices"]), 1)

    @scenario(90)
    async def test_an_invitation_that_is_too_old_says_so(self):
        def agent(stage):
            link = stage.oppi.invite()
            stage.oppi.pairing.tokens.clear()
            return {"OPPI_INVITE": link}

        async with OppiStage("head", agent=agent, begins=False, scale=20) as stage:
            await stage.bridge.start(ready_seconds=0)
            turn = stage.ask("hello")
            await stage.ended(turn, seconds=40)
            stage.expect_said(turn, "invit", "pair")

    @in_both(scenario(90))
    async def test_doctor_and_status_know_the_server(self, dialect):
        async with OppiStage(dialect) as stage:
            await self.converses(stage)
            status = await say(stage, "status", "--json")
            self.assertEqual(status.code, 0, status)
            healthy = await say(stage, "status", "--healthy")
            self.assertEqual(healthy.code, 0, healthy)
            doctor = await say(stage, "doctor", "--json")
            self.assertEqual(doctor.code, 0, doctor)
            checks = [event for event in lines_of(doctor.out) if event["event"] == "doctor_check"]
            self.assertEqual([check for check in checks if check["outcome"] == "failed"], [])
            for secret in secrets_of(stage):
                self.assertNotIn(secret, "".join((status.out, status.err, doctor.out, doctor.err)))

    @in_both(scenario(90))
    async def test_what_is_recorded_holds_no_token_and_plays_the_same_answer(self, dialect):
        async with OppiStage(dialect, begins=False) as stage:
            command = stage.bridge.command
            command[command.index("run"):] = ["record", str(stage.directory / "recordings"), "--json"]
            await stage.bridge.start()
            turn = stage.ask("disk", Say(["Let me see."]), Tool(), Say(["It is ", "61% full."]))
            await stage.ended(turn)
            stage.check(turn)
            stage.bridge.terminate()
            self.assertEqual(await stage.bridge.exit(), 0)
            recording, = (stage.directory / "recordings").iterdir()
            text = recording.read_text()
            self.assertIn("message_end", text)
            for secret in secrets_of(stage):
                self.assertNotIn(secret, text)
            played = await say(stage, "replay", str(recording), "--json")
            self.assertEqual(played.code, 0, played)
            self.assertIn("61% full.", played.out)


if __name__ == "__main__":
    unittest.main()
