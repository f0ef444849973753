import Vocabulary

// A turn from its prompt to its end (codex.md#a-turn).
extension ScriptedCodex {
    private static let withoutLogin = Duration.seconds(13)

    // MARK: The beginning

    func startTurn(_ id: GatewayValue, _ params: GatewayValue, _ thread: CodexLoaded, on number: Int) {
        let input = params["input"]?.elements ?? []
        let text = ScriptedGateway.asked(input.compactMap { $0["text"]?.string }.joined(separator: "\n"))
        guard let script = scripts[text] else {
            breaches.append("prompt \(text)")
            return refuse(id, "no script", on: number)
        }
        let label = params["clientUserMessageId"]?.string
        if label == nil { breaches.append("\(text) has no label") }
        if params["effort"] != nil { tally.note("Codex: checks the effort of a prompt") }
        if let effort = params["effort"]?.string, !Self.efforts.contains(effort) {
            breaches.append("\(text) has the effort \(effort)")
            return refuse(id, "Invalid request: unknown variant `\(effort)`", on: number)
        }
        asked.append(AgentAsked(.prompt, text))
        if let turn = thread.turn {
            // Codex answers with the active turn, without an error.
            reply(id, ["turn": turn.value([])], on: number)
            return steer(turn, text, label, script, thread)
        }
        let turn = makeTurn(text, label: label, isForeign: false, script.steps, thread)
        reply(id, ["turn": turn.value([])], on: number)
    }

    /// Starts a turn in an idle thread.
    @discardableResult
    func makeTurn(
        _ text: String, label: String?, isForeign: Bool, _ steps: [GatewayScript.Timed], _ thread: CodexLoaded
    ) -> CodexServedTurn {
        counts.turns += 1
        let turn = CodexServedTurn("turn-\(counts.turns)", text, label: label, isForeign: isForeign, steps)
        thread.turn = turn
        unwritten.insert(text)
        if troubles.hasLostThread, thread.rollout.turns.isEmpty { withoutPast.insert(text) }
        if thread.rollout.file == .absent { thread.rollout.file = .empty }
        time.after(.milliseconds(Int64.random(in: habits.beginning, using: &random))) { [self] in
            guard !turn.isOver else { return }
            turn.hasBegun = true
            tellStatus(thread, "active")
            notify("turn/started", ["turn": turn.value([])], thread)
            time.after(.milliseconds(Int64.random(in: 1...15, using: &random))) { [self] in
                guard !turn.isOver else { return }
                userSays(text, label, turn, thread)
                works(turn, thread)
            }
        }
        return turn
    }

    /// The user's message is the first sign of the turn on the disk.
    private func userSays(_ text: String, _ label: String?, _ turn: CodexServedTurn, _ thread: CodexLoaded) {
        let content: GatewayValue = [["type": "text", "text": "\(text)", "text_elements": []]]
        let item: GatewayValue = [
            "type": "userMessage", "id": "\(nextItem("user"))", "clientId": label.map { .text($0) } ?? .null,
            "content": content,
        ]
        thread.rollout.file = .written
        if !thread.rollout.turns.contains(where: { $0 === turn }) { thread.rollout.turns.append(turn) }
        unwritten.remove(text)
        begins(item, turn, thread)
        completes(item, turn, thread)
    }

    /// Without a login the provider refuses each attempt.
    private func works(_ turn: CodexServedTurn, _ thread: CodexLoaded) {
        guard time.now < troubles.loggedOutUntil else { return scheduleNext(turn, thread) }
        time.after(Self.withoutLogin) { [self] in
            guard !turn.isOver else { return }
            lost.formUnion(turn.prompts)
            let info: GatewayValue = ["httpConnectionFailed": ["httpStatusCode": 401]]
            fail("unexpected status 401 Unauthorized", info, turn, thread)
        }
    }

