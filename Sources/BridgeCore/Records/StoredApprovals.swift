import BridgeModel

/// The approvals of a turn, in the order they were asked for.
struct StoredApprovals: StoredForm {
    struct Approval: Codable, Hashable, Sendable {
        enum State: String, Codable {
            case open = "open"
            case decided = "decided"
            case settled = "settled"
        }

        var id: ApprovalID
        var subject: StoredSubject
        var state: State
        var decision: StoredDecision?
        /// Not of those that are settled: their cards are of no use, and may be large.
        var card: StoredCard?
        var expiresAt: Instant?
        var allowed: [StoredDecision]?
        var detached: Bool?
        var followUpBegan: Bool?
        var owed: Bool?
        var decidedByPerson: Bool?
        var decidedAt: Instant?
        var scope: String?
        var scopeValue: String?
        var askedWithLeast: Bool?

        enum CodingKeys: String, CodingKey {
            case id = "approval"
            case subject = "subject"
            case state = "state"
            case decision = "decision"
            case card = "card"
            case expiresAt = "expires_at"
            case allowed = "allowed"
            case detached = "detached"
            case followUpBegan = "follow_up_began"
            case owed = "owed"
            case decidedByPerson = "decided_by_person"
            case decidedAt = "decided_at"
            case scope = "scope"
            case scopeValue = "scope_value"
            case askedWithLeast = "asked_with_least"
        }
    }

    var asked: [Approval]?
    var detachedEarly: [ApprovalID]?
    var toldNarrowed: Bool?

    enum CodingKeys: String, CodingKey {
        case asked = "asked"
        case detachedEarly = "detached_early"
        case toldNarrowed = "told_narrowed"
    }
}

extension StoredApprovals.Approval {
    mutating func carry(_ approval: inout ApprovalLedger.Approval, _ carry: Carry) {
        carry(&approval.subject, as: &subject)
        carry(&approval.expiresAt, &expiresAt)
        carry(&approval.detached, &detached, absent: false)
        carry(&approval.followUpBegan, &followUpBegan, absent: false)
        carry(&approval.owed, &owed, absent: false)
        carry(&approval.decidedByPerson, &decidedByPerson, absent: false)
        carry(&approval.decidedAt, &decidedAt)
        carry(&approval.scope.name, &scope)
        carry(&approval.scope.value, &scopeValue)
        carry(&approval.askedWithLeast, &askedWithLeast, absent: false)
    }

    init(_ id: ApprovalID, _ approval: ApprovalLedger.Approval) {
        (self.id, subject) = (id, StoredSubject(approval.subject))
        switch approval.state {
        case .open: state = .open
        case .decided(let decision): (state, self.decision) = (.decided, StoredDecision(decision))
        case .settled: state = .settled
        }
        if state != .settled { card = StoredCard(approval.card) }
        allowed = approval.allowed.map { $0.map { StoredDecision($0) }.sorted { $0.rawValue < $1.rawValue } }
        var approval = approval
        carry(&approval, .storing)
    }

    var approval: ApprovalLedger.Approval {
        let state: ApprovalLedger.State =
            switch self.state {
            case .open: .open
            case .decided: .decided(decision?.value ?? .deny)
            case .settled: .settled
            }
        var approval = ApprovalLedger.Approval(
            card: (card ?? StoredCard()).card(id), subject: subject.value,
            allowed: allowed.map { Set($0.map(\.value)) }, state: state)
        var stored = self
        stored.carry(&approval, .restoring)
        return approval
    }
}

extension StoredApprovals {
    init(_ ledger: ApprovalLedger) {
        asked = ledger.order.compactMap { id in ledger.approvals[id].map { Approval(id, $0) } }
        detachedEarly = ledger.detachedEarly.isEmpty ? nil : ledger.detachedEarly.sorted()
        toldNarrowed = ledger.toldNarrowed ? true : nil
    }

    var value: ApprovalLedger {
        var ledger = ApprovalLedger()
        for stored in asked ?? [] {
            ledger.approvals[stored.id] = stored.approval
            ledger.order.append(stored.id)
        }
        ledger.detachedEarly = Set(detachedEarly ?? [])
        ledger.toldNarrowed = toldNarrowed ?? false
        ledger.reckonExpiry()
        return ledger
    }
}
