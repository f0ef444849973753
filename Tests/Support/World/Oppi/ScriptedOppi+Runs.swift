import FoundationEssentials
import Vocabulary

// Frames of a run, in the order of oppi.md#how-a-run-looks-and-where-the-final-text-is.
extension ScriptedOppi {
    // MARK: Loops

    func begin(_ run: OppiRun, _ session: OppiSession) {
        run.hasBegun = true
        session.status = "busy"
        session.busySince = time.now
        emit("agent_start", session)
        nextTurnStarts(session)
        tellState(session)
        if isSeed { emit("turn_start", session) }
    }

    /// Plays a prompt. Steering messages left by an earlier failure follow it before the first words.
    func play(_ prompt: String, _ run: OppiRun, _ session: OppiSession) {
        run.steps = (scripts[prompt]?.steps ?? [])[...]
        run.prompt = prompt
        userSays(prompt, session)
        while let text = takeQueued(onlySteering: true, session) {
            tally.note("Oppi: takes up what was left of a run that failed")
            steer(text, run, session)
        }
        scheduleNext(run, session)
    }

    private func steer(_ text: String, _ run: OppiRun, _ session: OppiSession) {
        run.steered.append(run.prompt)
        // The newest script's end becomes the end of the whole run.
        run.steps = (run.steps.filter { !$0.step.isEnd } + (scripts[text]?.steps ?? []))[...]
        run.prompt = text
        userSays(text, session)
    }

    /// Plays the next queued message. Without one the loop ends.
    func playNext(_ run: OppiRun, onlySteering: Bool = false, _ session: OppiSession) {
        guard let text = takeQueued(onlySteering: onlySteering, session) else {
            return onlySteering ? scheduleNext(run, session) : endLoop(run, session)
        }
        if onlySteering {
            steer(text, run, session)
        } else {
            if isSeed {
                emit("turn_end", session)
                emit("turn_start", session)
            }
            run.steered = []
            run.steps = (scripts[text]?.steps ?? [])[...]
            run.prompt = text
            userSays(text, session)
        }
        scheduleNext(run, session)
    }

    private func userSays(_ text: String, _ session: OppiSession) {
        asked.append(AgentAsked(.prompt, text))
        session.prompts.append(text)
        let whole = wholePrompts[text] ?? text
        let pictures = session.activation?.run?.pictures ?? []
        session.activation?.run?.pictures = []
        let inTrace = ([whole] + pictures).joined(separator: "\n")
        write([row(session, "user", entry(session)).with("text", "\(inTrace)")], session)
        if !session.unwritten.isEmpty { unwritten.insert(text) }
        emit("message_end", ["role": "user", "content": "\(whole)"], session)
        tellState(session)
    }

    private func scheduleNext(_ run: OppiRun, _ session: OppiSession) {
        guard !run.isOver, run.waitsFor == nil, let next = run.steps.first else { return }
        time.after(next.after) { [self] in
            guard !run.isOver, run.waitsFor == nil, let step = run.steps.popFirst()?.step else { return }
            perform(step, run, session)
            // The end of a tool lets steering messages in, and `playNext` continues the run.
            if case .toolReturns = step { return playNext(run, onlySteering: true, session) }
            scheduleNext(run, session)
        }
    }

    private func perform(_ step: GatewayScript.Step, _ run: OppiRun, _ session: OppiSession) {
        switch step {
        case .says(let text): speak(text, run, session)
        case .callsTool(let id, let command): callTool(id, command, run, session)
        case .toolReturns(_, let output): toolEnds(output, isError: false, run, session)
        case .asksApproval(let id, let command): ask(id, command, run, session)
        case .attemptFails(let why): attemptFails(why, run, session)
        case .triesAgain: tryAgain(run, session)
        case .fails(let why):
            failMessage(why, run, session)
            let attempt = run.attempt
            run.attempt = 0
            endLoop(run, session)
            if attempt > 0 {
                emit(
                    "retry_end", ["success": false, "attempt": .integer(attempt), "finalError": "\(why)"], session)
            }
        case .finishes, .finishesEmpty: finish(isEmpty: step == .finishesEmpty, run, session)
        case .drops, .restarts, .takes, .saysAside, .vanishes, .toolFails: breaches.append("a script for another agent")
        }
    }

