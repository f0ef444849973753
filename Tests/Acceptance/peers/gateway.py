"""A scripted OpenClaw gateway, protocol 3 and 4, four eras. `python3 -m peers.gateway --era E3` prints its address."""

import argparse
import asyncio
import collections
import hashlib
import json
import time

from . import approvals, busy
from .clock import Clock
from .connection import NEEDS, Connection
from .eras import ERAS
from .handshake import Refusal, check_connect, hello_ok
from .methods import HANDLERS, MethodError
from .routines import MODELS
from .runs import Run
from .schema import METHODS, fields_of, violation
from .sessions import Session
from .steps import Plan, Say, plan_from_json
from .wire import Response, Server


class Gateway:
    def __init__(self, era="E3", token="gw-shared-secret", port=0, recording=True, clock=None):
        self.clock = clock or Clock()
        self.era = ERAS[era]
        self.token, self.protocol = token, self.era.protocol
        self.tick_milliseconds = self.era.tick_milliseconds
        self.hold_back_seconds = 1.0      # 15 s in the real one.
        self.instant = None  # "after" or "before": the run's first frames share one write with the answer.
        self.joins_after = 0.0  # Seconds from a message until the run of the same text has a name.
        self.pairs_silently, self.paired, self.to_pair = True, set(), set()
        self.is_behind_proxy = False  # Each device has its own token; on the same machine none is paired.
        self.lets_go_after = None  # Seconds from a stop until the agent releases the run; None for the era's own.
        self.has_heartbeats = True  # E1: without heartbeats no run follows an approval.
        self.lane = asyncio.Semaphore(busy.AT_WORK)  # `maxConcurrent` of its configuration.
        self.refusals = []                # Refusal values for the next connects.
        self.connects = []                # Parameters of every connect.
        self.plans = []
        self.default_plan = lambda text: Plan("", [Say([f"You said: {text}"])])
        self.frames = collections.deque(maxlen=200_000) if recording else None
        self.sends, self.aborts, self.patches = [], [], []
        self.models, self.patch_answers = MODELS, []  # MethodErrors for the next `sessions.patch`.
        self.answered = []                # (message, model) of each run, as it begins.
        self.jobs, self.job_runs, self.usage, self.stop_reason = {}, [], None, "stop"
        self.tells_usage = True  # Usage in the rows of its agent.
        # (key, name, type, bytes) of each attachment; the policy in `hello-ok`: {"maxBytes", "maxImageBytes"}.
        self.files, self.attachment_policy = [], None
        self.starts = collections.Counter()
        self.commands, self.executed, self.resolve_calls, self.violations = [], [], [], []
        self.is_draining = False  # A requested restart is pending.
        self.is_deaf = False  # The link stays up and ticks, but requests are neither read nor answered.
        self.unheard = []
        self.hooks = []  # Called with (what, run=…) at each event.
        self.sessions, self.runs, self.dedupe, self.approvals = {}, {}, {}, {}
        self.connections = []
        self.connections_made = 0
        self._gates = collections.defaultdict(asyncio.Event)
        self._global_seq = 0
        self._tasks = set()
        self.started = self.clock.now() - 3600  # The gateway has run for a while.
        self.server = Server(self._http, self._upgrade, self._socket, port)

    async def __aenter__(self):
        await self.server.listen()
        self._spawn(self._ticks())
        return self

    async def __aexit__(self, *_):
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.server.close()

    # Queries and actions of tests

    @property
    def port(self):
        return self.server.port

    @property
    def url(self):
        return f"ws://127.0.0.1:{self.port}"

    def plan(self, match, *steps, **options):
        self.plans.append(Plan(match, list(steps), **options))

    def release(self, name):
        self._gates[name].set()

    def gate(self, name):
        return self._gates[name]

    def cut(self):
        """Cuts every client's socket; the runs continue."""
        for connection in list(self.connections):
            connection.socket.cut()

    def close_all(self, code, reason=""):
        for connection in list(self.connections):
            connection.socket.close(code, reason)

    async def restart(self, down_seconds=0.5, runs_survive=False, drains=0.0, is_killed=False, within_process=False):
        """An orderly restart: `shutdown`, 1012, a pause, and back on the same port with an empty memory. E3 ends its runs first, and
        refuses messages while it `drains`. A killed gateway sends nothing. A restart within the process keeps its age."""
        if not runs_survive and not is_killed:
            busy.announce(self)
            self.is_draining = self.era.resumes
            await asyncio.sleep(drains)
        self.is_draining = False
        if not is_killed:
            self.broadcast("shutdown", {"reason": "service restart", "restartExpectedMs": int(down_seconds * 1000)})
            self.close_all(1012, "service restart")
        await self.go_away()
        interrupted = [] if runs_survive else busy.interrupt(self)
        self.dedupe.clear()
        if not within_process:
            self.started = self.clock.now()
        await asyncio.sleep(down_seconds)
        await self.come_back()
        busy.resume_all(self, interrupted)

    async def go_away(self):
        await self.server.stop_listening()
        await asyncio.sleep(0.1)
        self.cut()

    async def come_back(self):
        await self.server.listen()

    def send_raw(self, data):
        for connection in list(self.connections):
            connection.socket.send_raw(data)

    def send_text(self, text):
        for connection in list(self.connections):
            connection.socket.send(text)

    # Recording

    def record(self, connection, direction, frame):
        if self.frames is not None:
            self.frames.append((time.monotonic(), connection.number, direction, frame))

    def happened(self, what, run=None):
        for hook in list(self.hooks):
            hook(what, run)

    # Events

    def next_seq(self, connection):
        if self.era.seq_per_client:
            connection.seq += 1
            return connection.seq
        return self._global_seq

    def broadcast(self, name, payload):
        self.broadcast_each(name, lambda _: payload)

    def broadcast_each(self, name, payload_for):
        self._global_seq += 1
        for connection in list(self.connections):
            if connection.ready and connection.has(NEEDS.get(name)):
                connection.event(name, payload_for(connection))

    def send_tool_frame(self, run, payload):
        for connection in list(self.connections):
            if connection in run.tool_recipients and "tool-events" in connection.caps:
                connection.event("agent", payload, numbered=False)
            if connection.follows_sessions and connection.has("operator.read") and (
                    self.era.mirrors_tools or connection not in run.tool_recipients):
                connection.event("session.tool", payload, numbered=False)

    async def _ticks(self):
        while True:
            await self.clock.sleep(self.tick_milliseconds / 1000)
            self.broadcast("tick", {"ts": self.clock.milliseconds()})

    # Runs

    def session(self, key):
        return self.sessions.setdefault(key, Session(key, self))

    def is_free(self, session):
        if not busy.is_taken(session):
            busy.free(self, session)

    def begin(self, session, params, connection, start=None):
        """Begins a run for this message, and returns the answer to chat.send. `start` replaces the run's own start."""
        text, key = params["message"], params["idempotencyKey"]
        plan = next((plan for plan in self.plans if plan.match in text), None) or self.default_plan(text)
        run_id = plan.foreign_run_id or key
        run = Run(self, run_id, session, params["sessionKey"], plan, connection, text, key)
        self.starts[key] += 1
        self.dedupe[key] = run
        (start or self._start)(run)
        return {"runId": run_id, "status": "in_flight" if plan.foreign_run_id else "started"}

    def other_client_sends(self, text, session_key, run_id):
        """Begins a run for another client or the scheduler, which belongs to no connection of the bridge."""
        session = self.session(session_key)
        plan = next((plan for plan in self.plans if plan.match in text), None) or self.default_plan(text)
        run = Run(self, run_id, session, session_key, plan, user_text=text)
        self._start(run)
        return run

    def _start(self, run):
        self.runs[run.id] = run
        run.task = self._spawn(run.execute())

    def _spawn(self, coroutine):
        task = asyncio.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def remember(self, run):
        self.runs[run.id] = run

    def begins_later(self, seconds, run_id, run, plan):
        """Begins a run that follows another one in its session."""
        follow = Run(self, run_id, run.session, run.raw_key, plan)
        follow.owner_device = run.owner_device
        asyncio.get_running_loop().call_later(seconds, lambda: self._start(follow))

    def request_approval(self, run, step, call):
        return approvals.request(self, run, step, call)

    def follow_up(self, run, step, approval, decision):
        approvals.follow_up(self, run, step, approval, decision)

    # Serving

    async def _http(self, _):
        return Response(200, {"ok": True})

    async def _upgrade(self, _): return None

    async def _socket(self, socket):
        self.connections_made += 1
        connection = Connection(self, socket, self.connections_made)
        connection.send({"type": "event", "event": "connect.challenge",
                         "payload": {"nonce": connection.nonce, "ts": self.clock.milliseconds()}})
        timer = asyncio.get_running_loop().call_later(
            3 if self.era.name == "E1" else 10, lambda: connection.ready or socket.close(1000))
        try:
            async for text in socket:
                await self._received(connection, text)
        finally:
            timer.cancel()
            if connection in self.connections:
                self.connections.remove(connection)

    async def _received(self, connection, text):
        if connection.ready and len(text.encode()) > self.era.max_payload:
            self.violations.append((f"a frame of {len(text)} bytes", connection.number))
            return connection.socket.close(1009, "message too big")
        try:
            frame = json.loads(text)
        except ValueError:
            frame = None
        if self.is_deaf and connection.ready and isinstance(frame, dict):
            self.unheard.append(frame)
            return
        self.record(connection, "out", frame if frame is not None else text)
        problem = None
        if not isinstance(frame, dict) or frame.get("type") != "req":
            problem = "expected a req frame"
        elif set(frame) - {"type", "id", "method", "params"} or not frame.get("id") or not frame.get("method"):
            problem = "invalid request frame"
        if problem:
            self.violations.append((problem, frame))
            known = frame.get("id") if isinstance(frame, dict) else None
            self._answer(connection, known or "invalid", error={"code": "INVALID_REQUEST", "message": problem})
        elif not connection.ready:
            self._handshake(connection, frame)
        elif self.instant and frame["method"] == "chat.send":
            await self._in_one_write(connection, frame)
        else:
            self._spawn(self._call(connection, frame))

    def _handshake(self, connection, frame):
        params = frame.get("params") or {}
        self.connects.append(params)
        try:
            if frame["method"] != "connect":
                raise Refusal("INVALID_REQUEST", "first request must be connect")
            scopes = check_connect(self, params, connection.nonce)
        except Refusal as refusal:
            error = {"code": refusal.code, "message": refusal.message}
            keeps = self.era.error_details or refusal.fields.pop("keep_details", False) or refusal.close == 1002
            if refusal.details and keeps:
                error["details"] = refusal.details
            refusal.fields.pop("keep_details", None)
            self._answer(connection, frame["id"], error=error | refusal.fields)
            if refusal.code == "NOT_PAIRED":
                self.broadcast("device.pair.requested", {"ts": self.clock.milliseconds()})
            connection.socket.close(refusal.close, refusal.message[:100])
            return
        connection.scopes, connection.caps = list(scopes), params.get("caps", [])
        connection.device_id = (params.get("device") or {}).get("id")
        connection.display_name = params["client"].get("displayName")
        connection.ready = True
        self._answer(connection, frame["id"], hello_ok(self, connection, params))
        self.connections.append(connection)
        self.happened("connected")

    async def _in_one_write(self, connection, frame):
        """Writes the answer and the run's immediate frames together, the answer first or last."""
        connection.socket.cork()
        if self.instant == "before":
            answer = await self._run_method(connection, frame)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            self._answer(connection, frame["id"], **answer)
        else:
            await self._call(connection, frame)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        connection.socket.uncork()

    async def _call(self, connection, frame):
        self._answer(connection, frame["id"], **await self._run_method(connection, frame))

    async def _run_method(self, connection, frame):
        method, params = frame["method"], frame.get("params", {})
        number = int(self.era.name[1])
        if method not in METHODS or METHODS[method][2] > number:
            # Unknown methods need the scope of administrators, who hear that the method is unknown.
            is_admin = "operator.admin" in connection.scopes
            self.violations.append((f"{method}, which it does not offer", frame))
            words = f"unknown method: {method}" if is_admin else "missing scope: operator.admin"
            return {"error": {"code": "INVALID_REQUEST", "message": words}}
        scope = METHODS[method][0]
        if not connection.has(scope):
            error = {"code": self.era.forbidden_code, "message": f"missing scope: {scope}"}
            if self.era.protocol >= 4:
                error["details"] = {"code": "MISSING_SCOPE", "missingScope": scope, "requiredScopes": [scope]}
            return {"error": error}
        if problem := violation(params, fields_of(method, number), f"{method} params"):
            self.violations.append((problem, frame))
            return {"error": {"code": "INVALID_REQUEST", "message": problem}}
        try:
            return {"payload": await HANDLERS[method](self, connection, params)}
        except MethodError as failure:
            error = {"code": failure.code, "message": failure.message}
            error |= {"details": failure.details} if failure.details else {}
            return {"error": error, "payload": failure.payload}

    def _answer(self, connection, request_id, payload=None, error=None):
        frame = {"type": "res", "id": request_id, "ok": error is None}
        if payload is not None:
            frame["payload"] = payload
        if error is not None:
            frame["error"] = error
        connection.send(frame)

    def device_token(self, device_id):
        return "device-" + hashlib.sha256(f"{self.token}|{device_id}".encode()).hexdigest()[:32]


async def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--era", choices=ERAS, default="E3")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--token", default="gw-shared-secret")
    parser.add_argument("--plans", help="a JSON file: a list of plans, see peers/steps.py")
    options = parser.parse_args()
    async with Gateway(options.era, options.token, options.port) as gateway:
        if options.plans:
            with open(options.plans, encoding="utf-8") as file:
                gateway.plans = [plan_from_json(value) for value in json.load(file)]
        print(json.dumps({"event": "listening", "url": gateway.url, "token": gateway.token, "era": options.era}), flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        pass
