"""The relay's decisions about one REST call: envelope, buckets, idempotency, life of messages and tasks (relay.md#bridge-rest-methods,
relay.md#idempotency-and-retry, relay.md#errors, relay.md#rate-limits)."""

import json
import re
import secrets
import string

from .clock import Clock

BUCKETS = {"msg": (30, 10), "delta": (200, 100), "task": (60, 30), "approval": (10, 2), "memory": (60, 20),
           "default": (30, 10)}
BUCKET_OF = {"sendMessage": "msg", "sendMessageEnd": "msg", "sendMessageDelta": "delta", "createTask": "task",
             "updateTask": "task", "finishTask": "task", "requestApproval": "approval"}
FIELDS = {
    "sendMessage": ({"session_id", "text", "idempotency_key"}, {"interaction_id", "attachments", "reply_to", "usage"}),
    "sendMessageDelta": ({"message_id", "delta", "idempotency_key"}, set()),
    "sendMessageEnd": ({"message_id", "idempotency_key"}, {"text", "usage", "finish_reason"}),
    "createTask": ({"session_id", "task_id", "kind"}, {"interaction_id", "status_label", "args", "idempotency_key"}),
    "updateTask": ({"session_id", "task_id"}, {"interaction_id", "status_label", "progress_percent", "partial_result",
                                               "idempotency_key"}),
    "finishTask": ({"session_id", "task_id", "status"}, {"interaction_id", "name", "status_label", "error", "result",
                                                         "idempotency_key"}),
    "requestApproval": ({"session_id", "approval_id", "action", "title", "message", "idempotency_key"},
                        {"interaction_id", "approval_slug", "tool_call_id", "severity", "command", "host",
                         "expires_in_ms"}),
    "createSession": (set(), {"source"}),
    "devices": ({"pubkey"}, {"label"}),
    "notifyToolFile": ({"session_id", "tool", "path", "display_name"}, {"size_bytes", "mime"}),
}
KEY = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
BASE62 = string.ascii_letters + string.digits
MAX_BODY, MAX_TEXT, MAX_TOOL = 1_000_000, 65_536, 102_400
USUAL_LIFE, LONGEST_LIFE = 300_000, 1_800_000  # Lifetimes of an approval, in milliseconds.


def base62(prefix):
    return prefix + "".join(secrets.choice(BASE62) for _ in range(16))


class Refused(Exception):
    def __init__(self, status, code, message="", **fields):
        super().__init__(code)
        self.status, self.code, self.message, self.fields = status, code, message or code.replace("_", " "), fields


class Bucket:
    def __init__(self, capacity, refill, clock):
        self.clock, self.capacity, self.refill = clock, capacity, refill
        self.level, self.at = float(capacity), clock.now()

    def take(self):
        now = self.clock.now()
        self.level = min(self.capacity, self.level + (now - self.at) * self.refill)
        self.at = now
        if self.level < 1:
            return False
        self.level -= 1
        return True

    def headers(self, name):
        wait = (self.capacity - self.level) / self.refill
        return {"X-RateLimit-Limit": self.capacity, "X-RateLimit-Remaining": int(self.level),
                "X-RateLimit-Reset": int(self.clock.wall() + wait) + 1, "X-RateLimit-Reset-After": f"{wait:.3f}",
                "X-RateLimit-Bucket": name, "X-RateLimit-Scope": "installation"}


