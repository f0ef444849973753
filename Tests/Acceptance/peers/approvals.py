"""Approvals of the scripted gateway: its registry, the methods that list and decide, and the runs that follow a decision."""

import asyncio
import uuid

from .errors import MethodError
from .steps import Plan, Say

ALLOWED = ("allow-once", "allow-always")
ALL = [*ALLOWED, "deny"]


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
        self.reason = None
        self.on_decision = None
        self.settled = asyncio.Event()
        gateway.clock.later(seconds, self.expire)

    @property
    def is_pending(self):
        return self.status == "pending"

    @property
    def kind(self):
        return "plugin" if self.plugin else "exec"

    def request(self):
        late = {"warningText": None, "commandAnalysis": None, "unavailableDecisions": []} if self.gateway.era.protocol >= 4 else {}
        shared = {"agentId": "main", "sessionKey": self.run.key}
        if self.gateway.era.name != "E1":
            shared["allowedDecisions"] = ALL
        if self.plugin:
            return shared | {"title": "Plugin asks", "description": self.command, "severity": "warning",
                             "toolCallId": self.call} | self.more
        return shared | {"command": self.command, "cwd": None, "nodeId": None, "host": "gateway", "security": "allowlist",
                         "ask": "on-miss", "resolvedPath": self.command.split()[0], "systemRunBinding": None, "systemRunPlan": None,
                         "turnSourceChannel": "webchat", "turnSourceTo": None, "turnSourceAccountId": None, "turnSourceThreadId": None,
                         **late} | self.more

    def execute(self):
        """Executes an approved command: the prepared arguments if there are any, else the command; in its folder, on its node."""
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
        told = {"id": self.id, "kind": self.kind, "status": self.status, "decision": self.decision, "reason": self.reason,
                "createdAtMs": self.created_at, "expiresAtMs": self.expires_at}
        return {name: value for name, value in told.items() if value is not None}

    def decide(self, decision, by, status=None):
        self.decision, self.reason = decision, "user"
        self.status = status or ("denied" if decision == "deny" else "allowed")
        self.gateway.broadcast(f"{self.kind}.approval.resolved", {
            "id": self.id, "decision": decision, "resolvedBy": by, "ts": self.gateway.clock.milliseconds(), "request": self.request()})
        self._settle()

    def expire(self, status="expired"):
        """Expires without an event: clients run a timer of their own."""
        if self.is_pending:
            self.status = status
            self._settle()

    def die(self):
        """Cancels the approval of a run that no longer waits for it."""
        if self.is_pending:
            self.status, self.reason, self.on_decision = "cancelled", "gateway-restart", None

    def _settle(self):
        self.settled.set()
        if self.on_decision:
            self.on_decision(self.decision)

    async def wait(self):
        await self.settled.wait()
        return self.decision


def request(gateway, run, step, call):
    """Opens an approval. It stays open even if no client hears of it."""
    approval = ApprovalRecord(gateway, run, step, call)
    gateway.approvals[approval.id] = approval
    gateway.broadcast(f"{approval.kind}.approval.requested", approval.entry())
    gateway.happened("approval", run)
    return approval


def follow_up(gateway, run, step, approval, decision):
    """The run that OpenClaw starts after a detached approval. Its id is predictable, except in E1, where a heartbeat brings it or nothing
    does."""
    if decision in ALLOWED:
        approval.execute()
    steps = step.followup if decision in ALLOWED else [Say(["I was not allowed to do that."])]
    if gateway.era.name == "E1":
        if gateway.has_heartbeats:
            gateway.begins_later(0.4, str(uuid.uuid4()), run, Plan("", steps))
        return
    nonce = f":nonce:{uuid.uuid4().hex[:8]}" if gateway.era.followup_nonce else ""
    gateway.begins_later(0.1, f"exec-approval-followup:{approval.id}{nonce}", run, Plan("", steps))


def run_aborted(gateway, run):
    """Settles a stopped run's approvals in E4; earlier eras leave them open, and an Allow still runs the command."""
    for approval in gateway.approvals.values():
        if approval.run is run and approval.is_pending:
            if gateway.era.name == "E4":
                approval.expire("cancelled")
            else:
                approval.on_decision = lambda decision, approval=approval: decision in ALLOWED and approval.execute()


def forget(gateway):
    """Ends the process. E3 still knows the open approvals."""
    for approval in gateway.approvals.values():
        approval.die()
    if gateway.era.name != "E3":
        gateway.approvals.clear()


# Methods

def _listing(plugin):
    async def handler(gateway, connection, params):
        return [approval.entry() for approval in gateway.approvals.values()
                if approval.plugin == plugin and approval.is_pending]
    return handler


def _unknown(gateway):
    early = gateway.era.protocol == 3
    details = {"reason": "APPROVAL_NOT_FOUND"} if early else None
    return MethodError("INVALID_REQUEST" if early else "APPROVAL_NOT_FOUND", "unknown or expired approval id", details)


def _find(gateway, approval_id):
    found = gateway.approvals.get(approval_id)
    if found is None and gateway.era.name != "E1":
        starts = [entry for name, entry in gateway.approvals.items() if name.startswith(approval_id)]
        found = starts[0] if len(starts) == 1 else None
    if found is None:
        raise _unknown(gateway)
    return found


async def approval_get_exec(gateway, connection, params):
    approval = _find(gateway, params["id"])
    return {"id": approval.id, "commandText": approval.command, "host": "gateway", "expiresAtMs": approval.expires_at,
            "allowedDecisions": ALL}


async def resolve_approval(gateway, connection, params):
    gateway.resolve_calls.append((params["id"], params["decision"]))
    if params["decision"] not in ALL:
        raise MethodError("INVALID_REQUEST", "invalid decision")
    approval = _find(gateway, params["id"])
    if not approval.is_pending:
        if gateway.era.protocol >= 4 and approval.decision == params["decision"]:
            return {"ok": True}
        raise _unknown(gateway)
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


HANDLERS = {
    "exec.approval.list": _listing(False), "plugin.approval.list": _listing(True),
    "exec.approval.get": approval_get_exec, "exec.approval.resolve": resolve_approval,
    "plugin.approval.resolve": resolve_approval, "exec.approval.waitDecision": wait_decision,
    "plugin.approval.waitDecision": wait_decision, "approval.get": approval_get, "approval.resolve": approval_resolve,
}
