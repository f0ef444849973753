import BridgeModel

// What a run says, in the order of openclaw.md#order-of-frames-in-one-run.
extension ScriptedGateway {
    private static let pace = Duration.milliseconds(150)

    mutating func begin(_ id: String, at now: Instant) {
        guard let run = runs[id], !run.isOver else { return }
        runs[id]?.hasBegun = true
        let began = milliseconds(now)
        runs[id]?.startedAtMilliseconds = began
        if let question = run.question { write("user", question, in: run.session, key: id, at: now) }
        lifecycle(id, ["phase": "start", "startedAt": wall(now)])
        if connection?.followsSessions == true {
            tell(
                "sessions.changed",
                ["sessionKey": "\(run.session)", "phase": "start", "runId": "\(id)", "ts": wall(now)])
        }
        perform(id, at: now)
    }

    mutating func step(_ id: String, at now: Instant) {
        guard let run = runs[id], case .active = run.state else { return }
        perform(id, at: now)
    }

    /// Does the first step and sets the time of the next.
    private mutating func perform(_ id: String, at now: Instant) {
        guard let step = runs[id]?.steps.popFirst()?.step else { return }
        switch step {
        case .says(let text): say(id, text, at: now)
        case .callsTool(let call, let command): callTool(id, call, command, at: now)
        case .toolReturns(let call, let output): toolReturns(id, call, output, failed: false)
        case .asksApproval(let approval, let command): ask(id, approval, command, at: now)
        case .attemptFails(let why): lifecycle(id, ["phase": "error", "error": "\(why)"])
        case .triesAgain: tryAgain(id, at: now)
        case .fails(let why): fail(id, why, at: now)
        case .finishes: finish(id, withMessage: true, at: now)
        case .finishesEmpty: finish(id, withMessage: false, at: now)
        case .drops(let count): drops += count
        case .restarts(let down): return restart(down: .milliseconds(Int64(down)), at: now)
        }
        scheduleNext(id, at: now)
    }

    mutating func scheduleNext(_ id: String, at now: Instant) {
        guard let run = runs[id], case .active = run.state, let next = run.steps.first else { return }
        schedule(.step(run: id), after: next.after, at: now)
    }

    // MARK: Text

    private mutating func say(_ id: String, _ text: String, at now: Instant) {
        runs[id]?.segment += text
        let segment = runs[id]?.segment ?? ""
        if connection?.capabilities.contains("chat-only-assistant-text") != true {
            agent(id, "assistant", ["text": "\(segment)", "delta": "\(text)"])
        }
        if let sentAt = runs[id]?.sentAt, now - sentAt < Self.pace { return }
        tellText(id, trimmed: false, at: now)
    }

    /// One delta, if the text differs from the last one sent.
    private mutating func tellText(_ id: String, trimmed: Bool, at now: Instant) {
        guard let run = runs[id] else { return }
        var text = era.tellsWholeRun ? run.whole : run.segment
        if trimmed { text = Self.trimmed(text) }
        guard text != run.sentText else { return }
        runs[id]?.sentText = text
        runs[id]?.sentAt = now
        let isFirst = connection?.told.insert(id).inserted ?? true
        var payload: GatewayValue = [
            "runId": "\(id)", "sessionKey": "\(run.session)", "seq": .integer(run.sequence), "state": "delta",
        ]
        let extends = text.hasPrefix(run.sentText)
        if era.isNew {
            payload = payload.with("deltaText", .text(extends ? String(text.dropFirst(run.sentText.count)) : text))
                .with("replace", extends ? nil : true)
        }
        // The newest leave out what the client can put together itself (openclaw.md#chat).
        let mayOmit = era == .e4 && extends && !isFirst && !run.sentText.isEmpty
        broadcast("chat", payload.with("message", mayOmit ? nil : message(text)), mayDrop: true)
    }

    private func message(_ text: String) -> GatewayValue {
        ["role": "assistant", "content": [["type": "text", "text": "\(text)"]]]
    }

    static func trimmed(_ text: String) -> String {
        var text = Substring(text)
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }

    // MARK: Tools

    private mutating func callTool(_ id: String, _ call: String, _ command: String, at now: Instant) {
        tellText(id, trimmed: era.isNew, at: now)
        endSegment(id, stopReason: "toolUse", at: now)
        tool(
            id,
            [
                "phase": "start", "name": "\(Self.tool(of: command))", "toolCallId": "\(call)",
                "args": Self.arguments(command),
            ])
        items(id, call, phase: "start", status: "running", more: ["title": "\(command)"])
    }

    /// `write /a` is the tool for files instead of a command.
    private static func tool(of command: String) -> String {
        let word = command.prefix { $0 != " " }
        return ["read", "write", "edit"].contains(word) ? String(word) : "exec"
    }

    private static func arguments(_ command: String) -> GatewayValue {
        tool(of: command) == "exec" ? ["command": "\(command)"] : ["path": "\(command.drop { $0 != " " }.dropFirst())"]
    }

    mutating func toolReturns(_ id: String, _ call: String, _ output: String, failed: Bool) {
        let result: GatewayValue = ["content": [["type": "text", "text": "\(output)"]]]
        let data: GatewayValue = [
            "phase": "result", "name": "exec", "toolCallId": "\(call)", "isError": .flag(failed),
        ]
        tool(id, data.with("result", era.showsToolResults ? result : nil))
        items(
            id, call, phase: "end", status: failed ? "failed" : "completed",
            more: ["title": "exec", "summary": "\(output)"])
    }

