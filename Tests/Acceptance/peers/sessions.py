"""Conversations of the scripted gateway: their rows, in the forms of events and of `chat.history`, and their descriptions."""

import asyncio
import uuid

TRUNCATED = "\n...(truncated)..."
OMITTED = "[chat.history omitted: message too large]"
USAGE = {"input": 11, "output": 7, "cacheRead": 3, "cacheWrite": 0, "totalTokens": 21, "cost": {"total": 0.003}}
NO_USAGE = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0, "cost": {"total": 0}}
SENDER = ('Sender (untrusted metadata):\n```json\n{\n  "label": "Acceptance (gateway-client)",\n  "id": "gateway-client"\n}\n```\n\n'
          "[Mon 2026-11-23 16:37 UTC] ")


def content_of(text):
    return [{"type": "text", "text": text}] if text else []


class Session:
    """One conversation: its rows in the form of `chat.history`, and its runs."""

    def __init__(self, key, gateway):
        self.key, self.gateway, self.clock, self.era = key, gateway, gateway.clock, gateway.era
        self.id = str(uuid.uuid4())
        self.rows = []
        self.active = {}
        self.model = None  # The patched model, or None for the agent's own.
        self.level = None  # The patched level, or None.
        self.turn = asyncio.Lock()  # One run at a time, in eras where a message may run beside another.
        self.queue, self.tearing_down = [], set()
        self.resuming = 0  # Runs that the next process will resume.

    # Rows

    def write(self, role, text, key=None, is_told=True, is_agents=True, **fields):
        """Writes a row, and sends its event to subscribers. `is_agents` is false for the gateway's own rows."""
        number = len(self.rows) + 1
        row = {"role": role, "content": content_of(text), "timestamp": self.clock.milliseconds()}
        if self.era.rows_have_ids:
            row["__openclaw"] = {"id": f"m{number}", "seq": number}
        if role == "user" and self.era.name == "E3":
            row["content"] = text
        if role == "assistant" and self.era.rows_have_ids:
            row |= {"api": "completions", "provider": "acme", "model": "quill-2"} if is_agents else {
                "api": "responses", "provider": "openclaw", "model": "gateway-injected"}
            if self.gateway.tells_usage:
                row["usage"] = (self.gateway.usage or USAGE) if is_agents else NO_USAGE
        if key and self.era.rows_have_ids:
            place = row if self.era.name in ("E2", "E3") else row["__openclaw"]
            place["idempotencyKey"] = key
        if key and key.endswith(":assistant"):
            row["openclawAbort"] = {"aborted": True}
        row |= {name: value for name, value in fields.items() if value is not None}
        self.rows.append(row)
        if is_told:
            self.tell(row)
        return row

    def tell(self, row):
        """Sends the event of a written row, or of an accepted message, which has no place yet."""
        mark = row["__openclaw"] if "__openclaw" in row else {"seq": len(self.rows)}
        shown = row
        if row["role"] == "user" and self.era.name == "E2" and "id" in mark:
            shown = row | {"content": content_of(SENDER + row["content"][0]["text"] if row["content"] else "")}
        if self.era.name == "E3" and "idempotencyKey" in row:
            shown = row | {"__openclaw": mark | {"idempotencyKey": row["idempotencyKey"]}}
        payload = {"sessionKey": self.key, "message": shown, "messageSeq": mark["seq"]} | self.about()
        payload |= {"messageId": mark["id"]} if "id" in mark else {}
        for connection in list(self.gateway.connections):
            if self.key in connection.followed:
                connection.event("session.message", payload, numbered=False)
        if self.era.name == "E2":
            self.say_changed({name: value for name, value in payload.items() if name != "message"} | {"phase": "message"})

    def tell_taken(self, text):
        """Reports an accepted message, as E2 does in a chat that has rows, and again when its run begins."""
        if self.era.name == "E2" and self.rows:
            self.tell({"role": "user", "content": text, "timestamp": self.clock.milliseconds(), "__openclaw": {"seq": len(self.rows)}})

    def history(self, limit, most):
        written = self.rows
        if self.era.questions_late and not any(row["role"] == "assistant" for row in written):
            written = []
        return [shortened(row, most) for row in written[-limit:]]

    # Descriptions

    @property
    def runs(self):
        return [run for run in self.active.values() if run.state == "running"]

    @property
    def status(self):
        return "running" if self.runs or self.resuming else "done"

    def about(self, status=None):
        """Members of a session's events and tool frames, each of which describes it twice."""
        if self.era.name == "E1":
            return {}
        known = {"sessionId": self.id, "kind": "direct", "chatType": "direct", "displayName": "Acceptance", "systemSent": True,
                 "origin": {"label": "Acceptance", "provider": "webchat", "surface": "webchat", "chatType": "direct"},
                 "deliveryContext": {"channel": "webchat"}, "lastChannel": "webchat", "abortedLastRun": status == "killed",
                 "totalTokens": 14, "totalTokensFresh": True, "contextTokens": 200_000, "modelProvider": "acme",
                 "model": (self.model or "quill-2").split("/")[-1], "status": status or self.status}
        if self.era.protocol >= 4:
            known["agentId"] = "main"
        return known | {"session": known | {"key": self.key}}

    def changed(self, run, phase, status=None):
        about = self.about(status)
        if self.era.protocol >= 4:
            # In E3 the flag lags behind the names.
            names = [active.id for active in self.runs]
            about |= {"activeRunIds": names, "hasActiveRun": self.era.name == "E3" or bool(names)}
        if run.is_torn_down:
            about.pop("agentId", None)
        self.say_changed(about | {"sessionKey": self.key, "phase": phase, "runId": run.id})

    def say_changed(self, payload):
        for connection in list(self.gateway.connections):
            if connection.follows_sessions:
                connection.event("sessions.changed", payload | {"ts": self.clock.milliseconds()}, numbered=False)


def shortened(row, most):
    """A shortened row: a long text ends with a mark, and a row still too long is replaced."""
    text = row["content"] if isinstance(row["content"], str) else "".join(block["text"] for block in row["content"])
    note = dict(row.get("__openclaw", {}))
    if len(text) > most:
        text = text[:most] + TRUNCATED
        note["truncated"] = True
    if len(text.encode()) > 128 * 1024:
        text = OMITTED
        note |= {"truncated": True, "reason": "oversized"}
        row = {name: value for name, value in row.items() if name not in ("stopReason", "usage")}
    content = text if isinstance(row["content"], str) else content_of(text)
    return row | {"content": content} | ({"__openclaw": note} if "__openclaw" in row else {})
