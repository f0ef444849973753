"""The knowledge of a scripted gateway at a moment (peers/saved.py)."""

import asyncio

from .approvals import ApprovalRecord
from .busy import AT_WORK
from .runs import Run
from .steps import Approval, Plan, Say, Wait

PAUSE = 0.5


def save(gateway):
    return {
        "era": gateway.era.name,
        "sessions": [{"key": session.key, "rows": session.rows} for session in gateway.sessions.values()],
        "runs": [_run(run) for run in gateway.runs.values()],
        "starts": dict(gateway.starts), "sends": gateway.sends, "commands": gateway.commands,
    }


def _run(run):
    pending = next((entry for entry in run.gateway.approvals.values() if entry.run is run and entry.is_pending), None)
    return {
        "id": run.id, "session": run.session.key, "raw_key": run.raw_key, "key": run.idempotency_key, "text": run.user_text,
        "state": run.state, "segments": run.segments, "rows_written": run.rows_written, "seq": run.seq,
        "sent_text": run.sent_text, "calls": run.calls, "began": run.session.active.get(run.id) is run,
        "approval": pending and {"id": pending.id, "command": pending.command, "call": pending.call},
    }


class GoesOn(Run):
    """A continued run: it finishes its current work, then plays the steps of the plan."""

    saved = None
    approval = None

    async def _play(self):
        if not self.saved["began"]:
            return await super()._play()
        await self.gateway.gate("go on").wait()
        if self.approval:
            decision = await self.approval.wait()
            if decision in ("allow-once", "allow-always"):
                self.gateway.commands.append((self.approval.id, self.approval.command))
            self.end_tool(self.approval.call, "exec", "done" if decision != "deny" else "Approval denied.")
        for step in self.plan.steps:
            await self._perform(step)
            if self.state != "running":
                return
        self._end()


def load(gateway, saved, elapsed):
    """Restores the gateway. Unfinished runs wait for `gateway.release("go on")`."""
    for entry in saved["sessions"]:
        gateway.session(entry["key"]).rows = [row | {"timestamp": row["timestamp"] + elapsed} for row in entry["rows"]]
    gateway.starts.update(saved["starts"])
    gateway.sends += saved["sends"]
    gateway.commands += [tuple(command) for command in saved["commands"]]
    # Unfinished runs have places of their own. Kept worlds have no usage.
    gateway.lane, gateway.tells_usage = asyncio.Semaphore(len(saved["runs"]) + AT_WORK), False
    runs = [_load_run(gateway, entry) for entry in saved["runs"]]

    def owned(what, _):
        """Gives the runs to the device of the first client, which is the only one."""
        for run in runs if what == "connected" else ():
            run.owner_device = run.owner_device or gateway.connections[0].device_id
    gateway.hooks.append(owned)


def _load_run(gateway, entry):
    session = gateway.session(entry["session"])
    # The pause lets the text leave before the end, even on a busy machine.
    run = GoesOn(gateway, entry["id"], session, entry["raw_key"], Plan("", [Say(["and", " on."]), Wait(PAUSE)]), None,
                 None if entry["began"] else entry["text"], entry["key"])
    run.saved, run.segments, run.rows_written, run.seq = entry, entry["segments"], entry["rows_written"], entry["seq"]
    run.sent_text, run.calls, run.state = entry["sent_text"], entry["calls"], entry["state"]
    said = [text.strip() for text in entry["segments"]]
    run.earlier = "".join(said[:-1])
    run.chat_text = "".join(said if run.era.whole_run_text else said[-1:])
    run.has_begun, run.said = entry["began"], said[-1]
    if entry["approval"]:
        step = Approval(entry["approval"]["command"], followup=[Say(["Followed", " up."]), Wait(PAUSE)])
        run.approval = ApprovalRecord(gateway, run, step, entry["approval"]["call"])
        run.approval.id = entry["approval"]["id"]
        gateway.approvals[run.approval.id] = run.approval
        if entry["state"] != "running":
            # The run ended without the decision, so that a run of its own follows it.
            run.approval.on_decision = lambda decision: gateway.follow_up(run, step, run.approval, decision)
    gateway.runs[run.id] = gateway.dedupe[entry["key"]] = run
    if run.state == "running":
        gateway._start(run)
    else:
        run.finished.set()
    run.user_text = entry["text"]
    return run