    /// Codex asks the model again, at once or after the running command. The answer so far breaks off, and the rest
    /// of the script is never said.
    /// The message becomes an item behind the others, even if the turn has not begun yet.
    private func steer(
        _ turn: CodexServedTurn, _ text: String, _ label: String?, _ script: GatewayScript, _ thread: CodexLoaded
    ) {
        lost.formUnion(turn.prompts)
        turn.prompts.append(text)
        unwritten.insert(text)
        turn.steers.append(CodexSteer(text: text, label: label, steps: script.steps))
        turn.message = nil
        let end = turn.steps.firstIndex { if case .toolReturns = $0.step { true } else { false } }
        turn.steps = turn.tool == nil ? [] : end.map { turn.steps[...$0] } ?? []
        guard turn.hasBegun, turn.tool == nil else { return }
        scheduleNext(turn, thread)
    }

    /// Queues a message for the turn of this name. Its item confirms that Codex took it (codex.md#stop-steer-busy).
    func steerTurn(_ id: GatewayValue, _ params: GatewayValue, _ thread: CodexLoaded, on number: Int) {
        let text = ScriptedGateway.asked(
            (params["input"]?.elements ?? []).compactMap { $0["text"]?.string }.joined(separator: "\n"))
        guard let script = scripts[text] else {
            breaches.append("words \(text)")
            return refuse(id, "no script", on: number)
        }
        guard let turn = thread.turn, turn.hasBegun, !turn.isOver else {
            return refuse(id, "no active turn to steer", on: number)
        }
        let expected = params["expectedTurnId"]?.string ?? ""
        guard turn.id == expected else {
            return refuse(id, "expected active turn id `\(expected)` but found `\(turn.id)`", on: number)
        }
        if random.happens(0.1) { return refuse(id, "cannot steer a compact turn", on: number) }
        reply(id, ["turnId": "\(turn.id)"], on: number)
        lost.formUnion(turn.prompts)
        turn.steers.append(
            CodexSteer(text: text, label: params["clientUserMessageId"]?.string, steps: script.steps, isCounted: false))
        // A turn that waits for an answer or a tool takes the message later.
        guard turn.waitsFor == nil, turn.tool == nil else { return }
        turn.message = nil
        scheduleNext(turn, thread)
    }

    private func takesSteer(_ turn: CodexServedTurn, _ thread: CodexLoaded) {
        turn.request += 1
        let request = turn.request
        time.after(.milliseconds(20)) { [self] in
            guard !turn.isOver, turn.request == request, let last = turn.steers.last else { return }
            for steer in turn.steers {
                if !steer.isCounted {
                    asked.append(AgentAsked(.prompt, steer.text))
                    turn.prompts.append(steer.text)
                }
                userSays(steer.text, steer.label, turn, thread)
            }
            // The answer covers all of the messages, so the turn counts as the bridge's.
            turn.isForeign = false
            turn.steers = []
            turn.steps = last.steps[...]
            scheduleNext(turn, thread)
        }
    }

    // MARK: The course

    func scheduleNext(_ turn: CodexServedTurn, _ thread: CodexLoaded) {
        guard !turn.isOver, turn.waitsFor == nil else { return }
        if !turn.steers.isEmpty, turn.hasBegun, turn.tool == nil { return takesSteer(turn, thread) }
        guard let next = turn.steps.first else { return }
        let request = turn.request
        time.after(next.after) { [self] in
            guard !turn.isOver, turn.waitsFor == nil, turn.request == request, let step = turn.steps.popFirst()?.step
            else { return }
            play(step, turn, thread)
            scheduleNext(turn, thread)
        }
    }

    private func play(_ step: GatewayScript.Step, _ turn: CodexServedTurn, _ thread: CodexLoaded) {
        switch step {
        case .says(let text): speak(text, turn, thread)
        case .callsTool(let id, let command): callTool(id, command, turn, thread)
        case .toolReturns(_, let output): toolEnds(["status": "completed", "exitCode": 0], output, turn, thread)
        case .asksApproval(let id, let command): ask(id, command, turn, thread)
        case .attemptFails(let why):
            // The text of the failed attempt leaves no trace.
            turn.message = nil
            let error: GatewayValue = ["message": "Reconnecting... 1/5 \(why)", "codexErrorInfo": "other"]
            tell("error", ["error": error, "willRetry": true], turn, thread)
        case .triesAgain: break
        case .fails(let why): fail(why, "serverOverloaded", turn, thread)
        case .finishes, .finishesEmpty: finish(losesEnd: step == .finishesEmpty, turn, thread)
        case .drops, .restarts, .takes, .saysAside, .vanishes, .toolFails: breaches.append("a script for another agent")
        }
    }

