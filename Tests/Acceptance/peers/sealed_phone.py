"""A phone like the shipping ones: a device that makes a key for each chat, hands it to the bridge, seals what it sends and opens what it
receives (relay.md#session-key-life-cycle). Built on `cryptography`, without the bridge's own code. It calls the simulator synchronously;
tests in a loop run it on threads."""

import base64
import json
import os
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "Peers"))
import sealing  # noqa: E402

EMPTY = "AA=="
TEXTS = {"text": "messages", "delta": "messages", "status_label": "tasks", "error": "tasks"}
VALUES = {"args": "tasks", "partial_result": "tasks", "result": "tasks"}
FIELDS = [*TEXTS, *VALUES, "details"]


class Unreadable(Exception):
    """Raised for sealed content that no key of this phone opens."""


class SealedPhone:
    def __init__(self, base, user_token, label="acceptance"):
        self.base, self.user_token, self.label = base, user_token, label
        self.secret = os.urandom(32)
        self.keys = {}  # Keys of each chat, the newest first.
        self.events = []  # (kind, data) as received, with the opened fields beside the sealed ones.
        self.unreadable = []
        self.lock = threading.RLock()
        self.last = None
        self.is_closed = False

    @property
    def pubkey(self):
        return sealing.public(self.secret).hex()

    # The relay

    def call(self, method, path, body=None):
        """Calls the relay, and retries while it is down."""
        request = urllib.request.Request(
            self.base + path, None if body is None else json.dumps(body).encode(), method=method,
            headers={"Authorization": f"Bearer {self.user_token}", "Content-Type": "application/json"})
        for attempt in range(40):
            try:
                with urllib.request.urlopen(request, timeout=30) as answer:
                    return json.load(answer)["result"]
            except urllib.error.HTTPError as error:
                raise AssertionError(f"{method} {path}: {error.code} {error.read().decode()}") from None
            except (ConnectionError, urllib.error.URLError):
                if attempt == 39:
                    raise
                time.sleep(0.1)

    def register(self, **more):
        answer = self.call("POST", "/v1/me/devices", {"pubkey": self.pubkey, "label": self.label, "platform": "ios"} | more)
        self.device = answer["device_id"]
        return self

    def devices(self):
        return self.call("GET", "/v1/me/devices")["devices"]

    def bridge(self, seconds=90):
        """Waits for the bridge's device, and returns it."""
        end = time.monotonic() + seconds
        while not (found := [device for device in self.devices() if device["platform"] == "bridge"]):
            if time.monotonic() > end:
                raise AssertionError("the bridge has not registered as a device")
            time.sleep(0.05)
        return found[0]

    # Chats and their keys

    def new_chat(self, title=None):
        session = self.call("POST", "/v1/me/sessions", {"title": title} if title else {})["session_id"]
        self.make_key(session)
        return session

    def make_key(self, session, hand=True):
        with self.lock:
            self.keys.setdefault(session, []).insert(0, os.urandom(32))
        if hand:
            self.hand(session, self.devices())
        return self.keys[session][0]

    def wrapped(self, session, device):
        box = sealing.seal_box(self.keys[session][0], bytes.fromhex(device["pubkey"]))
        return {"device_id": device["device_id"], "wrapped_session_key": base64.b64encode(box).decode()}

    def hand(self, session, devices):
        self.call("POST", f"/v1/me/sessions/{session}/recipients",
                  {"recipients": [self.wrapped(session, device) for device in devices], "wrapped_by_device_id": self.device})

    def fetch_keys(self):
        """Fetches keys made by others, which the relay stores for this device."""
        for key in self.call("GET", f"/v1/me/devices/{self.device}/keys")["keys"]:
            self.take(key)

    def take(self, grant):
        key = sealing.open_box(self.secret, base64.b64decode(grant["wrapped_session_key"], validate=True))
        with self.lock:
            known = self.keys.setdefault(grant["session_id"], [])
            if key in known:
                known.remove(key)
            known.insert(0, key)

    # Speaking

    def sealed(self, session, text, kind="messages", key=None):
        root = key or self.keys[session][0]
        return base64.b64encode(sealing.seal(sealing.blob_key(root, f"{kind}/{session}"), text.encode())).decode()

    def send(self, session, text, **more):
        """Sends a message, and returns its ids: session_id, interaction_id, message_id."""
        sent = self.call("POST", f"/v1/me/sessions/{session}/send", {"text_ct": self.sealed(session, text)} | more)
        return sent | {"session_id": session}

    def decide(self, approval, decision="approve", **more):
        return self.call("POST", f"/v1/me/approvals/{approval}", {"decision": decision} | more)

    def stop(self, sent):
        return self.call("POST", f"/v1/me/sessions/{sent['session_id']}/stop", {"interaction_id": sent["interaction_id"]})

    # Hearing

    def open(self, session, kind, envelope):
        if envelope == EMPTY:
            return ""
        content = base64.b64decode(envelope, validate=True)
        for root in self.keys.get(session, []):
            try:
                return sealing.unseal(sealing.blob_key(root, f"{kind}/{session}"), content).decode()
            except Exception:
                continue
        raise Unreadable(f"{kind} of {session}: {envelope[:40]}")

    def opened(self, data, session=None):
        session = session or data.get("session_id")
        plain = dict(data)
        for name in FIELDS:
            if (envelope := data.get(f"{name}_ct")) is None:
                continue
            if name in plain:
                raise AssertionError(f"{name} came in both forms: {data}")
            text = self.open(session, TEXTS.get(name) or VALUES.get(name, "approvals"), envelope)
            if name in TEXTS:
                plain[name] = text
            elif name == "details":
                plain |= json.loads(text)
            else:
                plain[name] = json.loads(text)
        return plain

    def messages(self, session, wanted=lambda message: True):
        """The history; unwanted messages are not opened."""
        stored = self.call("GET", f"/v1/me/sessions/{session}/messages")["messages"]
        return [self.opened(message, session) | {"tasks": [self.opened(task, session) for task in message.get("tasks", [])]}
                for message in stored if wanted(message)]

    def answers(self, sent):
        return self.messages(sent["session_id"], lambda message: message["role"] == "agent"
                             and message.get("interaction_id") == sent["interaction_id"])

    def ended(self, sent, seconds=90):
        """Waits for the end of a message's one answer."""
        end = time.monotonic() + seconds
        while True:
            is_over = time.monotonic() > end
            try:
                found = self.answers(sent)
            except Unreadable:
                if is_over:
                    raise
                found = []
            if len(found) > 1:
                raise AssertionError(f"{len(found)} answers to one message: {found}")
            if found and found[0]["final"]:
                return found[0]
            if is_over:
                raise AssertionError(f"after {seconds} s the answer is {found}")
            time.sleep(0.1)

    def pending(self):
        return [self.opened(approval) for approval in self.call("GET", "/v1/me/snapshot")["pending_approvals"]]

    def asked(self, session, seconds=90):
        """Waits for an open approval in a chat."""
        end = time.monotonic() + seconds
        while not (found := [approval for approval in self.pending() if approval["session_id"] == session]):
            if time.monotonic() > end:
                raise AssertionError(f"no approval in {session} after {seconds} s")
            time.sleep(0.05)
        return found[0]

    def follow(self):
        """Receives all events from now on, on a thread of its own, through breaks and restarts of the relay."""
        self.is_attached = threading.Event()
        self.thread = threading.Thread(target=self._follow, daemon=True)
        self.thread.start()
        if not self.is_attached.wait(20):
            raise AssertionError("the phone cannot follow the stream")
        return self

    def close(self):
        self.is_closed = True

    def _follow(self):
        while not self.is_closed:
            try:
                headers = {"Authorization": f"Bearer {self.user_token}"} | (
                    {} if self.last is None else {"Last-Event-ID": str(self.last)})
                with urllib.request.urlopen(urllib.request.Request(f"{self.base}/v1/me/stream", headers=headers), timeout=40) as stream:
                    self.is_attached.set()
                    self._read(stream)
            except (OSError, ValueError, urllib.error.URLError):
                time.sleep(0.1)

    def _read(self, stream):
        event = {}
        for line in stream:
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name:
                event[name] = value
            elif "data" in event:
                self.last = int(event["id"])
                self._hear(event["event"], json.loads(event["data"]))
                event = {}

    def _hear(self, kind, data):
        if kind == "session_key_granted" and data["device_id"] == self.device:
            self.take(data)
        try:
            self.events.append((kind, self.opened(data)))
        except Unreadable as error:
            self.unreadable.append((kind, data, error))
            self.events.append((kind, data))

    def streamed(self, sent):
        return "".join(data["delta"] for kind, data in list(self.events)
                       if kind == "message_delta" and data["interaction_id"] == sent["interaction_id"])

    def heard(self, *kinds):
        return [data for kind, data in list(self.events) if kind in kinds]
