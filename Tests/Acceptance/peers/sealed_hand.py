"""A sealing phone on the scripted relay: it makes a key for each of its chats, hands it to the bridge, and opens the bridge's content
(relay.md#session-key-life-cycle). Built on `cryptography`, without the bridge's own code."""

import base64
import json
import os

from .rules import Refused, base62
from .sealed_phone import EMPTY, TEXTS, VALUES, sealing

DETAILS = "details_ct"


class SealedHand:
    """The phone of one relay, whose rules judge the opened content. Repeats are compared in their original form."""

    def __init__(self, relay):
        self.relay = relay
        self.keys = {}             # session: its key
        self.bridge = None  # The bridge's device: {"device_id", "pubkey"}; the last one registered, if there are several.
        self.bridges = {}  # Public key: device, if several bridges share one token (`several`).
        self.several = False
        relay.seals = self

    # The bridge's device

    def register(self, body):
        """Registers one device per bridge, however often it asks."""
        known = self.bridges.get(body["pubkey"]) if self.several else self.bridge
        known = known or {"device_id": base62("dev_")}
        self.bridge = self.bridges[body["pubkey"]] = known | {"pubkey": body["pubkey"]}
        return {"device_id": self.bridge["device_id"], "pubkey_changed": False}

    # The hand

    def new_session(self):
        session = self.relay.new_session()
        self.keys[session] = os.urandom(32)
        for bridge in self.bridges.values() if self.several else [self.bridge]:
            box = sealing.seal_box(self.keys[session], bytes.fromhex(bridge["pubkey"]))
            self.relay.push("session_key_granted", {
                "session_id": session, "device_id": bridge["device_id"],
                "wrapped_session_key": base64.b64encode(box).decode()}, session)
        return session

    def ask(self, text, session=None, **message):
        session = session or self.new_session()
        sealed = base64.b64encode(sealing.seal(self._key(session, "messages"), text.encode())).decode()
        return self.relay.ask(text, session, text_ct=sealed, **message)

    # The bridge's content

    def _key(self, session, kind):
        return sealing.blob_key(self.keys[session], f"{kind}/{session}")

    def _opened(self, session, kind, envelope):
        if envelope == EMPTY:
            return ""
        return sealing.unseal(self._key(session, kind), base64.b64decode(envelope, validate=True)).decode()

    def is_sealed(self, body):
        return any(name.endswith("_ct") for name in body)

    def open(self, body):
        """The body in its open form."""
        if not isinstance(body, dict):
            return body
        session = body.get("session_id") or self.relay.rules.messages.get(body.get("message_id"), {}).get("session")
        if session not in self.keys:
            return body
        if not self.is_sealed(body) and {"text", "delta", "args", "result", "status_label", "command", "message"} & set(body):
            raise Refused(400, "in_the_open", f"in a sealed chat: {sorted(body)}")
        plain = {}
        for name, value in body.items():
            bare = name.removesuffix("_ct")
            if bare == name:
                plain[name] = value
            elif name == DETAILS:
                plain |= json.loads(self._opened(session, "approvals", value))
            else:
                text = self._opened(session, TEXTS.get(bare) or VALUES[bare], value)
                plain[bare] = json.loads(text) if bare in VALUES else text
        if plain.get("text") == "":
            # The placeholder is a space in the open form.
            plain["text"] = " "
        return plain

    # Keeping

    def save(self):
        return {"keys": {session: key.hex() for session, key in self.keys.items()}, "bridge": self.bridge}

    def load(self, saved):
        self.keys = {session: bytes.fromhex(key) for session, key in saved["keys"].items()}
        self.bridge = saved["bridge"]