    private func speak(_ text: String, _ turn: CodexServedTurn, _ thread: CodexLoaded) {
        if turn.message == nil {
            if random.happens(0.3) { think(turn, thread) }
            let id = nextItem("msg")
            turn.message = (id, "")
            begins(message(id, ""), turn, thread)
        }
        turn.message?.text += text
        tell(
            "item/agentMessage/delta", ["itemId": "\(turn.message?.id ?? "")", "delta": "\(text)"], turn, thread)
    }

    private func think(_ turn: CodexServedTurn, _ thread: CodexLoaded) {
        let item: GatewayValue = ["type": "reasoning", "id": "\(nextItem("rs"))", "summary": [], "content": []]
        begins(item, turn, thread)
        completes(item, turn, thread)
    }

    private func message(_ id: String, _ text: String) -> GatewayValue {
        ["type": "agentMessage", "id": "\(id)", "text": "\(text)", "phase": .null, "delivery": .null]
    }

    private func endMessage(_ turn: CodexServedTurn, _ thread: CodexLoaded) {
        guard let (id, text) = turn.message else { return }
        turn.message = nil
        let item = message(id, text)
        turn.answer = item
        completes(item, turn, thread)
    }

    // MARK: Items

    func nextItem(_ kind: String) -> String {
        counts.items += 1
        return "\(kind)-\(counts.items)"
    }

    private func tell(_ method: String, _ params: GatewayValue, _ turn: CodexServedTurn, _ thread: CodexLoaded) {
        notify(method, params.with("turnId", "\(turn.id)"), thread)
    }

    private func begins(_ item: GatewayValue, _ turn: CodexServedTurn, _ thread: CodexLoaded) {
        tell("item/started", ["item": item, "startedAtMs": 1], turn, thread)
    }

    private func completes(_ item: GatewayValue, _ turn: CodexServedTurn, _ thread: CodexLoaded) {
        turn.items.append(item)
        tell("item/completed", ["item": item, "completedAtMs": 1], turn, thread)
    }

    private func callTool(_ id: String, _ command: String, _ turn: CodexServedTurn, _ thread: CodexLoaded) {
        endMessage(turn, thread)
        let item: GatewayValue = [
            "type": "commandExecution", "id": "call-\(id)", "command": "/bin/bash -lc '\(command)'", "cwd": "/home/ada",
            "processId": "\(10_000 + counts.items)", "commandActions": [["type": "unknown", "command": "\(command)"]],
        ]
        turn.tool = item
        begins(item.with("status", "inProgress").with("aggregatedOutput", .null), turn, thread)
    }

    func toolEnds(_ end: GatewayValue, _ output: String?, _ turn: CodexServedTurn, _ thread: CodexLoaded) {
        guard let item = turn.tool else { return }
        turn.tool = nil
        if let output, random.happens(0.5) {
            let id = item["id"] ?? .null
            tell("item/commandExecution/outputDelta", ["itemId": id, "delta": "\(output.suffix(1))"], turn, thread)
        }
        let whole = item.with("status", end["status"]).with("exitCode", end["exitCode"])
        completes(whole.with("aggregatedOutput", output.map { .text($0) } ?? .null), turn, thread)
        countTokens(turn, thread)
    }

    /// End of a command that outlived its turn.
    func terminalEnds(_ number: String, _ end: GatewayValue, _ thread: CodexLoaded) {
        guard let (item, turn) = thread.terminals.removeValue(forKey: number) else { return }
        let whole = item.with("status", end["status"]).with("exitCode", end["exitCode"])
        notify(
            "item/completed", ["item": whole.with("aggregatedOutput", .null), "turnId": "\(turn)", "completedAtMs": 1],
            thread)
    }

    func usage(_ thread: CodexLoaded, _ turn: String) -> GatewayValue {
        let tokens = thread.rollout.tokens
        let total: GatewayValue = ["inputTokens": .integer(10 * tokens), "outputTokens": .integer(tokens)]
        return [
            "turnId": "\(turn)", "tokenUsage": ["total": total, "last": ["inputTokens": 120, "outputTokens": 12]],
        ]
    }

