import AgentKit
import Vocabulary

// Limits where no answer comes: a message that cannot reach its session, and a refused token.
extension OppiChat {
    /// Whether the turn makes no progress: its session can neither be followed nor looked
    /// up. A message that left waits for the link, as the bridge does.
    private func isStuck(at now: Instant) -> Bool {
        guard let turn, turn.look.found == nil else { return false }
        if turn.state == .held { return true }
        guard link.isUp else { return false }
        guard turn.isTaken, way == .live else { return true }
        if mayYetBegin(turn, at: now) { return false }
        if let until = decoder?.retryUntil, until > now { return false }
        return turn.look.isUnderWay || turn.look.due != nil
    }

    /// Checks the limit after each event.
    mutating func keepLimit(at now: Instant) -> [Order] {
        guard let turn, isStuck(at: now) else {
            self.turn?.stuckSince = nil
            return []
        }
        let since = turn.stuckSince ?? now
        self.turn?.stuckSince = since
        return since + turn.patience <= now ? giveUp(turn, at: now) : []
    }

    private mutating func giveUp(_ turn: OppiTurn, at now: Instant) -> [Order] {
        decoder?.abandon(turn.run)
        if turn.state == .held { return leaveUnsent(noPlace ?? Self.notReached, all: !link.isUp) + advance(at: now) }
        // The bridge repeats the stop on the next link.
        if turn.isStopping { return closeTurn(isStopAnswered: false) + advance(at: now) }
        guard turn.isTaken else { return refuse(.notSent(sentence: Self.unknowable)) + advance(at: now) }
        return settle(.failed(gone("its session could not be reached")), at: now) + advance(at: now)
    }

    private static let notReached =
        "The agent could not be reached for two minutes, so the message was not sent. Please send it again."

    /// Drops the turn's prompt and, if `all`, the prompts behind it.
    private mutating func leaveUnsent(_ sentence: String, all: Bool) -> [Order] {
        var orders = turn?.isStopping == true ? closeTurn() : refuse(.notSent(sentence: sentence))
        guard all else { return orders }
        for message in waiting where !message.mayHaveLeft {
            orders.append(.observed([.sendAnswered(asked: message.run, .notSent(sentence: sentence))]))
        }
        waiting.removeAll { !$0.mayHaveLeft }
        return orders
    }

    /// Drops unsent prompts: a person must supply another token, which may take days.
    mutating func tokenRefused(_ remedy: String) -> [Order] {
        guard turn?.state == .held || turn == nil && !waiting.isEmpty else { return [] }
        if home == .making { home = .unknown }
        return leaveUnsent("Oppi refused the bridge's token, so the message was not sent. Please \(remedy).", all: true)
    }
}
