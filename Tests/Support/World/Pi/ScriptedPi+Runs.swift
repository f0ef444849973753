import Vocabulary

// Frames of a run, in the order of pi.md#a-run.
extension ScriptedPi {
    func begin(_ run: Int, on number: Int) {
        guard processes[number]?.run?.number == run else { return }
        processes[number]?.run?.hasBegun = true
        say(["type": "agent_start"], on: number)
        say(["type": "turn_start"], on: number)
        // Pictures stay in the session and appear in each later history (pi.md#framing).
        guard let going = processes[number]?.run else { return }
        let content: [GatewayValue] = [["type": "text", "text": "\(going.text)"]] + going.pictures
        add(["role": "user", "content": .array(content)], on: number)
        scheduleNext(run, on: number)
    }

    private func scheduleNext(_ run: Int, on number: Int) {
        guard let going = processes[number]?.run, going.number == run, going.dialog == nil,
            let next = going.steps.first
        else { return }
        time.after(next.after) { [self] in
            guard processes[number]?.run?.number == run, processes[number]?.run?.dialog == nil,
                let step = processes[number]?.run?.steps.popFirst()?.step
            else { return }
            perform(step, on: number)
            scheduleNext(run, on: number)
        }
    }

    /// Asks the model again. The rest of the current script is never said.
    func takesSteers(on number: Int) {
        guard let run = processes[number]?.run, !run.steers.isEmpty, !run.isRetrying, !run.isCompacting else { return }
        if run.said != nil { endMessage("stop", on: number) }
        processes[number]?.run?.steers = []
        for text in run.steers {
            asked.append(AgentAsked(.prompt, text))
            add(["role": "user", "content": [Self.content(text)]], on: number)
        }
        lost.insert(run.prompt)
        processes[number]?.run?.steps = scripts[run.steers.last ?? ""]?.steps[...] ?? []
        runCount += 1
        processes[number]?.run?.number = runCount
        scheduleNext(runCount, on: number)
    }

    private func perform(_ step: GatewayScript.Step, on number: Int) {
        switch step {
        case .says(let text): speak(text, on: number)
        case .callsTool(let id, let command):
            endMessage("toolUse", on: number)
            processes[number]?.run?.tool = (id, command)
            say(Self.tool("start", id).with("args", ["command": "\(command)"]), on: number)
        case .toolReturns where processes[number]?.run?.isDenied == true:
            toolEnds("Blocked by the user.", failed: true, on: number)
        case .toolReturns(let id, let output):
            let part: GatewayValue = Self.content(String(output.prefix(1)))
            say(Self.tool("update", id).with("partialResult", ["content": [part]]), on: number)
            toolEnds(output, failed: false, on: number)
        case .asksApproval(let id, let command):
            processes[number]?.run?.dialog = id
            processes[number]?.run?.asked = (command, id)
            if habits.guards == nil, random.happens(habits.choices) { return askChoice(id, on: number) }
            askAgain(id, on: number)
        case .attemptFails(let why): attemptFails(why, on: number)
        case .triesAgain: tryAgain(on: number)
        case .fails(let why):
            endMessage("error", error: why, on: number)
            endLoop(on: number)
        case .finishes, .finishesEmpty: finish(losesEnd: step == .finishesEmpty, on: number)
        case .drops, .restarts, .takes, .saysAside, .vanishes, .toolFails: breaches.append("a script for another agent")
        }
    }

    /// Sends the open dialog of the run.
    func askAgain(_ id: String, on number: Int) {
        guard let command = processes[number]?.run?.asked?.command else { return }
        if let options = habits.guards { return guards(id, command, options, on: number) }
        say(
            [
                "type": "extension_ui_request", "id": "\(id)", "method": "confirm", "title": "Run it?",
                "message": "\(command)",
            ], on: number)
    }

    private func guards(_ id: String, _ command: String, _ options: [String], on number: Int) {
        say(
            [
                "type": "extension_ui_request", "id": "\(id)", "method": "select",
                "title": "Dangerous command:\n\n  \(command)\n\nAllow?",
                "options": .array(options.map { .text($0) }),
            ], on: number)
    }

    private func askChoice(_ id: String, on number: Int) {
        questions.insert(id)
        say(
            [
                "type": "extension_ui_request", "id": "\(id)", "method": "select",
                "title": "\(ScriptedChoice.title(id))",
                "options": ["\(ScriptedChoice.yes(id))", "Later", "\(ScriptedChoice.no(id))"],
            ], on: number)
    }

    // MARK: Messages

    private static func content(_ text: String) -> GatewayValue { ["type": "text", "text": "\(text)"] }

    private func assistant(_ text: String, _ stop: String, error: String? = nil) -> GatewayValue {
        let usage: GatewayValue = ["input": 12, "output": 3, "totalTokens": 15]
        let message: GatewayValue = [
            "role": "assistant", "content": text.isEmpty ? [] : [Self.content(text)], "provider": "test",
            "model": "model", "usage": usage, "stopReason": "\(stop)", "timestamp": 1_770_000_000_000,
        ]
        return message.with("errorMessage", error.map { .text($0) })
    }

    private func speak(_ text: String, on number: Int) {
        // A partial message already reads `stop` (pi.md#events-stdout).
        if processes[number]?.run?.said == nil {
            say(["type": "message_start", "message": assistant("", "stop")], on: number)
        }
        let said = (processes[number]?.run?.said ?? "") + text
        processes[number]?.run?.said = said
        tellDelta(text, of: said, on: number)
    }

