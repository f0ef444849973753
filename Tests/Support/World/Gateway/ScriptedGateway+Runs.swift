import Vocabulary

// Frames of a run, in the order of openclaw.md#order-of-frames-in-one-run.
extension ScriptedGateway {
    private static let pace = Duration.milliseconds(150)

    mutating func begin(_ id: String, at now: Instant) {
        guard let run = runs[id], !run.isOver else { return }
        guard atWork < era.lane else { return lane.append(id) }
        runs[id]?.hasBegun = true
        if run.isAside { return perform(id, at: now) }
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

    /// Plays the first step and schedules the next.
    private mutating func perform(_ id: String, at now: Instant) {
        guard let step = runs[id]?.steps.popFirst()?.step else { return }
        switch step {
        case .says(let text): say(id, text, at: now)
        case .callsTool(let call, let command): callTool(id, call, command, at: now)
        case .toolReturns(let call, let output): toolReturns(id, call, output, failed: false)
        case .toolFails(let call, let output): toolReturns(id, call, output, failed: true)
        case .asksApproval(let approval, let command): ask(id, approval, command, at: now)
        case .attemptFails(let why): attemptFails(id, why, at: now)
        case .triesAgain: tryAgain(id, at: now)
        case .fails(let why): fail(id, why, at: now)
        case .finishes: finish(id, withMessage: true, at: now)
        case .finishesEmpty: finish(id, withMessage: false, at: now)
        case .vanishes: vanish(id, at: now)
        case .drops(let count): drops += count
        case .saysAside(let text): sayAside(id, text)
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
        let said = Self.visible(run.segment)
        let files = Self.files(in: run.segment)
        guard said != run.saidText && !said.isEmpty || files.count > run.files.count else { return }
        // The text is trimmed, so the next words bring the white space before them.
        let addition = String(said.dropFirst(run.saidText.count))
        runs[id]?.saidText = said
        runs[id]?.chatText = GatewayText.merged(run.chatText, earlier: run.earlier, said, addition, era)
        runs[id]?.unspoken += addition
        speak(id, Array(files.dropFirst(run.files.count)), at: now)
        if let sentAt = runs[id]?.sentAt, now - sentAt < Self.pace { return }
        tellText(id, at: now)
    }

    /// Sends one delta if the text differs from the last one sent.
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
        // E4 leaves out text that the client can put together itself (openclaw.md#chat).
        let mayOmit = era == .e4 && extends && !isFirst && !run.sentText.isEmpty
        if era.isNew { payload = payload.with("agentId", "main") }
        broadcast("chat", payload.with("message", mayOmit ? nil : message(text)), mayDrop: true)
    }

    /// Newer gateways join the words of one pace into one frame, which a later step sends.
    private mutating func speak(_ id: String, _ files: [String], at now: Instant) {
        runs[id]?.files += files
        let isPaced = era.coalescesSpeech && runs[id]?.spokenAt.map { now - $0 < Self.pace } == true
        if isPaced, files.isEmpty { return }
        if isPaced { tellSpeech(id, at: now) }
        tellSpeech(id, files, at: now)
    }

    private mutating func tellSpeech(_ id: String, _ files: [String] = [], at now: Instant) {
        guard let run = runs[id], !run.unspoken.isEmpty || !files.isEmpty else { return }
        runs[id]?.unspoken = ""
        runs[id]?.spokenAt = now
        guard connection?.capabilities.contains("chat-only-assistant-text") != true else { return }
        let said: GatewayValue = ["text": "\(run.saidText)", "delta": "\(run.unspoken)"]
        agent(id, "assistant", said.with("mediaUrls", files.isEmpty ? nil : .array(files.map { .text($0) })))
    }

    /// The text without its `MEDIA:` lines, which name files.
    static func visible(_ text: String) -> String {
        guard text.contains("MEDIA:") else { return trimmed(text) }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        return trimmed(lines.filter { !$0.hasPrefix("MEDIA:") }.joined(separator: "\n"))
    }

    private static func files(in text: String) -> [String] {
        guard text.contains("MEDIA:") else { return [] }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast(1)
        return lines.filter { $0.hasPrefix("MEDIA:") }.map { trimmed(String($0.dropFirst(6))) }
    }

    private mutating func sayAside(_ id: String, _ text: String) {
        guard let run = runs[id] else { return }
        broadcast(
            "chat.side_result",
            [
                "kind": "btw", "runId": "\(id)", "sessionKey": "\(run.session)", "question": "\(run.question ?? "")",
                "text": "\(text)", "isError": false, "ts": wall(clock),
            ])
    }

    package static func trimmed(_ text: String) -> String {
        var text = text.drop { $0.isWhitespace }
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }

    // MARK: Tools

    private mutating func callTool(_ id: String, _ call: String, _ command: String, at now: Instant) {
        // E1 never sends the words that the pace held back.
        if era != .e1 { tellText(id, at: now) }
        tellSpeech(id, at: now)
        runs[id]?.hasCalled = true
        endSegment(id, stopReason: "toolUse", at: now)
        tool(
            id,
            [
                "phase": "start", "name": "\(Self.tool(of: command))", "toolCallId": "\(call)",
                "args": Self.arguments(command),
            ])
        items(id, call, phase: "start", status: "running", more: ["title": "\(command)", "meta": "\(command)"])
    }

    /// A command such as `write /a` stands for a call of the file tool.
    private static func tool(of command: String) -> String {
        let word = command.prefix { $0 != " " }
        return ["read", "write", "edit"].contains(word) ? String(word) : "exec"
    }

    private static func arguments(_ command: String) -> GatewayValue {
        tool(of: command) == "exec" ? ["command": "\(command)"] : ["path": "\(command.drop { $0 != " " }.dropFirst())"]
    }

    // MARK: The end

    /// Each segment is one row of the history (openclaw.md#chathistory).
    mutating func endSegment(_ id: String, stopReason: String, at now: Instant) {
        guard let run = runs[id] else { return }
        let text = run.segment
        if !Self.trimmed(text).isEmpty {
            write("assistant", text, in: run.session, run: id, stopReason: stopReason, at: now)
        }
        runs[id]?.earlier += Self.visible(run.segment)
        runs[id]?.segment = ""
        runs[id]?.saidText = ""
        runs[id]?.files = []
        // E1 starts the text anew.
        if !era.tellsWholeRun {
            runs[id]?.sentText = ""
            runs[id]?.sentAt = nil
        }
    }

    mutating func finish(_ id: String, withMessage: Bool, at now: Instant) {
        guard let run = runs[id] else { return }
        if run.isAside { return finishAside(id, at: now) }
        tellSpeech(id, at: now)
        endSegment(id, stopReason: "stop", at: now)
        if era.isNew { lifecycle(id, ended(["phase": "finishing", "stopReason": "stop", "aborted": false], run)) }
        let end: GatewayValue =
            era.isNew ? ["phase": "end", "stopReason": "stop", "aborted": false] : ["phase": "end"]
        lifecycle(id, ended(end, run))
        // Paced text leaves before the terminal frame, even if that has no message
        // (openclaw.md#order-of-frames-in-one-run).
        tellText(id, at: now)
        runs[id]?.state = .ended
        runs[id]?.endedAt = now
        let said: GatewayValue = era.isNew ? ["stopReason": "stop", "agentId": "main"] : [:]
        if !run.hidesSession {
            terminal(id, "final", said.with("message", withMessage ? message(run.chatText) : nil))
        }
        changed(run.session, "end", id, "done", at: now)
        free(run.session, at: now)
    }

    private mutating func vanish(_ id: String, at now: Instant) {
        runs[id]?.state = .ended
        runs[id]?.endedAt = now
        if let session = runs[id]?.session { free(session, at: now) }
    }

    private mutating func finishAside(_ id: String, at now: Instant) {
        runs[id]?.state = .ended
        runs[id]?.endedAt = now
        terminal(id, "final", [:])
        if let session = runs[id]?.session { free(session, at: now) }
    }

    /// The model call fails for good.
    private mutating func fail(_ id: String, _ why: String, at now: Instant) {
        attemptFails(id, why, at: now)
        switch era {
        case .e1:
            runs[id]?.state = .failed(why)
            if let session = runs[id]?.session { free(session, at: now) }
        case .e2: schedule(.verdict(run: id, message: why), after: .seconds(15), at: now)
        case .e3:
            lifecycle(id, failed(["phase": "error", "error": "\(why)", "fallbackExhaustedFailure": true]))
            verdict(id, why, at: now)
        case .e4: verdict(id, why, at: now)
        }
    }

    /// Writes the text so far as a row with the error.
    private mutating func attemptFails(_ id: String, _ why: String, at now: Instant) {
        guard let run = runs[id] else { return }
        if era != .e4 {
            write(
                "assistant", era == .e3 ? "" : run.segment, in: run.session, run: id, stopReason: "error",
                errorMessage: era == .e3 ? nil : "vendor: \(why)", at: now)
        }
        tellSpeech(id, at: now)
        lifecycle(id, failed(["phase": era == .e3 ? "finishing" : "error", "error": "\(why)"]))
        // E1 has no grace period: each failed attempt gets a terminal frame (openclaw.md#order-of-frames-in-one-run).
        guard era == .e1, !run.hidesSession else { return }
        tellText(id, at: now)
        terminal(id, "error", ["errorMessage": "\(why)"])
    }

    mutating func verdict(_ id: String, _ why: String, at now: Instant) {
        guard let run = runs[id], !run.isOver else { return }
        // Paced text leaves before the terminal frame, whatever that is (openclaw.md#chat).
        tellText(id, at: now)
        runs[id]?.state = .failed(why)
        switch era {
        // E2 sends no terminal frame for a failed run that a message began.
        case .e2 where run.question != nil: break
        case .e3:
            // E3 sends it twice, with the error as the message.
            let words = message("Error: \(why)")
            terminal(
                id, "error", ["errorMessage": "\(why)", "errorKind": "unknown", "message": words, "agentId": "main"])
            terminal(id, "error", ["errorMessage": "\(why)", "message": words])
        default: terminal(id, "error", ["errorMessage": "\(why)", "errorKind": "unknown"])
        }
        changed(run.session, "error", id, "failed", at: now)
        free(run.session, at: now)
    }

    /// The gateway forgets what it sent, so the new attempt's text begins without `replace` (openclaw.md#chat, retry
    /// trap). In E3 the text of `chat` continues behind the failed attempt's; in E1 a new attempt sends no `chat`
    /// frame.
    private mutating func tryAgain(_ id: String, at now: Instant) {
        runs[id]?.segment = ""
        runs[id]?.saidText = ""
        runs[id]?.files = []
        runs[id]?.unspoken = ""
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
        runs[id]?.unspoken = ""
        if era == .e3 {
            lifecycle(
                id,
                [
                    "phase": "end", "status": "cancelled", "aborted": true, "stopReason": "rpc",
                    "startedAt": .integer(run.startedAtMilliseconds), "endedAt": wall(now),
                ])
        }
        guard run.hasBegun else {
            // Early gateways send the end of a run that never began under the same name.
            if !era.isNew { terminal(id, "final", ["message": message(Self.unbegun)]) }
            return free(run.session, at: now)
        }
        tearingDown.insert(id)
        let usual = Duration.milliseconds(era == .e3 ? 400 : 35)
        schedule(.lifecycleAfterAbort(run: id), after: run.letsGoAfter ?? usual, at: now)
        free(run.session, at: now)
    }

    private static let unbegun = "⚠️ Agent failed before reply: the run was aborted."

    /// The agent releases a stopped run, and writes the interrupted text again.
    mutating func tornDown(_ id: String, at now: Instant) {
        guard tearingDown.remove(id) != nil, let run = runs[id] else { return }
        if era != .e4, !Self.trimmed(run.segment).isEmpty {
            write(
                "assistant", run.segment, in: run.session, run: id, stopReason: "aborted",
                errorMessage: "Request was aborted.", at: now)
        }
        switch era {
        case .e3:
            // The run's sequence starts again at one.
            runs[id]?.sequence = 0
            runs[id]?.isTornDown = true
            lifecycle(
                id,
                [
                    "phase": "error", "error": "This operation was aborted", "aborted": true, "stopReason": "aborted",
                    "endedAt": wall(now),
                ])
        case .e4: lifecycle(id, ["phase": "end", "stopReason": "aborted", "aborted": true])
        case .e2: lifecycle(id, ended(["phase": "end"], run))
        // E1 reports nothing further.
        case .e1: break
        }
        free(run.session, at: now)
    }

    mutating func terminal(_ id: String, _ state: String, _ more: GatewayValue) {
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
}
