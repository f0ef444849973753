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
        var allowedByPerson: Bool?
        var decidedAt: Instant?
        var scope: String?
        var scopeValue: String?
        var askedWithLeast: Bool?
        var askedWithoutEnd: Bool?
        var fingerprint: String?
        var life: StoredCardLife?
        var parts: [String]?
        var inParts: Bool?
        var onlyDenied: Bool?
        var toldUnanswered: Bool?
        var unanswered: Bool?
        var conflicts: Int?
        var refuser: TurnID?

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
            case allowedByPerson = "allowed_by_person"
            case decidedAt = "decided_at"
            case scope = "scope"
            case scopeValue = "scope_value"
            case askedWithLeast = "asked_with_least"
            case askedWithoutEnd = "asked_without_end"
            case fingerprint = "fingerprint"
            case life = "life"
            case parts = "parts"
            case inParts = "in_parts"
            case onlyDenied = "only_denied"
            case toldUnanswered = "told_unanswered"
            case unanswered = "unanswered"
            case conflicts = "conflicts"
            case refuser = "refused_by"
        }
    }

    var asked: [Approval]?
    var detachedEarly: [ApprovalID]?
    var toldNarrowed: Bool?
    var partBytes: Int?

    enum CodingKeys: String, CodingKey {
        case asked = "asked"
        case detachedEarly = "detached_early"
        case toldNarrowed = "told_narrowed"
        case partBytes = "part_bytes"
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
        carry(&approval.isAllowed, &allowedByPerson, absent: false)
        carry(&approval.decidedAt, &decidedAt)
        carry(&approval.scope.name, &scope)
        carry(&approval.scope.value, &scopeValue)
        carry(&approval.cards.askedWithLeast, &askedWithLeast, absent: false)
        carry(&approval.cards.askedWithoutEnd, &askedWithoutEnd, absent: false)
        carry(&approval.cards.life, as: &life, absent: CardLife())
        carry(&approval.cards.parts, &parts, absent: [])
        carry(&approval.cards.isInParts, &inParts, absent: false)
        carry(&approval.cards.canOnlyBeDenied, &onlyDenied, absent: false)
        carry(&approval.cards.toldUnanswered, &toldUnanswered, absent: false)
        carry(&approval.isUnanswered, &unanswered, absent: false)
        carry(&approval.cards.conflicts, &conflicts, absent: 0)
        carry(&approval.refuser, &refuser)
    }

    init(_ id: ApprovalID, _ approval: ApprovalLedger.Approval) {
        (self.id, subject) = (id, StoredSubject(approval.subject))
        switch approval.state {
        case .open: state = .open
        case .decided(let decision): (state, self.decision) = (.decided, StoredDecision(decision))
        case .settled: state = .settled
        }
        if state != .settled { card = StoredCard(approval.cards.card) }
        if approval.cards.card.approval != id { card?.name = approval.cards.card.approval }
        fingerprint = approval.cards.fingerprint?.text
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
            cards: AskCards(card: (card ?? StoredCard()).card(id)), subject: subject.value,
            allowed: allowed.map { Set($0.map(\.value)) }, state: state)
        approval.cards.fingerprint = fingerprint.map { AskFingerprint($0) }
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
        partBytes = ledger.partBytes == 0 ? nil : ledger.partBytes
    }

    var value: ApprovalLedger {
        var ledger = ApprovalLedger()
        for stored in asked ?? [] {
            ledger.approvals[stored.id] = stored.approval
            ledger.order.append(stored.id)
        }
        ledger.detachedEarly = Set(detachedEarly ?? [])
        ledger.toldNarrowed = toldNarrowed ?? false
        ledger.partBytes = min(max(0, partBytes ?? 0), ApprovalLedger.partLimit)
        ledger.reckonExpiry()
        return ledger
    }
}

/// The cards of an ask, or the appearances of a question.
struct StoredCardLife: StoredForm {
    enum State: String, Codable {
        case queued = "queued"
        case telling = "telling"
        case posted = "posted"
        case shown = "shown"
        case closed = "closed"
    }

    var state: State
    /// The parts that the relay does not have yet.
    var parts: [StoredPostName]?
    var until: Instant?
    var number: Int?
    var askedAt: Instant?
    var postedAt: Instant?
    var dueAt: Instant?
    var limited: Bool?
    var first: Int?
    var returned: Int?
    var refilledAt: Instant?
    var shown: Int?

    enum CodingKeys: String, CodingKey {
        case state = "state"
        case parts = "parts"
        case until = "until"
        case number = "number"
        case askedAt = "asked_at"
        case postedAt = "posted_at"
        case dueAt = "due_at"
        case limited = "limited"
        case first = "first"
        case returned = "returned"
        case refilledAt = "refilled_at"
        case shown = "shown"
    }
}

extension StoredCardLife {
    private mutating func carry(_ life: inout CardLife, _ carry: Carry) {
        carry(&life.number, &number, absent: 1)
        carry(&life.askedAt, &askedAt)
        carry(&life.postedAt, &postedAt)
        carry(&life.dueAt, &dueAt)
        carry(&life.wasLimited, &limited, absent: false)
        carry(&life.first, &first, absent: 1)
        carry(&life.returned, &returned, absent: 0)
        carry(&life.refilledAt, &refilledAt)
        carry(&life.shownCards, &shown, absent: 0)
    }

    init(_ life: CardLife) {
        switch life.state {
        case .queued: state = .queued
        case .telling(let left):
            (state, parts) = (.telling, left.map { StoredPostName(.message($0)) }.sorted { $0.order < $1.order })
        case .posted: state = .posted
        case .shown(let until): (state, self.until) = (.shown, until)
        case .closed: state = .closed
        }
        var life = life
        carry(&life, .storing)
    }

    var value: CardLife {
        var life = CardLife()
        life.state =
            switch state {
            case .queued: .queued
            case .telling: .telling(Set((parts ?? []).compactMap(\.part)))
            case .posted: .posted
            case .shown: until.map { .shown(until: $0) } ?? .posted
            case .closed: .closed
            }
        var stored = self
        stored.carry(&life, .restoring)
        life.number = max(1, min(life.number, 1_000_000))
        life.first = max(1, min(life.first, life.number))
        life.returned = max(0, life.returned)
        life.shownCards = max(0, min(life.shownCards, 1_000_000))
        return life
    }
}

extension StoredPostName {
    fileprivate var order: String { "\(kind.rawValue) \(number ?? 0)" }
    fileprivate var part: WholeMessage.Part? { if case .message(let part) = value { part } else { nil } }
}
