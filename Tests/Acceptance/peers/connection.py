"""One client's socket on the scripted gateway: its identity, and the events it may see (openclaw.md#which-events-reach-whom)."""

import uuid

NEEDS = {"device.pair.requested": "operator.pairing",
         "chat": "operator.read", "agent": "operator.read", "cron": "operator.read",
         "exec.approval.requested": "operator.approvals", "exec.approval.resolved": "operator.approvals",
         "plugin.approval.requested": "operator.approvals", "plugin.approval.resolved": "operator.approvals"}
IMPLIED = {"operator.read": {"operator.read", "operator.write", "operator.admin"},
           "operator.write": {"operator.write", "operator.admin"}}


class Connection:
    """One client's socket after the challenge."""

    def __init__(self, gateway, socket, number):
        self.gateway, self.socket, self.number = gateway, socket, number
        self.nonce = str(uuid.uuid4())
        self.scopes, self.caps = [], []
        self.device_id, self.display_name = None, None
        self.ready = False
        self.seq = 0
        self.follows_sessions, self.followed = False, set()

    def has(self, scope):
        return scope is None or bool(IMPLIED.get(scope, {scope, "operator.admin"}) & set(self.scopes))

    def send(self, frame):
        self.gateway.record(self, "in", frame)
        self.socket.send(frame)

    def event(self, name, payload, numbered=True):
        frame = {"type": "event", "event": name, "payload": payload}
        if numbered:
            frame["seq"] = self.gateway.next_seq(self)
        droppable = name not in ("chat", "agent") or payload.get("state") == "delta"
        if self.socket.buffered_bytes > self.gateway.era.max_buffered:
            if not droppable:
                self.socket.close(1008, "slow consumer")
            return
        self.send(frame)
