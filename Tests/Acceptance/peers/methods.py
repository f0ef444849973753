"""The methods of the scripted gateway: each takes (gateway, connection, params) and returns a payload or raises."""

import asyncio
import base64
import uuid

from . import busy, routines
from .errors import MethodError

TRUNCATED = "\n...(truncated)..."
PICTURES = (b"\x89PNG\r\n", b"\xff\xd8\xff", b"GIF8", b"RIFF")
OMITTED = "[chat.history omitted: message too large]"


def canonical(key):
    key = key.lower()
    return key if key.startswith("agent:") else f"agent:main:{key}"


def attached(gateway, file):
    """(name, type, bytes), by the rules of openclaw.md#chatsend."""
    if not isinstance(file, dict) or not {"mimeType", "fileName", "content"} <= set(file) <= {
            "type", "mimeType", "fileName", "content"}:
        raise MethodError("INVALID_REQUEST", f"bad attachment: {sorted(file) if isinstance(file, dict) else file}")
    try:
        content = base64.b64decode(file["content"], validate=True)
    except ValueError:
        raise MethodError("INVALID_REQUEST", "attachment content must be base64") from None
    limits = gateway.attachment_policy or {"maxBytes": 5_000_000}
    limit = limits["maxBytes"]
    if file["mimeType"].startswith("image/"):
        limit = min(limit, limits.get("maxImageBytes", limit))
    if len(content) > limit or not content:
        raise MethodError("INVALID_REQUEST", f"attachment {file['fileName']}: {len(content)} of {limit} bytes")
    return file["fileName"], file["mimeType"], content


async def chat_send(gateway, connection, params):
    key, text = params["idempotencyKey"], params["message"]
    gateway.sends.append({"key": key, "text": text, "session": params["sessionKey"], "connection": connection.number})
    if not text and not params.get("attachments"):
        raise MethodError("INVALID_REQUEST", "message or attachment required")
    for file in params.get("attachments") or []:
        read = attached(gateway, file)
        if not gateway.era.pictures_alone or read[2].startswith(PICTURES):
            gateway.files.append((key, *read))
    session = gateway.session(canonical(params["sessionKey"]))
    for run in session.active.values():
        run.tool_recipients.add(connection)
    if text.strip().lower() in ("/stop", "stop"):
        stopped = [run.id for run in list(session.active.values()) if run.abort("stop")]
        return {"ok": True, "aborted": bool(stopped), "runIds": stopped}
    known = gateway.dedupe.get(key)
    if known is not None:
        if known.user_text != text:
            gateway.violations.append((f"another text under the key of {known.user_text!r}", params))
        return _repeated(gateway, known)
    equal = next((run for run in session.active.values() if run.user_text == text), None)
    if gateway.era.joins_texts and equal is not None:
        await asyncio.sleep(gateway.joins_after)
        return {"runId": equal.id, "status": "in_flight"}
    return gateway.begin(session, params, connection, busy.takes if busy.is_taken(session) else None)


def _repeated(gateway, run):
    if run.id in run.session.tearing_down:
        return {"runId": run.id, "status": "started"}
    if run.state in ("aborted", "error") and not gateway.era.wait_tells_failures:
        return {"runId": run.id, "status": "ok"}
    match run.state:
        case "running":
            return {"runId": run.id, "status": "in_flight"}
        case "aborted":
            return {"runId": run.id, "status": "timeout", "summary": "aborted", "endedAt": run.ended_at or gateway.clock.milliseconds()}
        case "error":
            raise MethodError("UNAVAILABLE", run.error, payload={"runId": run.id, "status": "error", "summary": run.error})
        case _:
            return {"runId": run.id, "status": "ok"}


async def chat_abort(gateway, connection, params):
    session = gateway.session(canonical(params["sessionKey"]))
    runs = list(session.active.values())
    if run_id := params.get("runId"):
        run = gateway.runs.get(run_id)
        if run is None or run.state != "running":
            return {"ok": True, "aborted": False, "runIds": []}
        if gateway.era.name != "E4" and run.raw_key != params["sessionKey"]:
            raise MethodError("INVALID_REQUEST", "runId does not match sessionKey")
        runs = [run]
    if gateway.era.protocol >= 4:
        for run in runs:
            mine = run.owner_connection is connection or (connection.device_id and run.owner_device == connection.device_id)
            if not mine and "operator.admin" not in connection.scopes:
                raise MethodError("INVALID_REQUEST", "unauthorized")
    stopped = [run.id for run in runs if run.abort()]
    gateway.aborts.append(params)
    return {"ok": True, "aborted": bool(stopped), "runIds": stopped}


