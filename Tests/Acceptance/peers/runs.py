"""Runs of the scripted gateway. A run is a task of the gateway, not of a connection: it goes on without listeners."""

import asyncio
import uuid

from .steps import Approval, Broadcast, Fail, Hold, Retry, Say, Tool, Wait


def assistant_message(text, clock):
    return {"role": "assistant", "content": [{"type": "text", "text": text}], "timestamp": clock.milliseconds()}


class Session:
    """One conversation: its rows as `chat.history` shows them, and its runs."""

    def __init__(self, key, clock):
        self.key, self.clock = key, clock
        self.id = str(uuid.uuid4())
        self.rows = []
        self.active = {}
        self.model = None           # What was patched in; None: the agent's own.
        self.turn = asyncio.Lock()  # One run at a time; others queue.

    def add_row(self, role, content, key=None):
        number = len(self.rows) + 1
        row = {"role": role, "content": content, "timestamp": self.clock.milliseconds(),
               "__openclaw": {"id": f"m{number}", "seq": number}}
        if key:
            row["__openclaw"]["idempotencyKey"] = key
        self.rows.append(row)
        return row


class Run:
    def __init__(self, gateway, run_id, session, raw_key, plan, owner=None, user_text=None, idempotency_key=None):
        self.gateway, self.era, self.clock = gateway, gateway.era, gateway.clock
        self.id, self.session, self.plan = run_id, session, plan
        self.idempotency_key = idempotency_key or run_id
        self.user_text = user_text
        self.key = session.key if self.era.protocol >= 4 else raw_key
        self.raw_key = raw_key
        self.owner_connection = owner
        self.owner_device = owner.device_id if owner else None
        self.tool_recipients = {owner} if owner else set()
        self.segments = [""]
        self.rows_written = 0
        self.seq = 0
        self.sent_text = ""
        self.text_receivers = set()
        self.state = "running"   # running, ok, error, aborted
        self.error = None
        self.finished = asyncio.Event()
        self.started_at = self.clock.milliseconds()
        self.ended_at = None
        self.calls = 0
        self.task = None

    # Text

    @property
    def text(self):
        return "".join(self.segments) if self.era.whole_run_text else self.segments[-1]

    @property
    def final_text(self):
        return self.text.strip()

    def next_seq(self):
        self.seq += 1
        return self.seq

    def agent(self, stream, data, recipients=None):
        payload = {"runId": self.id, "seq": self.next_seq(), "stream": stream, "ts": self.clock.milliseconds(), "data": data,
                   "sessionKey": self.key, "agentId": "main"}
        if recipients is None:
            self.gateway.broadcast("agent", payload)
        else:
            self.gateway.send_tool_frame(self, payload)

    def chat(self, state, **fields):
        payload = {"runId": self.id, "sessionKey": self.key, "seq": self.seq, "state": state, **fields}
        self.gateway.broadcast("chat", payload)

    def send_text(self, text):
        """One `chat` delta, in the era's form; a frame for each connection where the eras make them differ."""
        if not self.plan.deltas or text == self.sent_text:
            return
        base = {"runId": self.id, "sessionKey": self.key, "seq": self.seq, "state": "delta"}
        message = assistant_message(text, self.clock)
        if not self.era.delta_text:
            self.gateway.broadcast("chat", base | {"message": message})
        else:
            appends = text.startswith(self.sent_text)
            delta = {"deltaText": text[len(self.sent_text):]} if appends else {"deltaText": text, "replace": True}

            def payload_for(connection):
                may_omit = self.era.may_omit_message and appends and connection in self.text_receivers
                self.text_receivers.add(connection)
                return base | delta | ({} if may_omit else {"message": message})

            self.gateway.broadcast_each("chat", payload_for)
        self.sent_text = text

    def flush_before_boundary(self):
        """Before a tool and before the end the gateway sends what it has, trimmed: an ordinary replacement."""
        if trimmed := self.text.rstrip():
            self.send_text(trimmed)

    def write_rows(self, key=None):
        """The stored rows; joined they are the canonical text (E1: by a blank line)."""
        for index in range(self.rows_written, len(self.segments)):
            text = self.segments[index]
            text = text.strip() if not self.era.whole_run_text else text
            if text.strip():
                row = self.session.add_row("assistant", [{"type": "text", "text": text}], key)
                self.gateway.session_message(self.session, row)
        self.rows_written = len(self.segments)

    # Life

    async def execute(self):
        try:
            async with self.session.turn:
                self.session.active[self.id] = self
                await self._play()
        except asyncio.CancelledError:
            if self.state == "running":
                self.state = "lost"
        finally:
            self.session.active.pop(self.id, None)
            self.ended_at = self.clock.milliseconds()
            self.finished.set()

    async def _play(self):
        self.gateway.answered.append((self.user_text, self.session.model))
        if self.user_text is not None:
            row = self.session.add_row("user", [{"type": "text", "text": self.user_text}], self.idempotency_key)
            self.gateway.session_message(self.session, row)
        if self.era.says_status:
            self.chat("status", phase="starting_model")
        self.start_attempt()
        self.gateway.sessions_changed(self, "start")
        for step in self.plan.steps:
            await self._perform(step)
            if self.state != "running":
                return
        self._end()

    def start_attempt(self):
        self.agent("lifecycle", {"phase": "start", "startedAt": self.clock.milliseconds()})

    async def _perform(self, step):
        match step:
            case Say():
                await self._say(step)
            case Tool():
                await self._tool(step)
            case Approval():
                await self._approval(step)
            case Retry():
                self.agent("lifecycle", {"phase": "error", "error": step.message, "livenessState": "blocked",
                                         "endedAt": self.clock.milliseconds()})
                await asyncio.sleep(step.after)
                self.segments, self.sent_text, self.rows_written = [""], "", 0
                self.text_receivers.clear()
                self.start_attempt()
            case Fail():
                await self._fail(step)
            case Hold():
                await self.gateway.gate(step.name).wait()
            case Wait():
                await asyncio.sleep(step.seconds)
            case Broadcast():
                self.gateway.broadcast(step.event, step.payload)

    async def _say(self, step):
        for chunk in step.chunks:
            before = self.segments[-1].strip()
            self.segments[-1] += chunk
            said = self.segments[-1].strip()
            if said != before:
                self.agent("assistant", {"text": said, "delta": said[len(before):]})
            self.send_text(self.text)
            self.gateway.happened("text", run=self)
            if step.every:
                await asyncio.sleep(step.every)

    def new_call(self):
        self.calls += 1
        return self.plan.call_id or f"call_{self.id[-8:]}_{self.calls}"

    def start_tool(self, call, name, arguments, title):
        self.flush_before_boundary()
        self.agent("tool", {"phase": "start", "name": name, "toolCallId": call, "args": arguments}, "tool")
        for kind in self._item_kinds(name):
            self.agent("item", {"itemId": f"{kind}:{call}", "phase": "start", "kind": kind, "title": f"{name} {title}",
                                "status": "running", "name": name, "toolCallId": call, "startedAt": self.clock.milliseconds()})
        self.gateway.happened("tool", run=self)

    def end_tool(self, call, name, output, status="completed", details=None, extra=None):
        result = {"content": [{"type": "text", "text": output}]}
        if details:
            result["details"] = details
        data = {"phase": "result", "name": name, "toolCallId": call, "isError": status == "failed"}
        if self.era.tool_results_always or details:
            data["result"] = result
        self.agent("tool", data, "tool")
        for kind in self._item_kinds(name):
            ended = "completed" if kind == "tool" and status == "blocked" else status
            self.agent("item", {"itemId": f"{kind}:{call}", "phase": "end", "kind": kind, "title": name, "status": ended,
                                "name": name, "toolCallId": call, "summary": output, "endedAt": self.clock.milliseconds(),
                                **(extra if kind == "command" and extra else {})})
        if self.era.has_items and name == "exec" and status != "blocked":
            self.agent("command_output", {"itemId": f"command:{call}", "phase": "end", "title": name, "toolCallId": call,
                                          "output": output, "status": status, "exitCode": int(status == "failed")})
        self.write_rows()
        self.session.add_row("toolResult", [{"type": "text", "text": output}])
        self.segments.append("")
        if not self.era.whole_run_text:
            self.sent_text = ""

    def _item_kinds(self, name):
        if not self.era.has_items:
            return ()
        return ("tool", "command") if name == "exec" else ("tool",)

    async def _tool(self, step):
        call = self.new_call()
        self.start_tool(call, step.name, step.arguments, next(iter(map(str, step.arguments.values())), ""))
        await asyncio.sleep(step.seconds / 2)
        if self.era.tool_results_always:
            self.agent("tool", {"phase": "update", "name": step.name, "toolCallId": call,
                                "partialResult": {"content": [{"type": "text", "text": step.output[:2]}]}}, "tool")
        await asyncio.sleep(step.seconds / 2)
        self.end_tool(call, step.name, step.output, "failed" if step.failed else "completed")

    # Approvals

    async def _approval(self, step):
        call = self.new_call()
        self.start_tool(call, "exec", {"command": step.command}, step.command)
        approval = self.gateway.request_approval(self, step, call)
        detached = not self.era.inline_approvals if step.detached is None else step.detached
        if detached:
            self._detach(step, call, approval)
        else:
            decision = await approval.wait()
            if decision in ("allow-once", "allow-always"):
                approval.execute()
                self.end_tool(call, "exec", step.output)
            else:
                self.end_tool(call, "exec", "Approval denied." if decision else "Approval timed out.", "failed")

    def _detach(self, step, call, approval):
        slug = approval.id[:8]
        details = {"status": "approval-pending", "approvalId": approval.id, "approvalSlug": slug, "host": "gateway",
                   "command": step.command, "expiresAtMs": approval.expires_at}
        pending = {"approvalId": approval.id, "approvalSlug": slug}
        if self.era.has_items:
            self.agent("approval", {"phase": "requested", "kind": "exec", "status": "pending", "title": "exec",
                                    "itemId": f"command:{call}", "toolCallId": call, "command": step.command,
                                    "host": "gateway", "message": "", **pending})
        self.end_tool(call, "exec", f"Approval required (id {slug}).", "blocked", details, pending)
        approval.on_decision = lambda decision: self.gateway.follow_up(self, step, approval, decision)

    # Ends

    def _end(self):
        self.state = "ok"
        mutated = {"replayInvalid": True} if self.calls else {}
        self.agent("lifecycle", {"phase": "end", "stopReason": "stop", "endedAt": self.clock.milliseconds(), **mutated})
        if self.final_text and not self.plan.text_only_in_history:
            self.send_text(self.final_text if self.era.whole_run_text else self.text.strip())
        self.segments[-1] = self.segments[-1].rstrip()
        self.write_rows()
        self.gateway.happened("before-final", run=self)
        with_message = bool(self.final_text) and not self.plan.text_only_in_history
        message = {"message": assistant_message(self.final_text, self.clock)} if with_message else {}
        usage = {"usage": self.gateway.usage} if self.gateway.usage else {}
        self.chat("final", stopReason=self.gateway.stop_reason, **message, **usage)
        self.gateway.remember(self)
        self.gateway.sessions_changed(self, "end")
        self.gateway.happened("final", run=self)

    async def _fail(self, step):
        kind = {"errorKind": step.kind} if self.era.protocol >= 4 else {}
        self.agent("lifecycle", {"phase": "error", "error": step.message, "livenessState": "blocked",
                                 "endedAt": self.clock.milliseconds(), **kind})
        await asyncio.sleep(self.gateway.hold_back_seconds)
        self.state, self.error = "error", step.message
        self.write_rows()
        # The second era has no terminal frame of a run that a message began: its session's row says it.
        if not (self.era.protocol == 3 and self.era.has_items and self.user_text is not None):
            self.chat("error", errorMessage=step.message, **kind)
        self.gateway.remember(self)
        self.gateway.sessions_changed(self, "error")

    def abort(self, reason="rpc"):
        """`chat` aborted goes out before the caller answers; the lifecycle end follows later."""
        if self.state != "running":
            return False
        self.state = "aborted"
        partial = self.final_text
        self.segments[-1] = self.segments[-1].rstrip()
        self.write_rows(f"{self.idempotency_key}:assistant")
        message = {"message": assistant_message(partial, self.clock)} if partial else {}
        self.chat("aborted", stopReason=reason, **message)
        self.gateway.remember(self)
        self.gateway.run_aborted(self)
        self.task.cancel()
        asyncio.get_running_loop().call_later(0.03, lambda: self.agent(
            "lifecycle", {"phase": "end", "stopReason": "aborted", "aborted": True, "endedAt": self.clock.milliseconds()}))
        return True
