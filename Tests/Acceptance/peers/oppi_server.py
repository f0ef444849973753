"""A scripted Oppi server in both dialects, written from oppi.md. In the test's own process it is an `OppiServer`; as a process of its
own (`python3 -m peers.oppi_server --home DIR --port N --dialect head`) it reads its plans from DIR/plans.json at each prompt."""

import argparse
import asyncio
import base64
import collections
import hmac
import json
import secrets
import time
import traceback

from websockets.extensions.permessage_deflate import ServerPerMessageDeflateFactory
from websockets.server import ServerProtocol

from .clock import Clock
from .oppi_disk import Disk
from .oppi_permissions import Permissions
from .oppi_rest import Pairing, Rest, failure
from .oppi_rules import IDLE_SECONDS, LIMITS, PING_SECONDS, RING_CAPACITY, USER_RING_CAPACITY, Dialect, short_id
from .oppi_session import Activation, Refused
from .oppi_socket import OppiSocket
from .oppi_steps import Plan, Say, plan_from_json
from .wire import Server

MODELS = [{"id": "acme/quill-2", "name": "Quill 2", "provider": "acme", "contextWindow": 128_000},
          {"id": "acme/nib-1", "name": "Nib 1", "provider": "acme", "contextWindow": 128_000}]


GIT_STATUS = {"isGitRepo": True, "branch": "main", "headSha": "6b4f06a", "ahead": None, "behind": None, "dirtyCount": 1, "untrackedCount": 0,
              "stagedCount": 0, "files": [{"status": " M", "path": "labels.txt"}], "totalFiles": 1, "stashCount": 0,
              "lastCommitMessage": "Sow", "lastCommitDate": "2026-02-20T09:00:00+00:00"}