class Rules:
    def __init__(self, phone, window_seconds=1800.0, clock=None):
        self.phone, self.window_seconds, self.clock = phone, window_seconds, clock or Clock()
        self.buckets = {name: Bucket(*numbers, self.clock) for name, numbers in BUCKETS.items()}
        self.sessions, self.interactions, self.messages, self.tasks, self.approvals = set(), {}, {}, {}, {}
        self.answers = {}       # (scope, key): (body, result)
        self.unknown = set()  # Names of fields that this relay does not know, and refuses.
        self.hourly = None  # Approvals per hour; more never reach the phone.
        self.counted, self.over = [], []  # Times of the approvals; ids of those over the limit.
        self.files = {}  # (session, path): the last announcement.
        self.compares = True  # False to accept any repetition of a key, whatever its body.
        self.conflicts = []  # Different bodies under a repeated key.
        self.rewrites = []  # The same for tasks and approvals, which the documentation does not cover.

    def check(self, method, raw, opening=None):
        """The parsed body; raises `Refused`. `opening` returns the open form of a sealed one."""
        if len(raw) > MAX_BODY:
            raise Refused(413, "payload_too_large")
        try:
            body = json.loads(raw or b"{}")
        except ValueError:
            raise Refused(400, "invalid_request", "the body is not JSON")
        if not isinstance(body, dict):
            raise Refused(400, "invalid_request", "the body is not an object", errors=[_issue("", "invalid_type")])
        body = opening(body) if opening else body
        required, optional = FIELDS[method]
        problems = [_issue(name, "invalid_type", "Required") for name in sorted(required - set(body))]
        problems += [_issue(name, "unrecognized_keys") for name in sorted(set(body) - (required | optional) | set(body) & self.unknown)]
        problems += [_issue(name, "invalid_type", "null") for name, value in body.items() if value is None]
        for name in ("text", "delta", "message", "command", "title", "host"):
            if isinstance(body.get(name), str) and len(body[name].encode()) > MAX_TEXT:
                problems.append(_issue(name, "too_big"))
        for name in ("args", "result", "partial_result"):
            if name in body and len(json.dumps(body[name], ensure_ascii=False).encode()) > MAX_TOOL:
                problems.append(_issue(name, "too_big"))
        for name in ("text", "delta", "message"):
            if body.get(name) == "" and (name != "text" or method == "sendMessage"):
                problems.append(_issue(name, "too_small"))
        key = body.get("idempotency_key")
        if key is not None and not (isinstance(key, str) and KEY.match(key)):
            problems.append(_issue("idempotency_key", "invalid_string"))
        if len(str(body.get("task_id", ""))) > 256:
            problems.append(_issue("task_id", "too_big"))
        if method == "finishTask" and body.get("status") not in ("completed", "failed", "cancelled"):
            problems.append(_issue("status", "invalid_enum_value"))
        life = body.get("expires_in_ms", USUAL_LIFE)
        if type(life) is not int or not 1 <= life <= LONGEST_LIFE:
            problems.append(_issue("expires_in_ms", "too_big" if type(life) is int and life > LONGEST_LIFE else "invalid_type"))
        if method == "requestApproval" and body.get("severity", "medium") not in ("low", "medium", "high", "critical"):
            problems.append(_issue("severity", "invalid_enum_value"))
        if method == "notifyToolFile" and body.get("tool") not in ("read", "edit", "write"):
            problems.append(_issue("tool", "invalid_enum_value"))
        if problems:
            raise Refused(400, "invalid_request", "the body does not fit the schema", errors=problems)
        return body

    def apply(self, method, body, wire=None):
        """Applies a call, and returns its result. Publishes to the phone unless it repeats `wire`, the received body."""
        identity, wire = self._identity(method, body), body if wire is None else wire
        if identity in self.answers:
            earlier, result = self.answers[identity]
            if earlier == wire or not self.compares:
                return result | {"idempotent": True}
            if method.startswith("sendMessage"):
                self.conflicts.append((method, earlier, wire))
                raise Refused(409, "idempotency_conflict")
            self.rewrites.append((method, earlier, wire))
            return result | {"idempotent": True}
        result = getattr(self, f"_{method}")(body)
        if identity:
            self.answers[identity] = (wire, result)
        return result

    @staticmethod
    def _identity(method, body):
        match method:
            case "sendMessage":
                return (method, body["session_id"], body["idempotency_key"])
            case "sendMessageDelta" | "sendMessageEnd":
                return (method, body["message_id"], body["idempotency_key"])
            case "createTask" | "finishTask":
                return (method, body["session_id"], body["task_id"])
            case "updateTask" if "idempotency_key" in body:
                return (method, body["task_id"], body["idempotency_key"])
            case "requestApproval":
                return (method, body["approval_id"])
        return None

    def _place(self, body):
        if body["session_id"] not in self.sessions:
            raise Refused(404, "session_not_found")
        interaction = body.get("interaction_id")
        if interaction is not None:
            self._check_window(interaction)

    def _check_window(self, interaction):
        if interaction is None:
            return
        if interaction not in self.interactions:
            raise Refused(404, "interaction_not_found")
        if self.clock.now() - self.interactions[interaction] > self.window_seconds:
            raise Refused(410, "interaction_expired")

    def _sendMessage(self, body):
        self._place(body)
        message = {"id": base62("msg_"), "session": body["session_id"], "interaction": body.get("interaction_id"),
                   "final": False}
        self.messages[message["id"]] = message
        self.phone.see("message_added", message_id=message["id"], session=message["session"],
                       interaction=message["interaction"], text=body["text"], key=body["idempotency_key"])
        return {"message_id": message["id"]}

    def _open_message(self, body):
        message = self.messages.get(body["message_id"])
        if message is None:
            raise Refused(404, "message_not_found")
        if message["session"] not in self.sessions:
            raise Refused(410, "session_deleted")
        self._check_window(message["interaction"])
        if message["final"]:
            raise Refused(409, "message_finalized")
        return message

    def _sendMessageDelta(self, body):
        message = self._open_message(body)
        self.phone.see("message_delta", message_id=message["id"], delta=body["delta"])
        return {}

    def _sendMessageEnd(self, body):
        message = self._open_message(body)
        message["final"] = True
        self.phone.see("message_finalized", message_id=message["id"], text=body.get("text"),
                       finish_reason=body.get("finish_reason"), usage=body.get("usage"))
        return {"message_id": message["id"]}

    def _createTask(self, body):
        self._place(body)
        self.tasks[(body["session_id"], body["task_id"])] = body
        self.phone.see("task_created", task_id=body["task_id"], session=body["session_id"],
                       interaction=body.get("interaction_id"), body=body)
        return {"task_id": body["task_id"]}

    def _known_task(self, body):
        self._place(body)
        if (body["session_id"], body["task_id"]) not in self.tasks:
            raise Refused(404, "task_not_found")

    def _updateTask(self, body):
        self._known_task(body)
        self.phone.see("task_progress", task_id=body["task_id"], session=body["session_id"],
                       interaction=body.get("interaction_id"), body=body)
        return {}

    def _finishTask(self, body):
        self._known_task(body)
        self.phone.see(f"task_{body['status']}", task_id=body["task_id"], session=body["session_id"],
                       interaction=body.get("interaction_id"), body=body)
        return {}

    def _requestApproval(self, body):
        self._place(body)
        self.approvals[body["approval_id"]] = body
        if self._is_over_the_number():
            self.over.append(body["approval_id"])
            return {"approval_id": body["approval_id"]}
        self.phone.see("approval_requested", approval_id=body["approval_id"], session=body["session_id"],
                       interaction=body.get("interaction_id"), body=body)
        return {"approval_id": body["approval_id"]}

    def _is_over_the_number(self):
        if self.hourly is None:
            return False
        now = self.clock.now()
        self.counted = [at for at in self.counted if now - at < 3600]
        if len(self.counted) >= self.hourly:
            return True
        self.counted.append(now)
        return False

    def _createSession(self, body):
        session = base62("ses_")
        self.sessions.add(session)
        return {"session_id": session}

    def _notifyToolFile(self, body):
        self._place(body)
        self.files[(body["session_id"], body["path"])] = body
        return {}

    def _devices(self, body):
        return {"device_id": base62("dev_"), "pubkey_changed": False}


def _issue(path, code, message="Invalid"):
    return {"path": path, "code": code, "message": message}
