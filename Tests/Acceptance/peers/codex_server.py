"""The scripted Codex app-server: sockets, JSON-RPC, and everything that all threads share (codex.md#framing, codex.md#handshake)."""

import asyncio
import hmac
import json
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path

from .codex_disk import Disk
from .codex_methods import LATER, METHODS, Refusal
from .codex_thread import milliseconds
from .wire import Response, Server

VERSION = "0.163.0"
UNLOAD_SECONDS = 60


class Connection:
    """One client."""

    def __init__(self, server, socket):
        self.server, self.socket = server, socket
        self.is_greeted = self.is_experimental = False
        self.silenced = set()
        self.number = None
        """Number of the current request."""

    def send(self, frame):
        self.socket.send(frame)

    def send_text(self, text):
        self.socket.send(text)

    def notify(self, frame):
        if self.is_greeted and frame["method"] not in self.silenced:
            self.send(frame | {"emittedAtMs": milliseconds()})

    def reply(self, number, result):
        self.send({"id": number, "result": result})

    def subscribe(self, thread):
        if self not in thread.subscribers:
            thread.subscribers.append(self)

    def unsubscribe(self, thread):
        if self in thread.subscribers:
            thread.subscribers.remove(self)
        self.server.consider_unloading(thread)

    async def serve(self):
        self.socket.on_binary = lambda _: self.server.disk.note("violations", "a binary message")
        self.server.connections.append(self)
        try:
            async for text in self.socket:
                self.received(text)
        finally:
            self.server.connections.remove(self)
            for thread in list(self.server.threads.values()):
                self.unsubscribe(thread)

    def received(self, text):
        try:
            frame = json.loads(text)
        except ValueError:
            frame = None
        if not isinstance(frame, dict) or frame.get("id", 0) is None:
            # Unreadable frames get no answer.
            return self.server.disk.note("violations", f"unreadable: {text[:200]}")
        if self.server.disk.habit("deaf") or not self.server.hears(frame):
            return
        if "method" in frame and "id" in frame:
            self.request(frame["method"], frame["id"], frame.get("params"))
        elif "id" in frame:
            self.server.answered(self, frame["id"], frame.get("result"))

    def request(self, name, number, params):
        if name in self.server.disk.habit("mute", ()):
            return
        self.number = number
        try:
            if self.server.is_overloaded(name):
                raise Refusal("Server overloaded; retry later.", -32001)
            self.perform(name, number, params)
        except Refusal as refusal:
            self.send({"id": number, "error": refusal.error})

    def perform(self, name, number, params):
        if name != "initialize" and name not in METHODS:
            raise Refusal(f"Invalid request: unknown variant `{name}`, expected one of `initialize`, `thread/start`")
        if params is None:
            self.server.disk.note("violations", f"{name} without params")
            raise Refusal("Invalid request: missing field `params`")
        if name == "initialize":
            return self.greet(number, params)
        if not self.is_greeted:
            raise Refusal("Not initialized")
        function, is_experimental = METHODS[name]
        if is_experimental and not self.is_experimental:
            raise Refusal(f"{name} requires experimentalApi capability")
        reply = function(self, params)
        if reply is LATER:
            return
        if self.server.disk.habit("dies_at") == name:
            os._exit(1)
        self.reply(number, reply.result)
        reply.after()
        if self.server.disk.habit("dies_after") == name:
            os._exit(1)

    def greet(self, number, params):
        if self.is_greeted:
            raise Refusal("Already initialized")
        if "clientInfo" not in params:
            raise Refusal("Invalid request: missing field `clientInfo`")
        capabilities = params.get("capabilities") or {}
        self.is_greeted = True
        self.is_experimental = capabilities.get("experimentalApi") is True
        self.silenced = set(capabilities.get("optOutNotificationMethods") or ())
        name = params["clientInfo"]["name"]
        self.reply(number, {"userAgent": f"{name}/{self.server.version} (Debian 12.0.0; x86_64) dumb ({name}; 1)",
                            "codexHome": str(self.server.disk.home), "platformFamily": "unix", "platformOs": "linux"})
        if self.server.disk.habit("broken_configuration"):
            self.notify({"method": "configWarning", "params": {"summary": "Invalid configuration; using defaults.",
                                                               "details": "config.toml:1:9: expected a value"}})
        self.notify({"method": "remoteControl/status/changed", "params": {
            "status": "disabled", "serverName": "example-host", "installationId": "00000000-0000-4000-8000-000000000000",
            "environmentId": None}})
        for text in self.server.disk.habit("greeting_garbage", ()):
            self.send_text(text)