    private func countTokens(_ turn: CodexServedTurn, _ thread: CodexLoaded) {
        thread.rollout.tokens += 12
        notify("thread/tokenUsage/updated", usage(thread, turn.id), thread)
    }

    // MARK: The end

    private func finish(losesEnd: Bool, _ turn: CodexServedTurn, _ thread: CodexLoaded) {
        endMessage(turn, thread)
        countTokens(turn, thread)
        for prompt in turn.prompts { ends[prompt] = time.now }
        let isLost = losesEnd || habits.losesEnds > 0 && random.happens(habits.losesEnds)
        if isLost { tally.note("Codex: does not report the end of a turn") }
        end(turn, "completed", [turn.answer].compactMap(\.self), isLost: isLost, thread)
    }

    private func fail(_ why: String, _ info: GatewayValue, _ turn: CodexServedTurn, _ thread: CodexLoaded) {
        turn.message = nil
        let error: GatewayValue = ["message": "\(why)", "codexErrorInfo": info]
        turn.error = error
        notify("thread/tokenUsage/updated", usage(thread, turn.id), thread)
        tellStatus(thread, "systemError")
        tell("error", ["error": error, "willRetry": false], turn, thread)
        end(turn, "failed", [], isLost: false, thread)
    }

    private func end(
        _ turn: CodexServedTurn, _ status: String, _ items: [GatewayValue], isLost: Bool, _ thread: CodexLoaded
    ) {
        turn.status = status
        turn.completedAt = 1_770_000_009
        thread.turn = nil
        thread.wasInterrupted = status == "interrupted"
        let open = thread.asks.filter { $0.value.turn === turn }.keys.sorted()
        for request in open { thread.asks[request] = nil }
        if status != "failed" { tellStatus(thread, "idle") }
        if troubles.lostEnds > 0, !isLost {
            troubles.lostEnds -= 1
        } else if !isLost {
            turn.endIsKnown = !thread.subscribers.isEmpty
            notify("turn/completed", ["turn": turn.value(items)], thread)
        }
        for request in open { notify("serverRequest/resolved", ["requestId": .integer(request)], thread) }
        for late in thread.lateInterrupts { reply(late.id, [:], on: late.client) }
        thread.lateInterrupts = []
        considerUnloading(thread)
    }

    // MARK: Stop

    func interrupt(_ id: GatewayValue, _ name: String, _ thread: CodexLoaded, on number: Int) {
        guard let turn = thread.turn else {
            guard thread.wasInterrupted else { return refuse(id, "no active turn to interrupt", on: number) }
            return thread.lateInterrupts.append((number, id))
        }
        guard turn.id == name else {
            return refuse(id, "expected active turn id \(name) but found \(turn.id)", on: number)
        }
        guard turn.hasBegun else { return refuse(id, "no active turn to interrupt", on: number) }
        if turn.isForeign, turn.prompts.count == 1 { breaches.append("another client's turn was interrupted") }
        for prompt in turn.prompts { asked.append(AgentAsked(.abort, prompt)) }
        if turn.prompts.contains(where: stubborn.contains) { return }
        if habits.ignoresStops > 0, random.happens(habits.ignoresStops) {
            tally.note("Codex: ignores an interrupt and goes on")
            return stubborn.formUnion(turn.prompts)
        }
        interrupt(turn, thread) { [self] in reply(id, [:], on: number) }
    }

    /// The interrupted text reaches no record, and the running command continues as a terminal of the thread.
    func interrupt(_ turn: CodexServedTurn, _ thread: CodexLoaded, answer: () -> Void = {}) {
        turn.message = nil
        if turn.waitsFor == nil, let item = turn.tool, let terminal = item["processId"]?.string {
            thread.terminals[terminal] = (item, turn.id)
            time.after(.seconds(4)) { [self] in
                if process?.threads[thread.id] === thread {
                    terminalEnds(terminal, ["status": "completed", "exitCode": 0], thread)
                }
            }
        }
        turn.tool = nil
        notify("thread/tokenUsage/updated", usage(thread, turn.id), thread)
        answer()
        end(turn, "interrupted", [], isLost: false, thread)
    }
}
