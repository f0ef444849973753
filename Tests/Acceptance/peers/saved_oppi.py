"""The memory of a scripted Oppi server at a moment (peers/saved.py); its directory has the rest."""

import asyncio
import datetime
import json

from .oppi_agent import Message, Run
from .oppi_session import Activation, Turn
from .oppi_steps import Dialog, Plan, Tool, plan_from_json, plan_to_json
from .oppi_tools import Call


def save(server):
    return {"activations": [_activation(server, activation) for activation in server.activations.values()],
            "user_ring": list(server.user_ring), "stream_seq": server.stream_seq,
            "plans": [plan_to_json(plan) for plan in server.plans]}


def _activation(server, activation):
    return {"session": activation.session, "seq": activation.seq, "ring": list(activation.ring), "rules": activation.rules,
            "turns": [[turn.identity, turn.payload, turn.stage] for turn in activation.turns.values()],
            "run": activation.run and _run(server, activation, activation.run)}


def _run(server, activation, run):
    steps = [step for step in [run.current, *run.steps] if step is not None]
    pending = next((frame for _, frame, _ in server.permissions.pending.values() if frame["sessionId"] == activation.id), None)
    dialog = next((frame for frame, future in activation.dialogs.values() if not future.done()), None)
    return {"text": run.text, "steps": plan_to_json(Plan("", steps))["steps"], "stubborn": run.plan.stubborn,
            "message": run.message and vars(run.message), "permission": pending, "dialog": dialog,
            "calls": [call.id for call in run.tools.calls] if isinstance(run.current, Tool) else []}


class GoesOn(Run):
    """A continued run, whose first step had begun."""

    saved = None

    def begin(self):
        if self.saved:
            self.in_loop = True
        else:
            super().begin()

    async def play(self, plan, text):
        if not self.saved:
            return await super().play(plan, text)
        saved, self.saved = self.saved, None
        await self.pick_up(saved)
        while self.steps:
            self.current = self.steps.popleft()
            if await self.perform(self.current) or self.activation.is_over:
                return True
        self.close_message()
        return False

    async def pick_up(self, saved):
        step = self.current = self.steps[0]
        if isinstance(step, Dialog):
            self.steps.popleft()
            future = self.activation.dialogs[saved["dialog"]["id"]][1]
            if step.method != "ask":
                return await self.hear_dialog(step, future)
            # Kept worlds lack the frame of the asking tool, so it ends without one.
            answer = await self.wait(future)
            entry, at = self.entry()
            self.trace({"id": f"result-{entry}", "type": "toolResult", "timestamp": at, "toolCallId": f"call_{entry}", "toolName": "ask",
                        "output": "", "isError": False})
            await self.hear_answer(step, answer)
        elif isinstance(step, Tool):
            self.steps.popleft()
            call = Call(step)
            call.id = saved["calls"][0]
            if saved["permission"]:
                self.tools.permitted(call, await self.wait(self.server.permissions.pending[saved["permission"]["id"]][2]))
                # The decision may come before the bridge listens; its frames would then depend on timing.
                while not self.activation.subscribers:
                    await self.pause(0.01)
                await self.tools.outputs([call])
            else:
                await self.gate(step.hold)
            self.tools.end_all([call])


def load(server, saved, elapsed):
    server.disk.load()
    _move(server.disk, elapsed)
    server.plans = [plan_from_json(entry) for entry in saved["plans"]]
    server.user_ring.extend(saved["user_ring"])
    server.stream_seq = saved["stream_seq"]
    for entry in saved["activations"]:
        session = server.disk.sessions[entry["session"]["id"]]
        session["status"] = entry["session"]["status"]
        # Saved at once: the original server saved the session long ago.
        server.disk.save(session)
        activation = server.activations[session["id"]] = Activation(server, session)
        activation.seq, activation.rules = entry["seq"], entry["rules"]
        activation.ring.extend(entry["ring"])
        for identity, payload, stage in entry["turns"]:
            turn = activation.turns[identity] = Turn(identity, payload, server.clock)
            turn.stage = stage
        if entry["run"]:
            _load_run(server, activation, entry["run"], elapsed)


def _load_run(server, activation, entry, elapsed):
    plan = plan_from_json({"steps": entry["steps"], "stubborn": entry["stubborn"]})
    run = activation.run = GoesOn(activation, entry["text"], plan)
    run.saved = entry
    run.steps.extend(plan.steps)
    if entry["message"]:
        run.message = Message()
        vars(run.message).update(entry["message"])
    loop = asyncio.get_running_loop()
    if frame := entry["permission"]:
        frame |= {"timeoutAt": frame["timeoutAt"] + elapsed}
        server.permissions.pending[frame["id"]] = (activation, frame, loop.create_future())
    if frame := entry["dialog"]:
        activation.dialogs[frame["id"]] = (frame, loop.create_future())
    run.start()


def _move(disk, elapsed):
    """Shifts the times of sessions and their history."""
    for session in disk.sessions.values():
        session |= {name: session[name] + elapsed for name in ("createdAt", "lastActivity")}
        disk.save(session)
    for path in (disk.home / "traces").glob("*.jsonl"):
        events = [json.loads(line) for line in path.read_text().splitlines()]
        for event in events:
            at = datetime.datetime.fromisoformat(event["timestamp"]) + datetime.timedelta(milliseconds=elapsed)
            event["timestamp"] = at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03}Z"
        path.write_text("".join(json.dumps(event) + "\n" for event in events))