async def chat_history(gateway, connection, params):
    era, session = gateway.era, gateway.session(canonical(params["sessionKey"]))
    if not era.takes_length and "maxChars" in params:
        raise MethodError("INVALID_REQUEST", "invalid chat.history params: at root: unexpected property 'maxChars'")
    most = min(params.get("maxChars", 12_000), 500_000)
    written = session.rows
    if era.questions_late and not any(row["role"] == "assistant" for row in written):
        written = []
    rows = [_display(row, most) for row in written[-params.get("limit", 200):]]
    payload = {"sessionKey": params["sessionKey"], "sessionId": session.id, "messages": rows}
    if era.has_in_flight_run:
        active = list(session.active.values())
        payload["sessionInfo"] = {"key": session.key, "hasActiveRun": bool(active),
                                  "activeRunIds": [run.id for run in active], "status": "running" if active else "done"}
        if active:
            payload["inFlightRun"] = {"runId": active[0].id, "text": active[0].text, "startedAt": active[0].started_at}
    return payload


def _display(row, most):
    content = []
    note = dict(row["__openclaw"])
    for block in row["content"]:
        text = block["text"]
        if len(text.encode()) > 128 * 1024:
            content = [{"type": "text", "text": OMITTED}]
            note |= {"truncated": True, "reason": "oversized"}
            break
        if len(text) > most:
            text = text[:most] + TRUNCATED
            note["truncated"] = True
        content.append(block | {"text": text})
    return row | {"content": content, "__openclaw": note}


async def agent_wait(gateway, connection, params):
    run = gateway.runs.get(params["runId"])
    limit = params.get("timeoutMs", 30_000) / 1000
    if run is None:
        await asyncio.sleep(min(limit, 1))
        return {"runId": params["runId"], "status": "timeout"}
    try:
        await asyncio.wait_for(run.finished.wait(), limit)
    except TimeoutError:
        return {"runId": run.id, "status": "timeout"}
    status = "ok" if run.state == "ok" or not gateway.era.wait_tells_failures else "error"
    error = {"error": run.error or run.state} if status == "error" else {}
    return {"runId": run.id, "status": status, "startedAt": run.started_at, "endedAt": run.ended_at, **error}


async def sessions_list(gateway, connection, params):
    return {"sessions": [
        {"key": session.key, "kind": "direct", "sessionId": session.id, "updatedAt": gateway.clock.milliseconds(),
         "status": "running" if session.active else "done", "hasActiveRun": bool(session.active),
         "activeRunIds": list(session.active)} for session in gateway.sessions.values()]}


async def subscribe_sessions(gateway, connection, params):
    connection.follows_sessions = True
    return {"subscribed": True}


async def unsubscribe_sessions(gateway, connection, params):
    connection.follows_sessions = False
    return {"subscribed": False}


async def subscribe_messages(gateway, connection, params):
    connection.followed.add(canonical(params["key"]))
    return {"subscribed": True, "key": params["key"]}


async def unsubscribe_messages(gateway, connection, params):
    connection.followed.discard(canonical(params["key"]))
    return {"subscribed": False, "key": params["key"]}


# Approvals

def _listing(plugin):
    async def handler(gateway, connection, params):
        return [approval.entry() for approval in gateway.approvals.values()
                if approval.plugin == plugin and approval.is_pending]
    return handler


def _find(gateway, approval_id):
    found = gateway.approvals.get(approval_id)
    if found is None and gateway.era.name != "E1":
        starts = [entry for name, entry in gateway.approvals.items() if name.startswith(approval_id)]
        found = starts[0] if len(starts) == 1 else None
    if found is None:
        code = "INVALID_REQUEST" if gateway.era.name in ("E1", "E2") else "APPROVAL_NOT_FOUND"
        raise MethodError(code, "unknown or expired approval id")
    return found


async def approval_get_exec(gateway, connection, params):
    approval = _find(gateway, params["id"])
    return {"id": approval.id, "commandText": approval.command, "host": "gateway", "expiresAtMs": approval.expires_at,
            "allowedDecisions": ["allow-once", "allow-always", "deny"]}


async def resolve_approval(gateway, connection, params):
    gateway.resolve_calls.append((params["id"], params["decision"]))
    if params["decision"] not in ("allow-once", "allow-always", "deny"):
        raise MethodError("INVALID_REQUEST", "invalid decision")
    approval = _find(gateway, params["id"])
    if not approval.is_pending:
        code = "INVALID_REQUEST" if gateway.era.name in ("E1", "E2") else "APPROVAL_NOT_FOUND"
        if gateway.era.protocol >= 4 and approval.decision == params["decision"]:
            return {"ok": True}
        raise MethodError(code, "unknown or expired approval id")
    approval.decide(params["decision"], connection.display_name)
    return {"ok": True}


