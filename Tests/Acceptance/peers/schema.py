"""Closed parameter schemas of the gateway: unknown fields are refused by name, as by the real one (openclaw.md#frames)."""

CLIENT_IDS = {
    "webchat-ui", "openclaw-control-ui", "webchat", "cli", "gateway-client", "openclaw-macos", "openclaw-ios",
    "openclaw-android", "node-host", "test", "fingerprint", "openclaw-probe", "openclaw-tui",
}
CLIENT_MODES = {"webchat", "cli", "ui", "backend", "node", "probe", "test"}

INT, TEXT, BOOL, LIST, DICT, ANY = (int,), (str,), (bool,), (list,), (dict,), (object,)

CONNECT = {
    "minProtocol": (True, INT), "maxProtocol": (True, INT), "client": (True, DICT), "caps": (False, LIST),
    "commands": (False, LIST), "permissions": (False, DICT), "pathEnv": (False, TEXT), "role": (False, TEXT),
    "scopes": (False, LIST), "device": (False, DICT), "auth": (False, DICT), "locale": (False, TEXT),
    "userAgent": (False, TEXT),
}
CLIENT = {
    "id": (True, TEXT), "displayName": (False, TEXT), "version": (True, TEXT), "platform": (True, TEXT),
    "deviceFamily": (False, TEXT), "modelIdentifier": (False, TEXT), "mode": (True, TEXT), "instanceId": (False, TEXT),
}
DEVICE = {
    "id": (True, TEXT), "publicKey": (True, TEXT), "signature": (True, TEXT), "signedAt": (True, INT), "nonce": (True, TEXT),
}
AUTH = {"token": (False, TEXT), "deviceToken": (False, TEXT), "password": (False, TEXT)}

_SEND = {
    "sessionKey": (True, TEXT), "message": (True, TEXT), "idempotencyKey": (True, TEXT), "sessionId": (False, TEXT),
    "thinking": (False, TEXT), "deliver": (False, BOOL), "attachments": (False, LIST), "timeoutMs": (False, INT),
}
_DECIDE = {"id": (True, TEXT), "decision": (True, TEXT)}

_JOB = {"id": (False, TEXT), "jobId": (False, TEXT)}

