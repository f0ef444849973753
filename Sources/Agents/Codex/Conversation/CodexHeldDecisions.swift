import Vocabulary

/// Decisions whose asks are not open: after a loss the server asks again once the thread is resumed.
struct CodexHeldDecisions {
    /// Longest wait of a decision for its ask, once all threads are followed.
    static let patience = Duration.seconds(10)
    private static let limit = 1_000

    private struct Held {
        var decision: ApprovalDecision
        var isUnanswered: Bool
        /// Fingerprint of the card, or nil for a denial, which applies to any ask of this name.
        var fingerprint: AskFingerprint?
        var since: Instant
    }

    private var held: [ApprovalID: Held] = [:]

    var nextDeadline: Instant? { held.values.map { $0.since + Self.patience }.min() }
    var approvals: [ApprovalID] { held.keys.sorted() }

    /// False if the card's fingerprint is unknown; such a yes can answer nothing.
    mutating func hold(
        _ decision: ApprovalDecision, isUnanswered: Bool, on approval: ApprovalID, shown: AskFingerprint?,
        at now: Instant
    ) -> Bool {
        guard held[approval]?.decision != .deny, held.count < Self.limit else { return true }
        guard decision == .deny || shown != nil else { return false }
        let fingerprint = decision == .deny ? nil : shown
        held[approval] = Held(decision: decision, isUnanswered: isUnanswered, fingerprint: fingerprint, since: now)
        return true
    }

    /// `asked`: fingerprint of the ask that came under this name.
    mutating func take(
        _ approval: ApprovalID, asked: AskFingerprint?
    ) -> (decision: ApprovalDecision, isUnanswered: Bool)? {
        guard let known = held[approval], known.fingerprint == nil || known.fingerprint == asked else { return nil }
        held[approval] = nil
        return (known.decision, known.isUnanswered)
    }

    /// Restarts the wait: until all threads are followed, a missing ask proves nothing.
    mutating func waitAgain(at now: Instant) { for approval in held.keys { held[approval]?.since = now } }

    mutating func takeOverdue(at now: Instant) -> [ApprovalID] {
        let overdue = held.filter { $0.value.since + Self.patience <= now }.keys.sorted()
        for approval in overdue { held[approval] = nil }
        return overdue
    }
}