async def wait_decision(gateway, connection, params):
    approval = _find(gateway, params["id"])
    return {"id": approval.id, "decision": await approval.wait()}


async def approval_get(gateway, connection, params):
    return {"approval": _find(gateway, params["id"]).record()}


async def approval_resolve(gateway, connection, params):
    gateway.resolve_calls.append((params["id"], params["decision"]))
    approval = _find(gateway, params["id"])
    applied = approval.is_pending
    if applied:
        approval.decide(params["decision"], connection.display_name)
    return {"applied": applied, "approval": approval.record()}


async def nothing(gateway, connection, params):
    return {}


HANDLERS = {
    "chat.send": chat_send, "chat.abort": chat_abort, "chat.history": chat_history, "agent.wait": agent_wait,
    "sessions.list": sessions_list, "sessions.subscribe": subscribe_sessions,
    "sessions.unsubscribe": unsubscribe_sessions, "sessions.messages.subscribe": subscribe_messages,
    "sessions.messages.unsubscribe": unsubscribe_messages,
    "exec.approval.list": _listing(False), "plugin.approval.list": _listing(True),
    "exec.approval.get": approval_get_exec, "exec.approval.resolve": resolve_approval,
    "plugin.approval.resolve": resolve_approval, "exec.approval.waitDecision": wait_decision,
    "plugin.approval.waitDecision": wait_decision, "approval.get": approval_get, "approval.resolve": approval_resolve,
    "health": nothing, "status": nothing, **routines.HANDLERS,
}


class ApprovalRecord:
    """One approval in the gateway's registry."""

    def __init__(self, gateway, run, step, call):
        self.gateway, self.run, self.command, self.call = gateway, run, step.command, call
        self.plugin, self.more = step.plugin, step.request
        self.id = ("plugin:" if step.plugin else "") + str(uuid.uuid4())
        self.created_at = self.gateway.clock.milliseconds()
        seconds = gateway.era.approval_seconds if step.expires_seconds is None else step.expires_seconds
        self.expires_at = self.created_at + int(seconds * 1000)
        self.status = "pending"
        self.decision = None
        self.on_decision = None
        self.settled = asyncio.Event()
        gateway.clock.later(seconds, self.expire)

    @property
    def is_pending(self):
        return self.status == "pending"

    def request(self):
        shared = {"agentId": "main", "sessionKey": self.run.key, "allowedDecisions": ["allow-once", "allow-always", "deny"]}
        if self.plugin:
            return shared | {"title": "Plugin asks", "description": self.command, "severity": "warning",
                             "toolCallId": self.call} | self.more
        return shared | {"command": self.command, "cwd": None, "nodeId": None, "host": "gateway", "security": "allowlist",
                         "ask": "on-miss", "resolvedPath": self.command.split()[0], "turnSourceChannel": "webchat",
                         "turnSourceTo": None, "turnSourceAccountId": None, "turnSourceThreadId": None} | self.more

    def execute(self):
        """What runs after a yes: the prepared arguments where there are some, else the command; in its folder, on its node."""
        request = self.request()
        plan = request.get("systemRunPlan") or {}
        arguments = plan.get("argv") or request.get("commandArgv")
        does = {"input": request.get("toolInput")} if self.plugin else {"arguments": arguments} if arguments else {"command": self.command}
        self.gateway.executed.append({"approval": self.id, "tool": request.get("toolName"), **does,
                                      "folder": plan.get("cwd") or request.get("cwd"), "node": request.get("nodeId")})
        self.gateway.commands.append((self.id, self.command))

    def entry(self):
        return {"id": self.id, "request": self.request(), "createdAtMs": self.created_at, "expiresAtMs": self.expires_at}

    def record(self):
        return {"id": self.id, "kind": "plugin" if self.plugin else "exec", "status": self.status,
                "decision": self.decision, "expiresAtMs": self.expires_at}

    def decide(self, decision, by, status=None):
        self.decision = decision
        self.status = status or ("denied" if decision == "deny" else "allowed")
        kind = "plugin" if self.plugin else "exec"
        self.gateway.broadcast(f"{kind}.approval.resolved", {"id": self.id, "decision": decision, "resolvedBy": by,
                                                             "ts": self.gateway.clock.milliseconds()})
        self._settle()

    def expire(self, status="expired"):
        """No event reports it: clients run a timer of their own."""
        if self.is_pending:
            self.status = status
            self._settle()

    def _settle(self):
        self.settled.set()
        if self.on_decision:
            self.on_decision(self.decision)

    async def wait(self):
        await self.settled.wait()
        return self.decision
