"""The conversation of a scripted Claude Code: prompts and their queue, turns one by one, questions, and control requests."""

import asyncio
import json
import os
import sys
import uuid
from dataclasses import dataclass

from .claude_background import Background
from .claude_calls import Calls  # noqa: F401 - the room below needs this one first
from .claude_disk import VERSION, Transcript, now
from .claude_permissions import MODES
from .claude_turn import Turn

CAPABILITIES = ["interrupt_receipt_v1", "interrupt_cancel_queued_v1", "interrupt_send_now_v1", "msg_lifecycle_v1", "request_marker_lists_v1",
                "ask_user_question_unanswered_v1", "lifecycle_wakeup_source_v1"]
NEW_FIELDS = ("user_message_uuid", "user_message_uuids", "terminal_reason", "result_index", "model_usage_since_last_result")
COMMANDS = ("/clear", "/compact", "/cost")


@dataclass
class Prompt:
    key: str
    content: object
    priority: str | None = None

    @property
    def text(self):
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.get("text", "") for part in self.content if part.get("type") == "text")

    @property
    def is_command(self):
        return self.text.split(" ")[0] in COMMANDS


class Session:
    def __init__(self, identity, disk, output, permissions, status, options):
        self.id, self.disk, self.output, self.permissions, self.status, self.options = identity, disk, output, permissions, status, options
        self.transcript = Transcript(identity)
        self.model = options.model or "claude-opus-5-5"
        self.is_old = options.era == "old"
        self.queue, self.starting, self.notices, self.turn = [], None, [], None
        self.asks, self.controls, self.background, self.schedules, self.seen = {}, {}, {}, {}, set()
        self.cost, self.spent, self.results, self.failed = self.transcript.cost(), 0, 0, False
        self.is_deaf, self.latched, self.hook, self.state = False, False, None, "idle"
        self.wakes, self.ended = asyncio.Event(), asyncio.get_running_loop().create_future()

    # Saying

    def emit(self, frame):
        if self.is_old:
            if frame["type"] == "command_lifecycle":
                return
            frame = {name: value for name, value in frame.items() if name not in NEW_FIELDS}
        if not frame["type"].startswith("control_"):
            frame = frame | {"session_id": self.id} | ({} if "uuid" in frame else {"uuid": str(uuid.uuid4())})
        self.output.put(json.dumps(frame, separators=(",", ":")).encode() + b"\n")

    def complain(self, *lines):
        for line in lines:
            print(line, file=sys.stderr, flush=True)

    def tell_fate(self, key, state, **fields):
        self.emit({"type": "command_lifecycle", "command_uuid": key, "state": state} | fields)

    def tell_state(self, state):
        if state != self.state:
            self.state = state
            if os.environ.get("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS") == "1":
                self.emit({"type": "system", "subtype": "session_state_changed", "state": state})

    def tell_init(self, keys):
        ours = {"user_message_uuids": keys} if keys else {}
        self.emit({"type": "system", "subtype": "init", "cwd": os.getcwd(), "session_id": self.id, "tools": ["Task", "Bash", "Edit", "Write", "Read"],
                   "mcp_servers": [], "model": self.model, "permissionMode": self.permissions.mode, "slash_commands": ["clear", "compact"],
                   "apiKeySource": "none", "claude_code_version": VERSION, "capabilities": [] if self.is_old else CAPABILITIES} | ours)

    def tell_background(self):
        self.emit({"type": "system", "subtype": "background_tasks_changed", "tasks": [task.entry for task in self.background.values()]})

    # Hearing

    def take(self, line):
        if not line.strip():
            return
        try:
            frame = json.loads(line)
            if not isinstance(frame, dict):
                raise ValueError("no object")
            if frame.get("type") == "user" and (frame.get("message") or {}).get("role") != "user":
                raise ValueError(f"Expected message role 'user', got '{(frame.get('message') or {}).get('role')}'")
        except ValueError as error:
            self.complain(f"Error parsing streaming input line: {line[:200]!r}: {error}")
            return self.leave(1)
        match frame.get("type"):
            case "user":
                self.take_prompt(Prompt(frame.get("uuid") or str(uuid.uuid4()), frame["message"]["content"], frame.get("priority")))
            case "control_request":
                self.control(frame.get("request_id"), frame.get("request") or {})
            case "control_response":
                self.take_answer(frame.get("response") or {})

    def take_prompt(self, prompt):
        if prompt.key in self.seen:
            return
        self.seen.add(prompt.key)
        if self.transcript.answered(prompt.key):
            return self.tell_fate(prompt.key, "completed")
        if refusal := self.disk.habit("refuses"):
            return self.tell_fate(prompt.key, refusal)
        self.tell_state("running" if self.state == "idle" else self.state)
        self.tell_fate(prompt.key, "queued")
        self.transcript.keep_house("queue-operation", operation="enqueue", timestamp=now(), content=prompt.text)
        if self.turn is None and self.starting is None and not self.queue:
            self.starting = prompt
        else:
            self.queue.append(prompt)
            if self.turn and prompt.priority == "now":
                self.turn.stop("now")
        self.wakes.set()

    def take_answer(self, response):
        self.disk.note("answers", response)
        waiting = self.asks.pop(response.get("request_id"), None) or self.controls.pop(response.get("request_id"), None)
        if waiting and not waiting.done():
            waiting.set_result(response)

    def hear_end(self):
        """Handles the end of input: questions go unanswered, and everything else runs to its end."""
        self.is_deaf = True
        for waiting in [*self.asks.values(), *self.controls.values()]:
            if not waiting.done():
                waiting.set_result(None)
        self.asks, self.controls = {}, {}
        self.wakes.set()

    # Asking

    async def ask(self, state, detail, agent):
        """The answer, or None if the stream was closed."""
        state.request = identity = str(uuid.uuid4())
        self.asks[identity] = waiting = asyncio.get_running_loop().create_future()
        given = state.step.input | {"replace_all": False} if state.step.name == "Edit" else state.given
        description = given.get("description") or given.get("file_path") or given.get("url")
        self.tell_state("requires_action")
        self.status.tell("waiting")
        self.emit({"type": "control_request", "request_id": identity, "request": {
            "subtype": "can_use_tool", "tool_name": state.step.name, "display_name": state.step.name, "input": given} | (
                {"description": description} if description else {}) | detail | {"tool_use_id": state.id} | ({"agent_id": agent} if agent else {})})
        try:
            answer = await waiting
        finally:
            state.request = None
            self.asks.pop(identity, None)
            if not self.asks and (self.turn or self.background):
                self.tell_state("running")
                self.status.tell("busy")
        return answer

    def withdraw(self, identity):
        if waiting := self.asks.pop(identity, None):
            self.emit({"type": "control_cancel_request", "request_id": identity})
            waiting.cancel()

    async def ask_hook(self, texts):
        """Calls the hook of a turn's end."""
        if not self.hook or self.is_deaf:
            return
        identity = str(uuid.uuid4())
        self.controls[identity] = waiting = asyncio.get_running_loop().create_future()
        self.emit({"type": "control_request", "request_id": identity, "request": {"subtype": "hook_callback", "callback_id": self.hook, "input": {
            "session_id": self.id, "transcript_path": str(self.transcript.path), "cwd": os.getcwd(), "permission_mode": self.permissions.mode,
            "hook_event_name": "Stop", "stop_hook_active": False, "last_assistant_message": texts[-1] if texts else "",
            "background_tasks": [task.hook_entry for task in self.background.values()],
            "session_crons": [schedule.entry for schedule in self.schedules.values()]}}})
        await waiting

    # Turns

    def notify(self, text, origin):
        self.notices.append((text, origin, None))
        self.wakes.set()

    def wake_up(self, text, wakeup):
        self.notices.append((text, None, wakeup))
        self.wakes.set()

    async def work(self):
        """Runs turns until the client is gone and no work is left."""
        if os.environ.get("CLAUDE_CODE_RESUME_INTERRUPTED_TURN") == "1" and self.transcript.needs_mending():
            self.resumed = self.transcript.last_prompt()
            self.notices.append(("Continue from where you left off.", None, None))
        elif self.options.resume and self.transcript.needs_mending():
            content = [{"type": "text", "text": "No response requested."}]
            self.transcript.add("assistant", message={"role": "assistant", "model": "<synthetic>", "content": content, "stop_reason": "stop_sequence"})
        while True:
            if turn := self.next_turn():
                await self.run_turn(turn)
                continue
            if self.is_deaf and not self.background:
                return self.leave(1 if self.failed else 0)
            await self.wakes.wait()
            self.wakes.clear()

    def rest(self):
        """Settles the session after a turn."""
        self.turn = None
        if not self.queue and not self.notices:
            self.status.tell("idle")
            if not any(task.kind == "local_agent" for task in self.background.values()):
                self.tell_state("idle")

    def next_turn(self):
        """Merges all waiting prompts into one turn, except a slash command and one that cut off the previous turn."""
        if self.starting:
            prompts, self.starting = [self.starting], None
            return Turn(self, prompts)
        if self.notices and not self.queue or self.notices and not self.disk.habit("joins_notices"):
            text, origin, wakeup = self.notices.pop(0)
            made = Turn(self, [], text, origin, wakeup)
            made.keys = [str(uuid.uuid4())] if wakeup else [self.resumed] if not origin else []
            return made
        if not self.queue:
            return None
        urgent = [prompt for prompt in self.queue if prompt.priority == "now"]
        prompts = urgent or ([self.queue[0]] if self.queue[0].is_command else [prompt for prompt in self.queue if not prompt.is_command])
        self.queue = [prompt for prompt in self.queue if prompt not in prompts]
        if self.notices:
            _, origin, _ = self.notices.pop(0)
            return Turn(self, prompts, origin=origin)
        return Turn(self, prompts)

    async def run_turn(self, turn):
        self.turn = turn
        self.tell_state("running")
        if turn.prompts and turn.prompts[0].is_command:
            self.command(turn)
        else:
            running = asyncio.create_task(turn.run())
            if self.latched:
                self.latched = False
                asyncio.get_running_loop().call_soon(turn.stop, "interrupt")
            await running
        self.rest()

    def command(self, turn):
        """Runs a slash command without the model."""
        key, name = turn.keys[0], turn.text.split(" ")[0]
        self.tell_fate(key, "started")
        said = ""
        if name == "/compact":
            for status in ("compacting", None):
                self.emit({"type": "system", "subtype": "status", "status": status})
            self.tell_init(turn.keys)
            self.emit({"type": "system", "subtype": "compact_boundary", "compact_metadata": {"trigger": "manual", "pre_tokens": 2000, "post_tokens": 500}})
        elif name == "/cost":
            self.tell_init(turn.keys)
            said = f"Total cost: ${self.cost:.4f}"
            self.emit({"type": "assistant", "message": turn.new_message() | {"model": "<synthetic>", "content": [{"type": "text", "text": said}]},
                       "parent_tool_use_id": None, "timestamp": now(), "local_command_source": "cost"})
        elif name == "/clear":
            self.emit({"type": "conversation_reset", "new_conversation_id": str(uuid.uuid4()), "trigger": "clear", "user_message_uuid": key, "timestamp": now()})
            self.id, self.cost = str(uuid.uuid4()), 0
            self.transcript.flush()
            self.transcript = Transcript(self.id)
            self.status.tell("busy", sessionId=self.id)
            self.tell_background()
            self.tell_init(turn.keys)
        turn.tell_result({"subtype": "success", "result": said, "num_turns": 0})
        self.tell_fate(key, "completed")

    # Control requests

    def control(self, name, request):
        subtype = request.get("subtype")
        if self.disk.habit("mute") and subtype in self.disk.habit("mute"):
            return
        done = getattr(self, f"do_{subtype}", None)
        if done is None:
            return self.refuse(name, f"Unsupported control request subtype: {subtype}", "unsupported_request")
        done(name, request)

    def respond(self, name, body=None):
        self.emit({"type": "control_response", "response": {"subtype": "success", "request_id": name} | ({"response": body} if body is not None else {})})

    def refuse(self, name, words, code):
        self.emit({"type": "control_response", "response": {"subtype": "error", "request_id": name, "error": words, "error_code": code}})

    def do_initialize(self, name, request):
        for matcher in (request.get("hooks") or {}).get("Stop", []):
            self.hook = next(iter(matcher.get("hookCallbackIds", [])), self.hook)
        account = {"tokenSource": "none"} | ({} if self.disk.habit("logged_out") else {"apiKeySource": "ANTHROPIC_API_KEY"})
        self.respond(name, {"commands": [], "agents": [], "output_style": "default", "models": [
            {"value": "default", "resolvedModel": "claude-opus-5-5", "displayName": "Default (recommended)", "description": ""},
            {"value": "sonnet", "resolvedModel": "claude-sonnet-5-5", "displayName": "Sonnet", "description": ""}],
            "account": account, "pid": os.getpid(), "claude_code_version": VERSION, "current_permission_mode": self.permissions.mode,
            "session_state": self.state, "capabilities": [] if self.is_old else CAPABILITIES})
        if self.background:
            self.tell_background()

    def do_interrupt(self, name, request):
        waiting, cancelled = [prompt.key for prompt in self.queue], []
        if not request.get("spare_background_tasks"):
            for task in [task for task in self.background.values() if task.kind == "local_agent"]:
                task.stop()
        if self.disk.habit("ignores_interrupt"):
            return
        if request.get("cancel_queued"):
            cancelled, waiting, self.queue = waiting, [], []
            for key in cancelled:
                self.tell_fate(key, "cancelled")
        if self.turn:
            self.turn.calls.withdraw()
        self.respond(name, {} if self.is_old else {"still_queued": waiting} | ({"cancelled": cancelled} if request.get("cancel_queued") else {}))
        if self.turn:
            self.turn.stop("interrupt")
        elif self.starting:
            self.latched = True

    def do_set_model(self, name, request):
        self.model = {None: "claude-opus-5-5", "default": "claude-opus-5-5", "sonnet": "claude-sonnet-5-5"}.get(request.get("model"), request.get("model"))
        self.respond(name, {"model": self.model})

    def do_set_permission_mode(self, name, request):
        mode = {"manual": "default"}.get(request.get("mode"), request.get("mode"))
        if mode not in MODES:
            return self.refuse(name, f"Invalid permission mode: {mode}", "invalid_mode")
        if mode == "bypassPermissions" and self.permissions.mode != mode:
            return self.refuse(name, "Cannot set permission mode to bypassPermissions: the session was not launched with it", "bypass_not_launched")
        self.permissions.change(mode)
        self.respond(name, {"mode": mode})
        self.emit({"type": "system", "subtype": "status", "status": None, "permissionMode": mode})

    def do_set_max_thinking_tokens(self, name, request):
        self.respond(name)

    def do_cancel_async_message(self, name, request):
        key = request.get("message_uuid")
        found = [prompt for prompt in self.queue if prompt.key == key]
        self.queue = [prompt for prompt in self.queue if prompt.key != key]
        if found:
            self.tell_fate(key, "cancelled")
        self.respond(name, {"cancelled": bool(found), "message_uuid": key})

    def do_stop_task(self, name, request):
        if task := self.background.get(request.get("task_id")):
            task.stop()
        self.respond(name, {})

    def do_get_task_output(self, name, request):
        task: Background | None = self.background.get(request.get("task_id"))
        output = task.output if task else ""
        self.respond(name, {"output": output, "total_bytes": len(output), "truncated": False})

    def do_mcp_status(self, name, request):
        self.respond(name, {"mcpServers": []})

    def do_list_permission_rules(self, name, request):
        rules = [{"toolName": tool, "ruleContent": content, "source": source} for tool, content, source in self.permissions.allows]
        self.respond(name, {"state": {"rules": rules, "workspaceDirectories": self.permissions.directories, "originalCwd": os.getcwd()}})

    def do_rename_session(self, name, request):
        self.respond(name)
        self.emit({"type": "system", "subtype": "session_title_changed", "title": request.get("title")})

    def do_end_session(self, name, request):
        self.respond(name, {})
        self.leave(0)

    # The end

    def leave(self, code):
        for task in list(self.background.values()):
            task.stop()
        self.transcript.flush()
        if not self.ended.done():
            self.ended.set_result(code)
