"""Tool calls of the scripted Oppi agent (oppi.md#tool-calls)."""

import json
import uuid

from .oppi_rules import ask_answers
from .oppi_steps import Tool

TAIL_BYTES, TAIL_LINES, PREVIEW_BYTES = 16 * 1024, 80, 8 * 1024
PREVIEW_SECONDS = 0.15
LONG_ARGUMENT = 200
SHOWN = ("bash", "edit", "read", "write")


class Call:
    def __init__(self, step):
        self.step = step
        # An opaque, long id with a bar in it.
        self.id = f"call_{uuid.uuid4().hex}|fc_{uuid.uuid4().hex}" if step.call is None else step.call
        self.output, self.is_denied, self.is_open = "", False, False
        self.previewed = self.details = None

    def name(self):
        return {"toolCallId": self.id} if self.id else {}


class ToolCalls:
    def __init__(self, run):
        self.run, self.dialect = run, run.dialect
        self.calls = []  # Calls of the last message.
        self.activation, self.server = run.activation, run.server

    async def perform(self, steps):
        run = self.run
        calls = self.calls = [Call(step) for step in steps]
        if not self.dialect.is_seed:
            for call in calls:
                await self.arguments_grow(call)
        run.close_message(calls)
        for call in calls:
            self.execute(call)
            self.activation.state()
            self.server.happened("tool", session=self.activation.id, text=run.text)
        for call in calls:
            await self.permission(call)
        await self.outputs(calls)
        self.end_all(calls)

    def end_all(self, calls):
        for call in calls:
            self.end(call)
        self.run.turn("turn_end")
        self.run.turn("turn_start")
        self.run.steer()

    def abort(self):
        """Ends running calls with the run, and reports them."""
        if open_calls := [call for call in self.calls if call.is_open]:
            for call in open_calls:
                call.is_denied = True
                self.output(call, "Command aborted")
                self.end(call)
            self.run.turn("turn_end")
            self.run.turn("turn_start")

    async def ask(self, step):
        """The tool `ask` (head): its questions are shown at its start, before its permission; an answer before the permission is lost."""
        run, activation = self.run, self.activation
        call = Call(Tool("ask", step.fields))
        self.calls = [call]
        await self.arguments_grow(call)
        run.close_message([call])
        self.execute(call)
        identity, future = activation.ask("ask", step.fields)
        activation.state()
        try:
            if step.asks and (refusal := await self.server.permissions.ask(run, "ask", step.fields, step.asks)):
                self.permitted(call, refusal)
                return self.end_all([call])
            if future.done():
                self.server.disk.note("asks_lost", identity)
                activation.dialogs.pop(identity, None)
                _, future = activation.ask("select", {"title": step.fields["questions"][0]["question"], "options": [
                    option["label"] for option in step.fields["questions"][0]["options"]]})
            # A stop cancels the questions first.
            answer = await run.wait(future)
        except BaseException:
            activation.dialogs.pop(identity, None)
            if not activation.is_over:
                self.end(call)
            raise
        if answer is not None and "value" in answer:
            answers = ask_answers(step.fields["questions"], json.loads(answer["value"]))
            call.details = {"questions": step.fields["questions"], "answers": answers, "allIgnored": not answers}
        self.end_all([call])
        await run.hear_answer(step, answer)

    def start(self, call, args):
        """Starts a call. For tools that the server knows, the frame tells a phone how to show them."""
        name = call.step.name
        words = args.get("command", "") if name == "bash" else args.get("path", "…")
        segments = [{"text": "$ " if name == "bash" else f"{name} ", "style": "bold"}, {"text": words, "style": "accent"}]
        shown = {"callSegments": segments} if name in SHOWN else {}
        self.run.emit("tool_start", tool=name, args=args, **call.name(), **shown)

    def execute(self, call):
        call.is_open = True
        longest = max((len(str(value)) for value in call.step.args.values()), default=0)
        if not self.dialect.is_seed and longest > LONG_ARGUMENT:
            self.run.emit("tool_output", output="", **call.name(), mode="replace")
        self.start(call, call.step.args)
        if call.step.name in ("edit", "write"):
            self.count_change(call.step.args.get("path", ""))

    def count_change(self, path):
        session = self.activation.session
        stats = session.setdefault("changeStats", {"mutatingToolCalls": 0, "filesChanged": 0, "changedFiles": [], "addedLines": 0,
                                                   "removedLines": 0})
        stats["mutatingToolCalls"] += 1
        stats["addedLines"] += 1
        if path not in stats["changedFiles"]:
            stats["changedFiles"].append(path)
            stats["filesChanged"] += 1

    async def arguments_grow(self, call):
        """Repeats `tool_start` for each fragment of the arguments, as head does; a long one is mirrored as output."""
        words = [(name, value) for name, value in call.step.args.items() if isinstance(value, str)]
        name, whole = max(words, key=lambda entry: len(entry[1]), default=(None, ""))
        self.start(call, {})
        for size in [*range(5, len(whole), max(5, len(whole) // 4)), len(whole)]:
            self.start(call, call.step.args | ({name: whole[:size]} if name else {}))
            if size > LONG_ARGUMENT:
                self.run.emit("tool_output", output=whole[:size], **call.name(), mode="replace")
            await self.run.pause(0)

    async def permission(self, call):
        step = call.step
        if step.asks and not self.server.permissions.is_allowed(self.activation, step.name, step.args):
            self.permitted(call, await self.server.permissions.ask(self.run, step.name, step.args, step.asks))

    def permitted(self, call, reason):
        if reason:
            call.is_denied = True
            self.output(call, reason)

    async def outputs(self, calls):
        run = self.run
        for number in range(max(len(call.step.parts) for call in calls)):
            for call in calls:
                if number < len(call.step.parts) and not call.is_denied:
                    self.output(call, call.step.parts[number])
                    await run.pause(call.step.every)
                    if number == 0 and call.step.hold:
                        await run.gate(call.step.hold)

    def output(self, call, text):
        call.output += text
        size = len(call.output.encode())
        if self.dialect.is_seed or call.step.name != "bash" or size <= PREVIEW_BYTES:
            return self.run.emit("tool_output", output=text, **call.name())
        now = self.run.clock.now()
        if call.previewed is None or now - call.previewed >= PREVIEW_SECONDS:
            call.previewed = now
            tail = "\n".join(call.output.split("\n")[-TAIL_LINES:])[-TAIL_BYTES:]
            self.run.emit("tool_output", output=tail, **call.name(), mode="replace", truncated=True, totalBytes=size)

    def end(self, call):
        is_error, call.is_open = call.step.failed or call.is_denied, False
        entry, at = self.run.entry()
        self.run.trace({"id": f"result-{entry}", "type": "toolResult", "timestamp": at, "toolCallId": call.id,
                        "toolName": call.step.name, "output": call.output, "isError": is_error})
        more = {"details": call.details or {"exitCode": 1 if is_error else 0}}
        if call.step.name in ("edit", "write") or is_error and call.step.name == "bash":
            more["resultSegments"] = [{"text": "exit ?", "style": "error"}] if is_error else [{"text": "✓", "style": "success"}]
        self.run.emit("tool_end", tool=call.step.name, **call.name(), **more, **({"isError": True} if is_error else {}))
        # The result is a message of its own, which only this frame shows.
        self.run.activation.state()
        if call.step.name in ("edit", "write", "bash"):
            self.server.git_changed(self.activation)

