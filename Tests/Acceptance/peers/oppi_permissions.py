"""Permissions of the scripted Oppi server (oppi.md#permissions): asked on every socket, answered once."""

import asyncio
import json
import re

from .oppi_rules import HUNDRED_YEARS, short_id


def summary(tool, args):
    """The server's summary for a phone, which is no account of the call (oppi.md#permissions)."""
    if tool == "bash":
        command = args.get("command") or "bash (unknown command)"
        script = re.search(r"\./scripts/(nav|eval|screenshot)\.js(?:\s+(?:\"([^\"]*)\"|'([^']*)'|(\S+)))?", command)
        if not script:
            return command
        given = next((text for text in script.groups()[1:] if text), "")
        return {"nav": f"Navigate: {given.removeprefix('https://')[:80]}", "eval": f"JS: {given[:120]}"}.get(script[1], "Screenshot")
    if tool in ("read", "write", "edit"):
        return f"{tool.capitalize()} {args.get('path', 'unknown file')}"
    return f"{tool}({json.dumps(args, separators=(',', ':'))[:100]})"


class Permissions:
    def __init__(self, server):
        self.server, self.clock = server, server.clock
        self.timeout_seconds = 120.0  # 0: never.
        self.pending = {}             # id -> (activation, frame, future)

    # The agent's side

    def is_allowed(self, activation, tool, args):
        wanted = [tool, args]
        return wanted in activation.rules or wanted in self.server.disk.state["rules"]

    async def ask(self, run, tool, args, reason):
        """Asks for a call. Returns None if it is allowed, else the text of the refusal."""
        activation, expires = run.activation, self.timeout_seconds > 0
        timeout = int(self.timeout_seconds * 1000) if expires else HUNDRED_YEARS
        frame = {"type": "permission_request", "id": short_id(12), "sessionId": activation.id, "tool": tool, "input": args,
                 "displaySummary": summary(tool, args), "reason": reason,
                 "timeoutAt": self.server.milliseconds() + timeout, "expires": expires}
        future = asyncio.get_running_loop().create_future()
        self.pending[frame["id"]] = (activation, frame, future)
        self.server.to_all(frame)
        self.server.happened("permission", session=activation.id, id=frame["id"])
        timer = self.clock.later(self.timeout_seconds, lambda: self._expire(frame["id"])) if expires else None
        try:
            # An abort does not end the wait: the call is decided first, and an aborted one runs nothing.
            refusal = await future
            if refusal is None and run.aborted.is_set():
                return "Command aborted"
            if refusal is None:
                self.execute(frame)
            return refusal
        finally:
            if timer and future.done():
                timer.cancel()

    def execute(self, frame):
        """Executes an approved call: a command by its shell, else the tool with its whole input, not its summary."""
        args = frame["input"]
        does = {"command": args["command"]} if isinstance(args.get("command"), str) else {"input": args}
        self.server.disk.note("executed", {"approval": frame["id"], "tool": frame["tool"], **does, "folder": args.get("cwd"), "node": None})

    def _expire(self, identity):
        entry = self.pending.pop(identity, None)
        if entry:
            self.server.to_all({"type": "permission_expired", "id": identity, "sessionId": entry[0].id, "reason": "Approval timeout"})
            self._settle(entry[2], "Approval timeout")

    @staticmethod
    def _settle(future, outcome):
        if not future.done():
            future.set_result(outcome)

    def session_ended(self, activation):
        """Denies the pending permissions of an ended session; only the dialect head reports it."""
        for identity in [identity for identity, entry in self.pending.items() if entry[0] is activation]:
            _, _, future = self.pending.pop(identity)
            self._settle(future, "Session ended")
            if not self.server.dialect.is_seed:
                self.server.to_all({"type": "permission_cancelled", "id": identity, "sessionId": activation.id})

    # The answer

    def answer(self, identity, action, scope="once", expires=None):
        """Answers a permission. Returns its scope, or None if none was open. No client is notified."""
        entry = self.pending.pop(identity, None)
        if entry is None:
            return None
        activation, frame, future = entry
        if frame["tool"].startswith("policy.") or (action == "deny" and scope == "session"):
            scope = "once"
        if action == "allow" and scope == "session":
            activation.rules.append([frame["tool"], frame["input"]])
        elif action == "allow" and scope == "global":
            self.server.disk.state["rules"].append([frame["tool"], frame["input"]])
            self.server.disk.save_state()
        self.server.disk.note("answers", {"id": identity, "session": activation.id, "action": action, "scope": scope})
        self._settle(future, None if action == "allow" else "Denied by user")
        return scope

    # The lists

    def of_session(self, session_id):
        """The permissions in the form of a subscription: without `streamSeq`."""
        return [frame for activation, frame, _ in self.pending.values() if activation.id == session_id]

    def listed(self, session_id=None, workspace_id=None):
        found = []
        for activation, frame, _ in self.pending.values():
            workspace = activation.session["workspaceId"]
            if session_id in (None, activation.id) and workspace_id in (None, workspace):
                found.append({name: value for name, value in frame.items() if name != "type"} | {"workspaceId": workspace})
        return {"pending": found, "serverTime": self.server.milliseconds()}
