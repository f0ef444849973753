import Vocabulary

// Members of frames by era, as running gateways sent them (openclaw.md#seen-on-running-gateways).
extension ScriptedGateway {
    /// A session as its events and the tools' frames describe it.
    func about(_ session: String, status: String?, namesRuns: Bool = true) -> GatewayValue {
        let known = (["sessionId": "id-\(session)", "modelProvider": "acme", "model": "quill-2"] as GatewayValue)
            .with("status", status.map { .text($0) }).with("abortedLastRun", false)
        guard era.isNew, namesRuns else { return known }
        let active = runs.values.filter { !$0.isOver && $0.hasBegun && $0.session == session }.map(\.id).sorted()
        return known.with([
            "hasActiveRun": .flag(!active.isEmpty), "activeRunIds": .array(active.map { .text($0) }),
            "agentId": "main",
        ])
    }

    func agentPayload(_ run: GatewayRun, _ stream: String, _ data: GatewayValue) -> GatewayValue {
        var payload: GatewayValue = [
            "runId": "\(run.id)", "seq": .integer(run.sequence), "stream": "\(stream)", "data": data,
            "ts": wall(clock),
        ]
        payload = payload.with("sessionKey", run.hidesSession ? nil : .text(run.session))
        guard era.isNew, !run.isTornDown else { return payload }
        payload = payload.with(["agentId": "main", "isHeartbeat": false])
        return stream == "lifecycle" ? payload.with("sessionId", "id-\(run.session)") : payload
    }

    func message(_ text: String) -> GatewayValue {
        ["role": "assistant", "content": [["type": "text", "text": "\(text)"]], "timestamp": wall(clock)]
    }

    // MARK: Ends of the lifecycle

    func ended(_ data: GatewayValue, _ run: GatewayRun) -> GatewayValue {
        var data = data.with("endedAt", wall(clock))
        guard era != .e1 else { return data }
        data = data.with("livenessState", "working")
        if run.hasCalled { return data.with("replayInvalid", true) }
        return era.isNew && data["phase"] == "end" ? data.with("replayInvalid", false) : data
    }

    func failed(_ data: GatewayValue) -> GatewayValue {
        let data = data.with("endedAt", wall(clock)).with("livenessState", era == .e1 ? nil : "blocked")
        return era.isNew ? data.with("aborted", false) : data
    }

    /// Tells followers of sessions about a change.
    mutating func changed(_ session: String, _ phase: String, _ run: String, _ status: String, at now: Instant) {
        guard connection?.followsSessions == true else { return }
        let change: GatewayValue = [
            "sessionKey": "\(session)", "phase": "\(phase)", "runId": "\(run)", "ts": wall(now),
        ]
        tell("sessions.changed", change.with(about(session, status: status)))
    }

    // MARK: Tools

    mutating func toolReturns(_ id: String, _ call: String, _ output: String, failed: Bool, ran: Bool = true) {
        let result: GatewayValue = ["content": [["type": "text", "text": "\(output)"]]]
        if era.isNew, ran, !output.isEmpty { tellProgress(id, call, String(output.prefix(400))) }
        let data: GatewayValue = [
            "phase": "result", "name": "exec", "toolCallId": "\(call)", "meta": "run it", "isError": .flag(failed),
        ]
        let details: GatewayValue = ["status": "completed", "exitCode": failed ? 1 : 0, "durationMs": 300]
        tool(id, data.with("result", era.showsToolResults ? result.with("details", details) : nil))
        let status = failed ? "failed" : "completed"
        items(
            id, call, phase: "end", status: status,
            more: (["title": "exec", "meta": "run it"] as GatewayValue)
                .with("summary", output.isEmpty ? nil : "\(output)"))
        guard era.hasItems else { return }
        let said =
            ([
                "itemId": "command:\(call)", "phase": "end", "title": "exec", "toolCallId": "\(call)", "name": "exec",
                "status": "\(status)",
            ] as GatewayValue)
            .with("output", output.isEmpty ? nil : "\(output)")
        let end: GatewayValue = ["exitCode": failed ? 1 : 0, "durationMs": 300, "cwd": "/home/ada/garden"]
        agent(id, "command_output", era.isNew ? said.with(end) : said)
    }

    /// Output of a command so far.
    private mutating func tellProgress(_ id: String, _ call: String, _ output: String) {
        tool(
            id,
            [
                "phase": "update", "name": "exec", "toolCallId": "\(call)",
                "partialResult": ["content": [["type": "text", "text": "\(output)"]]],
            ])
        items(
            id, call, phase: "update", status: "running",
            more: ["title": "exec", "meta": "run it", "progressText": "\(output)"])
        agent(
            id, "command_output",
            [
                "itemId": "command:\(call)", "phase": "delta", "title": "exec", "toolCallId": "\(call)",
                "name": "exec", "output": "\(output)", "status": "running",
            ])
    }

    /// The connection that began the run receives the frame. Followers of the session get a mirror
    /// (openclaw.md#which-events-reach-whom).
    mutating func tool(_ id: String, _ data: GatewayValue) {
        runs[id]?.sequence += 1
        guard let run = runs[id], let connection else { return }
        let plain = agentPayload(run, "tool", data)
        let payload =
            era == .e1 ? plain : plain.with(about(run.session, status: "running", namesRuns: false))
        let isOwner = run.owner == connection.number
        if isOwner, connection.capabilities.contains("tool-events") { tell("agent", payload) }
        // E2 sends it to the owner twice.
        if connection.followsSessions, !isOwner || era == .e2 { tell("session.tool", payload) }
    }

    mutating func items(_ id: String, _ call: String, phase: String, status: String, more: GatewayValue) {
        guard era.hasItems else { return }
        for kind in ["tool", "command"] {
            var data: GatewayValue = [
                "itemId": "\(kind):\(call)", "phase": "\(phase)", "kind": "\(kind)", "name": "exec",
                "toolCallId": "\(call)",
            ]
            if phase != "update" { data = data.with("startedAt", wall(clock)) }
            // The call itself has returned; only the command that it started is blocked (openclaw.md#agent).
            data = data.with("status", .text(kind == "tool" && status == "blocked" ? "completed" : status))
            for name in more.names where kind == "command" || ["title", "meta"].contains(name) {
                data = data.with(name, more[name])
            }
            if phase == "end" { data = data.with("endedAt", wall(clock)) }
            if status == "failed" { data = data.with("error", more["summary"]) }
            agent(id, "item", data)
        }
    }
}
