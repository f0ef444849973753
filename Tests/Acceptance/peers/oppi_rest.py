"""The REST side of the scripted Oppi server (oppi.md#rest-routes-worth-knowing)."""

import json
import re
import secrets
from urllib.parse import unquote

from .oppi_rules import short_id
from .oppi_session import Refused
from .wire import Response

MARK = {"X-Oppi-Protocol": "2"}
PAIR_FAILURES, PAIR_SECONDS, PAIR_BLOCK_SECONDS = 5, 60, 120
WORKSPACE = r"/workspaces/(?P<workspace>[^/]+)"
SESSION = WORKSPACE + r"/sessions/(?P<session>[^/]+)"


def failure(status, words, **headers):
    return Response(status, {"error": words}, MARK | headers)


def found(body, status=200):
    return Response(status, body, dict(MARK))


class Pairing:
    """One-time tokens, and the limit on attempts."""

    def __init__(self, server):
        self.server, self.clock = server, server.clock
        self.tokens = {}  # token -> time of its expiry.
        self.issued = []
        self.failures = []
        self.blocked_until = 0.0

    def new_token(self, seconds=90):
        token = "pt_" + secrets.token_urlsafe(18)
        self.tokens[token] = self.clock.now() + max(1, seconds)
        self.issued.append(token)
        return token

    def pair(self, request):
        now = self.clock.now()
        if now < self.blocked_until:
            return failure(429, "Too many failed pairing attempts")
        body = body_of(request)
        token = (body or {}).get("pairingToken")
        if not token:
            return failure(400, "pairingToken is required")
        if self.tokens.pop(token, -1.0) < now:
            self.failures = [at for at in self.failures if now - at < PAIR_SECONDS] + [now]
            if len(self.failures) >= PAIR_FAILURES:
                self.blocked_until = now + PAIR_BLOCK_SECONDS
            return failure(401, "Invalid or expired pairing token")
        device = "dt_" + secrets.token_urlsafe(18)
        self.server.disk.state["devices"].append(device)
        self.server.disk.save_state()
        self.server.device_names.append(body.get("deviceName"))
        return found({"deviceToken": device})


def body_of(request):
    try:
        return json.loads(request.body or b"{}")
    except ValueError:
        return None


