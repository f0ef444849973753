"""Recordings and the log contain no secret, whenever it became known and whichever side sends it, raw, in base64 or in JSON escapes."""

import asyncio
import base64
import json
import os
import shlex
import signal
import unittest

from codex_double import CodexProcess
from codex_stage import CodexStage
from harness import Stage, until
from oppi_stage import OppiStage, in_both
from peers import codex_steps, oppi_steps
from peers.steps import Approval, Say, Tool
from pi_home import said
from pi_stage import PiStage
from scheduling import Scenarios, scenario

ODD = "plain/hex\\without\"shape-0123"


def forms(secret):
    """All forms of a secret that a search would find."""
    quoted = json.dumps(secret)[1:-1]
    found = {secret, quoted, quoted.replace("/", "\\/"), json.dumps(quoted)[1:-1]}
    for place in range(3):
        whole = base64.b64encode(b"p" * place + secret.encode() + b"tail").decode()
        found |= {whole[4:4 * (len(secret) * 4 // 3 // 4)], whole[4:4 * (len(secret) * 4 // 3 // 4)].replace("+", "-").replace("/", "_")}
    return found


def spoken(secret):
    """A text with all forms."""
    return f"It is {secret}, {base64.b64encode(secret.encode()).decode()}, {json.dumps(secret)}."


def members(value, *names):
    """The texts under these names, at any depth."""
    if isinstance(value, list):
        return {text for entry in value for text in members(entry, *names)}
    if not isinstance(value, dict):
        return set()
    return {text for name, text in value.items() if name in names and isinstance(text, str)} | members(list(value.values()), *names)


class RecordedSecretsTests(Scenarios):
    async def converses(self, stage, records, *secrets, steps):
        """Both sides send each secret; then the bridge ends, so that all is written."""
        for number, secret in enumerate(secrets):
            turn = stage.ask(f"{number}: {spoken(secret)}", *steps(secret))
            stage.relay.decide(await stage.card(turn, seconds=20), "approve")
            await stage.ended(turn)
        stage.bridge.terminate()
        await stage.bridge.exit()
        self.assertIn("It is", "".join(path.read_text() for path in records.iterdir()))

    def search(self, stage, records, secrets):
        texts = {path.name: path.read_text() for path in records.iterdir()} | {"log": "".join(stage.bridge.stderr)}
        self.assertGreater(len(texts), 1)
        for name, text in texts.items():
            for secret in secrets:
                for form in forms(secret):
                    self.assertNotIn(form, text, f"{name} has {secret!r}")

    @scenario(90)
    async def test_openclaw_a_token_that_came_by_sighup_and_a_device_token_are_covered_both_ways(self):
        async with Stage(start=False) as stage:
            records = stage.directory / "records"
            def configure(token):
                stage.configure({"record_dir": str(records), "connections": [{"agent": {"kind": "openclaw", "token": token}}]})
            stage.bridge.environment.pop("OPENCLAW_TOKEN")
            stage.gateway.is_behind_proxy = True
            configure(stage.gateway.token)
            await stage.bridge.start()
            # The device token derives from the gateway's token: the bridge gets the new one only when it reconnects.
            device = stage.gateway.device_token(next(iter(stage.gateway.paired)))
            before, stage.gateway.token = stage.gateway.token, ODD
            configure(ODD)
            mark = len(stage.bridge.events)
            os.kill(stage.bridge.pid, signal.SIGHUP)
            await until(lambda: "reloaded" in stage.bridge.names(mark), 20, "the configuration is in force")
            await self.converses(stage, records, ODD, device, before, steps=lambda secret: [
                Say([spoken(secret)]), Tool("exec", {"command": spoken(secret)}, output=spoken(secret)),
                Approval(spoken(secret), detached=False), Say(["Done."])])
            proofs = members([frame for *_, frame in stage.gateway.frames], "nonce", "signature")
            self.assertGreaterEqual(len(proofs), 2, "a nonce and a signature")
            self.search(stage, records, (ODD, device, before, stage.relay.token, *proofs))

    @in_both(scenario(120))
    async def test_oppi_an_invitation_and_the_token_that_it_brought_are_covered_both_ways(self, dialect):
        async with OppiStage(dialect, agent=lambda stage: {"OPPI_INVITE": stage.oppi.invite()}, begins=False) as stage:
            records = stage.directory / "records"
            stage.configure({"record_dir": str(records)})
            await stage.bridge.start()
            device, = await until(lambda: stage.oppi.disk.state["devices"], 20, "the token of a device")
            link, pairing = stage.bridge.environment["OPPI_INVITE"], stage.oppi.pairing.issued[0]
            await self.converses(stage, records, device, link, pairing, steps=lambda secret: [
                oppi_steps.Say([spoken(secret)], thinking=spoken(secret)),
                oppi_steps.Tool(args={"command": spoken(secret)}, parts=[spoken(secret)], asks=spoken(secret)), oppi_steps.Say(["Done."])])
            self.search(stage, records, (device, link, pairing, stage.relay.token))

    @scenario(120)
    async def test_codex_the_token_of_a_server_that_is_named_is_covered_both_ways(self):
        async with CodexStage(begins=False) as stage:
            records, token = stage.directory / "records", stage.directory / "token"
            token.write_text(ODD)
            stage.configure({"record_dir": str(records)})
            async with CodexProcess(stage.codex, "--ws-auth", "capability-token", "--ws-token-file", str(token),
                                    listen="ws://127.0.0.1:0") as server:
                stage.bridge.environment |= {"CODEX_URL": server.address, "CODEX_TOKEN": ODD}
                await stage.bridge.start()
                await self.converses(stage, records, ODD, steps=self.codex)
            self.search(stage, records, (ODD, stage.relay.token))

    @scenario(120)
    async def test_codex_the_values_of_its_environment_are_covered_both_ways(self):
        async with CodexStage(begins=False) as stage:
            records = stage.directory / "records"
            stage.configure({"record_dir": str(records), "connections": [{"agent": {"kind": "codex", "env": {"GARDEN_KEY": ODD}}}]})
            await stage.bridge.start()
            await self.converses(stage, records, ODD, steps=self.codex)
            self.search(stage, records, (ODD, stage.relay.token))

    @staticmethod
    def codex(secret):
        return [codex_steps.Think([spoken(secret)]), codex_steps.Say([spoken(secret)], "commentary"),
                codex_steps.Command(f"echo {shlex.quote(spoken(secret))}", spoken(secret), parts=[spoken(secret)], asks=spoken(secret)),
                codex_steps.Say(["Done."])]

    @scenario(90)
    async def test_pi_the_values_of_its_environment_are_covered_both_ways(self):
        async with PiStage({"one": [said(spoken(ODD))]}, start=False) as stage:
            records = stage.directory / "records"
            stage.configure({"record_dir": str(records),
                             "connections": [{"agent": {"kind": "pi", "env": {"GARDEN_KEY": ODD}}}]})
            await stage.bridge.start()
            turn = stage.ask("one " + spoken(ODD))
            await stage.ended(turn)
            stage.bridge.terminate()
            await stage.bridge.exit()
            self.search(stage, records, (ODD, stage.relay.token))


if __name__ == "__main__":
    unittest.main()
