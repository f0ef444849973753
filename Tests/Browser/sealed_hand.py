"""A bridge played by hand that seals; `harness.Bridge` is the unsealed one."""

import base64
import json
import os
import sys

from harness import ROOT, Bridge, until

sys.path.append(str(ROOT / "Tests" / "Peers"))
import sealing  # noqa: E402

TEXTS = {"text": "messages", "delta": "messages", "status_label": "tasks", "error": "tasks"}
VALUES = {"args": "tasks", "partial_result": "tasks", "result": "tasks"}
DETAILS = ("title", "message", "command", "host")


class Device:
    """The bridge's device, with the keys of its chats."""

    def __init__(self, program):
        self.program, self.secret, self.keys = program, os.urandom(32), {}
        self.name = self.post("devices", pubkey=sealing.public(self.secret).hex(), label="by hand")["device_id"]

    def post(self, path, **body):
        return self.program.call("POST", f"/v1/bridge/{path}", body, self.program.token)

    def take_keys(self):
        for key in self.program.call("GET", f"/v1/me/devices/{self.name}/keys")["keys"]:
            self.keys[key["session_id"]] = sealing.open_box(self.secret, base64.b64decode(key["wrapped_session_key"]))
        return self.keys

    def key(self, session):
        until(lambda: session in self.take_keys(), f"the key of {session} is there")
        return self.keys[session]

    def hand(self, session, key):
        """Hands a key to all phones."""
        phones = [device for device in self.program.call("GET", "/v1/me/devices")["devices"] if device["platform"] != "bridge"]
        self.post(f"sessions/{session}/recipients", wrapped_by_device_id=self.name, recipients=[
            {"device_id": phone["device_id"], "wrapped_session_key": base64.b64encode(
                sealing.seal_box(key, bytes.fromhex(phone["pubkey"]))).decode()} for phone in phones])

    def open(self, session, envelope):
        return sealing.unseal(sealing.blob_key(self.key(session), f"messages/{session}"), base64.b64decode(envelope)).decode()

    def asked(self, words):
        """Waits for the message with these words. Returns its run, and whether the message was sealed."""
        def found():
            for session in reversed(self.program.call("GET", "/v1/me")["sessions"]):
                for message in self.program.messages(session["session_id"]):
                    if message["role"] == "user" and self.text(session["session_id"], message) == words:
                        return SealedBridge(self, session["session_id"], message["interaction_id"]), "text_ct" in message
            return None
        return until(found, f"the user has written {words!r}")

    def text(self, session, message):
        return self.open(session, message["text_ct"]) if "text_ct" in message else message["text"]


class SealedBridge(Bridge):
    def __init__(self, device, session, interaction, key=None):
        super().__init__(device.program, session, interaction)
        self.device, self.key = device, key

    def call(self, name, **fields):
        key = self.key or self.device.key(self.session)
        fields = {member: value for member, value in fields.items() if value is not None}
        seal = lambda text, kind: base64.b64encode(
            sealing.seal(sealing.blob_key(key, f"{kind}/{self.session}"), text.encode())).decode()
        for member, kind in (TEXTS | VALUES).items():
            if member in fields:
                value = fields.pop(member)
                fields[f"{member}_ct"] = seal(value if member in TEXTS else json.dumps(value), kind)
        if name == "requestApproval":
            fields["details_ct"] = seal(json.dumps({member: fields.pop(member) for member in DETAILS if member in fields}), "approvals")
        return super().call(name, **fields)

    def open(self, text=""):
        return super().open(text)
