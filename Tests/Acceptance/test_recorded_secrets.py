"""Recordings and the log hold no secret, whenever it became known and whichever side says it, raw, in base64 or as JSON escapes it."""

import base64
import json
import os
import signal
import unittest

from harness import Stage, until
from peers.steps import Say, Tool
from pi_home import said
from pi_stage import PiStage
from scheduling import Scenarios, scenario

ODD = "plain/hex\\without\"shape-0123"


def forms(secret):
    """All ways in which a search would find it."""
    quoted = json.dumps(secret)[1:-1]
    found = {secret, quoted, quoted.replace("/", "\\/"), json.dumps(quoted)[1:-1]}
    for place in range(3):
        whole = base64.b64encode(b"p" * place + secret.encode() + b"tail").decode()
        found |= {whole[4:4 * (len(secret) * 4 // 3 // 4)], whole[4:4 * (len(secret) * 4 // 3 // 4)].replace("+", "-").replace("/", "_")}
    return found


def spoken(secret):
    """One text with all of them."""
    return f"It is {secret}, {base64.b64encode(secret.encode()).decode()}, {json.dumps(secret)}."


class RecordedSecretsTests(Scenarios):
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
            configure(stage.gateway.token)
            await stage.bridge.start()
            # It depends on the token: the bridge has none of a later one before it connects again.
            device = stage.gateway.device_token(next(iter(stage.gateway.paired)))
            before, stage.gateway.token = stage.gateway.token, ODD
            configure(ODD)
            mark = len(stage.bridge.events)
            os.kill(stage.bridge.pid, signal.SIGHUP)
            await until(lambda: "reloaded" in stage.bridge.names(mark), 20, "the configuration is in force")
            for secret in (ODD, device, before):
                turn = stage.ask(spoken(secret), Say([spoken(secret)]), Tool("exec", {"command": spoken(secret)}, output=spoken(secret)),
                                 Say(["Done."]))
                await stage.ended(turn)
            stage.bridge.terminate()
            await stage.bridge.exit()
            self.assertIn("It is", "".join(path.read_text() for path in records.iterdir()))
            self.search(stage, records, (ODD, device, before, stage.relay.token))

    @scenario(90)
    async def test_pi_the_values_of_its_environment_are_covered_both_ways(self):
        async with PiStage({"one": [said(spoken(ODD))]}, start=False) as stage:
            records = stage.directory / "records"
            stage.configure({"record_dir": str(records),
                             "connections": [{"agent": {"kind": "pi", "env": {"GARDEN_KEY": ODD}}}]})
            await stage.bridge.start()
            turn = stage.ask("one")
            await stage.ended(turn)
            stage.bridge.terminate()
            await stage.bridge.exit()
            self.search(stage, records, (ODD, stage.relay.token))


if __name__ == "__main__":
    unittest.main()
