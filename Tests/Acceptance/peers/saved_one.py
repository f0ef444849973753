"""What both peers know at a moment, as JSON, so that a bridge of a later version can go on between them.

A kept journal is only half of a world: the relay knows messages and keys, the gateway knows runs and their texts. `save`
writes that half down beside the journal, `load` makes it true again on fresh peers. Moments move with the clock: a journal
made last year is taken up as if its bridge had died a few seconds ago.
"""

import sqlite3

from .methods import ApprovalRecord
from .relay import Asked
from .runs import Run
from .steps import Approval, Plan, Say


def save(stage):
    relay, rules, gateway = stage.relay, stage.relay.rules, stage.gateway
    now = stage.clock.now()
    return {
        "wall": stage.clock.milliseconds(), "era": gateway.era.name,
        "relay": {
            "sessions": sorted(rules.sessions),
            "interactions": {name: now - at for name, at in rules.interactions.items()},
            "messages": list(rules.messages.values()), "tasks": list(rules.tasks.values()),
            "approvals": list(rules.approvals.values()),
            "answers": [[list(identity), body, result] for identity, (body, result) in rules.answers.items()],
            "asked": {name: [session, text] for name, (session, text, _) in stage.phone.asked.items()},
            "events": [[kind, fields] for kind, fields in stage.phone.events],
            "updates": list(relay.updates.values()),
        },
        "gateway": {
            "sessions": [{"key": session.key, "rows": session.rows} for session in gateway.sessions.values()],
            "runs": [_run(run) for run in gateway.runs.values()],
            "starts": dict(gateway.starts), "sends": gateway.sends, "commands": gateway.commands,
        },
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
    """A run in the middle: what it had begun is finished, then come the steps of the plan."""

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


def load(stage, saved):
    """Before the bridge starts. Runs that were going on stand still until `gateway.release("go on")`."""
    _load_relay(stage, saved["relay"])
    gateway = stage.gateway
    for entry in saved["gateway"]["sessions"]:
        gateway.session(entry["key"]).rows = entry["rows"]
    gateway.starts.update(saved["gateway"]["starts"])
    gateway.sends += saved["gateway"]["sends"]
    gateway.commands += [tuple(command) for command in saved["gateway"]["commands"]]
    runs = [_load_run(gateway, entry) for entry in saved["gateway"]["runs"]]

    def owned(what, _):
        """The device's key is not kept: the runs belong to the first client that connects."""
        for run in runs if what == "connected" else ():
            run.owner_device = run.owner_device or gateway.connections[0].device_id
    gateway.hooks.append(owned)
    return {text: Asked(session, name, "", "", 0) for name, (session, text) in saved["relay"]["asked"].items()}


def _load_relay(stage, saved):
    rules = stage.relay.rules
    rules.sessions |= set(saved["sessions"])
    now = stage.clock.now()
    rules.interactions |= {name: now - age for name, age in saved["interactions"].items()}
    rules.messages |= {message["id"]: message for message in saved["messages"]}
    rules.tasks |= {(body["session_id"], body["task_id"]): body for body in saved["tasks"]}
    rules.approvals |= {body["approval_id"]: body for body in saved["approvals"]}
    rules.answers |= {tuple(identity): (body, result) for identity, body, result in saved["answers"]}
    stage.phone.asked |= {name: (session, text, 0) for name, (session, text) in saved["asked"].items()}
    for kind, fields in saved["events"]:
        stage.phone.see(kind, **fields)
    for update in saved["updates"]:
        stage.relay.push(update["type"], update["payload"], update["session_id"], update["interaction_id"],
                         update["update_id"])


def _load_run(gateway, entry):
    session = gateway.session(entry["session"])
    run = GoesOn(gateway, entry["id"], session, entry["raw_key"], Plan("", [Say(["and", " on."])]), None,
                 None if entry["began"] else entry["text"], entry["key"])
    run.saved, run.segments, run.rows_written, run.seq = entry, entry["segments"], entry["rows_written"], entry["seq"]
    run.sent_text, run.calls, run.state = entry["sent_text"], entry["calls"], entry["state"]
    if entry["approval"]:
        step = Approval(entry["approval"]["command"], followup=[Say(["Followed", " up."])])
        run.approval = ApprovalRecord(gateway, run, step, entry["approval"]["call"])
        run.approval.id = entry["approval"]["id"]
        gateway.approvals[run.approval.id] = run.approval
        if entry["state"] != "running":
            # It ended without the decision: a run of its own follows that.
            run.approval.on_decision = lambda decision: gateway.follow_up(run, step, run.approval, decision)
    gateway.runs[run.id] = gateway.dedupe[entry["key"]] = run
    if run.state == "running":
        gateway._start(run)
    else:
        run.finished.set()
    run.user_text = entry["text"]
    return run


# The journal's side

COLUMNS = {"turns": ("kept_at", "closed_at"), "messages": ("received_at",), "calls": ("kept_at",), "tries": ("tried_at",),
           "events": ("happened_at",), "stops": ("asked_at",)}


def move(path, milliseconds):
    """Moves all that happened in a journal of version 1 by so much time. The records are JSON and hold one wall time."""
    import json
    database = sqlite3.connect(path)
    for table, columns in COLUMNS.items():
        for column in columns:
            database.execute(f"UPDATE {table} SET {column} = {column} + ? WHERE {column} IS NOT NULL", (milliseconds,))
    for table, name in (("turns", "record"), ("messages", "opening")):
        rows = database.execute(f"SELECT number, {name} FROM {table} WHERE {name} IS NOT NULL").fetchall()
        for number, blob in rows:
            record = json.loads(blob)
            record["wall"] += milliseconds
            database.execute(f"UPDATE {table} SET {name} = ? WHERE number = ?", (json.dumps(record).encode(), number))
    database.commit()
    database.close()
