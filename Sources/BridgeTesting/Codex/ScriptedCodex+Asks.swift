import AgentKit
import BridgeModel

// What it asks of a person (codex.md#server-requests), and what happens at it without the bridge.
extension ScriptedCodex {
    // MARK: Asking

    /// The item has begun; the request waits without limit.
    func ask(_ approval: String, _ command: String, _ turn: CodexServedTurn, _ thread: CodexLoaded) {
        guard let process, !thread.grants.contains(command) else { return }
        let item = turn.tool?["id"] ?? .null
        let isQuestion = !turn.isForeign && random.happens(habits.choices)
        var params: GatewayValue = [
            "threadId": "\(thread.id)", "turnId": "\(turn.id)", "itemId": item, "startedAtMs": 1,
        ]
        if isQuestion {
            questions.insert(approval)
            params = params.with("isBlocking", true).with("questions", [Self.question(approval)])
        } else {
            params = params.with("kind", "command").with("approvalId", "\(approval)").with("reason", "May it run?")
                .with("command", "/bin/bash -lc '\(command)'").with("cwd", "/home/ada")
                .with("availableDecisions", ["accept", "cancel"])
        }
        let method = isQuestion ? "item/tool/requestUserInput" : "item/commandExecution/requestApproval"
        let ask = CodexServedAsk(
            turn: turn, method: method, params: params, approval: approval, isQuestion: isQuestion, command: command)
        let request = process.requests
        process.requests += 1
        process.approvals[request] = approval
        thread.asks[request] = ask
        turn.waitsFor = request
        tellStatus(thread)
        for number in thread.subscribers.sorted() {
            say(["method": "\(method)", "id": .integer(request), "params": params], on: number)
        }
        if turn.isForeign || habits.elsewhere > 0 && random.happens(habits.elsewhere) {
            answersElsewhere(request, process, thread)
        }
    }

    private static func question(_ id: String) -> GatewayValue {
        func option(_ label: String) -> GatewayValue { ["label": "\(label)", "description": ""] }
        let options: GatewayValue = [option(ScriptedChoice.yes(id)), option("Later"), option(ScriptedChoice.no(id))]
        return [
            "id": "answer", "header": "Reboot", "question": "\(ScriptedChoice.title(id))", "isOther": false,
            "isSecret": false, "options": options,
        ]
    }

    /// By another client of the server.
    private func answersElsewhere(_ request: Int, _ process: CodexProcess, _ thread: CodexLoaded) {
        time.after(.milliseconds(Int64.random(in: 300...3_000, using: &random))) { [self] in
            guard self.process === process, let ask = thread.asks[request] else { return }
            let isYes = random.happens(0.5)
            decidedElsewhere[ask.approval] = isYes
            resolve(request, ask, isYes: isYes, thread)
        }
    }

    // MARK: Answers

    /// One to nothing, or of a client that is not subscribed, is dropped without a word.
    func answered(_ frame: GatewayValue, on number: Int) {
        guard let request = frame["id"]?.number, let approval = process?.approvals[request] else { return }
        guard let thread = process?.loaded.first(where: { $0.asks[request] != nil }), let ask = thread.asks[request],
            thread.subscribers.contains(number)
        else {
            // It is a person's word all the same.
            if Self.isRefusal(frame["result"]) { decided.append(AgentDecided(approval, isYes: false)) }
            return
        }
        let decision = frame["result"]?["decision"]
        if decision?.isObject == true { breaches.append("a rule for ever about \(ask.command)") }
        let given = frame["result"]?["answers"]?["answer"]?["answers"]?.elements.first?.string
        let isYes =
            ask.isQuestion
            ? given == ScriptedChoice.yes(approval) : ["accept", "acceptForSession"].contains(decision?.string)
        decided.append(AgentDecided(approval, isYes: isYes))
        if decision?.string == "acceptForSession" { thread.grants.insert(ask.command) }
        resolve(request, ask, isYes: isYes, endsTurn: decision?.string == "cancel", thread)
    }

    private static func isRefusal(_ result: GatewayValue?) -> Bool {
        ["decline", "cancel"].contains(result?["decision"]?.string)
    }

    private func resolve(
        _ request: Int, _ ask: CodexServedAsk, isYes: Bool, endsTurn: Bool = false, _ thread: CodexLoaded
    ) {
        thread.asks[request] = nil
        ask.turn.waitsFor = nil
        notify("serverRequest/resolved", ["requestId": .integer(request)], thread)
        tellStatus(thread)
        if !isYes {
            if case .toolReturns? = ask.turn.steps.first?.step { ask.turn.steps.removeFirst() }
            toolEnds(["status": "declined"], nil, ask.turn, thread)
        }
        guard !endsTurn else { return interrupt(ask.turn, thread) }
        scheduleNext(ask.turn, thread)
    }

    /// Which of its approvals a frame of the bridge answers.
    package func approval(answeredBy frame: [UInt8]) -> String? {
        guard let value = GatewayValue.parse(frame), value["method"] == nil, let request = value["id"]?.number else {
            return nil
        }
        return process?.approvals[request]
    }
}
