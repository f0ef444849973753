import Vocabulary

// Cards of the turn's asks: which one is the newest, the relay's reports on it, and when the next one comes.
extension ApprovalLedger {
    /// The ask that a card was made for. The card is not the newest if it is an earlier one of the ask, or of another ask under its id.
    func ask(ofCard name: ApprovalID) -> (id: ApprovalID, isNewest: Bool)? {
        if let id = order.first(where: { approvals[$0]?.cards.card.approval == name }) { return (id, true) }
        let earlier = order.first { id in
            approvals[id].map { CardName.cards(id, $0.cards.life.number).contains(name) } ?? false
        }
        return earlier.map { ($0, false) }
    }

    /// The open ask whose newest card this is.
    func openAsk(ofCard name: ApprovalID) -> ApprovalID? {
        guard let ask = ask(ofCard: name), ask.isNewest, isOpen(ask.id) else { return nil }
        return ask.id
    }

    /// A card of the ask went to the phone, or is about to.
    func hasCard(_ id: ApprovalID) -> Bool {
        switch approvals[id]?.cards.life.state {
        case .posted, .shown, .closed: true
        case .queued, .telling, nil: false
        }
    }

    // MARK: The relay's reports

    /// The relay took the card. True if it took the card without its end, after refusing it with one.
    mutating func cardTaken(_ name: ApprovalID, at now: Instant) -> Bool {
        guard let id = openAsk(ofCard: name) else { return false }
        approvals[id]?.cards.life.taken(at: now)
        approvals[id]?.cards.conflicts = 0
        reckonExpiry()
        return approvals[id].map { $0.cards.askedWithoutEnd && !$0.cards.askedWithLeast } ?? false
    }

    /// The same card without its end, or nil if the end cannot be the reason for the refusal.
    mutating func askWithoutEnd(_ id: ApprovalID) -> ApprovalCard? {
        guard let approval = approvals[id], approval.state == .open, approval.cards.card.endsAfter != nil else {
            return nil
        }
        approvals[id]?.cards.askedWithoutEnd = true
        approvals[id]?.cards.card.endsAfter = nil
        return approvals[id]?.cards.card
    }

    /// The same card under the next name, or nil if that was tried often enough.
    mutating func underNextName(_ id: ApprovalID) -> ApprovalCard? {
        guard var cards = approvals[id]?.cards, isOpen(id), cards.conflicts < Self.conflictLimit else { return nil }
        cards.conflicts += 1
        repeat { cards.life.rename() } while isUsed(CardName.card(id, cards.life.number), besides: id)
        cards.card.approval = CardName.card(id, cards.life.number)
        approvals[id]?.cards = cards
        return cards.card
    }

    /// The newest card expired unanswered. False if the ask is not open, or its card was closed before.
    mutating func closeCard(_ id: ApprovalID, limitedFor refill: Duration? = nil, at now: Instant) -> Bool {
        guard let approval = approvals[id], approval.state == .open, !approval.cards.life.isClosed else { return false }
        // The relay's decision can arrive before its answer to the request.
        approvals[id]?.cards.life.taken(at: now)
        if let refill {
            approvals[id]?.cards.life.closeForLimit(refill, agentWaitsUntil: approval.expiresAt, at: now)
        } else {
            approvals[id]?.cards.life.close(agentWaitsUntil: approval.expiresAt, at: now)
        }
        reckonExpiry()
        return true
    }

    /// The newest card never reached the relay. False if the ask is not open, or has no card.
    mutating func loseCard(_ id: ApprovalID, at now: Instant) -> Bool {
        guard let approval = approvals[id], approval.state == .open, !approval.cards.life.isClosed else { return false }
        approvals[id]?.cards.life.close(agentWaitsUntil: approval.expiresAt, at: now)
        reckonExpiry()
        return true
    }

    /// Cards on their way to the relay.
    var postedCards: [ApprovalID] {
        approvals.values.compactMap {
            $0.state == .open && $0.cards.life.state == .posted ? $0.cards.card.approval : nil
        }
    }

