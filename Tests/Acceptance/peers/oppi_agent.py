"""The agent of a scripted Oppi server: a run is a task of the session, not of a socket."""

import asyncio
import collections
import datetime
import json
import os

from .oppi_rules import BUFFER_BYTES, ask_answers, short_id
from .oppi_steps import (Burst, Compact, Dialog, Die, Emit, EndSession, Fail, Hold, Parallel, Pause, Refuse, Retry, Say, Tool, Trouble,
                         Wait)
from .oppi_tools import ToolCalls


class Stopped(Exception):
    pass


class Message:
    """The assistant's message while the model writes it."""

    def __init__(self):
        self.blocks = []
        self.streamed = ""
        self.thinking = ""

    @property
    def text(self):
        return "".join(self.blocks)


class Run:
    def __init__(self, activation, text, plan, images=()):
        self.images = images  # Images of its prompt, as data URIs.
        self.activation, self.server, self.clock = activation, activation.server, activation.clock
        self.dialect = activation.dialect
        self.text, self.plan = text, plan
        self.message = None
        self.attempt = 0
        self.is_retrying = self.in_loop = False
        self.steps = collections.deque()
        self.current = None  # The current step.
        self.aborted = asyncio.Event()
        self.is_waiting_to_retry = False  # True between two attempts, but not during a compaction.
        self.tools = ToolCalls(self)
        self.task = None

    def emit(self, kind, /, **fields):
        self.activation.emit(kind, **fields)

    def start(self):
        if not self.activation.is_over:
            self.task = self.server.spawn(self.execute())

    def abort(self):
        if not self.plan.stubborn:
            self.aborted.set()

    def abort_retry(self):
        self.aborted.set()

    def cancel(self):
        if self.task and self.task is not asyncio.current_task():
            self.task.cancel()

    async def pause(self, seconds):
        if self.aborted.is_set():
            raise Stopped
        if seconds <= 0:
            return await asyncio.sleep(0)
        try:
            await asyncio.wait_for(self.aborted.wait(), seconds / self.clock.scale)
        except TimeoutError:
            return
        raise Stopped

    async def wait(self, future):
        """Waits for an answer or the abort."""
        aborted = asyncio.ensure_future(self.aborted.wait())
        try:
            await asyncio.wait({future, aborted}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            aborted.cancel()
        if not future.done():
            raise Stopped
        return future.result()

    async def gate(self, name):
        while not self.server.disk.gate_is_open(name):
            await self.pause(0.01)

    # Life

    async def execute(self):
        try:
            if pause := self.plan.pause:
                await self.before(pause)
            self.begin()
            pending = (self.plan, self.text)
            while pending:
                ended = await self.play(*pending)
                if ended or self.activation.is_over:
                    return
                if pending := self.activation.take_queued("steer", "follow_up"):
                    self.turn("turn_end")
                    self.turn("turn_start")
            self.end_loop()
            self.activation.stop_is_over()
        except Stopped:
            self.stopped()
        finally:
            if self.activation.run is self:
                self.activation.run = None
            self.server.happened("run_ended", session=self.activation.id, text=self.text)

    def stopped(self):
        was_in_loop, self.activation.run = self.in_loop, None
        if not was_in_loop:
            # Between two attempts the status is already `ready`, and no further frame follows.
            return self.emit("retry_end", success=False, attempt=self.attempt, finalError="Retry cancelled")
        self.tools.abort()
        self.close_message(is_partial=True)
        self.end_loop(settles=False)
        self.emit("stop_confirmed", source="user")
        self.activation.set_status("ready")

    async def before(self, pause):
        """Pauses while the session stays ready, so that nothing can be stopped."""
        if pause.compacts:
            self.emit("compaction_start", reason="threshold")
        await self.clock.sleep(pause.seconds)
        if pause.compacts:
            self.emit("compaction_end", aborted=False, willRetry=False, summary="What was said before.", tokensBefore=90_000)

    def begin(self):
        self.in_loop = True
        self.activation.session["status"] = "busy"
        self.emit("agent_start")
        self.activation.agent_started()
        self.activation.state()
        self.turn("turn_start")
        if self.server.has_extension and self.dialect.answers_dialogs:
            self.emit("extension_ui_notification", method="notify", message="Saved.", notifyType="info")
            self.emit("extension_ui_notification", method="setStatus", statusKey="garden", statusText="sowing")
            for method in ("setWidget", "setTitle"):
                self.emit("extension_ui_notification", method=method)

    def turn(self, kind):
        if self.dialect.has_turns:
            self.emit(kind)

    def end_loop(self, settles=True):
        self.in_loop = False
        if self.is_retrying and settles:
            self.is_retrying = False
            self.emit("retry_end", success=True, attempt=self.attempt)
        self.turn("turn_end")
        self.server.happened("end", session=self.activation.id, text=self.text)
        self.emit("agent_end")
        if settles:
            self.activation.run = None
            self.activation.set_status("ready")

    async def play(self, plan, text):
        """Plays the steps of one prompt. Returns whether they ended the loop."""
        self.user_message(text, self.images)
        self.images = ()
        self.steps.extend(plan.steps)
        # Steering messages left by an earlier failure are read before the first words.
        self.steer()
        while self.steps:
            if self.aborted.is_set():
                raise Stopped
            self.current = self.steps.popleft()
            if await self.perform(self.current) or self.activation.is_over:
                return True
        self.close_message()
        return False

    def steer(self):
        """Reads the steering messages between two model calls, and plays their plans."""
        while taken := self.activation.take_queued("steer"):
            plan, text = taken
            self.user_message(text)
            self.steps.extend(plan.steps)

    async def perform(self, step):
        match step:
            case Say():
                await self.say(step)
            case Burst():
                await self.burst(step)
            case Tool():
                await self.tools.perform([step])
            case Parallel():
                await self.tools.perform(step.tools)
            case Dialog():
                await self.dialog(step)
            case Hold():
                await self.gate(step.name)
            case Wait():
                await self.pause(step.seconds)
            case Retry():
                await self.retry(step)
            case Fail():
                return self.fail(step)
            case Trouble():
                self.emit("error", error=step.message)
            case Compact():
                return await self.compact(step)
            case Emit():
                self.activation.send(step.frame)
            case EndSession():
                self.activation.end(step.reason)
            case Die():
                os._exit(137)
            case Pause():
                pass
            case Refuse():
                raise AssertionError("the activation refuses before the run")
        return False

    # Messages

    def entry(self):
        now = datetime.datetime.fromtimestamp(self.server.milliseconds() / 1000, datetime.UTC)
        return short_id(), now.strftime("%Y-%m-%dT%H:%M:%S.") + f"{now.microsecond // 1000:03}Z"

    def trace(self, *events):
        self.server.disk.add_trace(self.activation.id, *events)

    def user_message(self, text, images=()):
        """Records a user's message. Its pictures are in the trace alone, behind its text."""
        entry, at = self.entry()
        session = self.activation.session
        session["messageCount"] += 1
        if not self.dialect.is_seed:
            session.setdefault("firstMessage", text[:100])
        if session["messageCount"] == 1:
            self.trace({"id": short_id(), "type": "system", "timestamp": at, "text": f"Model: {session['model']}"},
                       {"id": short_id(), "type": "system", "timestamp": at, "text": f"Thinking level: {session['thinkingLevel']}"})
        self.trace({"id": entry, "type": "user", "timestamp": at, "text": "\n".join(part for part in (text, *images) if part)})
        self.emit("message_end", role="user", content=text)
        self.activation.state()

    async def say(self, step):
        message = self.message = self.message or Message()
        message.thinking += step.thinking
        if step.block or not message.blocks:
            message.blocks.append("")
        for piece in step.chunks:
            message.blocks[-1] += piece
            message.streamed += piece
            self.emit("text_delta", delta=piece)
            self.server.happened("text", session=self.activation.id, text=self.text)
            await self.pause(step.every)
        message.blocks[-1] += step.unstreamed

    async def burst(self, step):
        self.message = self.message or Message()
        if step.kind == "text_delta":
            self.message.blocks = self.message.blocks or [""]
        lost, patience = step.lost(self.dialect.drops), step.patience
        for number, piece in enumerate(step.pieces()):
            if step.kind == "text_delta":
                self.message.blocks[-1] += piece
                self.message.streamed += piece
            if number in lost:
                self.server.dropped_on_purpose += 1
            else:
                self.emit(step.kind, delta=piece)
            if number % 16 == 0:
                await self.pause(0)
                patience = await self.wait_for_readers(patience)

    async def wait_for_readers(self, patience):
        """Waits for readers that a busy machine delays, and gives up on one that has stopped. Returns the remaining patience."""
        while patience > 0 and any(socket.socket.buffered_bytes > BUFFER_BYTES // 2 for socket in self.server.sockets):
            await self.pause(0.01)
            patience -= 0.01
        return patience

    def close_message(self, calls=(), is_partial=False):
        """Ends the message being written; it is empty if the model wrote nothing."""
        message, self.message = self.message or Message(), None
        if message.thinking:
            self.emit("thinking_delta", delta=message.thinking)
        if self.dialect.is_seed and not is_partial and len(message.text) > len(message.streamed):
            self.emit("text_delta", delta=message.text[len(message.streamed):])
        entry, at = self.entry()
        events = [{"id": f"{entry}-think-0", "type": "thinking", "timestamp": at, "thinking": message.thinking}] if message.thinking else []
        events += [{"id": f"{entry}-text-{number}", "type": "assistant", "timestamp": at, "text": text}
                   for number, text in enumerate(message.blocks) if text]
        events += [{"id": call.id, "type": "toolCall", "timestamp": at, "tool": call.step.name, "args": call.step.args}
                   for call in calls]
        self.trace(*events)
        self.account(message.text)
        self.emit("message_end", role="assistant", content=message.text)
        self.activation.state()

    def account(self, text):
        """Updates the session's totals and the size of the last call."""
        session = self.activation.session
        session["messageCount"] += 1
        session["tokens"]["input"] += 812
        session["tokens"]["output"] += 14
        session["cost"] = round(session["cost"] + 0.0021, 6)
        session["contextTokens"] = 826
        if text:
            session["lastMessage"] = text[:100]

    # Boundaries

    def fail_message(self, message):
        """Fails the message. It keeps its words, and is in the trace like any other."""
        if self.dialect.reports_errors:
            self.emit("error", error=message)
        self.close_message(is_partial=True)

    async def retry(self, step):
        self.fail_message(step.message)
        self.attempt += 1
        self.is_retrying = True
        self.end_loop(settles=False)
        self.activation.set_status("ready")
        self.emit("retry_start", attempt=self.attempt, maxAttempts=3, delayMs=int(step.after * 1000), errorMessage=step.message)
        self.is_waiting_to_retry = True
        await self.pause(step.after)
        self.is_waiting_to_retry = False
        self.begin()

    def fail(self, step):
        self.fail_message(step.message)
        has_retried, self.is_retrying = self.is_retrying, False
        self.end_loop()
        if has_retried:
            self.emit("retry_end", success=False, attempt=self.attempt, finalError=step.message)
        return True

    async def compact(self, step):
        if step.reason == "overflow":
            self.fail_message("context length exceeded")
        else:
            self.close_message()
        self.end_loop(settles=False)
        self.activation.set_status("ready")
        self.emit("compaction_start", reason=step.reason)
        # No command of a client ends the compaction.
        await self.clock.sleep(step.seconds)
        entry, at = self.entry()
        self.trace({"id": entry, "type": "compaction", "timestamp": at, "text": "What was said before."})
        self.emit("compaction_end", aborted=False, willRetry=step.will_retry, summary="What was said before.", tokensBefore=90_000)
        if step.will_retry:
            self.begin()
        else:
            self.activation.run = None
        return not step.will_retry

    async def dialog(self, step):
        """A question of an extension, from one of its tools or hooks."""
        if step.method == "ask" and not self.dialect.is_seed:
            return await self.tools.ask(step)
        if self.message:
            self.close_message()
        _, future = self.activation.ask(step.method, step.fields)
        await self.hear_dialog(step, future)

    async def hear_dialog(self, step, future):
        waiting = future
        if "timeout" in step.fields:
            waiting = asyncio.ensure_future(self.clock.within(future, step.fields["timeout"] / 1000))
        # An abort does not end the wait: the server hangs until an answer comes.
        answer = await waiting
        if self.aborted.is_set():
            raise Stopped
        await self.hear_answer(step, answer)

    async def hear_answer(self, step, answer):
        if step.method == "ask" and answer is not None and "value" in answer:
            return await self.hear_ask(step, answer)
        key = "nothing" if answer is None else "cancelled" if answer.get("cancelled") else answer.get("value")
        if key is None:
            key = "yes" if answer.get("confirmed") is True else "no"
        await self.say(Say([step.says.get(key, f"The answer: {key}")]))

    async def hear_ask(self, step, answer):
        """Gives the extension's reading of the answer to the agent."""
        got = ask_answers(step.fields["questions"], json.loads(answer["value"]))
        self.server.disk.note("asked", got)
        key = json.dumps(got, separators=(",", ":"), ensure_ascii=False)
        await self.say(Say([step.says.get(key, f"The answer: {key}")]))