    private func finish(isEmpty: Bool, _ run: OppiRun, _ session: OppiSession) {
        let compacts = isEmpty && random.happens(0.5)
        if isEmpty, !compacts {
            callTool("\(run.number)last", "true", run, session)
            toolEnds("", isError: false, run, session)
        }
        endMessage(run, session)
        for prompt in run.steered + [run.prompt] { ends[prompt] = time.now }
        playNext(run, session)
        guard compacts, run.isOver else { return }
        emit("compaction_start", ["reason": "threshold"], session)
        time.after(.milliseconds(200)) { [self] in
            emit("compaction_end", ["aborted": false, "willRetry": false], session)
        }
    }

    private func endLoop(settles: Bool = true, _ run: OppiRun, _ session: OppiSession) {
        if settles, run.attempt > 0 {
            emit("retry_end", ["success": true, "attempt": .integer(run.attempt)], session)
            run.attempt = 0
        }
        if isSeed { emit("turn_end", session) }
        emit("agent_end", session)
        guard settles else { return }
        run.isOver = true
        session.activation?.run = nil
        tellState(session, "ready")
    }

    // MARK: Messages

    private func speak(_ text: String, _ run: OppiRun, _ session: OppiSession) {
        if run.said.isEmpty, random.happens(0.2) { emit("thinking_delta", ["delta": "Hm. "], session) }
        run.said += text
        if run.unstreamed != nil || random.happens(0.05) {
            run.unstreamed = (run.unstreamed ?? "") + text
        } else {
            emit("text_delta", ["delta": "\(text)"], session)
        }
    }

    /// Sends the whole message, which is empty if the model wrote nothing.
    private func endMessage(tool: String? = nil, isPartial: Bool = false, _ run: OppiRun, _ session: OppiSession) {
        if isSeed, !isPartial, let rest = run.unstreamed { emit("text_delta", ["delta": "\(rest)"], session) }
        let text = run.said
        (run.said, run.unstreamed) = ("", nil)
        let name = entry(session)
        var rows: [GatewayValue] = []
        for (number, block) in blocks(of: text).enumerated() {
            rows.append(row(session, "assistant", "\(name)-text-\(number)").with("text", "\(block)"))
        }
        if let tool {
            rows.append(row(session, "toolCall", tool).with("tool", "bash").with("args", ["command": "df"]))
        }
        write(rows, isAnswer: true, session)
        session.tokens += 12
        emit("message_end", ["role": "assistant", "content": "\(text)"], session)
        tellState(session)
    }

    /// An answer may have several blocks, each with its own row in the trace.
    private func blocks(of text: String) -> [String] {
        guard !text.isEmpty else { return [] }
        guard text.count > 8, random.happens(0.3) else { return [text] }
        return [String(text.prefix(text.count / 2)), String(text.dropFirst(text.count / 2))]
    }

    private func failMessage(_ why: String, _ run: OppiRun, _ session: OppiSession) {
        // The failed message keeps its words, and the trace has it like any other.
        if !isSeed { emit("error", ["error": "\(why)"], session) }
        endMessage(isPartial: true, run, session)
    }

    private func attemptFails(_ why: String, _ run: OppiRun, _ session: OppiSession) {
        run.isRetrying = true
        run.isCompacting = random.happens(0.3)
        failMessage(run.isCompacting ? "context length exceeded" : why, run, session)
        endLoop(settles: false, run, session)
        tellState(session, "ready")
        guard !run.isCompacting else { return emit("compaction_start", ["reason": "overflow"], session) }
        run.attempt += 1
        emit(
            "retry_start",
            [
                "attempt": .integer(run.attempt), "maxAttempts": 3, "delayMs": 2_500, "errorMessage": "\(why)",
            ], session)
    }