    /// The end of the last open ask, by the agent's clock or by the patience of the bridge.
    var lastEnd: Instant? {
        open.compactMap { id -> Instant? in
            guard let approval = approvals[id] else { return nil }
            let givesUp = patience.flatMap { patience in approval.cards.life.askedAt.map { $0 + patience } }
            return [approval.expiresAt, givesUp].compactMap(\.self).min()
        }.max()
    }

    /// Whether the chat lacks the line that nobody answered. False from the second call on.
    mutating func tellsUnanswered(_ id: ApprovalID) -> Bool {
        defer { approvals[id]?.cards.toldUnanswered = true }
        return approvals[id]?.cards.toldUnanswered == false
    }

    // MARK: The next card

    /// Open asks without a card that a person can have back, oldest first.
    func returnable(isAskedFor: Bool, at now: Instant) -> [(id: ApprovalID, askedAt: Instant)] {
        order.compactMap { id in
            guard let approval = approvals[id], approval.state == .open,
                approval.cards.life.mayReturn(isAskedFor: isAskedFor, agentWaitsUntil: approval.expiresAt, at: now)
            else { return nil }
            return (id, approval.cards.life.askedAt ?? .zero)
        }
    }

    enum Return: Hashable {
        case card(ApprovalCard)
        /// The parts of the ask are posted again before its card, for one such ask of a chat at a time.
        case inParts
    }

    /// The next card of the ask, or nil if it has one or has ended.
    mutating func comesBack(_ id: ApprovalID, hasEnds: Bool, at now: Instant) -> Return? {
        guard let approval = approvals[id], mayComeBack(id, at: now) else { return nil }
        // Repeated parts count against the turn's limit too.
        let bytes = approval.cards.parts.reduce(0) { $0 + $1.utf8.count }
        if bytes > 0, partBytes + bytes > Self.partLimit {
            approvals[id]?.cards.isTooLong()
        } else {
            partBytes += bytes
        }
        approvals[id]?.cards.life.reopen(inParts: approval.cards.isInParts, at: now)
        let number = approvals[id]?.cards.life.number ?? 1
        approvals[id]?.cards.card.approval = CardName.card(id, number)
        approvals[id]?.cards.card.endsAfter = hasEnds ? Self.life(until: approval.expiresAt, at: now) : nil
        approvals[id]?.cards.askedWithoutEnd = false
        approvals[id]?.cards.askedWithLeast = false
        reckonExpiry()
        return approval.cards.isInParts ? .inParts : approvals[id].map { .card($0.cards.card) }
    }

    /// False if the ask has a card or has ended, or its agent stops waiting too soon.
    func mayComeBack(_ id: ApprovalID, at now: Instant) -> Bool {
        guard let approval = approvals[id], approval.state == .open, approval.cards.life.isClosed else { return false }
        return CardLife.isWorthIt(until: approval.expiresAt, at: now)
    }
    /// The newest card is not the first: an earlier one was on the phone.
    func hadCard(_ id: ApprovalID) -> Bool { approvals[id]?.cards.life.cameBack == true }

    mutating func postpone(_ id: ApprovalID, to moment: Instant) {
        approvals[id]?.cards.life.postpone(to: moment)
        reckonExpiry()
    }

    /// Moments at which cards of an earlier process came back.
    var returned: [Instant] { approvals.values.filter(\.cards.life.cameBack).compactMap(\.cards.life.postedAt) }

    // MARK: Asks in parts

    /// Asks that wait for their turn among the long asks of the chat.
    var queuedForParts: [ApprovalID] { order.filter { isOpen($0) && approvals[$0]?.cards.life.state == .queued } }
    /// The parts of an ask are on their way, or its card is on the phone. An unanswered ask lets the next one go first.
    var hasOpenParts: Bool {
        partBytes > 0
            && approvals.values.contains { approval in
                guard approval.state == .open, approval.cards.isInParts else { return false }
                switch approval.cards.life.state {
                case .telling, .posted, .shown: return true
                case .queued, .closed: return false
                }
            }
    }

    func parts(of id: ApprovalID) -> [String] { approvals[id]?.cards.parts ?? [] }

    mutating func tells(_ id: ApprovalID, in parts: [WholeMessage.Part]) {
        approvals[id]?.cards.life.state = .telling(Set(parts))
        approvals[id]?.cards.isInParts = true
    }

