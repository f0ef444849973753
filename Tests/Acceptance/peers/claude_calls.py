"""Calls of one message, or of a helper, of a scripted Claude Code: asked, run or denied, with the result that the model reads."""

import asyncio
import os
import uuid
from dataclasses import dataclass, field

from .claude_background import Background, Schedule, TaskFrames
from .claude_disk import now
from .claude_permissions import SAFE
from .claude_steps import Call, Hold, Say, Together, Wait
from .claude_tools import ToolError, check, normalised, perform

FAILED = "Tool permission request failed: "
NO_ANSWER = FAILED + "AbortError: Tool permission stream closed before response received"
NO_STREAM = FAILED + "AbortError: Stream closed"
REJECTED = ("The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was "
            "NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed.")
WITHDRAWN = "Tool permission request aborted"
INVALID = "The canUseTool callback returned an invalid permission result. Expected {behavior: 'allow', updatedInput?: …} or {behavior: 'deny', message: …}."
BY_RULE = {"decision": "accept", "source": "config", "reason_type": "mode"}
BY_PERSON = {"decision": "accept", "source": "user_temporary"}
NOT_PLANNING = ("<tool_use_error>You are not in plan mode. To enter plan mode, call the EnterPlanMode tool first. If your plan was already "
                "approved, continue with implementation.</tool_use_error>")


OF_HELPERS = {"subagent_type": "general-purpose", "task_description": "A helper"}


@dataclass
class State:
    step: Call
    id: str
    given: dict
    task: asyncio.Task | None = None
    request: str | None = None
    ended: bool = False
    row: dict = field(default_factory=dict)


class Denied(Exception):
    def __init__(self, words, source):
        super().__init__(words)
        self.words, self.source = words, source


class Calls:
    """`turn` is None for the calls of a background helper, which no turn waits for."""

    def __init__(self, session, turn, parent=None, agent=None):
        self.session, self.turn, self.parent, self.agent = session, turn, parent, agent
        self.states, self.denials = [], []

    @staticmethod
    def given(step):
        return normalised(step.name, step.input)

    def begin(self, step, identity, given):
        state = State(step, identity, given)
        open_ones = self.unfinished()
        together = step.name in SAFE and all(other.step.name in SAFE for other in open_ones)
        state.task = asyncio.create_task(self.carry(state, [] if together else [other.task for other in open_ones]))
        self.states.append(state)

    def unfinished(self):
        return [state for state in self.states if not state.ended]

    async def all_ended(self):
        while waiting := [state.task for state in self.states if not state.task.done()]:
            await asyncio.wait(waiting)
        for state in self.states:
            if not state.task.cancelled() and (error := state.task.exception()):
                raise error

    def withdraw(self):
        for state in self.unfinished():
            if state.request:
                self.session.withdraw(state.request)
                state.request = None

    async def abort(self, reason):
        for state in self.unfinished():
            state.task.cancel()
        for state in self.unfinished():
            await asyncio.wait([state.task])
            if state.ended:
                continue
            self.deny_silently(state)
            if reason == "now":
                self.end(state, WITHDRAWN, "permission-rule", {"decision": "reject", "source": "user_abort"})
            else:
                self.end(state, REJECTED, "user-rejected", None, told="User rejected tool use")

    def reject(self):
        """Cancels the calls of a killed helper."""
        self.withdraw()
        for state in self.unfinished():
            state.task.cancel()
            self.end(state, REJECTED, "user-rejected", None, told="User rejected tool use")

    def end_all(self):
        for state in self.unfinished():
            state.task.cancel()
            state.ended = True

    def deny_silently(self, state):
        self.denials.append({"tool_name": state.step.name, "tool_use_id": state.id, "tool_input": state.given})

    # One call

    async def carry(self, state, before):
        if before:
            await asyncio.wait(before)
        await asyncio.sleep(0.005)
        session, name = self.session, state.step.name
        try:
            if name == "ExitPlanMode" and session.permissions.mode != "plan":
                raise ToolError(NOT_PLANNING)
            check(name, state.given)
            given, decision = await self.decide(state)
            output, result = await self.run(state, given)
        except Denied as denied:
            self.deny_silently(state)
            await self.message_written()
            return self.end(state, denied.words, "permission-rule", {"decision": "reject", "source": denied.source}, told=f"Error: {denied.words}")
        except ToolError as error:
            await self.message_written()
            return self.end(state, str(error), told=f"Error: {error}")
        await self.message_written()
        self.finish(state, output, result, decision)

    async def message_written(self):
        if self.turn and not self.parent:
            await self.turn.written.wait()

    async def decide(self, state):
        """The call to run, and who decided it."""
        session, name, given = self.session, state.step.name, state.given
        verdict, detail = session.permissions.decide(name, given)
        if verdict == "allow":
            return given, BY_RULE
        if verdict == "deny":
            kind, words = detail
            session.emit({"type": "system", "subtype": "permission_denied", "tool_name": name, "tool_use_id": state.id, "message": words,
                          "decision_reason_type": kind})
            raise Denied(words, "config")
        if session.is_deaf:
            raise Denied(NO_STREAM, "config")
        answer = await session.ask(state, detail, self.agent)
        if answer is None:
            raise Denied(NO_ANSWER, "config")
        return self.judge(state, answer)

    def judge(self, state, answer):
        if answer.get("subtype") != "success":
            raise Denied(FAILED + str(answer.get("error", "unknown")), "config")
        response = answer.get("response") or {}
        match response.get("behavior"):
            case "allow":
                given = response.get("updatedInput", state.given)
                if not isinstance(given, dict):
                    raise Denied(FAILED + INVALID, "config")
                self.session.permissions.apply(response.get("updatedPermissions") or [])
                return given, BY_PERSON | ({"source": "user_permanent"} if response.get("updatedPermissions") else {})
            case "deny" if isinstance(response.get("message"), str):
                if response.get("interrupt") and self.turn:
                    state.request = None
                    self.turn.stop("denied")
                    raise asyncio.CancelledError
                raise Denied(response["message"], "user_reject")
        raise Denied(FAILED + INVALID, "config")

    async def run(self, state, given):
        session, step = self.session, state.step
        session.disk.note("ran", {"tool": step.name, "input": given, "call": state.id, "session": session.id, "pid": os.getpid(), "folder": os.getcwd()})
        match step.name:
            case "AskUserQuestion":
                return answered(given), {"questions": given.get("questions"), "answers": given.get("answers", {})}
            case "ExitPlanMode":
                if session.permissions.mode == "plan":
                    session.permissions.change(session.permissions.before)
                session.emit({"type": "system", "subtype": "status", "status": None, "permissionMode": session.permissions.mode})
                return "User has approved exiting plan mode. You can now proceed.", {"plan": given.get("plan"), "isAgent": False}
            case "EnterPlanMode":
                session.permissions.change("plan")
                return "Entered plan mode.", None
            case "Task" | "Agent":
                return await self.help(state, given)
            case "CronCreate" | "ScheduleWakeup":
                return Schedule(session, step.name, given).told()
            case "Bash" if given.get("run_in_background"):
                return Background.shell(session, state, given).told()
        return await perform(step, given)

    async def help(self, state, given):
        if given.get("run_in_background"):
            return Background.helper(session=self.session, state=state, given=given).told()
        words = await Helper(self.session, self.turn, state, given).run()
        return [{"type": "text", "text": words}], {"status": "completed", "prompt": given.get("prompt")}

    # Frames of a call

    def finish(self, state, output, result, decision):
        block = {"tool_use_id": state.id, "type": "tool_result", "content": output} | ({"is_error": False} if state.step.name == "Bash" else {})
        self.tell(state, block, {"tool_use_result": result} if result is not None else {}, [{"id": state.id, "permission_decision": decision}])

    def end(self, state, words, kind=None, decision=None, told=None):
        block = {"type": "tool_result", "content": words, "is_error": True, "tool_use_id": state.id}
        meta = ({"non_execution_kind": kind} if kind else {}) | ({"permission_decision": decision} if decision else {})
        state.row = {"toolDenialKind": kind} if kind else {}
        self.tell(state, block, {"tool_use_result": told if told is not None else words}, [{"id": state.id} | meta] if meta else None)

    def tell(self, state, block, result, meta):
        state.ended = True
        key, message = str(uuid.uuid4()), {"role": "user", "content": [block]}
        if not self.parent:
            self.session.transcript.add("user", key=key, message=message, **{"toolUseResult": value for value in result.values()}, **state.row)
        # Results of a helper's calls are not repeated beside the block.
        more = {"agent_id": self.agent} | OF_HELPERS if self.agent else result
        self.session.emit({"type": "user", "message": message, "parent_tool_use_id": self.parent, "uuid": key, "timestamp": now()} | more
                          | ({"tool_result_meta": meta} if meta else {}))


