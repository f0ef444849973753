"""Tool frames in runs of the scripted gateway: on `tool` to some clients, on `item` and `command_output` to all."""


class ToolFrames:
    def new_call(self):
        self.calls += 1
        return self.plan.call_id or f"call_{self.id[-8:]}_{self.calls}"

    def start_tool(self, call, name, arguments, title):
        self.flush_before_boundary()
        self.in_tool, self.call_started, self.call_title = True, self.clock.milliseconds(), title
        self.agent("tool", {"phase": "start", "name": name, "toolCallId": call, "args": arguments}, "tool")
        for kind in self.item_kinds(name):
            self.agent("item", {"itemId": f"{kind}:{call}", "phase": "start", "kind": kind, **self._titles(kind, name),
                                "status": "running", "name": name, "toolCallId": call, "startedAt": self.call_started})
        self.gateway.happened("tool", run=self)

    def end_tool(self, call, name, output, status="completed", details=None, extra=None):
        result = {"content": [{"type": "text", "text": output}]}
        if details:
            result["details"] = details
        data = {"phase": "result", "name": name, "toolCallId": call, "meta": self.call_title, "isError": status == "failed"}
        if self.era.tool_results_always:
            data["result"] = result
        self.agent("tool", data, "tool")
        for kind in self.item_kinds(name):
            ended = "completed" if kind == "tool" and status == "blocked" else status
            self.agent("item", {"itemId": f"{kind}:{call}", "phase": "end", "kind": kind, **self._titles(kind, name),
                                "status": ended, "name": name, "toolCallId": call, "startedAt": self.call_started,
                                "endedAt": self.clock.milliseconds(), **({"error": output} if status == "failed" else {}),
                                **({"summary": output, **(extra or {})} if kind == "command" else {})})
        if self.era.has_items and name == "exec" and status != "blocked":
            late = {"exitCode": int(status == "failed"), "durationMs": 22, "cwd": "/home/ada"} if self.era.protocol >= 4 else {}
            self.agent("command_output", {"itemId": f"command:{call}", "phase": "end", "title": f"command {self.call_title}", "name": name,
                                          "toolCallId": call, "output": output, "status": status, **late})
        self.write_rows(reason="toolUse")
        # Rows of tools have no event.
        self.session.write("toolResult", output, is_told=False)
        self.in_tool = False
        self.begin_message()

    def _titles(self, kind, name):
        """Titles that stay the same from start to end."""
        return {"title": f"{name if kind == 'tool' else kind} {self.call_title}", "meta": self.call_title}

    def item_kinds(self, name):
        if not self.era.has_items:
            return ()
        return ("tool", "command") if name == "exec" else ("tool",)

    def tell_progress(self, call, name, output):
        """Reports the output of a command so far."""
        self.agent("tool", {"phase": "update", "name": name, "toolCallId": call,
                            "partialResult": {"content": [{"type": "text", "text": output}]}}, "tool")
        for kind in self.item_kinds(name):
            progress = {"progressText": output} if kind == "command" else {}
            self.agent("item", {"itemId": f"{kind}:{call}", "phase": "update", "kind": kind, **self._titles(kind, name),
                                "status": "running", "name": name, "toolCallId": call, **progress})
        if name == "exec":
            self.agent("command_output", {"itemId": f"command:{call}", "phase": "delta", "title": f"command {self.call_title}", "name": name,
                                          "toolCallId": call, "output": output, "status": "running"})