    func isPart(_ part: WholeMessage.Part) -> Bool {
        approvals.values.contains {
            if case .telling(let left) = $0.cards.life.state { left.contains(part) } else { false }
        }
    }

    /// The relay has the part, or refused it for good. Returns the card once nothing is before it.
    mutating func told(_ part: WholeMessage.Part, isTaken: Bool, hasEnds: Bool, at now: Instant) -> ApprovalCard? {
        for id in order {
            guard let approval = approvals[id], case .telling(var left) = approval.cards.life.state, left.contains(part)
            else { continue }
            if !isTaken { approvals[id]?.cards.isTooLong() }
            left.remove(part)
            approvals[id]?.cards.life.state = .telling(left)
            return isTaken && !left.isEmpty ? nil : postCard(id, hasEnds: hasEnds, at: now)
        }
        return nil
    }

    /// The card of an ask whose parts the relay has.
    mutating func postCard(_ id: ApprovalID, hasEnds: Bool, at now: Instant) -> ApprovalCard? {
        guard let approval = approvals[id] else { return nil }
        approvals[id]?.cards.life.state = .posted
        approvals[id]?.cards.life.postedAt = now
        guard approval.state == .open else { return nil }
        approvals[id]?.cards.card.endsAfter = hasEnds ? Self.life(until: approval.expiresAt, at: now) : nil
        return approvals[id]?.cards.card
    }

    // MARK: Another process

    /// Resumes after a restart: the relay has taken the parts that the lane no longer holds. Returns cards whose parts are all there, to be
    /// posted.
    mutating func resume(with lane: LaneRecord, hasEnds: Bool, at now: Instant) -> [ApprovalCard] {
        let names = lane.unanswered.map(\.name) + lane.waitingPosts.map(\.name)
        for id in order where approvals[id]?.cards.life.askedAt == nil { approvals[id]?.cards.life.askedAt = now }
        let cards = order.compactMap { id -> ApprovalCard? in
            guard case .telling(let left)? = approvals[id]?.cards.life.state else { return nil }
            let open = left.filter { names.contains(.message($0)) }
            approvals[id]?.cards.life.state = .telling(open)
            return open.isEmpty ? postCard(id, hasEnds: hasEnds, at: now) : nil
        }
        for id in order where approvals[id]?.cards.life.state == .posted {
            guard let name = approvals[id]?.cards.card.approval, !names.contains(.approval(name)) else { continue }
            if !cards.contains(where: { $0.approval == name }) { approvals[id]?.cards.life.taken(at: now) }
        }
        reckonExpiry()
        return cards
    }

    /// The chat's line when another ask takes the place of this one. Nil if this one had no card that counts, or is asked again.
    func lineOfAnother(_ id: ApprovalID) -> String? {
        guard let known = approvals[id] else { return nil }
        switch known.state {
        case .open: return known.cards.fingerprint == nil ? nil : Sentences.askReplaced
        case .decided(.deny), .settled: return nil
        case .decided: return known.cards.fingerprint == nil ? Sentences.decisionDropped : nil
        }
    }

    /// A record of an earlier version does not say what was shown.
    func isUnbound(_ id: ApprovalID) -> Bool { isOpen(id) && approvals[id]?.cards.fingerprint == nil }
    func canOnlyBeDenied(_ id: ApprovalID) -> Bool { approvals[id]?.cards.canOnlyBeDenied == true }

    /// Drops the ask here, while the agent keeps waiting. True if its run has ended for it.
    mutating func leave(_ id: ApprovalID) -> Bool {
        approvals[id]?.state = .settled
        reckonExpiry()
        return approvals[id]?.detached == true
    }

    /// Drops a yes that has not left and was given for a record without a fingerprint. True if there was one.
    mutating func dropUnbound() -> Bool {
        let unbound = order.filter { id in
            guard let approval = approvals[id], approval.owed, approval.cards.fingerprint == nil else { return false }
            if case .decided(let decision) = approval.state { return decision != .deny }
            return false
        }
        for id in unbound {
            approvals[id]?.state = .open
            approvals[id]?.owed = false
            approvals[id]?.decidedByPerson = false
        }
        if !unbound.isEmpty { reckonExpiry() }
        return !unbound.isEmpty
    }
}
