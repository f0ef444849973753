"""One turn of a scripted Claude Code: the messages of its model, block by block, and its one result."""

import asyncio
import json
import os
import uuid

from .claude_calls import Calls
from .claude_disk import now
from .claude_failures import LOGGED_OUT, Failure, final, retried
from .claude_steps import Call, Complain, Cut, Die, Emit, Hold, Limit, Line, LongLine, LoseEnd, Refuse, Say, Think, Together, Wait

USAGE = {"input_tokens": 800, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 400, "output_tokens": 1}
OUTPUT, COST = 40, 0.00408
CUT_OFF = ("Your response above was cut off mid-stream. Resume directly from where it stops — no apology, no recap. If none of it "
           "survived, answer the request from the start.")
INTERRUPTED = "[Request interrupted by user]"
INTERRUPTED_CALL = "[Request interrupted by user for tool use]"
RETRY_SECONDS = 0.5


def identity(prefix):
    return f"{prefix}_{uuid.uuid4().hex[:24]}"


class Turn:
    """`origin` and `wakeup` belong to turns that no person's prompt began."""

    def __init__(self, session, prompts, text=None, origin=None, wakeup=None):
        self.session, self.prompts, self.origin, self.wakeup = session, prompts, origin, wakeup
        self.text = text if text is not None else "\n".join(prompt.text for prompt in prompts)
        self.keys = [prompt.key for prompt in prompts]
        self.folded = []
        self.calls = Calls(session, self)
        self.texts, self.requests, self.reason, self.is_over = [], 0, None, False
        self.loses_end = self.has_spoken = False
        self.block, self.written = None, asyncio.Event()
        self.message = None

    # Stops

    def stop(self, reason):
        """Stops the turn; `reason` is `interrupt`, `now` or `denied`."""
        if self.is_over or self.reason:
            return
        self.reason = reason
        self.calls.withdraw()
        self.task.cancel()

    # The whole

    async def run(self):
        session = self.session
        self.task = asyncio.current_task()
        ended = None
        try:
            waking = {"wakeup_source": self.wakeup} if self.wakeup else {}
            for key in self.keys:
                session.tell_fate(key, "started", **waking)
            self.write_prompt()
            session.status.tell("busy")
            await asyncio.sleep(0.01)
            session.tell_init(self.keys)
            if session.disk.habit("logged_out"):
                raise LOGGED_OUT
            self.steps = session.disk.steps(self.text)
            session.disk.note("turns", {"text": self.text, "session": session.id, "pid": os.getpid(), "uuids": self.keys})
            self.surprise()
            ended = await self.play()
        except Failure as failure:
            ended = self.fail(failure)
        except asyncio.CancelledError:
            if not self.reason:
                raise
            # The task continues; only its work was cancelled.
            self.task.uncancel()
            ended = await self.abort()
        self.is_over = True
        if ended.get("terminal_reason") == "completed":
            await session.ask_hook(self.texts)
        session.failed = ended.get("is_error", False) and not self.reason
        fate = "completed" if ended.get("terminal_reason") == "completed" else "cancelled"
        for key in self.folded:
            session.tell_fate(key, fate)
        if not self.loses_end:
            self.tell_result(ended)
        opening = [key for key in self.keys if key not in self.folded]
        for key in opening:
            session.tell_fate(key, fate)
        session.rest()

    def surprise(self):
        """Emits frames of unknown kinds in every third turn."""
        if self.session.results % 3 == 1:
            self.session.emit({"type": "system", "subtype": "novelty", "weight": 3})
            self.session.emit({"type": "novelty", "novelty": {"weight": [3]}})

    def write_prompt(self):
        transcript, mode = self.session.transcript, self.session.permissions.mode
        for prompt in self.prompts:
            transcript.keep_house("queue-operation", operation="dequeue", timestamp=now())
        if self.origin:
            transcript.prompt([], self.text, mode, promptSource="system", origin=self.origin, turnOrigin="task_notification")
        elif self.wakeup:
            transcript.prompt(self.keys, self.text, mode, promptSource="system", isMeta=True, wakeupSource=self.wakeup, turnOrigin="scheduled")
        else:
            content = self.prompts[0].content if len(self.prompts) == 1 else self.text
            transcript.prompt(self.keys, content, mode)

    def tell_result(self, ended):
        session = self.session
        usage = {"inputTokens": self.requests * 800, "outputTokens": self.requests * OUTPUT, "cacheReadInputTokens": self.requests * 400,
                 "cacheCreationInputTokens": 0, "costUSD": self.requests * COST}
        session.spent += self.requests
        session.cost += self.requests * COST
        session.transcript.keep_house("cost-state", totalCostUSD=session.cost)
        total = {name: value * session.spent / max(1, self.requests) if self.requests else 0 for name, value in usage.items()}
        ours = {"user_message_uuid": self.keys[0], "user_message_uuids": self.keys} if self.keys and not self.wakeup else {}
        frame = {"duration_api_ms": 90, "stop_reason": None, "session_id": session.id, "total_cost_usd": session.cost,
                 "usage": {"input_tokens": usage["inputTokens"], "cache_read_input_tokens": usage["cacheReadInputTokens"],
                           "cache_creation_input_tokens": 0, "output_tokens": usage["outputTokens"]},
                 "modelUsage": {session.model: total}, "permission_denials": self.calls.denials, "is_error": False,
                 "num_turns": max(1, self.requests), "fast_mode_state": "off", "safety_stops": 0, "type": "result", "duration_ms": 120,
                 "queued_turn_count": len(session.queue), "result_index": session.results,
                 "model_usage_since_last_result": {session.model: usage} if self.requests else {}}
        session.results += 1
        session.emit(frame | ours | ({"origin": self.origin} if self.origin else {}) | ended)

    # Ends

    def completed(self):
        return {"subtype": "success", "result": self.texts[-1] if self.texts else "", "stop_reason": "end_turn", "terminal_reason": "completed",
                "api_error_status": None}

    def fail(self, failure):
        self.calls.end_all()
        message = self.new_message() | {"model": "<synthetic>", "stop_reason": "stop_sequence", "content": [{"type": "text", "text": failure.sentence}]}
        key = self.session.transcript.add("assistant", message=message, isApiErrorMessage=True, error=failure.error)
        self.session.emit({"type": "assistant", "message": message, "parent_tool_use_id": None, "uuid": key, "timestamp": now(),
                           "error": failure.error, "is_api_error_message": True, "api_error_status": failure.status})
        return {"subtype": "success", "is_error": True, "result": failure.sentence, "stop_reason": "stop_sequence",
                "terminal_reason": failure.reason, "api_error_status": failure.status}

    async def abort(self):
        """Ends the turn, in a call or in text."""
        session, in_call = self.session, bool(self.calls.unfinished())
        said = self.block["text"] if self.block and self.block["type"] == "text" else ""
        if said:
            self.say_block(self.block, aborted=True)
        self.write_message(None if said else "tool_use", isAbortedMidStream=True)
        await self.calls.abort(self.reason)
        if self.reason != "now":
            words = INTERRUPTED_CALL if in_call else INTERRUPTED
            content = [{"type": "text", "text": words}]
            key = session.transcript.add("user", message={"role": "user", "content": content})
            session.emit({"type": "user", "message": {"role": "user", "content": content}, "parent_tool_use_id": None, "uuid": key, "timestamp": now()})
        reason = "aborted_tools" if in_call else "aborted_streaming"
        if self.reason == "now":
            return {"subtype": "success", "result": said, "terminal_reason": reason, "api_error_status": None}
        return {"subtype": "error_during_execution", "is_error": True, "terminal_reason": reason, "stop_reason": "tool_use" if in_call else None,
                "errors": [f"[ede_diagnostic] result_type=user last_content_type=n/a stop_reason={'tool_use' if in_call else 'null'}"]}

    # Messages of the model

    def new_message(self):
        return {"id": identity("msg"), "type": "message", "role": "assistant", "model": self.session.model, "content": [], "stop_reason": None,
                "stop_sequence": None, "usage": dict(USAGE), "context_management": None}

    async def play(self):
        attempt = overloads = 0
        self.request()
        while True:
            if self.steps and isinstance(self.steps[0], Refuse):
                step = self.steps.pop(0)
                attempt, overloads = attempt + 1, overloads + 1 if step.status == 529 else 0
                await self.refused(step, attempt, overloads)
                if not self.steps:
                    self.steps.append(step)
                continue
            attempt = overloads = 0
            if not self.steps:
                return self.completed()
            has_calls = await self.play_message()
            if has_calls is None:
                continue
            if not has_calls and not self.steps:
                return self.completed()
            if has_calls:
                self.fold()
            self.request()

    def request(self):
        self.session.emit({"type": "system", "subtype": "status", "status": "requesting"} | ({"user_message_uuids": self.keys} if self.keys else {}))

    async def refused(self, step, attempt, overloads):
        session, has_subscription = self.session, self.session.disk.habit("subscription", False)
        word, most = retried(step, has_subscription), int(os.environ.get("CLAUDE_CODE_MAX_RETRIES", "10"))
        if word is None or attempt > most or overloads > 2:
            if step.status == 429 and has_subscription:
                session.emit({"type": "rate_limit_event", "rate_limit_info": {
                    "status": "rejected", "resetsAt": 1_795_453_695, "rateLimitType": "five_hour", "isUsingOverage": False}})
            raise final(step, session.model, has_subscription)
        delay = step.after if step.after is not None else session.disk.habit("retry_seconds", RETRY_SECONDS) * 2 ** (attempt - 1)
        session.emit({"type": "system", "subtype": "api_retry", "attempt": attempt, "max_retries": most, "retry_delay_ms": int(delay * 1000),
                      "error_status": step.status, "error": word})
        await asyncio.sleep(delay)

    async def play_message(self):
        """Plays one message. Returns whether it has calls, or None if its stream was cut, so that the request is repeated."""
        self.message, self.index, self.written = self.new_message(), 0, asyncio.Event()
        self.requests += 1
        self.stream("message_start", message=self.message | {"content": []}, ttft_ms=9)
        has_calls = False
        while self.steps and not has_calls:
            match step := self.steps.pop(0):
                case Say():
                    await self.stream_text(step.chunks, step.every)
                case Think():
                    await self.stream_thoughts(step.text)
                case Call():
                    self.begin_call(step)
                    has_calls = True
                case Together():
                    for call in step.calls:
                        self.begin_call(call)
                        await asyncio.sleep(0.005)
                    has_calls = True
                case Cut():
                    return await self.cut(step)
                case Refuse():
                    self.steps.insert(0, step)
                    break
                case _:
                    await self.do(step)
        # The ask of a call may leave before the end of its message.
        await asyncio.sleep(0.002)
        self.stream("message_delta", delta={"stop_reason": "tool_use" if has_calls else "end_turn", "stop_sequence": None},
                    usage=USAGE | {"output_tokens": OUTPUT})
        self.stream("message_stop")
        self.write_message("tool_use" if has_calls else "end_turn")
        if has_calls:
            await self.calls.all_ended()
        return has_calls

    async def do(self, step):
        session = self.session
        match step:
            case Hold():
                while not session.disk.is_open(step.name):
                    await asyncio.sleep(0.01)
            case Wait():
                await asyncio.sleep(step.seconds)
            case Emit():
                session.emit(step.frame)
            case Line():
                session.output.put(step.text.encode() + b"\n")
            case LongLine():
                session.emit({"type": "novelty", "weight": "x" * step.size})
            case Complain():
                session.complain(*step.lines)
            case Limit():
                session.emit({"type": "rate_limit_event", "rate_limit_info": {
                    "status": step.status, "resetsAt": step.resets_at, "rateLimitType": step.kind, "isUsingOverage": False}})
            case LoseEnd():
                self.loses_end = True
            case Die():
                session.output.flush()
                os._exit(step.code)

    def stream(self, kind, **fields):
        more = {"ttft_ms": fields.pop("ttft_ms"), "user_message_uuids": self.keys} if "ttft_ms" in fields else {}
        self.session.emit({"type": "stream_event", "event": {"type": kind} | fields, "parent_tool_use_id": None, "api_message_id": self.message["id"]} | more)

    async def stream_block(self, block, field, kind, chunks, every, is_whole=True):
        self.block = block | {field: ""}
        self.stream("content_block_start", index=self.index, content_block=dict(self.block))
        for chunk in chunks:
            self.block[field] += chunk
            self.stream("content_block_delta", index=self.index, delta={"type": kind, field: chunk})
            await asyncio.sleep(every)
        if not is_whole:
            return
        if field == "thinking":
            self.stream("content_block_delta", index=self.index, delta={"type": "signature_delta", "signature": "AAAA"})
        self.say_block(self.block)
        self.stream("content_block_stop", index=self.index)
        self.index += 1

    async def stream_text(self, chunks, every, is_whole=True):
        await self.stream_block({"type": "text"}, "text", "text_delta", chunks, every, is_whole)

    async def stream_thoughts(self, text):
        self.session.emit({"type": "system", "subtype": "thinking_tokens", "estimated_tokens": 6, "estimated_tokens_delta": 6})
        await self.stream_block({"type": "thinking", "signature": "AAAA"}, "thinking", "thinking_delta", [text], 0)

    def say_block(self, block, aborted=False, stop=None):
        """Emits a finished block: one frame now, one row when the message is complete."""
        key = str(uuid.uuid4())
        self.message["content"].append((key, block))
        if block["type"] == "text":
            self.texts.append(block["text"])
        self.block = None
        first = {"user_message_uuid": self.keys[0], "user_message_uuids": self.keys} if self.keys and not self.has_spoken else {}
        self.has_spoken = True
        self.session.emit({"type": "assistant", "message": self.message | {"content": [block], "stop_reason": stop}, "parent_tool_use_id": None,
                           "uuid": key, "timestamp": now()} | first | ({"aborted": True} if aborted else {}))

    def write_message(self, stop, **fields):
        if not self.message or self.written.is_set():
            return
        for key, block in self.message["content"]:
            message = self.message | {"content": [block], "stop_reason": stop, "usage": USAGE | {"output_tokens": OUTPUT}}
            self.session.transcript.add("assistant", key=key, message=message, **fields)
        self.block = None
        self.written.set()

    def begin_call(self, step):
        given = self.calls.given(step)
        block = {"type": "tool_use", "id": identity("toolu"), "name": step.name, "input": given}
        self.stream("content_block_start", index=self.index, content_block=block | {"input": {}})
        # The streamed input is the model's own; that of the frame may differ.
        self.stream("content_block_delta", index=self.index, delta={"type": "input_json_delta", "partial_json": json.dumps(step.input)})
        self.say_block(block)
        self.stream("content_block_stop", index=self.index)
        self.index += 1
        self.calls.begin(step, block["id"], given)

    async def cut(self, step):
        if step.chunks:
            # The block is void: the next message repeats it.
            await self.stream_text(step.chunks, 0.01, is_whole=False)
            self.stream("content_block_stop", index=self.index)
            self.stream("message_stop")
            self.block = None
            return None
        self.stream("message_stop")
        if not self.message["content"]:
            # The next attempt is not streamed.
            self.message = self.new_message()
            if self.steps and isinstance(self.steps[0], Say):
                self.say_block({"type": "text", "text": "".join(self.steps.pop(0).chunks)}, stop="end_turn")
            self.write_message("end_turn")
            return False
        self.write_message(None)
        content = [{"type": "text", "text": CUT_OFF}]
        key = self.session.transcript.add("user", message={"role": "user", "content": content}, isMeta=True)
        self.session.emit({"type": "user", "message": {"role": "user", "content": content}, "parent_tool_use_id": None, "uuid": key,
                           "timestamp": now(), "isSynthetic": True})
        return None

    # Prompts that meet it

    def fold(self):
        """Gives prompts that arrived by the end of a call to the model, with its result."""
        session = self.session
        taken = [prompt for prompt in session.queue if prompt.priority in (None, "next") and not prompt.is_command]
        for prompt in taken:
            session.queue.remove(prompt)
            session.tell_fate(prompt.key, "started")
            session.transcript.keep_house("queue-operation", operation="remove", content=prompt.text, reason="absorbed_mid_turn", commandUuid=prompt.key)
            session.transcript.add("attachment", attachment={"type": "queued_command", "prompt": prompt.content, "source_uuid": prompt.key,
                                                             "commandMode": "prompt", "timestamp": now()})
            self.keys.append(prompt.key)
            self.folded.append(prompt.key)
        if taken:
            text = "\n".join(prompt.text for prompt in taken)
            self.steps = session.disk.steps(text)
            session.disk.note("turns", {"text": text, "session": session.id, "pid": os.getpid(), "uuids": [prompt.key for prompt in taken], "folded": True})
