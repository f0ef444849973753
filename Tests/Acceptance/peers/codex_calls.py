"""Tool calls in a turn of the scripted Codex: items, requests to the clients, and the effects of their answers
(codex.md#items, codex.md#server-requests)."""

import asyncio
import copy
import shlex

from . import codex_steps as words
from .codex_thread import Thread

ALLOWED = ("accept", "acceptForSession")


class Interrupt(Exception):
    """Raised by an answer that also ends the turn."""


class Calls:
    def __init__(self, turn):
        self.turn, self.thread, self.server = turn, turn.thread, turn.server
        self.running = []
        """Running commands, which continue when the turn is interrupted."""

    async def play(self, step):
        try:
            await getattr(self, type(step).__name__.lower())(step)
        except Interrupt:
            raise asyncio.CancelledError from None

    async def parallel(self, step):
        tasks = [asyncio.create_task(getattr(self, type(call).__name__.lower())(call)) for call in step.calls]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    # Commands

    def command_item(self, step, shell="/bin/bash"):
        # `commandActions` lacks the parts that only shape the output.
        actions = [{"type": "unknown", "command": step.command.partition(" | ")[0]}]
        return {"type": "commandExecution", "id": self.server.identity("call"), "pluginId": None, "scriptPath": None,
                "command": f"{shell} -lc {shlex.quote(step.command)}", "cwd": self.thread.record["cwd"], "processId": None,
                "source": "agent", "status": "inProgress", "commandActions": actions, "aggregatedOutput": None, "exitCode": None,
                "durationMs": None}

    async def command(self, step):
        if step.silent:
            return
        item = self.turn.item = self.command_item(step, step.shell)
        if step.asks and step.command not in self.thread.grants:
            if not await self.may_run(item, step):
                return
        else:
            item |= {"source": "unifiedExecStartup", "processId": self.server.process_number()}
            self.turn.item_started(item)
        await self.run_command(item, step)

    async def run_command(self, item, step):
        item |= {"source": "unifiedExecStartup", "processId": item["processId"] or self.server.process_number()}
        self.server.disk.note("ran", {"command": step.command, "turn": self.turn.id})
        self.executed(item["command"], item["cwd"], permissions=step.permissions)
        for part in step.parts:
            await asyncio.sleep(0.01)
            self.turn.notify("item/commandExecution/outputDelta", itemId=item["id"], delta=part)
        await self.go_on(item, step)

    async def go_on(self, item, step):
        run = asyncio.create_task(self.finish_command(item, step))
        self.thread.terminals[item["processId"]] = (item, run)
        if not step.outlives:
            self.running.append(run)
            await asyncio.shield(run)

    def executed(self, command, folder, **more):
        """Logs an executed command: its words as a shell splits them, its folder, and more."""
        self.server.disk.note("executed", {"argv": shlex.split(command), "cwd": folder, "turn": self.turn.id} | more)

    async def finish_command(self, item, step):
        try:
            while step.gate and not self.server.disk.gate_is_open(step.gate):
                await asyncio.sleep(0.01)
            item |= {"status": "failed" if step.code else "completed", "aggregatedOutput": step.output, "exitCode": step.code}
        except asyncio.CancelledError:
            # Ended by `terminate` or `clean`.
            item |= {"status": "failed", "exitCode": -1}
        self.thread.terminals.pop(item["processId"], None)
        self.turn.item_completed(item | {"durationMs": 5})

    def abandon(self):
        """Abandons the calls of an interrupted turn. Its commands run on; nothing else does."""
        self.running = []

    async def may_run(self, item, step):
        # Same order as in the traces: the status, then the item, then the request.
        amendment = shlex.split(step.command)
        asked = asyncio.create_task(self.thread.ask(
            "item/commandExecution/requestApproval", kind="command", turnId=self.turn.id, itemId=item["id"],
            startedAtMs=0, environmentId="local", reason=step.asks, command=item["command"], cwd=item["cwd"],
            commandActions=item["commandActions"], proposedExecpolicyAmendment=amendment,
            availableDecisions=["accept", {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": amendment}}, "cancel"],
            **({"additionalPermissions": step.permissions} if step.permissions else {}),
            _first=lambda: self.turn.item_started(item)))
        return await self.is_allowed(item, step, asked)

    async def is_allowed(self, item, step, asked):
        decision = await self.decision(asked)
        if decision in ALLOWED and step.again:
            return await self.retry(item, step)
        if decision in ALLOWED:
            if decision == "acceptForSession":
                self.thread.grants.add(step.command)
            return True
        if isinstance(decision, dict):
            self.server.disk.note("violations", f"a rule for ever: {decision}")
            return True
        self.turn.item_completed(item | {"status": "failed" if decision is None else "declined"}, is_kept=False)
        if decision == "cancel":
            raise Interrupt
        return False

    async def retry(self, item, step):
        """Cuts every connection and asks for something else in the same item: no client heard that the first ask ended."""
        for connection in list(self.thread.subscribers):
            connection.socket.cut()
        item["command"] = f"{step.shell} -lc {shlex.quote(step.again)}"
        step.command = step.again
        decision = await self.decision(asyncio.create_task(self.thread.ask(
            "item/commandExecution/requestApproval", kind="command", turnId=self.turn.id, itemId=item["id"], startedAtMs=0,
            environmentId="local", reason="Retry without the sandbox?", command=item["command"], cwd=item["cwd"], commandActions=[],
            availableDecisions=["accept", "cancel"])))
        if decision not in ALLOWED:
            self.turn.item_completed(item | {"status": "declined"}, is_kept=False)
        return decision in ALLOWED

    async def input(self, step):
        item = self.server.identity("call")
        decision = await self.decision(asyncio.create_task(self.thread.ask(
            "item/commandExecution/requestApproval", kind="writeStdin", turnId=self.turn.id, itemId=item,
            approvalId=self.server.identity("stdin"), startedAtMs=0, environmentId="local", reason=step.asks, command=step.command,
            stdin=step.text, cwd=self.thread.record["cwd"], availableDecisions=["accept", "cancel"])))
        if decision == "cancel":
            raise Interrupt
        if decision in ALLOWED:
            self.server.disk.note("ran", {"input": step.text, "turn": self.turn.id})
            self.server.disk.note("executed", {"stdin": step.text, "turn": self.turn.id})

    @staticmethod
    async def decision(asked):
        """The decision, or None if the answer has no valid form."""
        try:
            result = await asked
        except asyncio.CancelledError:
            asked.cancel()
            await asyncio.gather(asked, return_exceptions=True)
            raise
        decision = result.get("decision") if isinstance(result, dict) else None
        known = decision in (*ALLOWED, "decline", "cancel") or isinstance(decision, dict)
        return decision if known else None

    def ask_late(self, step):
        item = self.command_item(step)
        self.thread.late_task = asyncio.create_task(self.thread.ask(
            "item/commandExecution/requestApproval", kind="command", turnId=self.turn.id, itemId=item["id"], startedAtMs=0,
            environmentId="local", reason="Late?", command=item["command"], cwd=item["cwd"], commandActions=item["commandActions"],
            availableDecisions=["accept", "cancel"], _keeps_status=True))

    # Changes of files

    async def change(self, step):
        kind = {"type": step.kind} | ({"move_path": None} if step.kind == "update" else {})
        item = {"type": "fileChange", "id": self.server.identity("call"), "status": "inProgress",
                "changes": [{"path": f"{self.thread.record['cwd']}/{step.path}", "kind": kind, "diff": step.diff}]}
        self.turn.item_started(item)
        decision = "accept"
        if step.asks and step.path not in self.thread.grants:
            decision = await self.decision(asyncio.create_task(self.thread.ask(
                "item/fileChange/requestApproval", turnId=self.turn.id, itemId=item["id"], startedAtMs=0, reason=None, grantRoot=None)))
        if decision == "cancel":
            # A cancelled change is the one call without an end of its own.
            raise Interrupt
        if decision == "acceptForSession":
            self.thread.grants.add(step.path)
        if decision in ALLOWED:
            self.server.disk.note("ran", {"change": step.path, "turn": self.turn.id})
            self.server.disk.note("executed", {"patch": item["changes"], "turn": self.turn.id})
        self.turn.item_completed(item | {"status": "completed" if decision in ALLOWED else "declined"}, is_kept=decision in ALLOWED)
        if decision in ALLOWED:
            self.turn.notify("turn/diff/updated", diff=step.diff)

    # MCP

    async def tool(self, step):
        item = {"type": "mcpToolCall", "id": self.server.identity("call"), "server": step.server, "tool": step.tool,
                "status": "inProgress", "arguments": copy.deepcopy(step.arguments), "appContext": None, "mcpAppUi": None,
                "pluginId": None, "readOnlyHint": None, "result": None, "error": None, "durationMs": None}
        self.turn.item_started(item)
        action, grant = "accept", f"{step.server}/{step.tool}"
        if step.asks and grant not in self.thread.grants:
            shown = [{"name": name, "value": value, "display_name": name} for name, value in step.arguments.items()]
            result = await self.thread.ask(
                "mcpServer/elicitation/request", turnId=self.turn.id, serverName=step.server, mode="form",
                _meta={"codex_approval_kind": "mcp_tool_call", "persist": ["session", "always"], "tool_description": "A tool",
                       "tool_params": step.arguments} | ({"tool_params_display": shown} if step.displays else {}),
                message=f'Allow the {step.server} MCP server to run tool "{step.tool}"?',
                requestedSchema={"type": "object", "properties": {}})
            action = result.get("action") if isinstance(result, dict) else None
            persist = (result.get("_meta") or {}).get("persist") if isinstance(result, dict) else None
            if persist == "session":
                self.thread.grants.add(grant)
            elif persist:
                self.server.disk.note("violations", f"kept for ever: {persist}")
        if action == "accept":
            self.server.disk.note("ran", {"tool": grant, "turn": self.turn.id})
            self.server.disk.note("executed", {"tool": grant, "arguments": step.arguments, "turn": self.turn.id})
            content = [{"type": "text", "text": step.result}]
            item |= {"status": "completed", "result": {"content": content, "structuredContent": None, "_meta": None}}
        else:
            word = "cancelled" if action == "cancel" else "rejected"
            item |= {"status": "failed", "error": {"message": f"user {word} MCP tool call"}}
        self.turn.item_completed(item | {"durationMs": 1})

    async def form(self, step):
        more = {"requestedSchema": step.schema} if step.mode == "form" else {"url": step.url}
        result = await self.thread.ask("mcpServer/elicitation/request", turnId=self.turn.id, serverName="garden", mode=step.mode,
                                       _meta=None, message=step.message, **more)
        result = result if isinstance(result, dict) else {}
        words_of = ", ".join(f"{name}={value}" for name, value in (result.get("content") or {}).items())
        await self.say(f"{result.get('action')}: {words_of}")

    async def question(self, step):
        result = await self.thread.ask("item/tool/requestUserInput", turnId=self.turn.id, itemId=self.server.identity("call"),
                                       questions=step.questions, isBlocking=True, autoResolutionMs=None)
        await self.answered(step, result)

    async def answered(self, step, result):
        answers = (result.get("answers") or {}) if isinstance(result, dict) else {}
        given = [text for question in step.questions for text in (answers.get(question["id"]) or {}).get("answers", [])]
        await self.say("got " + (", ".join(given) or "nothing"))

    async def say(self, text):
        """The model's reaction to an answer, in another request to it."""
        self.thread.add_usage()
        self.thread.report_usage(self.turn.id)
        await self.turn.do_say(words.Say([text]))

    # Other agents

    async def subagent(self, step):
        from .codex_turn import Turn
        child = Thread(self.server, cwd=self.thread.record["cwd"], is_stored=False)
        child.record["parent"] = self.thread.id
        child.subscribers = self.thread.subscribers
        child.status = {"type": "notLoaded"}
        self.server.threads[child.id] = child
        child.set_status("idle")
        # Codex's name of the agent in its tree, whose root is "root"; no folder of the machine.
        path = {"agentThreadId": child.id, "agentPath": f"/root/{step.name}"}
        activity = {"type": "subAgentActivity", "model": "gpt-5.5", "reasoningEffort": "low"} | path
        self.turn.whole_item(activity | {"id": self.server.identity("call"), "kind": "started"})
        waiting = {"type": "collabAgentToolCall", "id": self.server.identity("call"), "tool": "wait", "status": "inProgress",
                   "senderThreadId": self.thread.id, "receiverThreadIds": [], "prompt": None, "model": None, "reasoningEffort": None,
                   "agentsStates": {}}
        self.turn.item_started(waiting)
        turn = child.turn = Turn(child, "", steps=step.steps)
        # The helper has its own turn, which an interrupt of the parent's does not end.
        self.server.run(turn)
        await asyncio.wait([turn.task])
        kind = "interrupted" if child.last_end == "interrupted" else "completed"
        self.turn.whole_item(activity | {"model": None, "reasoningEffort": None, "id": f"subagent-{kind}-{turn.id}", "kind": kind})
        self.turn.item_completed(waiting | {"status": "completed"})
