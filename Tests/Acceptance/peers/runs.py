"""Runs of the scripted gateway. A run is a task of the gateway, not of a connection: it continues without listeners."""

import asyncio

from . import approvals
from .speech import Speech, assistant_message, visible
from .steps import Approval, Aside, Broadcast, Fail, Hold, Retry, Say, TimeOver, Tool, Wait
from .tool_frames import ToolFrames

UNBEGUN = "⚠️ Agent failed before reply: the run was aborted."


class Run(Speech, ToolFrames):
    def __init__(self, gateway, run_id, session, raw_key, plan, owner=None, user_text=None, idempotency_key=None):
        super().__init__(gateway, plan)
        self.id, self.session = run_id, session
        self.idempotency_key = idempotency_key or run_id
        self.user_text = user_text
        self.key = session.key if self.era.protocol >= 4 else raw_key
        self.raw_key = raw_key
        self.owner_connection = owner
        self.owner_device = owner.device_id if owner else None
        self.tool_recipients = {owner} if owner else set()
        self.rows_written = 0
        self.seq = 0
        self.state = "running"   # running, ok, error, aborted
        self.error = None
        self.finished = asyncio.Event()
        self.started_at = self.clock.milliseconds()
        self.ended_at = None
        self.calls = 0
        self.task = None
        self.steered = []  # Messages merged into this run.
        self.step, self.in_tool, self.has_begun = 0, False, False
        self.names_question, self.is_own = True, False
        self.answers = [user_text]   # The messages that began it.
        self.is_torn_down = False  # Stopped, and released by the agent.
        self.call_started, self.call_title = 0, ""
        self.named = {"agentId": "main"} if self.era.protocol >= 4 else {}

    # Frames

    def next_seq(self):
        self.seq += 1
        return self.seq

    def agent(self, stream, data, recipients=None):
        payload = {"runId": self.id, "seq": self.next_seq(), "stream": stream, "ts": self.clock.milliseconds(), "data": data}
        payload |= {} if self.hides_session else {"sessionKey": self.key}
        if self.era.protocol >= 4 and not (self.is_torn_down and self.era.name == "E3"):
            payload |= {"agentId": "main", "isHeartbeat": False} | ({"sessionId": self.session.id} if stream == "lifecycle" else {})
        if recipients is None:
            self.gateway.broadcast("agent", payload)
        else:
            self.gateway.send_tool_frame(self, payload | self.session.about("running"))

    def chat(self, state, **fields):
        payload = {"runId": self.id, "sessionKey": self.key, "seq": self.seq, "state": state, **self.named, **fields}
        if not self.hides_session:
            self.gateway.broadcast("chat", payload)

    # Rows

    def add_question(self):
        form = self.era.question_key if self.names_question else None
        self.session.write("user", self.user_text, form and form.format(self.idempotency_key))

    def write_rows(self, key=None, reason=None, error=None):
        """Writes the stored rows, one per message."""
        for index in range(self.rows_written, len(self.segments)):
            text = self.segments[index]
            text = text.strip() if not self.era.whole_run_text else text
            if text.strip():
                self.session.write("assistant", text, key, is_agents=not key, stopReason=reason, errorMessage=error)
        self.rows_written = len(self.segments)

    # Life

    async def execute(self):
        try:
            if self.era.busy == "beside":
                async with self.session.turn:
                    await self._take_place()
            else:
                await self._take_place()
        except asyncio.CancelledError:
            if self.state == "running":
                self.state = "lost"
        finally:
            self.session.active.pop(self.id, None)
            self.ended_at = self.clock.milliseconds()
            self.finished.set()
            self.gateway.is_free(self.session)

    async def _take_place(self):
        """Plays the run in one of a few places; runs that wait for one are silent."""
        self.session.active[self.id] = self
        async with self.gateway.lane:
            await self._play()

    async def _play(self):
        self.gateway.answered += [(text, self.session.model) for text in self.answers]
        self.has_begun = True
        if isinstance(next(iter(self.plan.steps), None), Aside):
            return self._answer_aside(self.plan.steps[0].text)
        if self.user_text is not None:
            self.add_question()
        if self.era.says_status:
            self.chat("status", phase="starting_model")
        self.start_attempt()
        self.session.changed(self, "start", "running")
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
        """Answers another client's message within this run."""
        self.gateway.answered.append((asked.user_text, self.session.model))
        self.write_rows(reason="stop")
        asked.add_question()
        self.begin_message()
        return asked.plan.steps

    def _answer_aside(self, text):
        """Answers beside the conversation, without a lifecycle and without rows."""
        self.gateway.broadcast("chat.side_result", {
            "kind": "btw", "runId": self.id, "sessionKey": self.key, "question": self.user_text, "text": text, "isError": False,
            "ts": self.clock.milliseconds()})
        self.state = "ok"
        self.chat("final")

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
                self.rows_written = 0
                self.begin_attempt()
                self.start_attempt()
            case Fail():
                await self._fail(step)
            case TimeOver():
                self._time_is_over()
            case Hold():
                await self.gateway.gate(step.name).wait()
            case Wait():
                await asyncio.sleep(step.seconds)
            case Broadcast():
                self.gateway.broadcast(step.event, step.payload)

    async def _say(self, step):
        for chunk in step.chunks:
            self.say(chunk)
            self.gateway.happened("text", run=self)
            if step.every:
                await asyncio.sleep(step.every)

    async def _tool(self, step):
        call = self.new_call()
        self.start_tool(call, step.name, step.arguments, next(iter(map(str, step.arguments.values())), ""))
        await asyncio.sleep(step.seconds / 2)
        if self.era.tool_results_always:
            self.tell_progress(call, step.name, step.output[:2])
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
        self.is_silent = self.era.name == "E2"

    # Ends

    def _end(self):
        self.state = "ok"
        self.speak_rest()
        mutated = {"replayInvalid": True} if self.calls else {}
        said = {"stopReason": "stop", "aborted": False} if self.era.protocol >= 4 else {}
        working = {"livenessState": "working", **mutated} if self.era.name != "E1" else {}
        ended = {"endedAt": self.clock.milliseconds(), **said, **working}
        if said:
            self.agent("lifecycle", {"phase": "finishing", **ended})
        self.agent("lifecycle", {"phase": "end", **ended})
        if not self.plan.text_only_in_history:
            self.send_text()
        self.segments[-1] = self.segments[-1].rstrip()
        self.write_rows(reason="stop")
        self.gateway.happened("before-final", run=self)
        with_message = bool(self.final_text) and not self.plan.text_only_in_history
        message = {"message": assistant_message(self.final_text, self.clock)} if with_message else {}
        usage = {"usage": self.gateway.usage} if self.gateway.usage and self.era.name == "E4" else {}
        reason = self.gateway.stop_reason
        if self.era.protocol >= 4 or reason != "stop":
            message["stopReason"] = reason
        if self.era.name == "E3" and not any(map(visible, self.segments)) and not self.plan.is_command:
            self._end_without_words()
        else:
            self.chat("final", **message, **usage)
        self.gateway.remember(self)
        self.session.changed(self, "end", "done")
        self.gateway.happened("final", run=self)

    def _time_is_over(self):
        """Ends a run that took too long; E1 reports nothing."""
        self.state = "ok"
        self.speak_rest()
        if self.era.name == "E2":
            self.session.write("assistant", self.segments[-1], stopReason="aborted", errorMessage="Request was aborted.")
            self.agent("lifecycle", {"phase": "end", "endedAt": self.clock.milliseconds(), "livenessState": "working"})
            self.send_text()
            said = {"message": assistant_message(self.final_text, self.clock)} if self.final_text else {}
            self.chat("final", **said)
            self.session.changed(self, "end", "done")
        elif self.era.protocol >= 4:
            said = {"message": assistant_message(self.final_text, self.clock)} if self.final_text else {}
            self.chat("aborted", stopReason="timeout", **said)
            self.session.changed(self, "end", "timeout")

    def _end_without_words(self):
        """Ends a run whose model returned nothing."""
        self.chat("aborted", stopReason="stop")
        asyncio.get_running_loop().call_later(0.04, lambda: self.chat("error", errorMessage="The agent could not finish."))

    def _attempt_fails(self, words):
        """Fails an attempt. The first era ends each attempt with a frame of its own, the third reports the error of the last one alone."""
        self.speak_rest()
        if self.era.name != "E4":
            self.write_rows(reason="error", error=f"vendor: {words}" if self.era.protocol == 3 else None)
        failed = {"error": words, "endedAt": self.clock.milliseconds()} | ({} if self.era.name == "E1" else {"livenessState": "blocked"})
        failed |= {"aborted": False} if self.era.protocol >= 4 else {}
        self.agent("lifecycle", {"phase": "finishing" if self.era.name == "E3" else "error", **failed})
        if self.era.name == "E1":
            self.send_text()
            self.chat("error", errorMessage=words)

    async def _fail(self, step):
        kind = {"errorKind": step.kind} if self.era.protocol >= 4 else {}
        self._attempt_fails(step.message)
        if self.era.name == "E3":
            self.agent("lifecycle", {"phase": "fallback_step", "fallbackStepType": "fallback_step", "fallbackStepFromModel": "acme/quill-2",
                                     "fallbackStepFromFailureReason": step.kind or "unknown", "fallbackStepChainPosition": 1,
                                     "fallbackStepFromFailureDetail": step.message, "fallbackStepFinalOutcome": "chain_exhausted"})
            self.agent("lifecycle", {"phase": "error", "error": step.message, "aborted": False, "fallbackExhaustedFailure": True,
                                     "livenessState": "blocked", "endedAt": self.clock.milliseconds()})
        elif self.era.name != "E1":
            # `agent.wait` reports the end at once.
            if self.era.name == "E2":
                self.finished.set()
            await asyncio.sleep(self.gateway.hold_back_seconds)
        self.send_text()
        self.state, self.error = "error", step.message
        # The second era has no terminal frame for a run that a message began: the session's row reports it.
        if self.era.name == "E4" or self.era.name == "E2" and self.user_text is None:
            self.chat("error", errorMessage=step.message, **kind)
        elif self.era.name == "E3":
            words = {"message": assistant_message(f"Error: {step.message}", self.clock)}
            self.chat("error", errorMessage=step.message, **kind, **words)
            self.session.changed(self, "error", "failed")
            # Another part of the gateway repeats the error.
            self.seq, self.named = 1, {}
            asyncio.get_running_loop().call_later(0.02, lambda: self.chat("error", errorMessage=step.message, **words))
        self.gateway.remember(self)
        if self.era.name != "E3":
            self.session.changed(self, "error", "failed")

    def abort(self, reason="rpc"):
        """Aborts the run. `chat` aborted leaves before the caller answers; the agent releases the run later."""
        if self.state != "running":
            return False
        self.state = "aborted"
        self.keep_quiet()
        partial = self.final_text
        self.segments[-1] = self.segments[-1].rstrip()
        self.write_rows(f"{self.idempotency_key}:assistant", "stop" if self.era.name != "E4" else "aborted")
        message = {"message": assistant_message(partial, self.clock)} if partial else {}
        self.named = {} if self.era.name == "E3" else self.named
        self.chat("aborted", stopReason=reason, **message)
        if self.era.name == "E3":
            self.agent("lifecycle", {"phase": "end", "status": "cancelled", "aborted": True, "stopReason": reason,
                                     "endedAt": self.clock.milliseconds()})
            self.session.changed(self, "end", "killed")
        self.gateway.remember(self)
        approvals.run_aborted(self.gateway, self)
        if self.has_begun:
            self.session.tearing_down.add(self.id)
            asyncio.get_running_loop().call_later(self.gateway.lets_go_after or self.era.teardown_seconds, self.let_go)
        elif self.era.protocol == 3:
            # A final under the same name, although nothing ran.
            self.chat("final", message=assistant_message(UNBEGUN, self.clock))
        self.task.cancel()
        return True

    def let_go(self):
        """Releases the run after the agent has ended it."""
        if self.id not in self.session.tearing_down:
            return
        self.session.tearing_down.discard(self.id)
        ended = {"endedAt": self.clock.milliseconds()}
        if self.era.name != "E4" and self.segments[-1].strip():
            self.session.write("assistant", self.segments[-1], stopReason="aborted", errorMessage="Request was aborted.")
        if self.era.name == "E1":
            pass  # E1 sends no further frame.
        elif self.era.name == "E3":
            self.seq, self.is_torn_down = 0, True
            self.agent("lifecycle", {"phase": "error", "error": "This operation was aborted", "aborted": True,
                                     "stopReason": "aborted", **ended})
            self.session.changed(self, "error", "killed")
        else:
            more = {"stopReason": "aborted", "aborted": True} if self.era.name == "E4" else {"livenessState": "working"}
            self.agent("lifecycle", {"phase": "end", **ended, **more})
            self.session.changed(self, "end", "killed")
        self.gateway.is_free(self.session)