class Pipe:
    """Standard input and output in place of a socket."""

    on_binary = None

    def __init__(self, reader):
        self.reader = reader

    def send(self, frame):
        sys.stdout.write((frame if isinstance(frame, str) else json.dumps(frame)) + "\n")
        sys.stdout.flush()

    async def __aiter__(self):
        while line := await self.reader.readline():
            yield line.decode(errors="replace")


class CodexServer:
    def __init__(self, home, has_goals=False, token=None):
        self.disk, self.has_goals, self.token = Disk(home), has_goals, token
        self.version = self.disk.habit("version", VERSION)
        self.threads, self.connections = {}, []
        self.is_draining = False
        self.hears = lambda frame: True
        """A filter: frames that fail it get no answer."""
        self.overloads = self.disk.habit("overloads", 0)
        self.path = None
        self._refused = Counter()
        self._requests = self._identities = self._processes = 0
        self._tasks = set()
        self.wire = Server(self._on_request, self._on_upgrade, self._on_socket)

    # Listening

    async def serve_stdio(self):
        """Serves lines of JSON; the end of input ends the process, and running turns with it."""
        reader = asyncio.StreamReader(limit=1 << 24)
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        pipe = Pipe(reader)
        await self._on_socket(pipe)
        for thread in list(self.threads.values()):
            if thread.turn:
                thread.turn.task.cancel()

    async def listen(self, address):
        """Listens at `unix://PATH`, where PATH becomes a link to a socket in a folder of its own, or at `ws://127.0.0.1:PORT`."""
        if not address.startswith("unix://"):
            self.wire.port = int(address.rsplit(":", 1)[1])
            await self.wire.listen()
            self.address = f"ws://127.0.0.1:{self.wire.port}"
            return
        self.path, self.address = Path(address[7:]), address
        if self.path.exists() and await is_alive(self.path):
            raise SystemExit(f"Error: app-server control socket is already in use: {self.path}")
        self.path.unlink(missing_ok=True)
        self._folder = tempfile.TemporaryDirectory(prefix="codex-")
        real = Path(self._folder.name) / "app-server.sock"
        await self.wire.listen(str(real))
        real.chmod(0o600)
        self.path.symlink_to(real)

    async def close(self):
        if self.path:
            self.path.unlink(missing_ok=True)
        for task in self._tasks:
            task.cancel()
        await self.wire.close()

    async def drain(self):
        """Handles the first SIGTERM: running turns continue to their end."""
        self.is_draining = True
        while any(thread.turn for thread in self.threads.values()):
            await asyncio.sleep(0.01)
        await self.close()

    async def _on_request(self, request):
        return Response(200 if request.path in ("/readyz", "/healthz") else 404, b"")

    async def _on_upgrade(self, request):
        if "origin" in request.headers:
            return Response(403, b"")
        if self.token and not hmac.compare_digest(request.bearer or "", self.token):
            return Response(401, b"")
        return None

    async def _on_socket(self, socket):
        await Connection(self, socket).serve()

    # Numbers

    def next_request(self):
        self._requests += 1
        return self._requests - 1

    def identity(self, prefix):
        self._identities += 1
        return f"{prefix}_{os.getpid():x}{self._identities:05}"

    def is_overloaded(self, name):
        """Whether this request is refused: the first ones of all with the habit `overloads`, the first ones of a method with
        `overloads_at`."""
        if self.overloads > 0:
            self.overloads -= 1
            return True
        self._refused[name] += 1
        return self._refused[name] <= self.disk.habit("overloads_at", {}).get(name, 0)

    def process_number(self):
        self._processes += 1
        return str(10_000 + self._processes)

    # Threads

    def broadcast(self, frame):
        for connection in list(self.connections):
            connection.notify(frame)

    def answered(self, connection, number, result):
        for thread in list(self.threads.values()):
            if thread.answered(connection, number, result):
                return

    def run(self, turn):
        turn.task = asyncio.create_task(turn.run())
        self._tasks.add(turn.task)
        turn.task.add_done_callback(self._tasks.discard)

    def turn_ended(self, thread):
        self.consider_unloading(thread)

    def consider_unloading(self, thread):
        if not thread.subscribers and not thread.turn:
            asyncio.get_running_loop().call_later(self.disk.habit("unload_seconds", UNLOAD_SECONDS), self._unload_if_alone, thread)

    def _unload_if_alone(self, thread):
        if not thread.subscribers and not thread.turn and self.threads.get(thread.id) is thread:
            self.unload(thread)

    def unload(self, thread):
        self.threads.pop(thread.id, None)
        self.disk.unlock(thread.id)
        self.broadcast({"method": "thread/closed", "params": {"threadId": thread.id}})


async def is_alive(path):
    try:
        _, writer = await asyncio.open_unix_connection(os.path.realpath(path))
    except OSError:
        return False
    writer.close()
    return True
