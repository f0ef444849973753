"""One client's socket on the scripted Oppi server: its frames are handled strictly one after another (oppi.md#opening-a-connection)."""

import asyncio
import collections
import copy
import json

from .oppi_commands import COMMANDS
from .oppi_rules import BUFFER_BYTES, DROPPABLE, SUBSCRIBE_SECONDS, SUBSCRIBES
from .oppi_session import Refused


class OppiSocket:
    def __init__(self, server, socket):
        self.server, self.socket = server, socket
        self.dialect, self.clock = server.dialect, server.clock
        self.levels = {}  # Session -> level. A subscription to an ended activation still counts.
        self.dropped = 0
        self.most_buffered = 0
        self._frames = asyncio.Queue()
        self._subscribed = collections.deque()

    # Sending

    def send(self, frame):
        self.server.record(self, "in", frame)
        self.socket.send(frame)

    def event(self, frame):
        self.most_buffered = max(self.most_buffered, self.socket.buffered_bytes)
        if self.dialect.drops and frame["type"] in DROPPABLE and self.socket.buffered_bytes > BUFFER_BYTES:
            self.dropped += 1
            return
        self.send(frame)

    def error(self, message, session=None, code=None):
        fields = {"sessionId": session} if session else {}
        self.send({"type": "error", "error": message} | ({"code": code} if code else {}) | fields)

    def result(self, frame, session=None, error=None, data=None):
        """Sends a result, even without a `requestId` that anybody could wait for."""
        fields = {name: value for name, value in (
            ("requestId", frame.get("requestId")), ("data", data), ("error", error), ("sessionId", session)) if value is not None}
        self.send({"type": self.dialect.result, "command": frame["type"], "success": error is None} | fields)

    # Receiving

    async def serve(self):
        self.send({"type": "stream_connected", "userName": "potting-shed"})
        self.socket.on_binary = self._binary
        worker = asyncio.create_task(self._work())
        pinger = asyncio.create_task(self._ping())
        try:
            async for text in self.socket:
                self._frames.put_nowait(text)
        finally:
            worker.cancel()
            pinger.cancel()
            for activation in self.server.activations.values():
                activation.subscribers.pop(self, None)

    async def _work(self):
        while True:
            await self._received(await self._frames.get())

    def _binary(self, data):
        self.server.violations.append("a binary frame")
        if self.dialect.is_seed:
            self._frames.put_nowait(data.decode(errors="replace"))
        else:
            self.socket.close(1003)

    async def _ping(self):
        missed, pongs = 0, 0
        while True:
            self.socket.ping()
            await self.clock.sleep(self.server.ping_seconds)
            missed = 0 if self.socket.pongs > pongs else missed + 1
            pongs = self.socket.pongs
            if missed >= self.dialect.pings_missed:
                self.server.silent_ended += 1
                return self.socket.cut()

    async def _received(self, text):
        try:
            frame = json.loads(text)
        except ValueError as error:
            self.server.violations.append(f"not JSON: {text[:200]}")
            return self.error(str(error) if self.dialect.is_seed else "Invalid JSON payload")
        self.server.record(self, "out", frame)
        while self.server.is_deaf:
            await asyncio.sleep(0.05)
        kind = frame.get("type")
        if not self.server.hears(frame):
            return
        if kind == "subscribe":
            await self._subscribe(frame)
        elif kind == "unsubscribe":
            self._unsubscribe(frame)
        elif kind == "permission_response":
            self._permission(frame)
        elif kind in self.dialect.commands():
            await self._command(frame)
        else:
            self.server.violations.append(f"unknown type {kind}")
            if not self.dialect.is_seed:
                self.result(frame, frame.get("sessionId"), f"Unsupported command type: {kind}")

    # Subscriptions

    async def _subscribe(self, frame):
        identity, since = frame.get("sessionId"), frame.get("sinceSeq")
        level = "notifications" if frame.get("level") == "notifications" else "full"
        self.server.subscribes.append((identity, level, since))
        if not self.dialect.is_seed and self._is_too_often():
            return self.result(frame, identity, "Subscribe rate limit exceeded — try again later")
        if since is not None and (not isinstance(since, int) or isinstance(since, bool) or since < 0):
            return self.result(frame, identity, "sinceSeq must be a non-negative integer")
        session = self.server.disk.sessions.get(identity)
        if session is None:
            return self.result(frame, identity, f"Session not found: {identity}")
        if not self.dialect.is_seed and since is None and self.levels.get(identity) == level:
            activation = self.server.activations.get(identity)
            data = {"sessionId": identity, "level": level, "currentSeq": activation.seq if activation else 0,
                    "catchUpComplete": True, "deduplicated": True}
            return self.result(frame, identity, data=data)
        if level == "full":
            # Applied even if the activation fails.
            self._downgrade_others(identity)
            try:
                activation = await self.server.activate(session)
            except Refused as refused:
                return self.result(frame, identity, str(refused))
        else:
            activation = self.server.activations.get(identity)
        self._enter(frame, session, activation, level, since)

    def _downgrade_others(self, identity):
        for other, known in self.levels.items():
            if self.dialect.one_full and known == "full" and other != identity:
                self.levels[other] = "notifications"
                if (older := self.server.activations.get(other)) and self in older.subscribers:
                    older.subscribers[self] = "notifications"

    def _is_too_often(self):
        now = self.clock.now()
        while self._subscribed and now - self._subscribed[0] > SUBSCRIBE_SECONDS:
            self._subscribed.popleft()
        self._subscribed.append(now)
        return len(self._subscribed) > SUBSCRIBES

    def _enter(self, frame, session, activation, level, since):
        """Enters a subscription atomically: no live frame of this session comes between."""
        identity = session["id"]
        self.levels[identity] = level
        current, missed = 0, []
        if activation is not None:
            activation.subscribers[self] = level
            activation.touched = self.clock.now()
            current = activation.seq
            if since is not None:
                missed = activation.missed(since)
        if level == "full":
            self.send({"type": "connected", "session": copy.deepcopy(session), "currentSeq": current, "sessionId": identity})
        self.send({"type": "state", "session": copy.deepcopy(session), "sessionId": identity})
        for entry in missed or []:
            self.send(entry | {"sessionId": identity})
        for permission in self.server.permissions.of_session(identity):
            self.send(permission)
        for dialog in activation.dialogs_to_resend() if activation else []:
            self.send(dialog | {"sessionId": identity})
        self.result(frame, identity, data={"sessionId": identity, "level": level, "currentSeq": current,
                                           "catchUpComplete": missed is not None})

    def _unsubscribe(self, frame):
        identity = frame.get("sessionId")
        self.levels.pop(identity, None)
        if activation := self.server.activations.get(identity):
            activation.subscribers.pop(self, None)
        self.result(frame, identity, data={"sessionId": identity})

    # Commands

    def _permission(self, frame):
        scope = self.server.permissions.answer(frame.get("id"), frame.get("action"), frame.get("scope", "once"))
        if scope is None:
            self.error(f"Permission request not found: {frame.get('id')}")
        elif frame.get("requestId") is not None:
            self.result(frame)

    async def _command(self, frame):
        kind, identity = frame["type"], frame.get("sessionId")
        if not identity:
            return self.error(f"sessionId is required for {kind} on /stream")
        if self.levels.get(identity) != "full":
            self.server.unsubscribed.append(frame)
            text = f"Session {identity} is not subscribed at level=full"
            if self.dialect.is_seed:
                return self.error(text, identity)
            self.error(text, identity, "stream_not_subscribed_full")
            if frame.get("requestId") is not None:
                self.result(frame, identity, text)
            return
        if identity not in self.server.disk.sessions:
            return self.error(f"Session not found: {identity}")
        activation = self.server.activations.get(identity)
        if activation is None:
            if kind != "get_state":
                self.result(frame, identity, f"Session not active: {identity}")
            return
        handler = COMMANDS.get(kind)
        if handler is None:
            return self.result(frame, identity, f"{kind} is not supported")
        try:
            await handler(self, activation, frame)
        except Refused as refused:
            self.result(frame, identity, str(refused))
