"""The methods of the scripted gateway: each takes (gateway, connection, params) and returns a payload or raises."""

import asyncio
import base64
import uuid

from . import approvals, busy, routines
from .errors import MethodError

PICTURES = (b"\x89PNG\r\n", b"\xff\xd8\xff", b"GIF8", b"RIFF")


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
    if gateway.is_draining:
        raise MethodError("UNAVAILABLE", "gateway is restarting", {"reason": "gateway-restarting"})
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
    session.tell_taken(text)
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
    runs = session.runs
    if run_id := params.get("runId"):
        run = gateway.runs.get(run_id)
        if run is None or run.state != "running":
            return {"ok": True, "aborted": False, "runIds": []}
        if gateway.era.name != "E4" and run.raw_key != params["sessionKey"]:
            raise MethodError("INVALID_REQUEST", "runId does not match sessionKey")
        runs = [run]
    if gateway.era.protocol == 3:
        runs = [run for run in runs if not run.is_own]
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
    payload = {"sessionKey": params["sessionKey"], "sessionId": session.id, "messages": session.history(params.get("limit", 200), most)}
    if era.has_in_flight_run:
        active = list(session.active.values())
        payload["sessionInfo"] = {"key": session.key, "hasActiveRun": bool(active),
                                  "activeRunIds": [run.id for run in active], "status": session.status}
        if active:
            payload["inFlightRun"] = {"runId": active[0].id, "text": active[0].text, "startedAt": active[0].started_at}
    return payload


async def chat_message(gateway, connection, params):
    session = gateway.session(canonical(params["sessionKey"]))
    row = next((row for row in session.rows if row["__openclaw"]["id"] == params["messageId"]), None)
    return {"ok": True, "message": row} if row else {"ok": False, "unavailableReason": "not_found"}


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
         "status": session.status, "hasActiveRun": bool(session.active), "activeRunIds": list(session.active)} for session in gateway.sessions.values()]}


async def subscribe_sessions(gateway, connection, params):
    connection.follows_sessions = True
    if gateway.era.name == "E3":
        connection.event("sessions.changed", {"reason": "cron-bindings-loaded", "ts": gateway.clock.milliseconds()}, numbered=False)
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


async def nothing(gateway, connection, params):
    return {}


HANDLERS = {
    "chat.send": chat_send, "chat.abort": chat_abort, "chat.history": chat_history, "agent.wait": agent_wait,
    "sessions.list": sessions_list, "sessions.subscribe": subscribe_sessions,
    "sessions.unsubscribe": unsubscribe_sessions, "sessions.messages.subscribe": subscribe_messages,
    "sessions.messages.unsubscribe": unsubscribe_messages,
    "chat.message.get": chat_message, "health": nothing, "status": nothing, **approvals.HANDLERS, **routines.HANDLERS,
}