class Rest:
    def __init__(self, server):
        self.server, self.disk, self.dialect = server, server.disk, server.dialect
        self.routes = [(method, re.compile(pattern + "$"), handler) for method, pattern, handler in (
            ("GET", "/me", self.me), ("GET", "/server/info", self.info), ("GET", "/models", self.models),
            ("GET", "/workspaces", self.workspaces), ("POST", "/workspaces", self.create_workspace),
            ("GET", WORKSPACE + "/sessions", self.sessions), ("POST", WORKSPACE + "/sessions", self.create_session),
            ("GET", SESSION, self.session), ("DELETE", SESSION, self.delete_session),
            ("GET", SESSION + "/events", self.events), ("POST", SESSION + "/resume", self.resume),
            ("POST", SESSION + "/stop", self.stop), ("GET", SESSION + "/tool-output/(?P<call>[^/]+)", self.tool_output),
            ("GET", "/permissions/pending", self.pending), ("GET", "/stream/events", self.user_events))]
        if not self.dialect.is_seed:
            self.routes += [("GET", re.compile("/sessions$"), self.all_sessions),
                            ("POST", re.compile("/permissions/(?P<permission>[^/]+)/respond$"), self.respond)]

    async def serve(self, request):
        if request.path == "/health":
            return found({"ok": True, "protocol": 2})
        if request.path == "/pair" and request.method == "POST":
            return self.server.pairing.pair(request)
        if not self.server.is_known(request):
            return failure(401, "Unauthorized")
        for method, pattern, handler in self.routes:
            match = pattern.match(request.path)
            if match and method == request.method:
                return await handler(request, **{name: unquote(value) for name, value in match.groupdict().items()})
        return failure(404, "Not found")

    # The server

    async def me(self, request):
        return found({"user": "owner", "name": "potting-shed"})

    async def info(self, request):
        server = self.server
        return found({"name": "potting-shed", "version": "0.9.0", "uptime": int(server.clock.now() - server.started), "os": "linux",
                      "arch": "x64", "hostname": "potting-shed", "nodeVersion": "22.0.0", "piVersion": "0.50.0", "configVersion": 2,
                      "identity": {"fingerprint": "sha256:" + "A" * 43, "keyId": "k1", "algorithm": "ed25519"}, "stats": {}})

    async def models(self, request):
        return found({"models": self.server.models})

    # Workspaces and sessions

    async def workspaces(self, request):
        return found({"workspaces": self.disk.state["workspaces"]})

    async def create_workspace(self, request):
        body = body_of(request) or {}
        if not body.get("name") or not isinstance(body.get("skills"), list):
            return failure(400, "name and skills are required")
        workspace = {"id": short_id(), "name": body["name"], "skills": body["skills"]}
        self.disk.state["workspaces"].append(workspace)
        self.disk.save_state()
        return found({"workspace": workspace}, 201)

    def _workspace(self, identity):
        return next((entry for entry in self.disk.state["workspaces"] if entry["id"] == identity), None)

    async def sessions(self, request, workspace):
        if (entry := self._workspace(workspace)) is None:
            return failure(404, "Workspace not found")
        listed = [self.disk.shown(session) for session in self.disk.sessions.values() if session["workspaceId"] == workspace]
        return found({"sessions": listed, "workspace": entry} | ({} if self.dialect.is_seed else {"totalCount": len(listed)}))

    async def all_sessions(self, request):
        return found({"sessions": [self.disk.shown(session) for session in self.disk.sessions.values()]})

    async def create_session(self, request, workspace):
        if (entry := self._workspace(workspace)) is None:
            return failure(404, "Workspace not found")
        body = body_of(request)
        if body is None:
            return failure(400, "Invalid JSON")
        session = self.server.create_session(entry, body.get("name"), body.get("model"))
        answer = {"session": session}
        if not self.dialect.is_seed and body.get("prompt"):
            activation = await self.server.activate(session)
            activation.prompt(None, "prompt", {"message": body["prompt"]})
            answer["prompted"] = True
        return found(answer, 201)

    def _session(self, workspace, session):
        entry = self.disk.sessions.get(session)
        return entry if entry and entry["workspaceId"] == workspace else None

    async def session(self, request, workspace, session):
        """A session. The query's name is `view`; other names are ignored."""
        if (entry := self._session(workspace, session)) is None:
            return failure(404, "Session not found")
        self.server.traces_read += 1
        trace = self.disk.trace(session)
        if request.query.get("view") != "full":
            last = max((number for number, event in enumerate(trace) if event["type"] == "compaction"), default=0)
            trace = trace[last:]
        return found({"session": self.disk.shown(entry), "trace": trace})

    async def delete_session(self, request, workspace, session):
        if (entry := self._session(workspace, session)) is None:
            return failure(404, "Session not found")
        if activation := self.server.activations.get(session):
            activation.end("terminated")
        self.disk.delete(entry)
        if not self.dialect.is_seed:
            self.server.user_ring_add({"type": "session_deleted", "sessionId": session})
        return found({"ok": True})

    async def events(self, request, workspace, session):
        if (entry := self._session(workspace, session)) is None:
            return failure(404, "Session not found")
        since = request.query.get("since", "0")
        if not since.isdecimal():
            return failure(400, "since must be a non-negative integer")
        if (activation := self.server.activations.get(session)) is None:
            return failure(404, "Session not active")
        missed = activation.missed(int(since))
        return found({"events": missed or [], "currentSeq": activation.seq, "session": entry,
                      "catchUpComplete": missed is not None})

    async def resume(self, request, workspace, session):
        if (entry := self._session(workspace, session)) is None:
            return failure(404, "Session not found")
        try:
            await self.server.activate(entry)
        except Refused as refused:
            return failure(409, str(refused))
        return found({"session": entry})

    async def stop(self, request, workspace, session):
        if (entry := self._session(workspace, session)) is None:
            return failure(404, "Session not found")
        if activation := self.server.activations.get(session):
            await activation.stop_session()
        return found({"session": entry})

    async def tool_output(self, request, workspace, session, call):
        event = next((event for event in self.disk.trace(session)
                      if event["type"] == "toolResult" and event["toolCallId"] == call), None)
        if self._session(workspace, session) is None or event is None:
            return failure(404, "Tool output not found")
        return found({"toolCallId": call, "output": event["output"], "isError": event["isError"]})

    # Permissions and the ring of all sessions

    async def pending(self, request):
        return found(self.server.permissions.listed(request.query.get("sessionId"), request.query.get("workspaceId")))

    async def respond(self, request, permission):
        body = body_of(request) or {}
        scope = self.server.permissions.answer(permission, body.get("action"), body.get("scope", "once"))
        if scope is None:
            return failure(404, f"Permission request not found: {permission}")
        return found({"ok": True, "id": permission, "action": body.get("action"), "scope": scope})

    async def user_events(self, request):
        since = request.query.get("since", "0")
        if not since.isdecimal():
            return failure(400, "since must be a non-negative integer")
        ring = self.server.user_ring
        complete = not ring or int(since) >= ring[0]["streamSeq"] - 1
        events = [frame for frame in ring if frame["streamSeq"] > int(since)] if complete else []
        return found({"events": events, "currentSeq": self.server.stream_seq, "catchUpComplete": complete})