    private func tryAgain(_ run: OppiRun, _ session: OppiSession) {
        if run.isCompacting { emit("compaction_end", ["aborted": false, "willRetry": true], session) }
        (run.isRetrying, run.isCompacting) = (false, false)
        begin(run, session)
    }

    // MARK: Tools

    private func callTool(_ id: String, _ command: String, _ run: OppiRun, _ session: OppiSession) {
        func starts(_ args: GatewayValue) {
            let shown: GatewayValue = [["text": "$ ", "style": "bold"], ["text": "\(command)", "style": "accent"]]
            emit("tool_start", ["tool": "bash", "args": args, "toolCallId": "\(id)", "callSegments": shown], session)
        }
        if !isSeed { for count in 1..<max(1, habits.fragments) { starts(["command": "\(command.prefix(count))"]) } }
        endMessage(tool: id, run, session)
        run.tool = id
        starts(["command": "\(command)"])
        tellState(session)
    }

    func toolEnds(_ output: String, isError: Bool, _ run: OppiRun, _ session: OppiSession) {
        guard let id = run.tool else { return }
        run.tool = nil
        emit("tool_output", ["output": "\(output)", "toolCallId": "\(id)"], session)
        write(
            [
                row(session, "toolResult", "result-\(entry(session))").with("toolCallId", "\(id)")
                    .with("toolName", "bash").with("output", "\(output)").with("isError", .flag(isError))
            ], session)
        let end: GatewayValue = ["tool": "bash", "toolCallId": "\(id)"]
        let segments: GatewayValue = [["text": "exit ?", "style": "error"]]
        emit("tool_end", isError ? end.with("isError", true).with("resultSegments", segments) : end, session)
        // The tool's result is a message that only this frame shows.
        tellState(session)
        guard isSeed else { return }
        emit("turn_end", session)
        emit("turn_start", session)
    }

    /// Continues after a decision, or without one.
    func goOn(_ run: OppiRun, afterYes isYes: Bool, _ words: String, _ session: OppiSession) {
        guard !run.isOver else { return }
        run.waitsFor = nil
        if run.stop == .asked { return aborts(run, session) }
        if !isYes, case .toolReturns? = run.steps.first?.step {
            run.steps.removeFirst()
            toolEnds(words, isError: true, run, session)
        }
        scheduleNext(run, session)
    }

    // MARK: The end

    /// Keeps the text so far. The permission that the run waited for stays open until it expires.
    func aborts(_ run: OppiRun, _ session: OppiSession) {
        losePrompts(of: session)
        session.activation?.dialog = nil
        if !run.isRetrying, run.hasBegun {
            if run.tool != nil { toolEnds("Command aborted", isError: true, run, session) }
            endMessage(isPartial: true, run, session)
            endLoop(settles: false, run, session)
        }
        run.isOver = true
        session.activation?.run = nil
        emit("stop_confirmed", ["source": "user"], session)
        tellState(session, "ready")
    }

    // MARK: The trace

    private func entry(_ session: OppiSession) -> String {
        session.entries += 1
        return "e\(session.entries)"
    }

    private func row(_ session: OppiSession, _ type: String, _ id: String) -> GatewayValue {
        let date = Date(timeIntervalSince1970: Double(wallMilliseconds) / 1_000)
        let timestamp = date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        return ["id": "\(id)", "type": "\(type)", "timestamp": "\(timestamp)"]
    }

    private func write(_ rows: [GatewayValue], isAnswer: Bool = false, _ session: OppiSession) {
        if habits.isLate, session.rows.isEmpty, !isAnswer {
            session.unwritten += rows
            return
        }
        session.rows += session.unwritten + rows
        session.unwritten = []
    }
}

extension GatewayScript.Step {
    var isEnd: Bool {
        switch self {
        case .finishes, .finishesEmpty, .fails: true
        default: false
        }
    }
}