def answered(given):
    answers = given.get("answers") or {}
    if not answers:
        return "The user did not answer the questions."
    pairs = ", ".join(f'"{text}"="{label}"' for text, label in answers.items())
    return f"User has answered your questions: {pairs}. You can now continue with the user's answers in mind."


class Helper:
    """Frames of a helper: its calls, and its words only if it works in the background."""

    def __init__(self, session, turn, state, given, task_id=None):
        self.session, self.state, self.given, self.in_background = session, state, given, task_id is not None
        self.id = task_id or f"a{uuid.uuid4().hex[:16]}"
        self.calls = Calls(session, turn, parent=state.id, agent=self.id)

    def emit(self, kind, message):
        self.session.emit({"type": kind, "message": message, "parent_tool_use_id": self.state.id, "agent_id": self.id, "timestamp": now()} | OF_HELPERS)

    async def run(self):
        session, frames = self.session, TaskFrames(self.id, self.state.id)
        if not self.in_background:
            session.emit(frames.started("local_agent", self.given, prompt=self.given.get("prompt", "")))
        self.emit("user", {"role": "user", "content": [{"type": "text", "text": self.given.get("prompt", "")}]})
        said = ""
        try:
            for step in self.state.step.steps:
                said = await self.play(step) or said
        finally:
            self.calls.withdraw()
            self.calls.end_all()
        if not self.in_background:
            for frame in frames.ended("completed", said or "Done."):
                session.emit(frame)
        return said or "Done."

    async def play(self, step):
        base = {"id": f"msg_{uuid.uuid4().hex[:24]}", "type": "message", "role": "assistant", "model": self.session.model, "stop_reason": None, "stop_sequence": None,
                "usage": {"input_tokens": 800, "output_tokens": 1}, "context_management": None}
        match step:
            case Say():
                text = "".join(step.chunks)
                if self.in_background:
                    self.emit("assistant", base | {"content": [{"type": "text", "text": text}]})
                return text
            case Wait():
                await asyncio.sleep(step.seconds)
            case Hold():
                while not self.session.disk.is_open(step.name):
                    await asyncio.sleep(0.01)
            case Call() | Together():
                for call in step.calls if isinstance(step, Together) else [step]:
                    given, identity = self.calls.given(call), f"toolu_{uuid.uuid4().hex[:24]}"
                    self.session.emit(TaskFrames(self.id, self.state.id).progress(call))
                    self.emit("assistant", base | {"content": [{"type": "tool_use", "id": identity, "name": call.name, "input": given}]})
                    self.calls.begin(call, identity, given)
                await self.calls.all_ended()
