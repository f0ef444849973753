"""Runs of the scripted gateway. A run is a task of the gateway, not of a connection: it goes on without listeners."""

import asyncio
import uuid

from .eras import merged
from .steps import Approval, Broadcast, Fail, Hold, Retry, Say, Tool, Wait


def assistant_message(text, clock):
    return {"role": "assistant", "content": [{"type": "text", "text": text}], "timestamp": clock.milliseconds()}


class Session:
    """One conversation: its rows as `chat.history` shows them, and its runs."""

    def __init__(self, key, gateway):
        self.key, self.gateway, self.clock = key, gateway, gateway.clock
        self.id = str(uuid.uuid4())
        self.rows = []
        self.active = {}
        self.model = None           # What was patched in; None: the agent's own.
        self.level = None           # As the model.
        self.turn = asyncio.Lock()  # One run of the bridge at a time.
        self.queue, self.tearing_down = [], set()

    def add_row(self, role, content, key=None, **fields):
        number = len(self.rows) + 1
        row = {"role": role, "content": content, "timestamp": self.clock.milliseconds(),
               "__openclaw": {"id": f"m{number}", "seq": number}}
        if key:
            place = row if self.gateway.era.name in ("E2", "E3") else row["__openclaw"]
            place["idempotencyKey"] = key
        row |= {name: value for name, value in fields.items() if value is not None}
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
        self.chat_text, self.earlier = "", ""
        self.steered = []            # Messages that were put into this run.
        self.step, self.in_tool, self.has_begun = 0, False, False
        self.names_question = True
        self.hides_session = False   # A later attempt in the first era has no chat.

    # Text

    @property
    def text(self):
        return self.chat_text

    @property
    def final_text(self):
        return self.chat_text.strip()


    def next_seq(self):
        self.seq += 1
        return self.seq

    def agent(self, stream, data, recipients=None):
        payload = {"runId": self.id, "seq": self.next_seq(), "stream": stream, "ts": self.clock.milliseconds(), "data": data,
                   "agentId": "main"} | ({} if self.hides_session else {"sessionKey": self.key})
        if recipients is None:
            self.gateway.broadcast("agent", payload)
        else:
            self.gateway.send_tool_frame(self, payload)

    def chat(self, state, **fields):
        payload = {"runId": self.id, "sessionKey": self.key, "seq": self.seq, "state": state, **fields}
        if not self.hides_session:
            self.gateway.broadcast("chat", payload)

    def send_text(self, text):
        """One `chat` delta, in the era's form; a frame for each connection where the eras make them differ."""
        if not self.plan.deltas or text == self.sent_text or self.hides_session:
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

    def add_question(self):
        form = self.era.question_key if self.names_question else None
        row = self.session.add_row("user", [{"type": "text", "text": self.user_text}],
                                   form and form.format(self.idempotency_key))
        self.gateway.session_message(self.session, row)

    def write_rows(self, key=None, reason=None, error=None):
        """The stored rows, one for each message."""
        for index in range(self.rows_written, len(self.segments)):
            text = self.segments[index]
            text = text.strip() if not self.era.whole_run_text else text
            if text.strip():
                row = self.session.add_row("assistant", [{"type": "text", "text": text}], key, stopReason=reason, errorMessage=error)
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
            self.gateway.is_free(self.session)

    async def _play(self):
        self.gateway.answered.append((self.user_text, self.session.model))
        self.has_begun = True
        if self.user_text is not None:
            self.add_question()
        if self.era.says_status:
            self.chat("status", phase="starting_model")
        self.start_attempt()
        self.gateway.sessions_changed(self, "start")
        steps = list(self.plan.steps)
        while self.step < len(steps):
            await self._perform(steps[self.step])
            if self.state != "running":
                return
            self.step += 1
            if self.step == len(steps) and self.steered:
                steps += self._take(self.steered.pop(0))
        self._end()

    def _take(self, asked):
        """Another client's message is answered within this run."""
        self.gateway.answered.append((asked.user_text, self.session.model))
        self.write_rows(reason="stop")
        asked.add_question()
        self._new_segment()
        return asked.plan.steps

    def _new_segment(self):
        self.earlier += self.segments[-1].strip()
        self.segments.append("")
        if not self.era.whole_run_text:
            self.sent_text = ""

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
                self._attempt_fails(step.message)
                await asyncio.sleep(step.after)
                self.segments, self.rows_written = [""], 0
                self.hides_session = self.era.name == "E1"
                if self.era.name == "E3":
                    self.earlier = self.chat_text
                else:
                    self.chat_text, self.earlier, self.sent_text = "", "", ""
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
                self.chat_text = merged(self.era, self.chat_text, self.earlier, said, said[len(before):])
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
        self.in_tool = True
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
        self.write_rows(reason="toolUse")
        self.session.add_row("toolResult", [{"type": "text", "text": output}])
        self.in_tool = False
        self._new_segment()

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
        said = {"stopReason": "stop", "aborted": False} if self.era.protocol >= 4 else {}
        ended = {"endedAt": self.clock.milliseconds(), "livenessState": "working", **said, **mutated}
        if said:
            self.agent("lifecycle", {"phase": "finishing", **ended})
        self.agent("lifecycle", {"phase": "end", **ended})
        if self.final_text and not self.plan.text_only_in_history:
            self.send_text(self.final_text)
        self.segments[-1] = self.segments[-1].rstrip()
        self.write_rows(reason="stop")
        self.gateway.happened("before-final", run=self)
        with_message = bool(self.final_text) and not self.plan.text_only_in_history
        message = {"message": assistant_message(self.final_text, self.clock)} if with_message else {}
        usage = {"usage": self.gateway.usage} if self.gateway.usage else {}
        reason = self.gateway.stop_reason
        if self.era.protocol >= 4 or reason != "stop":
            message["stopReason"] = reason
        self.chat("final", **message, **usage)
        self.gateway.remember(self)
        self.gateway.sessions_changed(self, "end")
        self.gateway.happened("final", run=self)

    def _attempt_fails(self, words):
        """The first era ends each attempt with a frame of its own, the third says the error of the last one alone."""
        if self.era.name != "E4":
            self.write_rows(reason="error", error=f"vendor: {words}" if self.era.protocol == 3 else None)
        failed = {"error": words, "livenessState": "blocked", "endedAt": self.clock.milliseconds()}
        self.agent("lifecycle", {"phase": "finishing" if self.era.name == "E3" else "error", **failed})
        if self.era.name == "E1":
            self.chat("error", errorMessage=words)

    async def _fail(self, step):
        kind = {"errorKind": step.kind} if self.era.protocol >= 4 else {}
        self._attempt_fails(step.message)
        if self.era.name == "E3":
            self.agent("lifecycle", {"phase": "error", "error": step.message, "aborted": False, "fallbackExhaustedFailure": True,
                                     "endedAt": self.clock.milliseconds()})
        elif self.era.name != "E1":
            # Who asks hears at once that it is over.
            if self.era.name == "E2":
                self.finished.set()
            await asyncio.sleep(self.gateway.hold_back_seconds)
        self.state, self.error = "error", step.message
        # The second era has no terminal frame of a run that a message began: its session's row says it.
        if self.era.name == "E4" or self.era.name == "E2" and self.user_text is None:
            self.chat("error", errorMessage=step.message, **kind)
        elif self.era.name == "E3":
            words = {"message": assistant_message(f"Error: {step.message}", self.clock)}
            self.chat("error", errorMessage=step.message, **kind, **words)
            self.chat("error", errorMessage=step.message, **words)
        self.gateway.remember(self)
        self.gateway.sessions_changed(self, "error")

    def abort(self, reason="rpc"):
        """`chat` aborted goes out before the caller answers; the agent lets go later."""
        if self.state != "running":
            return False
        self.state = "aborted"
        partial = self.final_text
        self.segments[-1] = self.segments[-1].rstrip()
        self.write_rows(f"{self.idempotency_key}:assistant", "stop" if self.era.name != "E4" else "aborted")
        message = {"message": assistant_message(partial, self.clock)} if partial else {}
        self.chat("aborted", stopReason=reason, **message)
        if self.era.name == "E3":
            self.agent("lifecycle", {"phase": "end", "status": "cancelled", "aborted": True, "stopReason": reason,
                                     "endedAt": self.clock.milliseconds()})
        self.gateway.remember(self)
        self.gateway.run_aborted(self)
        if self.has_begun:
            self.session.tearing_down.add(self.id)
            asyncio.get_running_loop().call_later(self.era.teardown_seconds, self._torn_down, partial)
        self.task.cancel()
        return True

    def _torn_down(self, partial):
        self.session.tearing_down.discard(self.id)
        ended = {"endedAt": self.clock.milliseconds()}
        if self.era.name != "E4" and partial:
            self.session.add_row("assistant", [{"type": "text", "text": self.segments[-1]}], stopReason="aborted")
        if self.era.name == "E3":
            self.agent("lifecycle", {"phase": "error", "error": "This operation was aborted", "aborted": True,
                                     "stopReason": "aborted", **ended})
        else:
            more = {"stopReason": "aborted", "aborted": True} if self.era.name == "E4" else {}
            self.agent("lifecycle", {"phase": "end", **ended, **more})
        self.gateway.is_free(self.session)
