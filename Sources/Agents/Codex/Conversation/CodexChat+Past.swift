import AgentKit
import Vocabulary

// Past of the chat from an earlier process of the bridge: its turn, and messages behind it (`when_busy: steer`).
extension CodexChat {
    /// Adopts runs in the order of their messages.
    mutating func adopt(_ run: EarlierTurn.Run, of earlier: EarlierTurn, at now: Instant) {
        var prompt = CodexPrompt(run: run.id, text: run.text ?? "")
        prompt.isWhole = run.text != nil && !run.hadFiles
        prompt.folder = run.folder
        prompt.model = CodexPrompt.model(of: run.model)
        prompt.level = run.level
        var turn = CodexTurn(prompt, .doubtful, at: now)
        turn.isAdopted = true
        turn.wasAccepted = earlier.isAccepted
        if earlier.isStopping { turn.stop = .due(until: now + CodexTurn.stopPatience) }
        turn.stopReach = earlier.stopReach
        // The thread would have been recorded before the prompt left.
        if place == nil, turn.mayBeRepeated {
            errands.append(.prompt(prompt))
        } else if self.turn == nil {
            self.turn = turn
        } else {
            behind.append(turn)
        }
    }

    mutating func adoptAsks(of earlier: EarlierTurn) {
        asks.adopt(earlier.questions)
        asks.adopt(earlier.asks, earlier.decisions)
    }

    func isBehind(_ run: RunID) -> Bool { behind.contains { $0.run == run } }

    /// False if no message behind the turn has this run.
    mutating func stopsBehind(_ run: RunID, _ reach: StopReach, at now: Instant) -> Bool {
        guard let index = behind.firstIndex(where: { $0.run == run }) else { return false }
        if !behind[index].isStopping || reach == .everyRun { behind[index].stopReach = reach }
        behind[index].stop = .due(until: now + CodexTurn.stopPatience)
        return true
    }

    mutating func areOfSameServer(_ isSame: Bool) {
        turn?.watch.sees(isSameServer: isSame)
        for index in behind.indices { behind[index].watch.sees(isSameServer: isSame) }
    }

    /// Hands on the messages behind a turn that runs or never began: none of them has left, except one that Codex has answered.
    mutating func sendBehind() -> [Order] {
        let unsent = behind.filter { !$0.wasAccepted }
        behind.removeAll { !$0.wasAccepted }
        errands.insert(contentsOf: unsent.filter(\.mayBeRepeated).map { .prompt($0.prompt) }, at: 0)
        return unsent.filter { !$0.mayBeRepeated }.map { turn in
            let why = "The bridge was started again before Codex had this message, and its files are not kept."
            return .observed([
                turn.isStopping
                    ? .abortAnswered(turn.run)
                    : .sendAnswered(asked: turn.run, .notSent(sentence: "\(why) Please send it again."))
            ])
        }
    }

    /// Fails every turn: the thread is out of reach.
    mutating func failTurns(_ why: String) -> [Order] {
        var orders = failTurn(why)
        while !behind.isEmpty {
            turn = behind.removeFirst()
            orders += failTurn(why)
        }
        return orders
    }
}
