import BridgeModel

// What a run says, in the order of openclaw.md#order-of-frames-in-one-run.
extension ScriptedGateway {
    private static let pace = Duration.milliseconds(150)

    mutating func begin(_ id: String, at now: Instant) {
        guard let run = runs[id], !run.isOver else { return }
        runs[id]?.hasBegun = true
        let began = milliseconds(now)
        runs[id]?.startedAtMilliseconds = began
        lifecycle(id, ["phase": "start", "startedAt": wall(now)])
        changed(run.session, "start", id, "running", at: now)
        if let question = run.question {
            write("user", question, in: run.session, key: era.key(ofQuestion: id), at: now)
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
        case .attemptFails(let why): attemptFails(id, why, at: now)
        case .triesAgain: tryAgain(id, at: now)
        case .fails(let why): fail(id, why, at: now)
        case .finishes: finish(id, withMessage: true, at: now)
        case .finishesEmpty: finish(id, withMessage: false, at: now)
        case .drops(let count): drops += count
        case .takes(let text, let key): takes(text, key, in: id, at: now)
        case .restarts(let down): return restart(down: .milliseconds(Int64(down)), at: now)
        }
        scheduleNext(id, at: now)
    }

    mutating func scheduleNext(_ id: String, at now: Instant) {
        guard let run = runs[id], case .active = run.state, let next = run.steps.first else { return }
        schedule(.step(run: id), after: next.after, at: now)
    }

    // MARK: Text

    mutating func say(_ id: String, _ text: String, at now: Instant) {
        runs[id]?.segment += text
        guard let run = runs[id] else { return }
        let said = Self.trimmed(run.segment)
        guard said != run.saidText, !said.isEmpty else { return }
        // Trimmed, so that what comes next may bring the white space before it.
        let addition = String(said.dropFirst(run.saidText.count))
        runs[id]?.saidText = said
        runs[id]?.chatText = GatewayText.merged(run.chatText, earlier: run.earlier, said, addition, era)
        if connection?.capabilities.contains("chat-only-assistant-text") != true {
            agent(id, "assistant", ["text": "\(said)", "delta": "\(addition)"])
        }
        if let sentAt = runs[id]?.sentAt, now - sentAt < Self.pace { return }
        tellText(id, at: now)
    }

    /// One delta, if the text differs from the last one sent.
    private mutating func tellText(_ id: String, at now: Instant) {
        guard let run = runs[id], !run.hidesSession else { return }
        let text = run.chatText
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
        var text = text.drop { $0.isWhitespace }
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }

    // MARK: Tools

    private mutating func callTool(_ id: String, _ call: String, _ command: String, at now: Instant) {
        // The earliest keep what came within the pace for ever.
        if era != .e1 { tellText(id, at: now) }
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
        let isOwner = run.owner == connection.number
        if isOwner, connection.capabilities.contains("tool-events") { tell("agent", payload) }
        // The second era tells it the owner twice.
        if connection.followsSessions, !isOwner || era == .e2 { tell("session.tool", payload) }
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
        let text = run.segment
        if !Self.trimmed(text).isEmpty {
            write("assistant", text, in: run.session, run: id, stopReason: stopReason, at: now)
        }
        runs[id]?.earlier += Self.trimmed(run.segment)
        runs[id]?.segment = ""
        runs[id]?.saidText = ""
        // E1 starts again from nothing.
        if !era.tellsWholeRun {
            runs[id]?.sentText = ""
            runs[id]?.sentAt = nil
        }
    }

    mutating func finish(_ id: String, withMessage: Bool, at now: Instant) {
        guard let run = runs[id] else { return }
        endSegment(id, stopReason: "stop", at: now)
        if era.isNew { lifecycle(id, ["phase": "finishing", "stopReason": "stop", "aborted": false]) }
        let ended: GatewayValue = ["phase": "end", "endedAt": wall(now)]
        lifecycle(id, ended.with("stopReason", era.isNew ? "stop" : nil))
        // What was paced goes out before the last word, whether or not that has a message (openclaw.md#order-of-frames-in-one-run).
        tellText(id, at: now)
        runs[id]?.state = .ended
        runs[id]?.endedAt = now
        let said: GatewayValue = era.isNew ? ["stopReason": "stop"] : [:]
        if !run.hidesSession {
            terminal(id, "final", said.with("message", withMessage ? message(run.chatText) : nil))
        }
        changed(run.session, "end", id, "done", at: now)
        free(run.session, at: now)
    }

    /// Of a session, to those who follow them.
    mutating func changed(_ session: String, _ phase: String, _ run: String, _ status: String, at now: Instant) {
        guard connection?.followsSessions == true else { return }
        tell(
            "sessions.changed",
            [
                "sessionKey": "\(session)", "phase": "\(phase)", "runId": "\(run)", "status": "\(status)",
                "ts": wall(now),
            ])
    }