    private func tellDelta(_ text: String, of said: String, on number: Int) {
        let event: GatewayValue = ["type": "text_delta", "contentIndex": 0, "delta": "\(text)"]
        let frame: GatewayValue = ["type": "message_update"]
        guard !habits.isLater else { return say(frame.with("assistantMessageEvent", event), on: number) }
        let partial = assistant(said, "stop")
        say(
            frame.with("message", partial).with("assistantMessageEvent", event.with("partial", partial)), on: number)
    }

    /// Ends the message, which is in the session's file from now on.
    private func endMessage(_ stop: String, error: String? = nil, on number: Int) {
        guard let run = processes[number]?.run else { return }
        let message = assistant(run.said ?? "", stop, error: error)
        if run.said == nil { say(["type": "message_start", "message": message], on: number) }
        processes[number]?.run?.said = nil
        store(message, on: number)
        say(["type": "message_end", "message": message], on: number)
        guard let said = run.said, random.happens(habits.lateness) else { return }
        let last = said.split(separator: " ").last.map(String.init) ?? said
        tellDelta(" " + last, of: said + " " + last, on: number)
    }

    private func add(_ message: GatewayValue, on number: Int) {
        say(["type": "message_start", "message": message], on: number)
        store(message, on: number)
        say(["type": "message_end", "message": message], on: number)
    }

    private func store(_ message: GatewayValue, on number: Int) {
        guard let session = processes[number]?.session else { return }
        files[session, default: []].append(message)
        processes[number]?.run?.produced.append(message)
    }

    // MARK: Tools

    private static func tool(_ phase: String, _ id: String) -> GatewayValue {
        ["type": "tool_execution_\(phase)", "toolCallId": "\(id)", "toolName": "bash"]
    }

    private func toolEnds(_ output: String, failed: Bool, on number: Int) {
        guard let (id, _) = processes[number]?.run?.tool else { return }
        processes[number]?.run?.tool = nil
        let content: GatewayValue = .array([Self.content(output)])
        say(
            Self.tool("end", id).with("result", ["content": content]).with("isError", .flag(failed)), on: number)
        add(
            [
                "role": "toolResult", "toolCallId": "\(id)", "toolName": "bash", "content": content,
                "isError": .flag(failed),
            ], on: number)
        say(["type": "turn_end", "toolResults": []], on: number)
        say(["type": "turn_start"], on: number)
        takesSteers(on: number)
    }

    func goOn(afterYes isYes: Bool, on number: Int) {
        guard let run = processes[number]?.run else { return }
        processes[number]?.run?.dialog = nil
        if !isYes, case .toolReturns? = run.steps.first?.step {
            processes[number]?.run?.steps.removeFirst()
            toolEnds("Blocked by the user.", failed: true, on: number)
        }
        scheduleNext(run.number, on: number)
    }

    // MARK: The end

    private func attemptFails(_ why: String, on number: Int) {
        endMessage("error", error: why, on: number)
        say(["type": "turn_end", "toolResults": []], on: number)
        tellLoopEnd(willRetry: true, on: number)
        if habits.isLater { sayStrangeThings(on: number) }
        processes[number]?.run?.isRetrying = true
        say(
            [
                "type": "auto_retry_start", "attempt": 1, "maxAttempts": 3, "delayMs": 2_000,
                "errorMessage": "\(why)",
            ], on: number)
    }

    private func tryAgain(on number: Int) {
        processes[number]?.run?.isRetrying = false
        processes[number]?.run?.hasRetried = true
        processes[number]?.run?.produced = []
        say(["type": "agent_start"], on: number)
        say(["type": "turn_start"], on: number)
    }

    /// With `losesEnd`, output of something else overwrites the last records and makes them unreadable
    /// (pi.md#framing).
    private func finish(losesEnd: Bool, on number: Int) {
        guard let run = processes[number]?.run else { return }
        endMessage("stop", on: number)
        finished.insert(run.prompt)
        if run.hasRetried { say(["type": "auto_retry_end", "success": true, "attempt": 1], on: number) }
        guard losesEnd || !random.happens(habits.compactsBehind) else { return compactsBehind(on: number) }
        ends[run.prompt] = time.now
        endLoop(isLost: losesEnd, on: number)
    }

    private func endLoop(isLost: Bool = false, on number: Int) {
        if isLost {
            processes[number]?.line.say("\u{1B}]0;pi\u{7}{\"type\":\"agent_e")
        } else {
            say(["type": "turn_end", "toolResults": []], on: number)
            tellLoopEnd(willRetry: false, on: number)
            sayStrangeThings(on: number)
        }
        becomeIdle(settles: !isLost, on: number)
    }

    func tellLoopEnd(willRetry: Bool, on number: Int) {
        let end: GatewayValue = ["type": "agent_end", "messages": .array(processes[number]?.run?.produced ?? [])]
        say(habits.isLater ? end.with("willRetry", .flag(willRetry)) : end, on: number)
    }

    func becomeIdle(settles: Bool, on number: Int) {
        if settles, habits.isLater { say(["type": "agent_settled"], on: number) }
        processes[number]?.run = nil
        for id in processes[number]?.aborts ?? [] { answer("abort", id, on: number) }
        processes[number]?.aborts = []
    }

    /// pi.md#abort: dialogs resolve in silence, and the text so far stays.
    func stop(on number: Int) {
        guard let run = processes[number]?.run else { return }
        guard !run.isRetrying else {
            say(["type": "auto_retry_end", "success": false, "finalError": "Retry cancelled"], on: number)
            return becomeIdle(settles: true, on: number)
        }
        processes[number]?.run?.dialog = nil
        if run.tool != nil { toolEnds("Aborted.", failed: true, on: number) }
        endMessage("aborted", error: "Request was aborted", on: number)
        endLoop(on: number)
    }
}
