package import Vocabulary

// Messages that another bridge may have (`Claim`).
extension Bridge {
    /// The mark of this state directory, and the other bridge that an earlier process has seen. Called before anything is restored.
    package mutating func use(mark: StateMark?, known other: OtherBridge?) {
        settings.mark = mark?.bits
        chats.other = other
    }

    func mark(of opening: TurnOpening) -> UInt32? { opening.isMarked ? settings.mark : nil }

    /// Nil if none was seen, or none for a day.
    package func otherBridge(at now: Instant) -> OtherBridge? {
        chats.other.flatMap { $0.isThere(at: now) ? $0 : nil }
    }

    func openingPatience(of opening: TurnOpening, at now: Instant) -> Duration? {
        guard mark(of: opening) != nil else { return .zero }
        return otherBridge(at: now) == nil ? Claim.keyPatience : nil
    }

    func claim(of turn: Turn) -> Claim {
        let mayWait = mark(of: turn.opening) != nil && turn.opening.message != nil && !turn.bubble.isOver
        return mayWait ? .unasked : .needless
    }

    /// The claim of a turn from the journal. It waits if the open is unanswered and the message is not with the agent.
    func claim(of turn: Turn, in lane: LaneRecord) -> Claim {
        guard !turn.occupiesAgent, turn.outcome == nil, lane.message == nil, !lane.bubbleIsLost, lane.windowIsOpen
        else { return .needless }
        return claim(of: turn)
    }

    /// The bytes of the turn's open are on their way.
    package mutating func openLeft(_ id: TurnID, at now: Instant) {
        guard entries[id]?.claim.holdsPrompt == true else { return }
        entries[id]?.claim.asked(at: now)
        setWake(of: id)
    }

    /// The relay's answer to an open, or the news that none will come.
    mutating func heed(_ report: PostReport, of id: TurnID, at now: Instant) {
        switch report {
        case .postponed:
            entries[id]?.claim.postponed()
            setWake(of: id)
        case .delivered(.open, _), .refused(.open, _), .deadLetter(.open), .windowClosed:
            guard entries[id]?.claim.holdsPrompt == true, let session = entries[id]?.turn.opening.agentSession else {
                return
            }
            entries[id]?.claim.settle()
            setWake(of: id)
            handOverNext(of: session, at: now)
        case .delivered(.approval, _):
            if let chat = entries[id]?.turn.opening.session { openBehindCard(in: chat, at: now) }
            // Words that refuse the ask count from here on, in the next process too.
            if keeping.isJournaled { keep(id, .written) }
        case .delivered, .refused, .dropped, .deadLetter, .heldBack, .destinationGone, .anothers: return
        }
    }

    mutating func notesAnother(of id: TurnID, at now: Instant) {
        let before = otherBridge(at: now)?.messages ?? 0
        let other = OtherBridge(last: now, messages: before + 1)
        chats.other = other
        orders.append(.anotherBridge(id, other))
    }

    func isIncomplete(_ id: TurnID) -> Bool {
        entries[id].map { $0.turn.isIncomplete || promptsWait && $0.claim.holdsPrompt } ?? false
    }

    /// If another bridge answers too, the next message of its chat would meet the run of the one before.
    private var promptsWait: Bool { !settings.turn.promptHasKey || chats.other != nil }

    mutating func setWake(of id: TurnID) {
        guard let entry = entries[id] else { return }
        wakes.turns.set(entry.nextDeadline, for: id)
    }
}

extension Bridge.Entry {
    var nextDeadline: Instant? {
        guard let due = claim.due else { return turn.nextDeadline }
        return turn.nextDeadline.map { min($0, due) } ?? due
    }
}

extension Turn {
    /// Another bridge owns the message: the turn closes without a post. An agent without idempotent prompts runs a second copy in this
    /// bridge's own session, which is aborted. An idempotent prompt has one run for both bridges: the run and its asks continue.
    mutating func belongsToAnother(at now: Instant) -> [TurnOrder] {
        var orders: [TurnOrder] = [.abandonLane]
        if !settings.promptHasKey, occupiesAgent, !agent.isStopping { orders += leaveAgent(at: now) }
        orders += endQuestions().orders
        if agent.free() { orders.append(.agentFree) }
        phase = .closed(.anothers)
        return orders + [.closed]
    }

    /// Opens a held bubble once its key has come, or after the timeout for it.
    mutating func openLate() -> [TurnOrder] {
        guard bubble.isUnopened else { return [] }
        bubble.isUnopened = false
        deadlines.open = nil
        return [post(.open)]
    }
}
