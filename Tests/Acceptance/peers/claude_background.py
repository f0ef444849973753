"""Background work of a scripted Claude Code: commands, helpers, and prompts of a schedule."""

import asyncio
import time
import uuid

from .claude_tools import Shell


class TaskFrames:
    def __init__(self, identity, call):
        self.names = {"task_id": identity, "run_id": f"run-{identity}", "tool_use_id": call}

    def frame(self, subtype, **fields):
        return {"type": "system", "subtype": subtype} | self.names | fields

    def started(self, kind, given, in_background=False, **fields):
        helper = {"subagent_type": given.get("subagent_type", "general-purpose")} if kind == "local_agent" else {}
        return self.frame("task_started", task_type=kind, description=given.get("description", ""), is_backgrounded=in_background, **helper, **fields)

    def progress(self, call):
        return self.frame("task_progress", description=f"Running {call.input.get('description', call.name)}", last_tool_name=call.name,
                          subagent_type="general-purpose", usage={"total_tokens": 840, "tool_uses": 1, "duration_ms": 70})

    def ended(self, status, summary):
        stopped = "killed" if status == "stopped" else status
        updated = self.frame("task_updated", patch={"status": stopped, "end_time": int(time.time() * 1000)})
        del updated["tool_use_id"]
        return [updated,
                self.frame("task_notification", status=status, summary=summary, output_file=f"/home/ada/claude/{self.names['task_id']}.output")]


class Background:
    def __init__(self, session, kind, state, given):
        self.session, self.kind, self.state, self.given = session, kind, state, given
        self.id = ("b" if kind == "local_bash" else "a") + uuid.uuid4().hex[:10]
        self.frames = TaskFrames(self.id, state.id)
        self.shell_command, self.calls, self.output = None, None, ""

    @classmethod
    def shell(cls, session, state, given):
        made = cls(session, "local_bash", state, given)
        made.begin(made.run_shell())
        return made

    @classmethod
    def helper(cls, session, state, given):
        from .claude_calls import Helper
        made = cls(session, "local_agent", state, given)
        made.calls = (worker := Helper(session, None, state, given, made.id)).calls
        made.begin(made.run_helper(worker))
        return made

    def begin(self, work):
        self.session.background[self.id] = self
        self.task = asyncio.create_task(work)
        self.session.tell_background()
        more = {"prompt": self.given.get("prompt", "")} if self.kind == "local_agent" else {}
        self.session.emit(self.frames.started(self.kind, self.given, True, **more))

    def told(self):
        if self.kind == "local_agent":
            return [{"type": "text", "text": f"Async agent launched successfully.\nagentId: {self.id}"}], {"isAsync": True, "status": "async_launched", "agentId": self.id}
        return (f"Command running in background with ID: {self.id}. You will be notified when it completes.",
                {"stdout": "", "stderr": "", "interrupted": False, "isImage": False, "backgroundTaskId": self.id})

    @property
    def entry(self):
        return {"task_id": self.id, "run_id": f"run-{self.id}", "task_type": self.kind, "description": self.given.get("description", "")}

    @property
    def hook_entry(self):
        if self.kind == "local_agent":
            return {"id": self.id, "type": "subagent", "status": "running", "description": self.given.get("description", "")}
        return {"id": self.id, "type": "shell", "status": "running", "description": self.given.get("description", ""), "command": self.given.get("command", "")}

    async def run_shell(self):
        self.shell_command = Shell(self.given.get("command", ""), self.state.step)
        self.output, code = await self.shell_command.run()
        self.end("completed" if code == 0 else "failed", f'Background command "{self.given.get("description", "")}" completed (exit code {code})')

    async def run_helper(self, helper):
        self.end("completed", await helper.run())

    def end(self, status, summary):
        self.session.background.pop(self.id, None)
        for frame in self.frames.ended(status, summary):
            self.session.emit(frame)
        self.session.tell_background()
        if status != "stopped":
            text = (f"<task-notification>\n<task-id>{self.id}</task-id>\n<tool-use-id>{self.state.id}</tool-use-id>\n<status>{status}</status>\n"
                    f"<summary>{summary}</summary>\n</task-notification>")
            self.session.notify(text, {"kind": "task-notification", "producer": "session-task", "runId": f"run-{self.id}"})

    def stop(self):
        """Kills the work, without a turn that reports it."""
        if self.shell_command:
            self.shell_command.kill()
        if self.calls:
            self.calls.reject()
        self.task.cancel()
        self.end("stopped", f"{self.given.get('description', 'Task')} was stopped")
        if not self.session.turn:
            self.session.rest()


class Schedule:
    """A prompt for later. It lives as long as the process, and only the hook of a turn's end mentions it."""

    def __init__(self, session, tool, given):
        self.session, self.given, self.is_loop = session, given, tool == "ScheduleWakeup"
        self.id, self.recurring = uuid.uuid4().hex[:8], bool(given.get("recurring"))
        session.schedules[self.id] = self
        self.task = asyncio.create_task(self.wait())

    @property
    def entry(self):
        return {"id": self.id, "schedule": self.given.get("cron", "once"), "recurring": self.recurring, "prompt": self.given.get("prompt", "")}

    def told(self):
        if self.is_loop:
            return "Next wakeup scheduled.", {"clampedDelaySeconds": 60, "wasClamped": False}
        return f"Scheduled {'recurring ' if self.recurring else ''}job {self.id}. Session-only (not written to disk, dies when Claude exits).", {
            "id": self.id, "recurring": self.recurring, "durable": False}

    async def wait(self):
        while True:
            await asyncio.sleep(self.session.disk.habit("schedule_seconds", 60))
            if not self.recurring:
                self.session.schedules.pop(self.id, None)
            self.session.wake_up(self.given.get("prompt", ""), "loop_wakeup" if self.is_loop else "schedule_wakeup")
            if not self.recurring:
                return