    /// The model call fails, for good.
    private mutating func fail(_ id: String, _ why: String, at now: Instant) {
        attemptFails(id, why, at: now)
        switch era {
        case .e1: runs[id]?.state = .failed(why)
        case .e2: schedule(.verdict(run: id, message: why), after: .seconds(15), at: now)
        case .e3:
            lifecycle(id, ["phase": "error", "error": "\(why)", "aborted": false, "fallbackExhaustedFailure": true])
            verdict(id, why, at: now)
        case .e4: verdict(id, why, at: now)
        }
    }

    /// What was said is a row of its own, which tells the error.
    private mutating func attemptFails(_ id: String, _ why: String, at now: Instant) {
        guard let run = runs[id] else { return }
        if era != .e4 {
            write(
                "assistant", run.segment, in: run.session, run: id, stopReason: "error",
                errorMessage: era == .e3 ? nil : "vendor: \(why)", at: now)
        }
        guard era != .e3 else {
            return lifecycle(id, ["phase": "finishing", "error": "\(why)", "aborted": false])
        }
        lifecycle(id, ["phase": "error", "error": "\(why)"])
        // The earliest know no grace: each attempt that fails has its end (openclaw.md#order-of-frames-in-one-run).
        guard era == .e1, !run.hidesSession else { return }
        tellText(id, at: now)
        terminal(id, "error", ["errorMessage": "\(why)"])
    }

    mutating func verdict(_ id: String, _ why: String, at now: Instant) {
        guard let run = runs[id], !run.isOver else { return }
        // What was paced goes out before the last word, whatever that is (openclaw.md#chat).
        tellText(id, at: now)
        runs[id]?.state = .failed(why)
        switch era {
        // Of a run that a message began it has no terminal frame at all.
        case .e2 where run.question != nil: break
        case .e3:
            // Twice, and its message holds the error.
            let words = message("Error: \(why)")
            terminal(id, "error", ["errorMessage": "\(why)", "errorKind": "unknown", "message": words])
            terminal(id, "error", ["errorMessage": "\(why)", "message": words])
        default: terminal(id, "error", ["errorMessage": "\(why)", "errorKind": "unknown"])
        }
        changed(run.session, "error", id, "failed", at: now)
        free(run.session, at: now)
    }

    /// The gateway forgets what it sent: the new attempt's text begins without `replace` (openclaw.md#chat, retry trap). In the third era
    /// `chat` goes on behind the attempt that failed; in the first a new attempt has no chat, and no `chat` frame.
    private mutating func tryAgain(_ id: String, at now: Instant) {
        runs[id]?.segment = ""
        runs[id]?.saidText = ""
        if era == .e1 { runs[id]?.hidesSession = true }
        if era == .e3 {
            let text = runs[id]?.chatText ?? ""
            runs[id]?.earlier = text
        } else {
            runs[id]?.earlier = ""
            runs[id]?.chatText = ""
            runs[id]?.sentText = ""
            connection?.told.remove(id)
        }
        runs[id]?.sentAt = nil
        lifecycle(id, ["phase": "start", "startedAt": wall(now)])
    }

    mutating func abortRun(_ id: String, at now: Instant) {
        guard let run = runs[id] else { return }
        if !Self.trimmed(run.segment).isEmpty {
            write(
                "assistant", Self.trimmed(run.segment), in: run.session, key: "\(id):assistant", run: id,
                stopReason: era == .e4 ? "aborted" : "stop", at: now)
        }
        runs[id]?.state = .aborted
        for approval in approvals.keys where approvals[approval]?.run == id { approvals[approval] = nil }
        let text = run.hidesSession ? "" : run.chatText
        terminal(
            id, "aborted", (["stopReason": "rpc"] as GatewayValue).with("message", text.isEmpty ? nil : message(text)))
        if era == .e3 { lifecycle(id, ["phase": "end", "status": "cancelled", "aborted": true, "stopReason": "rpc"]) }
        guard run.hasBegun else { return free(run.session, at: now) }
        tearingDown.insert(id)
        schedule(.lifecycleAfterAbort(run: id), after: .milliseconds(era == .e3 ? 400 : 35), at: now)
    }

    /// The agent lets go of a run that was stopped: it writes what it had down once more.
    mutating func tornDown(_ id: String, at now: Instant) {
        tearingDown.remove(id)
        guard let run = runs[id] else { return }
        if era != .e4, !Self.trimmed(run.segment).isEmpty {
            write("assistant", run.segment, in: run.session, run: id, stopReason: "aborted", at: now)
        }
        switch era {
        case .e3:
            // The numbers of the run begin anew.
            runs[id]?.sequence = 0
            lifecycle(
                id, ["phase": "error", "error": "This operation was aborted", "aborted": true, "stopReason": "aborted"])
        case .e4: lifecycle(id, ["phase": "end", "stopReason": "aborted", "aborted": true])
        case .e1, .e2: lifecycle(id, ["phase": "end", "endedAt": wall(now)])
        }
        free(run.session, at: now)
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
        let payload: GatewayValue = [
            "runId": "\(run.id)", "seq": .integer(run.sequence), "stream": "\(stream)", "data": data,
        ]
        return payload.with("sessionKey", run.hidesSession ? nil : .text(run.session))
    }
}
