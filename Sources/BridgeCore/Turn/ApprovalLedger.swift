import BridgeModel

/// The approvals of one turn: each asked once, decided once, forwarded once.
///
/// States of an approval:
/// - `open`: asked, nobody decided. Can transition to `decided` (a person on the phone), `settled` (elsewhere, expired, gone).
/// - `decided`: the decision was sent to the agent. Can transition to `settled` when the agent confirms or refuses it.
/// - `settled`: nothing more is done, whatever is said about it.
struct ApprovalLedger: Sendable, Hashable {
    enum State: Hashable { case open, decided(ApprovalDecision), settled }

    struct Approval: Hashable {
        var subject: ApprovalRequest.Subject
        var expiresAt: Instant?
        var state: State
        /// The run ends without it and a follow-up run comes (OpenClaw sheet 6.4, shape 1).
        var detached = false
    }

    enum Asked: Hashable {
        case ask(ApprovalCard)
        case refuseSilently(ApprovalRequest.Subject)
        case refuseVisibly(ApprovalRequest.Subject)
        case known
    }

    enum Decided: Hashable {
        case forward(ApprovalRequest.Subject, detached: Bool)
        case ignored
    }

    enum Settled: Hashable {
        /// As decided here: the card shows it already.
        case confirmed(ApprovalDecision, detached: Bool)
        /// Otherwise: the card does not show it.
        case otherwise(ApprovalSettlement.Outcome, detached: Bool)
        case ignored
    }

    /// More than this in one turn are refused without a card.
    static let limit = 200

    private var approvals: [ApprovalID: Approval] = [:]
    private var order: [ApprovalID] = []
    /// Marked before they were asked: the tool's result can overtake the broadcast.
    private var detachedEarly: Set<ApprovalID> = []

    var open: [ApprovalID] { order.filter { approvals[$0]?.state == .open } }
    var all: [ApprovalID] { order }
    /// A detached approval that is undecided.
    var hasDetachedOpen: Bool {
        !detachedEarly.isEmpty || approvals.values.contains { $0.detached && $0.state == .open }
    }
    var hasDetached: Bool { approvals.values.contains { $0.detached } }

    var nextExpiry: Instant? {
        approvals.values.compactMap { $0.state == .open ? $0.expiresAt : nil }.min()
    }

    mutating func asked(_ request: ApprovalRequest, stopping: Bool) -> Asked {
        if let known = approvals[request.id] {
            if let expiresAt = request.expiresAt, known.expiresAt == nil {
                approvals[request.id]?.expiresAt = expiresAt
            }
            return .known
        }
        let detached = detachedEarly.remove(request.id) != nil
        func enter(_ state: State) {
            approvals[request.id] = Approval(
                subject: request.subject, expiresAt: request.expiresAt, state: state, detached: detached)
            order.append(request.id)
        }
        if stopping {
            enter(.decided(.deny))
            return .refuseSilently(request.subject)
        }
        // Without a way to say yes the card would promise what it cannot do.
        let decidable = request.allowed.map { $0.contains(.approve) || $0.contains(.approveAlways) } ?? true
        guard decidable, approvals.count < Self.limit else {
            enter(.decided(.deny))
            return .refuseVisibly(request.subject)
        }
        enter(.open)
        return .ask(Self.card(request))
    }

    mutating func markDetached(_ id: ApprovalID) {
        guard approvals[id] == nil else {
            approvals[id]?.detached = true
            return
        }
        if detachedEarly.count < Self.limit { detachedEarly.insert(id) }
    }

    func knows(_ id: ApprovalID) -> Bool { approvals[id] != nil }

    mutating func decided(_ id: ApprovalID, _ decision: ApprovalDecision) -> Decided {
        guard let approval = approvals[id], approval.state == .open else { return .ignored }
        approvals[id]?.state = .decided(decision)
        return .forward(approval.subject, detached: approval.detached)
    }

    mutating func settled(_ settlement: ApprovalSettlement) -> Settled {
        guard let approval = approvals[settlement.id], approval.state != .settled else { return .ignored }
        approvals[settlement.id]?.state = .settled
        switch (approval.state, settlement.outcome) {
        case (.decided(let ours), .decided(let theirs)) where (ours == .deny) == (theirs == .deny):
            return .confirmed(theirs, detached: approval.detached)
        default: return .otherwise(settlement.outcome, detached: approval.detached)
        }
    }

    /// Takes those whose time is over; the agent does not say so in older builds (OpenClaw sheet 6.4).
    mutating func expire(at now: Instant) -> [ApprovalID] {
        open.filter { approvals[$0]?.expiresAt.map { $0 <= now } ?? false }
    }

    /// The turn is being stopped: all that is open is denied.
    mutating func denyOpen() -> [(ApprovalID, ApprovalRequest.Subject)] {
        open.compactMap { id in
            guard let subject = approvals[id]?.subject else { return nil }
            approvals[id]?.state = .decided(.deny)
            return (id, subject)
        }
    }

    private static func card(_ request: ApprovalRequest) -> ApprovalCard {
        let title = TextCut.marked(request.title.isEmpty ? "Approval needed" : request.title, atMost: 200)
        let command = request.command.map { TextCut.marked($0, atMost: 16_000) }
        let trimmed = request.message.allSatisfy(\.isWhitespace) ? "" : request.message
        // Never empty: the relay refused such a request, and the run hung (relay sheet 6.5).
        let message = trimmed.isEmpty ? command.map { "Run \($0)?" } ?? title : trimmed
        return ApprovalCard(
            approval: request.id, action: request.subject == .exec ? "shell.exec" : "plugin.invoke", title: title,
            message: TextCut.marked(message, atMost: 16_000), severity: request.severity, command: command,
            host: request.host, slug: request.slug, toolCall: request.call)
    }
}