# method: (scope, fields, first era that has it)
METHODS = {
    "chat.send": ("operator.write", _SEND, 1),
    "chat.abort": ("operator.write", {"sessionKey": (True, TEXT), "runId": (False, TEXT)}, 1),
    "chat.history": ("operator.read", {"sessionKey": (True, TEXT), "limit": (False, INT), "maxChars": (False, INT)}, 1),
    "chat.message.get": ("operator.read", {"sessionKey": (True, TEXT), "messageId": (True, TEXT), "maxChars": (False, INT)}, 3),
    "agent.wait": ("operator.read", {"runId": (True, TEXT), "timeoutMs": (False, INT)}, 1),
    "sessions.list": ("operator.read", {
        name: (False, ANY) for name in (
            "limit", "offset", "activeMinutes", "includeGlobal", "includeUnknown", "includeDerivedTitles",
            "includeLastMessage", "label", "spawnedBy", "agentId", "search", "archived")}, 1),
    "sessions.subscribe": ("operator.read", {}, 2),
    "sessions.unsubscribe": ("operator.read", {}, 2),
    "sessions.messages.subscribe": ("operator.read", {"key": (True, TEXT)}, 2),
    "sessions.messages.unsubscribe": ("operator.read", {"key": (True, TEXT)}, 2),
    # The required scope depends on the era and on the patched fields: `routines.sessions_patch`.
    "sessions.patch": ("operator.write", {
        "key": (True, TEXT), **{name: (False, ANY) for name in (
            "model", "thinkingLevel", "fastMode", "verboseLevel", "label")}}, 1),
    "models.list": ("operator.read", {}, 1),
    "exec.approval.list": ("operator.approvals", {}, 2),
    "exec.approval.get": ("operator.approvals", {"id": (True, TEXT)}, 2),
    "exec.approval.resolve": ("operator.approvals", _DECIDE, 1),
    "plugin.approval.list": ("operator.approvals", {}, 2),
    "plugin.approval.resolve": ("operator.approvals", _DECIDE, 2),
    "exec.approval.waitDecision": ("operator.approvals", {"id": (True, TEXT)}, 1),
    "plugin.approval.waitDecision": ("operator.approvals", {"id": (True, TEXT)}, 2),
    "approval.get": ("operator.approvals", {"id": (True, TEXT)}, 3),
    "approval.resolve": ("operator.approvals", {"id": (True, TEXT), "kind": (True, TEXT), "decision": (True, TEXT)}, 3),
    "cron.list": ("operator.read", {name: (False, ANY) for name in (
        "includeDisabled", "limit", "offset", "query", "enabled", "sortBy", "sortDir")}, 1),
    "cron.status": ("operator.read", {}, 1),
    "cron.runs": ("operator.read", {**_JOB, "runId": (False, TEXT), "scope": (False, TEXT), "limit": (False, INT),
                                    "status": (False, TEXT)}, 1),
    "cron.add": ("operator.admin", {
        "name": (True, TEXT), "schedule": (True, DICT), "sessionTarget": (True, TEXT), "wakeMode": (True, TEXT),
        "payload": (True, DICT), "delivery": (False, DICT), "enabled": (False, BOOL), "deleteAfterRun": (False, BOOL),
        "agentId": (False, TEXT), "sessionKey": (False, TEXT), "description": (False, TEXT),
        "failureAlert": (False, ANY)}, 1),
    "cron.update": ("operator.admin", {**_JOB, "patch": (True, DICT)}, 1),
    "cron.remove": ("operator.admin", _JOB, 1),
    "cron.run": ("operator.admin", {**_JOB, "mode": (False, TEXT)}, 1),
    "health": (None, {"probe": (False, BOOL)}, 1),
    "status": ("operator.read", {}, 1),
}

# Additional fields of later eras.
LATER_FIELDS = {
    ("chat.send", 3): {"agentId": (False, TEXT), "fastMode": (False, ANY), "queueMode": (False, TEXT)},
    ("chat.abort", 4): {"agentId": (False, TEXT), "preserveSideRuns": (False, BOOL)},
    ("chat.history", 4): {"offset": (False, INT), "messageId": (False, TEXT), "sessionId": (False, TEXT),
                          "cursor": (False, TEXT), "maxBytes": (False, INT), "agentId": (False, TEXT)},
    ("models.list", 3): {"view": (False, TEXT)},
    ("sessions.messages.subscribe", 4): {"includeApprovals": (False, BOOL), "agentId": (False, TEXT)},
}


def violation(params, fields, where="params"):
    """A sentence about the first fault, or None if `params` fits the closed schema."""
    if not isinstance(params, dict):
        return f"invalid {where}: must be object"
    for name in params:
        if name not in fields:
            return f"invalid {where}: at root: unexpected property '{name}'"
    for name, (required, kinds) in fields.items():
        if name not in params:
            if required:
                return f"invalid {where}: at root: must have required property '{name}'"
        elif not isinstance(params[name], kinds) or (kinds is INT and isinstance(params[name], bool)):
            return f"invalid {where}: at /{name}: wrong type"
    return None


def connect_violation(params):
    problem = violation(params, CONNECT, "connect params") or violation(params["client"], CLIENT, "client")
    if problem:
        return problem
    if params["client"]["id"].lower() not in CLIENT_IDS:
        return "invalid connect params: at /client/id: must be equal to one of the allowed values"
    if params["client"]["mode"].lower() not in CLIENT_MODES:
        return "invalid connect params: at /client/mode: must be equal to one of the allowed values"
    if "device" in params and (problem := violation(params["device"], DEVICE, "device")):
        return problem
    if "auth" in params and (problem := violation(params["auth"], AUTH, "auth")):
        return problem
    return None


def fields_of(method, era_number):
    _, fields, _ = METHODS[method]
    for (name, first), more in LATER_FIELDS.items():
        if name == method and era_number >= first:
            fields = fields | more
    return fields
