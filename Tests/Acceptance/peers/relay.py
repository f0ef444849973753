"""A scripted relay: REST and update socket on one port, with a phone. `python3 -m peers.relay` prints its address."""

import argparse
import asyncio
import itertools
import json
import random
import secrets
import time
from dataclasses import dataclass
from email.utils import formatdate

from .cards import Cards
from .clock import Clock
from .phone import Phone
from .rules import BASE62, BUCKET_OF, FIELDS, Refused, Rules, base62
from .wire import DROP, Response, Server

FAULTS = ("500", "503", "429", "reset", "applied-but-lost")


@dataclass
class Faults:
    """Makes a share of all REST calls fail, in five ways, by a seed."""
    share: float
    seed: int = 1
    kinds: tuple = FAULTS

    def __post_init__(self):
        self._random = random.Random(self.seed)

    def next(self):
        return self._random.choice(self.kinds) if self._random.random() < self.share else None


@dataclass
class Asked:
    """A message of the phone in the form that the relay forwards."""
    session: str
    interaction: str
    message_id: str
    update_id: str
    at: float


@dataclass
class Call:
    at: float
    method: str
    body: dict | None
    status: int | None
    code: str | None
    fault: str | None
    request_id: str
    bearer: str | None = None
    raw: bytes = b""
    """The raw body."""