    /// To the connection that began the run, else as a mirror to the followers of the session (openclaw.md#which-events-reach-whom).
    mutating func tool(_ id: String, _ data: GatewayValue) {
        runs[id]?.sequence += 1
        guard let run = runs[id], let connection else { return }
        let payload = agentPayload(run, "tool", data)
        if run.owner == connection.number {
            if connection.capabilities.contains("tool-events") { tell("agent", payload) }
        } else if connection.followsSessions {
            tell("session.tool", payload)
        }
    }

    mutating func items(_ id: String, _ call: String, phase: String, status: String, more: GatewayValue) {
        guard era.hasItems else { return }
        for kind in ["tool", "command"] {
            var data: GatewayValue = [
                "itemId": "\(kind):\(call)", "phase": "\(phase)", "kind": "\(kind)", "name": "exec",
                "toolCallId": "\(call)",
            ]
            // The call itself has returned, only what it began is blocked (openclaw.md#agent).
            data = data.with("status", .text(kind == "tool" && status == "blocked" ? "completed" : status))
            for name in more.names where kind == "command" || name == "title" { data = data.with(name, more[name]) }
            agent(id, "item", data)
        }
    }

    // MARK: The end

    /// A segment is one row of the history (openclaw.md#chathistory).
    mutating func endSegment(_ id: String, stopReason: String, at now: Instant) {
        guard let run = runs[id] else { return }
        let text = stopReason == "stop" ? Self.trimmed(run.segment) : run.segment
        if !text.isEmpty { write("assistant", text, in: run.session, run: id, stopReason: stopReason, at: now) }
        runs[id]?.earlier += run.segment
        runs[id]?.segment = ""
        // E1 starts again from nothing.
        if !era.tellsWholeRun { runs[id]?.sentText = "" }
    }

    mutating func finish(_ id: String, withMessage: Bool, at now: Instant) {
        guard let run = runs[id] else { return }
        lifecycle(id, ["phase": "end", "endedAt": wall(now), "stopReason": "stop"])
        // What was paced goes out before the last word, whether or not that has a message (openclaw.md#order-of-frames-in-one-run).
        tellText(id, trimmed: true, at: now)
        let text = Self.trimmed(era.tellsWholeRun ? run.whole : run.segment)
        endSegment(id, stopReason: "stop", at: now)
        runs[id]?.state = .ended
        runs[id]?.endedAt = now
        terminal(
            id, "final", (["stopReason": "stop"] as GatewayValue).with("message", withMessage ? message(text) : nil))
        if connection?.followsSessions == true {
            tell(
                "sessions.changed", ["sessionKey": "\(run.session)", "phase": "end", "runId": "\(id)", "ts": wall(now)])
        }
    }

    private mutating func fail(_ id: String, _ why: String, at now: Instant) {
        lifecycle(id, ["phase": "error", "error": "\(why)"])
        schedule(.verdict(run: id, message: why), after: era == .e4 ? .zero : .seconds(15), at: now)
    }

    mutating func verdict(_ id: String, _ why: String, at now: Instant) {
        guard runs[id]?.isOver == false else { return }
        // What was paced goes out before the last word, whatever that is (openclaw.md#chat).
        tellText(id, trimmed: true, at: now)
        runs[id]?.state = .failed(why)
        terminal(id, "error", ["errorMessage": "\(why)", "errorKind": "unknown"])
    }

    /// The gateway forgets what it sent: the new attempt's text begins without `replace` (openclaw.md#chat, retry trap).
    private mutating func tryAgain(_ id: String, at now: Instant) {
        runs[id]?.segment = ""
        runs[id]?.earlier = ""
        runs[id]?.sentText = ""
        runs[id]?.sentAt = nil
        connection?.told.remove(id)
        lifecycle(id, ["phase": "start", "startedAt": wall(now)])
    }

    mutating func abortRun(_ id: String, at now: Instant) {
        guard let run = runs[id] else { return }
        let text = era.tellsWholeRun ? run.whole : run.segment
        if !run.segment.isEmpty {
            write(
                "assistant", run.segment, in: run.session, key: "\(id):assistant", run: id, stopReason: "aborted",
                at: now)
        }
        runs[id]?.state = .aborted
        for approval in approvals.keys where approvals[approval]?.run == id { approvals[approval] = nil }
        terminal(
            id, "aborted", (["stopReason": "rpc"] as GatewayValue).with("message", text.isEmpty ? nil : message(text)))
        schedule(.lifecycleAfterAbort(run: id), after: .milliseconds(35), at: now)
    }

    private mutating func terminal(_ id: String, _ state: String, _ more: GatewayValue) {
        guard let run = runs[id] else { return }
        var payload: GatewayValue = [
            "runId": "\(id)", "sessionKey": "\(run.session)", "seq": .integer(run.sequence), "state": "\(state)",
        ]
        for name in more.names { payload = payload.with(name, more[name]) }
        broadcast("chat", payload)
        if let job = run.job { tellOfJob(job, "finished", in: run.session, id) }
    }

    // MARK: Frames of a run

    mutating func lifecycle(_ id: String, _ data: GatewayValue) { agent(id, "lifecycle", data) }

    mutating func agent(_ id: String, _ stream: String, _ data: GatewayValue) {
        runs[id]?.sequence += 1
        guard let run = runs[id] else { return }
        broadcast("agent", agentPayload(run, stream, data))
    }

    private func agentPayload(_ run: GatewayRun, _ stream: String, _ data: GatewayValue) -> GatewayValue {
        [
            "runId": "\(run.id)", "seq": .integer(run.sequence), "stream": "\(stream)", "data": data,
            "sessionKey": "\(run.session)",
        ]
    }
}
