"""A hostile relay sends ids that a terminal, a log or a shell would interpret (THREAT_MODEL.md#the-relay)."""

import json
import os
import unittest

from commands import once
from harness import Stage, until
from peers.sealed_phone import sealing
from peers.steps import Say
from scheduling import Scenarios, scenario

MARK = "wombat"
"""Part of each refused name."""
REFUSED = [f"{MARK}{'x' * 251}", f'{MARK}"b', f"{MARK}'b", f"{MARK}`reboot`", f"{MARK}\x1b[31mb", f"{MARK} b", f"{MARK};b", f"$({MARK})",
           f"{MARK}\\b", f"{MARK}\u202eb", f"{MARK}é"]
COUNTED = "update with an id that is not taken"


class RelayNameTests(Scenarios):
    @staticmethod
    def hostile(stage, chat, name):
        """Every field that the bridge reads from a frame, each with one invalid id."""
        relay, key = stage.relay, sealing.public(os.urandom(32)).hex()
        good = {"session": {"id": chat}}
        message = {"id": "msg_good", "text": "Never seen."}
        yield "device", lambda: relay.push("device_added", {"device_id": name, "pubkey": key, "label": "phone", "platform": "ios"})
        yield "revoked device", lambda: relay.push("device_revoked", {"device_id": name})
        yield "session", lambda: relay.push("session.message", {"session": {"id": name}, "message": message}, name, "int_good")
        yield "wrapper's session", lambda: relay.push("session.message", good | {"message": message}, name, "int_good")
        yield "message", lambda: relay.push("session.message", good | {"message": message | {"id": name}}, chat, "int_good")
        yield "interaction", lambda: relay.push("session.message", good | {"message": message}, chat, name)
        yield "stop", lambda: relay.push("session.cancelled", good | {"interaction_id": name, "reason": "session_deleted"}, chat)
        yield "end", lambda: relay.push("session.ended", good, chat, name)
        yield "key", lambda: relay.push("session_key_granted", {
            "session_id": chat, "device_id": name, "wrapped_session_key": "AQ=="}, chat)
        yield "end of all", lambda: relay.push("installation.revoked", {"installation_id": name, "reason": MARK})

    async def said(self, stage, *words):
        return await once(*words, directory=stage.directory, environment=stage.bridge.environment)

    @scenario(90)
    async def test_ids_that_are_none_are_refused_and_said_to_be_without_their_bytes(self):
        async with Stage(start=False, scale=20) as stage:
            relay = stage.relay
            # The greeting's installation is invalid, too.
            relay.installation, installation = f"{MARK}`reboot`", relay.installation
            await stage.bridge.start()
            relay.installation = installation
            first = stage.ask("Hello?", Say(["Here. "]))
            await stage.ended(first)
            calls, sent = len(relay.calls), 0
            for name in REFUSED:
                for _, say in self.hostile(stage, first.session, name):
                    say()
                    sent += 1
                update = {"update_id": name, "type": "session.message", "session_id": first.session, "payload": {
                    "session": {"id": first.session}, "message": {"id": "msg_good", "text": "Never seen."}}}
                relay.sockets[-1].send({"type": "update", "update": update})
                # An invalid installation in the wrapper alone.
                relay.installation = name
                relay.push("session.ended", {"session": {"id": first.session}}, first.session)
                relay.installation = installation
                sent += 1
            await until(lambda: not relay.updates, 30, "what can be acknowledged is")

            def counted():
                connection = json.loads((stage.state / "status.json").read_text())["connections"][0]
                return {kind: count for kind, count in connection["unknown"].items() if "not taken" in kind}
            await until(lambda: sum(counted().values()) >= sent + len(REFUSED) + 1, 30, f"all of {sent} are counted: {counted()}")
            self.assertEqual(sum(counted().values()), sent + len(REFUSED) + 1)
            self.assertIn("installation with an id that is not taken", " ".join(counted()))
            # The refused updates had no other effect.
            self.assertEqual([call.method for call in relay.calls[calls:] if call.method != "devices"], [])
            self.assertEqual([send["text"] for send in stage.gateway.sends], ["Hello?"])
            self.assertEqual((await self.said(stage, "devices", "list", "--json")).out.count('"event":"device"'), 0)
            again = stage.ask("Still here?", Say(["Still. "]), session=first.session)
            await stage.ended(again)
            stage.expect(again, "Still.")
            self.assertEqual(stage.bridge.starts, 1)
            self.assertIsNone(stage.bridge.process.returncode)
            # Every place shows the refusal in a safe form.
            places = {" ".join(words): await self.said(stage, *words) for words in (
                ("status",), ("status", "--json"), ("explain", again.interaction), ("journal", "inspect"), ("devices", "list"), ("doctor",))}
            for place in ("status", "status --json"):
                self.assertIn(COUNTED, places[place].out)
                self.assertIn(f"{COUNTED} session.message", places[place].out)
            await until(lambda: COUNTED in "".join(stage.bridge.stderr), 90, "a line of the log")
            texts = {place: outcome.out + outcome.err for place, outcome in places.items()} | {
                "log": "".join(stage.bridge.stderr), "events": json.dumps(stage.bridge.events),
                "files": "".join(path.read_bytes().decode(errors="replace") for path in stage.state.rglob("*") if path.is_file())}
            for place, text in texts.items():
                self.assertNotIn(MARK, text, place)
                self.assertNotIn("\x1b", text.replace("\\u001b", "") if place != "files" else "", place)


if __name__ == "__main__":
    unittest.main()
