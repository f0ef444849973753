"""Models and the scheduler of the scripted gateway (openclaw.md#others)."""

import uuid

from .errors import MethodError
from .scheduler import scheduler_runs

MODELS = [
    {"id": "acme/quill-2", "name": "Quill 2", "provider": "acme", "contextWindow": 200_000, "input": ["text", "image"]},
    {"id": "acme/nib-1", "name": "Nib 1", "provider": "acme", "alias": "nib", "reasoning": True},
]
LEVELS = ("off", "minimal", "low", "medium", "high")
_SCHEDULES = {"at": {"kind", "at"}, "every": {"kind", "everyMs", "anchorMs"}, "cron": {"kind", "expr", "tz", "staggerMs"}}
_NEEDED = {"at": {"at"}, "every": {"everyMs"}, "cron": {"expr"}}
_PAYLOADS = {"systemEvent": "text", "agentTurn": "message"}


def _bad(words):
    raise MethodError("INVALID_REQUEST", words)


async def sessions_patch(gateway, connection, params):
    """Early gateways require admin for everything; E4 accepts write for the model and the level alone (openclaw.md#scopes)."""
    is_model = set(params) <= {"key", "model", "thinkingLevel"}
    needed = "operator.write" if is_model and gateway.era.name == "E4" else "operator.admin"
    if not connection.has(needed):
        details = {"missingScope": needed} if gateway.era.protocol >= 4 else None
        raise MethodError("FORBIDDEN" if details else "INVALID_REQUEST", f"missing scope: {needed}", details)
    gateway.patches.append(params)
    if gateway.patch_answers:
        raise gateway.patch_answers.pop(0)
    session = gateway.session(params["key"].lower())
    if "model" in params:
        model = params["model"]
        if model is not None and model not in [known["id"] for known in gateway.models]:
            _bad(f"model not allowed: {model}")
        session.model = model
    if "thinkingLevel" in params:
        level = params["thinkingLevel"]
        if level is not None and level not in LEVELS:
            _bad(f'thinkingLevel "{level}" is not supported for {session.model or gateway.models[0]["id"]} (use {"|".join(LEVELS)})')
        session.level = level
    row = {"sessionKey": session.key, "reason": "patch", "ts": gateway.clock.milliseconds()}
    if name := session.model or gateway.models[0]["id"]:
        row["modelProvider"], row["model"] = name.split("/", 1)
    for client in list(gateway.connections):
        if client.follows_sessions:
            client.event("sessions.changed", row, numbered=False)
    return {"ok": True, "key": params["key"], "entry": {"key": params["key"], "model": session.model}}


async def models_list(gateway, connection, params):
    return {"models": gateway.models}


def _job(gateway, params):
    name = params.get("id") or params.get("jobId")
    return gateway.jobs.get(name) or _bad(f"unknown cron job id: {name}")


def _check(job):
    schedule, payload = job.get("schedule"), job.get("payload")
    if not isinstance(schedule, dict) or schedule.get("kind") not in _SCHEDULES:
        _bad("invalid cron.add params: at /schedule: must match a schema in anyOf")
    kind = schedule["kind"]
    if not _NEEDED[kind] <= set(schedule) <= _SCHEDULES[kind]:
        _bad("invalid cron.add params: at /schedule: must match a schema in anyOf")
    if not isinstance(payload, dict) or not isinstance(payload.get(_PAYLOADS.get(payload.get("kind"), "")), str):
        _bad("invalid cron.add params: at /payload: must match a schema in anyOf")


async def cron_list(gateway, connection, params):
    jobs = [job for job in gateway.jobs.values() if job["enabled"] or params.get("includeDisabled")]
    return {"jobs": jobs, "total": len(jobs)}


async def cron_status(gateway, connection, params):
    return {"enabled": True, "storePath": "cron/jobs.json", "jobs": len(gateway.jobs), "nextWakeAtMs": None}


async def cron_add(gateway, connection, params):
    _check(params)
    now = gateway.clock.milliseconds()
    job = {"id": str(uuid.uuid4()), "enabled": True, "createdAtMs": now, "updatedAtMs": now, "state": {}} | params
    gateway.jobs[job["id"]] = job
    gateway.broadcast("cron", {"jobId": job["id"], "action": "added"})
    return job


async def cron_update(gateway, connection, params):
    job = _job(gateway, params)
    changed = job | params["patch"]
    _check(changed)
    gateway.jobs[job["id"]] = changed
    gateway.broadcast("cron", {"jobId": job["id"], "action": "updated"})
    return changed


async def cron_remove(gateway, connection, params):
    name = params.get("id") or params.get("jobId")
    removed = gateway.jobs.pop(name, None) is not None
    if removed:
        gateway.broadcast("cron", {"jobId": name, "action": "removed"})
    return {"ok": True, "removed": removed}


async def cron_run(gateway, connection, params):
    job = _job(gateway, params)
    if not job["enabled"] and params.get("mode") != "force":
        return {"ok": True, "ran": False}
    run = f"cron-run-{uuid.uuid4()}"
    words = job["payload"].get("message") or job["payload"].get("text")
    scheduler_runs(gateway, words, f"agent:main:cron:{job['id']}", run, job["id"])
    gateway.job_runs.append({"ts": gateway.clock.milliseconds(), "jobId": job["id"], "action": "finished", "status": "ok"})
    return {"ok": True, "enqueued": True, "runId": run} if gateway.era.name == "E4" else {"ok": True, "ran": True}


async def cron_runs(gateway, connection, params):
    name = params.get("id") or params.get("jobId")
    return {"entries": [entry for entry in gateway.job_runs if name in (None, entry["jobId"])]}


HANDLERS = {
    "sessions.patch": sessions_patch, "models.list": models_list, "cron.list": cron_list, "cron.status": cron_status,
    "cron.add": cron_add, "cron.update": cron_update, "cron.remove": cron_remove, "cron.run": cron_run,
    "cron.runs": cron_runs,
}
