"""A bare client of a scripted gateway: it shakes hands, sends requests, and keeps every received frame."""

import base64
import hashlib
import itertools
import json

from websockets.asyncio.client import connect

from . import ed25519
from .frame_client import FrameClient
from .handshake import signed_text

SCOPES = ("operator.read", "operator.write", "operator.approvals")


def _encode(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


class GatewayClient(FrameClient):
    def __init__(self, gateway, scopes=SCOPES, name="bare client"):
        super().__init__()
        self.gateway, self.scopes, self.name = gateway, list(scopes), name
        self._numbers = itertools.count(1)

    async def __aenter__(self):
        await self.begin_reading(await connect(self.gateway.url, max_size=None))
        challenge = (await self.until(lambda frame: frame.get("event") == "connect.challenge"))["payload"]
        self.hello = await self.request("connect", **self._introduction(challenge))
        return self

    def _introduction(self, challenge):
        seed = hashlib.sha256(self.name.encode()).digest()
        public = ed25519.public_key(seed)
        params = {"minProtocol": 3, "maxProtocol": 4, "role": "operator", "scopes": self.scopes, "caps": ["tool-events"],
                  "client": {"id": "gateway-client", "version": "0", "platform": "linux", "mode": "backend"},
                  "auth": {"token": self.gateway.token},
                  "device": {"id": hashlib.sha256(public).hexdigest(), "publicKey": _encode(public),
                             "signedAt": challenge["ts"], "nonce": challenge["nonce"], "signature": ""}}
        params["device"]["signature"] = _encode(ed25519.sign(seed, signed_text("v2", params, self.gateway.token)))
        return params

    async def request(self, method, **params):
        """Sends a request, and returns the whole answer."""
        number = str(next(self._numbers))
        await self.socket.send(json.dumps({"type": "req", "id": number, "method": method, "params": params}))
        return await self.until(lambda frame: frame.get("type") == "res" and frame["id"] == number)

    async def follow(self, session):
        await self.request("sessions.subscribe")
        await self.request("sessions.messages.subscribe", key=session)

    async def send(self, text, session, key):
        return await self.request("chat.send", sessionKey=session, message=text, idempotencyKey=key)

    async def event(self, name, run=None, since=0, **wanted):
        """The payload of the first event of this name with the wanted members, its own or those of its `data`."""
        def fits(frame):
            payload = frame.get("payload") or {}
            known = payload | payload.get("data", {})
            return (frame.get("event") == name and run in (None, payload.get("runId"))
                    and all(known.get(member) == value for member, value in wanted.items()))
        return (await self.until(fits, since))["payload"]

    def of(self, run, *names):
        """A run's received frames: (event, stream or state, data or payload)."""
        return [(frame["event"], frame["payload"].get("stream") or frame["payload"].get("state"),
                 frame["payload"].get("data") or frame["payload"]) for frame in self.frames
                if frame.get("type") == "event" and frame["payload"].get("runId") == run and (not names or frame["event"] in names)]

    def rows(self):
        return [frame["payload"]["message"] for frame in self.frames if frame.get("event") == "session.message"]

    def shown(self, frame):
        return frame.get("event") or frame
