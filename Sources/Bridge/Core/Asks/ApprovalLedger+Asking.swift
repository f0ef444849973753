import Vocabulary

// New asks: which ask it is, the content of its card, and asks that cannot be shown.
extension ApprovalLedger {
    /// Inputs for the card of an ask.
    struct Showing: Hashable {
        var isSealed = false
        /// Bytes that a message of the chat holds.
        var messageLimit = 60_000
        /// The hour at which the agent stops waiting, for people.
        var hour: String?
        var severity = ApprovalRequest.Severity.medium
        /// The relay takes the end of a card.
        var hasEnds = true
        /// The chat's next message may refuse the ask in words.
        var takesWords = false
    }

    /// Most bytes of parts in one turn.
    static let partLimit = 262_144
    /// Names in a row under which the relay may have something else. After these the card counts as refused for good.
    static let conflictLimit = 5

    mutating func asked(
        _ request: ApprovalRequest, _ showing: Showing = Showing(), stopping: Bool, at now: Instant = .zero
    ) -> Asked {
        let fingerprint = AskFingerprint(of: request)
        let known = approvals[request.id]
        if let known, isSame(known, fingerprint) {
            if let expiresAt = request.expiresAt, known.expiresAt == nil {
                approvals[request.id]?.expiresAt = expiresAt
                reckonExpiry()
            }
            return .known
        }
        let text = CardText(request, isSealed: showing.isSealed, until: showing.hour, takesWords: showing.takesWords)
        var life = CardLife(number: known.map { $0.cards.life.number + 1 } ?? 1, askedAt: now)
        while isUsed(CardName.card(request.id, life.number), besides: request.id) { life.rename() }
        let name = CardName.card(request.id, life.number)
        var cards = AskCards(card: request.card(text, named: name, showing.severity), life: life)
        cards.fingerprint = fingerprint
        cards.canOnlyBeDenied = text.isCut
        cards.parts = text.parts(atMost: showing.messageLimit)
        var asked = Approval(
            cards: cards, subject: request.subject, expiresAt: request.expiresAt, allowed: request.allowed,
            state: .open,
            detached: detachedEarly.remove(request.id) != nil || known?.detached ?? false)
        func enter(_ state: State) {
            if request.isIncomplete { asked.cards.isUnsaid() }
            asked.state = state
            if known == nil { order.append(request.id) }
            approvals[request.id] = asked
            reckonExpiry()
        }
        if stopping {
            if approvals.count < Self.limit { enter(.decided(.deny)) }
            return .refuseSilently(request.subject)
        }
        // A card that offers no yes would promise what it cannot do.
        let decidable = request.allowed.map { $0.contains(.approve) || $0.contains(.approveAlways) } ?? true
        guard decidable, approvals.count < Self.limit else {
            if approvals.count < 2 * Self.limit { enter(.decided(.deny)) }
            return .refuseVisibly(request.subject)
        }
        let bytes = asked.cards.parts.reduce(0) { $0 + $1.utf8.count }
        if !asked.cards.parts.isEmpty, partBytes + bytes > Self.partLimit { asked.cards.isTooLong() }
        if !asked.cards.parts.isEmpty {
            partBytes += bytes
            asked.cards.card.title = text.title(behind: asked.cards.parts.count)
            asked.cards.card.severity = .critical
            asked.cards.life.state = .queued
            enter(.open)
            return .askInParts
        }
        asked.cards.card.endsAfter = showing.hasEnds ? Self.life(until: asked.expiresAt, at: now) : nil
        enter(.open)
        return .ask(asked.cards.card)
    }

    private func isSame(_ known: Approval, _ fingerprint: AskFingerprint) -> Bool {
        // A record of an earlier version has no fingerprint: an ask that ended there stays ended.
        guard let before = known.cards.fingerprint else {
            return known.state == .settled || known.state == .decided(.deny)
        }
        return before == fingerprint
    }

    func isUsed(_ name: ApprovalID, besides id: ApprovalID) -> Bool {
        approvals.contains { $0.key != id && CardName.cards($0.key, $0.value.cards.life.number).contains(name) }
    }

    /// The agent's own end, but at most the longest life that the relay gives a card.
    static func life(until end: Instant?, at now: Instant) -> Duration {
        min(CardLife.longest, max(end.map { $0 - now } ?? CardLife.longest, .seconds(1)))
    }
}