class Relay(Cards):
    def __init__(self, port=0, window_seconds=1800.0, resend_seconds=5.0, ping_seconds=25.0, recording=True,
                 clock=None):
        self.clock = clock or Clock()
        self.installation = base62("inst_")
        self.token = f"{self.installation}:s_test_" + "".join(secrets.choice(BASE62) for _ in range(32))
        self.also = set()  # Further valid tokens.
        self.seals = None  # A `SealedHand` if some chats are sealed.
        self.phone = Phone()
        self.rules = Rules(self.phone, window_seconds, self.clock)
        self.resend_seconds, self.ping_seconds = resend_seconds, ping_seconds
        self.faults = None
        self.ahead_seconds = 0  # Offset of its clock.
        self.refusal = None           # (status, code) for every call and upgrade: a revoked or unknown token.
        self.closes_after_accept = 0  # Number of sockets to close right after the upgrade.
        self.sends_pings = True
        self.replaces, self.away_seconds = False, 0  # A new socket replaces older ones. Seconds that a call and its answer take.
        self.acks = True  # False to ignore acknowledgements.
        self.calls = []
        self.hooks = []  # Called with (what, fields): "update", "ack", "received", "applied", "answered".
        self.hellos, self.rpc_answers, self.garbage = [], [], []
        self.rpc_waiting = {}         # req_id -> future of the answer.
        self.pongs = 0
        self.updates = {}             # Unacknowledged: update id -> update.
        self.sockets = []
        self.sockets_made = 0
        self.planned = {}             # method -> faults of its next calls: "applied-but-lost", "forwarded-twice", or (status, code[, seconds]).
        self.hold = {}                # method -> asyncio.Event: the call waits, already applied, before its answer.
        self.expiry_reason, self.limit_reason = "expired", "limit"  # The documents name no reasons.
        self.files = {}  # path -> bytes, a Response, or a coroutine function that returns one.
        self.fetches = []  # Requests for these files.
        self._numbers = itertools.count(1000)
        self._recording = recording
        self._tasks = set()
        self._timers = []  # Timers of approvals.
        self.server = Server(self._http, self._upgrade, self._socket, port)

    async def __aenter__(self):
        await self.server.listen()
        self._spawn(self._resend())
        self._spawn(self._ping())
        return self

    async def __aexit__(self, *_):
        for timer in self._timers:
            timer.cancel()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.server.close()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.port}"

    def milliseconds(self):
        return self.clock.milliseconds() + int(self.ahead_seconds * 1000)

    # The phone's hand

    def new_session(self):
        session = base62("ses_")
        self.rules.sessions.add(session)
        return session

    def ask(self, text, session=None, update_id=None, message_id=None, interaction=None, created_at=None, model=None,
            text_ct=None, **message):
        """Sends a message of the user. Ids given by the test make duplicates and coincidences. With `text_ct` the text does not leave the
        phone."""
        session = session or self.new_session()
        interaction, message_id = interaction or base62("int_"), message_id or base62("msg_")
        self.rules.interactions.setdefault(interaction, self.clock.now())
        self.phone.asked.setdefault(interaction, (session, text, time.monotonic()))
        said = {"text_ct": text_ct} if text_ct else {"text": text}
        payload = {"session": {"id": session, "model": model}, "message": {"id": message_id, **said, **message}}
        update_id = self.push("session.message", payload, session, interaction, update_id, created_at)
        return Asked(session, interaction, message_id, update_id, time.monotonic())

    def stop(self, session, interaction=None, reason="user_aborted"):
        payload = {"session": {"id": session}, "reason": reason}
        if interaction:
            payload["interaction_id"] = interaction
        return self.push("session.cancelled", payload, session, interaction)

    def delete_session(self, session, archives=False):
        """Deletes or archives a chat: its approvals are denied, its runs cancelled
        (relay.md#sessioncancelled-the-user-pressed-stop-or-the-session-went, relay.md#others)."""
        if not archives:
            self.rules.sessions.discard(session)
            for approval_id, body in self.rules.approvals.items():
                if body["session_id"] == session and approval_id not in self.phone.decisions:
                    self.decide(approval_id, "deny", reason="session_deleted")
            self.stop(session, reason="session_deleted")
        self.push("session.ended", {"session": {"id": session}}, session)

    async def request(self, kind, **fields):
        """Sends a request with a `req_id`, and returns the bridge's answer (relay.md#relay-to-bridge-rpcs-req_id-frames)."""
        identity = base62("rpc_")
        waiting = self.rpc_waiting[identity] = asyncio.get_running_loop().create_future()
        self.sockets[-1].send({"type": kind, "req_id": identity, **fields})
        answer = await asyncio.wait_for(waiting, 90)
        assert answer["type"] == kind.removesuffix(".req") + ".resp", answer
        return {name: value for name, value in answer.items() if name not in ("type", "req_id")}

    def choose_model(self, session, model):
        return self.push("session.model.changed", {"session": {"id": session}, "model": model}, session)

    def push(self, kind, payload, session=None, interaction=None, update_id=None, created_at=None):
        update_id = update_id or str(next(self._numbers))
        update = {"update_id": update_id, "type": kind, "payload": payload, "interaction_id": interaction,
                  "session_id": session, "installation_id": self.installation,
                  "created_at": created_at or str(self.milliseconds())}
        # The same id with other content waits beside the first, as with two relay nodes.
        self.updates[(update_id, json.dumps(payload, sort_keys=True))] = update
        self._deliver(update)
        return update_id

    # Bad luck

    def cut(self):
        for socket in list(self.sockets):
            socket.cut()

    def go_silent(self):
        """Silences the open sockets without closing them; new ones work."""
        for socket in list(self.sockets):
            socket.go_silent()
        self.sockets.clear()

    async def go_down(self):
        await self.server.stop_listening()
        self.server.drop_connections()

    async def come_up(self):
        await self.server.listen()

    def revoke(self, status=401, code="invalid_token"):
        self.refusal = (status, code)
        for socket in list(self.sockets):
            socket.close(4001, "token revoked")

    # Figures

    def natural_429s(self):
        return [call for call in self.calls if call.status == 429 and call.fault is None]

    def refused(self):
        """Calls refused through a fault of the bridge: neither injected nor for a full bucket."""
        return [call for call in self.calls if call.fault is None and (call.status or 0) >= 400 and call.status != 429]

    def happened(self, what, **fields):
        for hook in list(self.hooks):
            hook(what, fields)

    # The update socket

    async def _upgrade(self, request):
        if request.path != "/v1/bridge/ws":
            return self._failure(404, "not_found")
        if "token" in request.query:
            return self._failure(400, "invalid_token_location")
        return self._refusal_of(request)

    def _refusal_of(self, request):
        if self.refusal:
            return self._failure(*self.refusal)
        return None if request.bearer in {self.token} | self.also else self._failure(401, "invalid_token")

    async def _socket(self, socket):
        self.sockets_made += 1
        if self.closes_after_accept > 0:
            self.closes_after_accept -= 1
            socket.close(1000)
            return
        for older in list(self.sockets) if self.replaces else []:
            self.sockets.remove(older)
            older.close(4000, "replaced by a newer connection")
        socket.send({"type": "ready", "installation_id": self.installation})
        self.sockets.append(socket)
        for update in list(self.updates.values()):
            self._deliver(update, [socket])
        try:
            async for text in socket:
                self._frame(text)
        finally:
            if socket in self.sockets:
                self.sockets.remove(socket)

    def _frame(self, text):
        try:
            frame = json.loads(text)
        except ValueError:
            self.garbage.append(text)
            return
        match frame.get("type"):
            case "hello":
                self.hellos.append(frame)
            case "pong":
                self.pongs += 1
            case "ping":
                for socket in self.sockets:
                    socket.send({"type": "pong"})
            case "ack":
                self._acknowledged(frame.get("up_to_update_id"))
            case _ if "req_id" in frame:
                self.rpc_answers.append(frame)
                if waiting := self.rpc_waiting.pop(frame["req_id"], None):
                    waiting.set_result(frame)
            case _:
                self.garbage.append(text)

    def _acknowledged(self, update_id):
        self.happened("ack", update_id=update_id)
        if self.acks and str(update_id).isdecimal():
            self.updates = {key: update for key, update in self.updates.items() if int(key[0]) > int(update_id)}

    def _deliver(self, update, sockets=None):
        for socket in self.sockets if sockets is None else sockets:
            socket.send({"type": "update", "update": update})
        self.happened("update", update=update)

    async def _resend(self):
        while True:
            await self.clock.sleep(self.resend_seconds)
            for update in list(self.updates.values()):
                self._deliver(update)

    async def _ping(self):
        while True:
            await self.clock.sleep(self.ping_seconds)
            for socket in self.sockets if self.sends_pings else []:
                socket.send({"type": "ping"})

    def _spawn(self, coroutine):
        task = asyncio.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # REST

    async def _http(self, request):
        if request.path in self.files:
            self.fetches.append(request)
            file = self.files[request.path]
            file = await file() if callable(file) else file
            return Response(200, file) if isinstance(file, bytes) else file
        if request.path == "/healthz":
            return Response(200, {"ok": True})
        method = request.path.removeprefix("/v1/bridge/")
        request_id = request.headers.get("x-request-id") or "req_" + secrets.token_hex(8)
        if not request.path.startswith("/v1/bridge/") or method not in FIELDS or request.method != "POST":
            return self._failure(404, "not_found", request_id=request_id)
        planned = self.planned.get(method)
        fault = planned.pop(0) if planned else self.faults.next() if self.faults else None
        call = Call(time.monotonic(), method, None, None, None, fault, request_id, request.bearer, request.body)
        if self._recording:
            self.calls.append(call)
        await asyncio.sleep(self.away_seconds)
        response = await self._serve(call, request)
        if isinstance(response, Response):
            call.status = response.status
            call.code = response.body.get("error", {}).get("code")
            response.headers = response.headers | {"Date": formatdate(self.milliseconds() / 1000, usegmt=True)}
        self.happened("answered", method=method, body=call.body, status=call.status)
        return response

    async def _serve(self, call, request):
        if (refusal := self._refusal_of(request)) is not None:
            return refusal
        bucket_name = BUCKET_OF.get(call.method, "default")
        bucket = self.rules.buckets[bucket_name]
        if not bucket.take():
            wait = (1 - bucket.level) / bucket.refill
            return self._failure(429, "rate_limited", wait, bucket.headers(bucket_name), call.request_id)
        headers = bucket.headers(bucket_name)
        match call.fault:
            case (status, code, *wait):
                return self._failure(status, code, *wait, headers=headers, request_id=call.request_id)
            case "reset":
                return DROP
            case "500":
                return self._failure(500, "internal_error", headers=headers, request_id=call.request_id)
            case "503":
                return self._failure(503, "temporarily_unavailable", 0.2, headers, call.request_id)
            case "429":
                return self._failure(429, "rate_limited", 0.2, headers, call.request_id)
        try:
            call.body = self.rules.check(call.method, request.body, self.seals and self.seals.open)
            self.happened("received", method=call.method, body=call.body)
            if self.seals and call.method == "devices":
                result = self.seals.register(call.body)
            else:
                result = self.rules.apply(call.method, call.body, json.loads(request.body))
                if call.fault == "forwarded-twice":  # Forwarded twice by a proxy, which returns the second answer.
                    result = self.rules.apply(call.method, call.body, json.loads(request.body))
        except Refused as refused:
            return self._failure(refused.status, refused.code, headers=headers, request_id=call.request_id, **refused.fields)
        if call.method == "requestApproval" and "idempotent" not in result:
            self._asked(call.body["approval_id"])
        self.happened("applied", method=call.method, body=call.body)
        if call.method in self.hold:
            await self.hold[call.method].wait()
        if call.fault == "applied-but-lost":
            return DROP
        return Response(200, {"ok": True, "result": result}, headers | self._trace(call.request_id))

    @staticmethod
    def _trace(request_id):
        return {"X-Request-ID": request_id, "traceparent": f"00-{secrets.token_hex(16)}-{secrets.token_hex(8)}-01"}

    def _failure(self, status, code, wait=None, headers=None, request_id=None, **fields):
        error = {"code": code, "message": code.replace("_", " "), **fields}
        headers = dict(headers or {}) | self._trace(request_id or "req_" + secrets.token_hex(8))
        if wait is not None:
            error["retry_after_ms"] = max(1, int(wait * 1000) + 1)
            headers["Retry-After"] = int(wait) + 1
        return Response(status, {"ok": False, "error": error}, headers)


async def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--faults", type=float, default=0, help="share of calls that fail, 0 to 1")
    parser.add_argument("--ask", action="append", default=[], help="a message that the phone writes at once")
    options = parser.parse_args()
    async with Relay(options.port) as relay:
        relay.faults = Faults(options.faults) if options.faults else None
        print(json.dumps({"event": "listening", "base_url": relay.url, "token": relay.token}), flush=True)
        for text in options.ask:
            relay.ask(text)
        seen = 0
        while True:
            await asyncio.sleep(0.1)
            for kind, fields in relay.phone.events[seen:]:
                print(json.dumps({"event": kind, **fields}), flush=True)
            seen = len(relay.phone.events)


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        pass