class OppiServer:
    def __init__(self, home, dialect="head", port=0, clock=None, certificates=None, recording=True):
        self.clock = clock or Clock()
        self.dialect = Dialect(dialect)
        self.certificates = certificates
        self.disk = Disk(home, self.clock)
        self.models = MODELS
        self.plans = []
        self.plans_file = None
        self.default_plan = lambda text: Plan("", [Say([f"You said: {text}"])])
        self.activation_seconds = 0.01
        self.ring_capacity = RING_CAPACITY
        self.idle_seconds, self.ping_seconds = IDLE_SECONDS, PING_SECONDS
        self.workspace_limit, self.limit = LIMITS[dialect]
        self.skew_milliseconds = 0  # Offset of the server's clock.
        self.has_extension = False  # An extension that shows things to its own interface with each run; only head forwards them.
        self.is_deaf = False  # Sockets stay open and answer pings, but requests are not handled.
        self.hears = lambda frame: True  # A filter: frames that fail it are neither handled nor answered.
        self.hooks = []  # Called with (what, fields) at each event.
        self.frames = collections.deque(maxlen=100_000) if recording else None
        # Violations by a connector, and its requests.
        self.violations, self.unsubscribed, self.subscribes, self.requests = [], [], [], []
        self.device_names = []
        self.images = []                  # (text, type, bytes) of each image of a prompt.
        self.faults = []  # Faults of the double itself.
        self.silent_ended = self.traces_read = self.dropped_on_purpose = self.sockets_made = 0
        self.rest_refusals = []           # Responses for the next REST calls.
        self.pairing = Pairing(self)
        self.permissions = Permissions(self)
        self._tasks = set()
        self._forget()
        self.rest = Rest(self)
        self.server = Server(self._http, self._upgrade, self._socket, port,
                             certificates and certificates.context, self._protocol)

    def _forget(self):
        """Resets everything that is only in memory."""
        self.activations, self.sockets = {}, []
        self.activating = {}
        self.user_ring, self.stream_seq = collections.deque(maxlen=USER_RING_CAPACITY), 0
        self.permissions.pending.clear()
        self.started = self.clock.now()

    async def __aenter__(self):
        await self.server.listen()
        self.spawn(self._reap())
        return self

    async def __aexit__(self, *_):
        await self._cancel_all()
        self.disk.unsaved.clear()
        await self.server.close()

    async def _cancel_all(self):
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def spawn(self, coroutine):
        task = asyncio.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task):
        self._tasks.discard(task)
        if not task.cancelled() and task.exception():
            self.faults.append("".join(traceback.format_exception(task.exception())))

    # Queries and actions of tests

    @property
    def port(self):
        return self.server.port

    @property
    def url(self):
        return f"{'https' if self.certificates else 'http'}://127.0.0.1:{self.port}"

    @property
    def token(self):
        return self.disk.state["owner"]

    def plan(self, match, *steps, **options):
        self.plans.append(Plan(match, list(steps), **options))

    def release(self, name):
        self.disk.open_gate(name)

    def invite(self, token=None, pairing=True, fingerprint=None, **changes):
        """The link shown by the pairing command."""
        value = {"v": 3, "host": "127.0.0.1", "port": self.port, "token": token or "", "name": "potting-shed",
                 "pairingToken": self.pairing.new_token() if pairing else ""}
        if not self.dialect.is_seed:
            value["scheme"] = "https" if self.certificates else "http"
            if self.certificates:
                value["tlsCertFingerprint"] = fingerprint or self.certificates.pin
        text = base64.urlsafe_b64encode(json.dumps(value | changes).encode()).rstrip(b"=").decode()
        return f"oppi://connect?v=3&invite={text}"

    def cut(self):
        """Cuts every client's socket; the runs continue."""
        for socket in list(self.sockets):
            socket.socket.cut()

    async def stop(self):
        """An orderly stop: head announces it in the close frame, seed just ends."""
        for socket in list(self.sockets):
            if self.dialect.is_seed:
                socket.socket.cut()
            else:
                socket.socket.close(1001, "Server shutting down")
        await asyncio.sleep(0.05)
        await self.crash()

    async def crash(self):
        """Ends like `kill -9`: sockets and memory are lost, the disk stays. `come_back` starts it again."""
        await self.server.stop_listening()
        await self._cancel_all()
        self.server.drop_connections()
        self._forget()
        self.pairing.tokens.clear()
        self.disk.load()

    async def come_back(self):
        self.spawn(self._reap())
        await self.server.listen()

    async def restart(self, keeps_trace=True):
        await self.crash()
        if not keeps_trace:
            self.disk.forget_traces()
        await self.come_back()

    def prompts(self, text=None):
        return [note["text"] for note in self.disk.notes("prompts") if text in (None, note["text"])]

    # Recording

    def record(self, socket, direction, frame):
        if self.frames is not None:
            self.frames.append((time.monotonic(), socket, direction, frame))

    def happened(self, what, **fields):
        for hook in list(self.hooks):
            hook(what, fields)

    def milliseconds(self):
        return self.clock.milliseconds() + self.skew_milliseconds

    # Sessions

    def plan_for(self, text):
        if self.plans_file:
            self.plans = [plan_from_json(entry) for entry in json.loads(self.plans_file.read_text())]
        return next((plan for plan in self.plans if plan.match in text), None) or self.default_plan(text)

    def create_session(self, workspace, name=None, model=None):
        now = self.milliseconds()
        tokens = {"input": 0, "output": 0} | ({} if self.dialect.is_seed else {"cacheRead": 0, "cacheWrite": 0})
        session = {"id": short_id(), "workspaceId": workspace["id"], "workspaceName": workspace["name"], "status": "starting",
                   "createdAt": now, "lastActivity": now, "model": model or self.models[0]["id"], "messageCount": 0,
                   "tokens": tokens, "cost": 0.0, "contextTokens": 0, "contextWindow": 128_000, "thinkingLevel": "medium"}
        if name:
            session["name"] = name
        self.disk.sessions[session["id"]] = session
        self.disk.save(session)
        return session

    async def activate(self, session):
        """Starts the session's agent if needed; a second caller waits for the first."""
        while session["id"] in self.activating:
            await self.activating[session["id"]].wait()
        if known := self.activations.get(session["id"]):
            return known
        active = [activation.session["workspaceId"] for activation in self.activations.values()]
        if active.count(session["workspaceId"]) >= self.workspace_limit:
            raise Refused(f"Workspace session limit reached ({self.workspace_limit})")
        if len(active) >= self.limit:
            raise Refused(f"Global session limit reached ({self.limit})")
        self.activating[session["id"]] = asyncio.Event()
        try:
            await self.clock.sleep(self.activation_seconds)
            session["status"] = "ready"
            session.setdefault("piSessionId", secrets.token_hex(16))
            session.setdefault("piSessionFile", f"/home/ada/.pi/agent/sessions/{session['piSessionId']}.jsonl")
            session.setdefault("piSessionFiles", [session["piSessionFile"]])
            self.disk.save(session)
            activation = self.activations[session["id"]] = Activation(self, session)
        finally:
            self.activating.pop(session["id"]).set()
        return activation

    async def _reap(self):
        """Ends idle sessions, without agent events, prompts or subscriptions, even with a run; watching one does not keep it."""
        while True:
            await self.clock.sleep(min(1.0, self.idle_seconds / 4))
            for activation in list(self.activations.values()):
                if self.clock.now() - activation.touched > self.idle_seconds:
                    activation.touched = self.clock.now()
                    self.spawn(activation.stop_session())

    def other_prompts(self, session_id, text):
        """A prompt of another device in an active session."""
        activation = self.activations[session_id]
        activation.prompt(None, "follow_up" if activation.is_busy else "prompt", {"type": "prompt", "message": text})

    # Frames for all

    def user_ring_add(self, frame):
        self.stream_seq += 1
        self.user_ring.append(frame | {"streamSeq": self.stream_seq})
        return self.user_ring[-1]

    def to_all(self, frame):
        """Sends to every open socket, whatever it subscribed to."""
        frame = self.user_ring_add(frame)
        for socket in list(self.sockets):
            socket.send(frame)

    def git_changed(self, activation):
        def say():
            if not activation.is_over:
                activation.emit("git_status", workspaceId=activation.session["workspaceId"],
                                status=GIT_STATUS)
        self.clock.later(2, say)

    # Serving

    def is_known(self, request, in_query=True):
        tokens = [self.token, *self.disk.state["devices"]]
        given = request.bearer
        if in_query and not self.dialect.is_seed and "token" in request.query:
            self.violations.append("a token in a query")
            given = given or request.query["token"]
        return given is not None and any(hmac.compare_digest(given, token) for token in tokens)

    async def _http(self, request):
        self.requests.append((request.method, request.path, request.query))
        if "origin" in request.headers:
            self.violations.append("an Origin header")
        if self.rest_refusals and self.is_known(request):
            return self.rest_refusals.pop(0)
        return await self.rest.serve(request)

    async def _upgrade(self, request):
        self.requests.append(("UPGRADE", request.path, request.query))
        if "origin" in request.headers:
            self.violations.append("an Origin header")
        if request.path != "/stream":
            return failure(404, "Not found")
        if not self.is_known(request, in_query=False):
            headers = {} if self.dialect.is_seed else {"WWW-Authenticate": 'Bearer realm="oppi"'}
            return failure(401, "Unauthorized", **headers)
        scheme = "https" if self.certificates else "http"
        origin = request.headers.get("origin")
        if not self.dialect.is_seed and origin is not None and origin != f"{scheme}://{request.headers.get('host')}":
            return failure(403, "Forbidden")
        return None

    def _protocol(self):
        extensions = [] if self.dialect.is_seed else [Deflate(compress_settings={"level": 1})]
        return ServerProtocol(max_size=self.dialect.max_message, extensions=extensions)

    async def _socket(self, socket):
        self.sockets_made += 1
        client = OppiSocket(self, socket)
        self.sockets.append(client)
        self.happened("connected")
        try:
            await client.serve()
        finally:
            if client in self.sockets:
                self.sockets.remove(client)


class Deflate(ServerPerMessageDeflateFactory):
    """Compresses frames of 1024 bytes and more for a client that offers it, as head does."""

    def process_request_params(self, params, accepted):
        agreed, extension = super().process_request_params(params, accepted)
        encode = extension.encode
        extension.encode = lambda frame: encode(frame) if len(frame.data) >= 1024 else frame
        return agreed, extension


async def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--home", required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--dialect", choices=("seed", "head"), default="head")
    options = parser.parse_args()
    async with OppiServer(options.home, options.dialect, options.port, recording=False) as server:
        server.plans_file = server.disk.home / "plans.json"
        print(json.dumps({"event": "listening", "url": server.url, "token": server.token, "port": server.port}), flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        pass
