package import Vocabulary

// Asks as the connection sees them: their configuration, and the return of unanswered ones (DESIGN.md#asks).
extension Bridge {
    /// The configuration was read for the first time, or has changed: open asks follow it.
    package mutating func use(asks: AskSettings, at now: Instant) {
        settings.turn.asks = asks
        settleTurnSettings(at: now)
        keepChanged()
    }

    /// The clock for the hours that cards name. Read again after the wall clock may have been set.
    package mutating func use(localTime: LocalTime) {
        settings.turn.localTime = localTime
        for id in entries.keys { entries[id]?.turn.use(settings.turn) }
    }

    /// The relay refuses a card that names its end, and takes it without.
    mutating func useCardsWithoutEnds() {
        settings.turn.cardsHaveEnds = false
        for id in entries.keys { entries[id]?.turn.use(settings.turn) }
    }

    /// Gives every turn the new settings; deadlines follow.
    private mutating func settleTurnSettings(at now: Instant) {
        let new = settings.turn
        for id in entries.keys.sorted() {
            change(id, at: now) { turn in
                turn.use(new)
                return []
            }
        }
    }

    // MARK: Signs of life

    /// A person wrote, stopped or decided in this chat. Its asks without a card come back, and the two newest of other chats: no more,
    /// so that a person who returns to many finds one at a time. `wrote`: by a message, which an open question of the chat takes as its
    /// answer.
    mutating func personIsThere(
        in chat: SessionID, wrote: Bool = false, isAskedFor: Bool = false, at now: Instant
    ) {
        guard settings.turn.asks.whenUnanswered == .hold else { return }
        guard agent.isPresent else {
            return chats.asks.missed(SignOfLife(chat: chat, wrote: wrote, isAskedFor: isAskedFor))
        }
        var own: [WaitingAsk] = []
        var others: [WaitingAsk] = []
        for (id, entry) in entries where entry.turn.hasOpenAsks {
            let waiting = entry.turn.returnable(isAskedFor: isAskedFor, at: now).map {
                WaitingAsk(turn: id, matter: $0.matter, askedAt: $0.askedAt)
            }
            if entry.turn.opening.session == chat { own += waiting } else { others += waiting }
        }
        if wrote, !isAskedFor { own.removeAll { $0.isQuestion } }
        others.sort { ($1.askedAt, $1.turn) < ($0.askedAt, $0.turn) }
        own.sort { ($0.askedAt, $0.turn) < ($1.askedAt, $1.turn) }
        for ask in own + (isAskedFor ? others : Array(others.prefix(2))) {
            bringBack(ask.matter, of: ask.turn, at: now)
        }
    }

    /// Whether a message in this chat brings back the card of an ask.
    func bringsBackCard(_ chat: SessionID, at now: Instant) -> Bool {
        let asks = settings.turn.asks
        guard asks.whenAsked == .refuse, asks.whenUnanswered == .hold, agent.isPresent else { return false }
        return entries.values.contains { entry in
            entry.turn.opening.session == chat && entry.turn.mayAskAgain && entry.turn.opening.sealing.canSpeak
                && !entry.turn.approvals.returnable(isAskedFor: false, at: now).isEmpty
        }
    }

    /// Opens bubbles that waited until the relay had the card above them.
    mutating func openBehindCard(in chat: SessionID, at now: Instant) {
        for (id, entry) in entries where entry.turn.isBehindCard && entry.turn.opening.session == chat {
            change(id, at: now) { $0.openLate() }
        }
    }

    /// The agent is back: signs of life that came while it was away count now.
    mutating func followMissedSigns(at now: Instant) {
        for sign in chats.asks.takeMissed() {
            personIsThere(in: sign.chat, wrote: sign.wrote, isAskedFor: sign.isAskedFor, at: now)
        }
    }

    mutating func bringBack(_ matter: AskMatter, of id: TurnID, at now: Instant) {
        let mayReturn = entries[id]?.turn.mayBringBack(matter, at: now) == true
        // An ask that cannot be shown uses up no return. A timed return is tried again later.
        let later = mayReturn ? chats.asks.budget.take(at: now) : now + .seconds(3_600)
        switch (matter, later) {
        case (.ask(let ask), nil): change(id, at: now) { $0.askAgain(ask, at: now) }
        case (.ask(let ask), let later?): change(id, at: now) { $0.askLater(ask, at: later) }
        case (.question(let question), nil): change(id, at: now) { $0.remind(of: question, at: now) }
        case (.question(let question), let later?):
            change(id, at: now) { $0.remindLater(of: question, at: later) }
        }
    }

    /// Withdraws untried cards of ended or replaced asks from the lane.
    mutating func withdraw(_ cards: [ApprovalID], of turn: Turn) {
        guard settings.withdrawsCards else { return }
        let left = turn.approvals.postedCards
        for card in cards where !left.contains(card) { delivery.withdraw(card, of: turn.opening.id) }
    }

    // MARK: Asks in parts

    /// Tells the longest waiting of the chat's asks in parts, if no other one is open.
    mutating func tellInParts(in chat: SessionID, at now: Instant) {
        let turns = entries.values.map(\.turn).filter { $0.opening.session == chat && $0.hasOpenAsks }
        guard !turns.contains(where: { $0.approvals.hasOpenParts }) else { return }
        let next = turns.filter { !$0.approvals.queuedForParts.isEmpty }
            .min { ($0.opening.receivedAt, $0.opening.id) < ($1.opening.receivedAt, $1.opening.id) }
        if let id = next?.opening.id { change(id, at: now) { $0.tellInParts(at: now) } }
    }

    // MARK: For people

    /// Asks and questions that wait for a person, the longest waiting first.
    package func openAsks() -> [OpenAsk] {
        entries.values.filter(\.turn.hasOpenAsks).flatMap(\.turn.openAsks)
            .sorted { ($0.since, $0.chat) < ($1.since, $1.chat) }
    }
}

/// An ask or a question that is open.
enum AskMatter: Hashable, Sendable {
    case ask(ApprovalID)
    case question(QuestionID)
}

struct WaitingAsk {
    var turn: TurnID
    var matter: AskMatter
    var askedAt: Instant

    var isQuestion: Bool { if case .question = matter { true } else { false } }
}

/// A message, a Stop or a decision of a person in a chat.
struct SignOfLife: Hashable, Sendable {
    var chat: SessionID
    var wrote: Bool
    var isAskedFor: Bool
}

/// Counts of cards over all turns.
struct AskReturns: Hashable, Sendable {
    /// Each sign brings back the two newest asks of other chats too, so that few are enough.
    private static let signLimit = 50
    /// The relay's words for the ends of cards, which are few and short.
    private static let wordLimit = 32
    private static let wordLength = 40

    var budget = ReturnBudget()
    private(set) var ends: [String: Int] = [:]
    /// Signs of life while the agent was away, the oldest first.
    private var signs: [SignOfLife] = []

    mutating func missed(_ sign: SignOfLife) {
        guard !signs.contains(sign) else { return }
        if signs.count == Self.signLimit { signs.removeFirst() }
        signs.append(sign)
    }

    mutating func takeMissed() -> [SignOfLife] {
        defer { signs = [] }
        return signs
    }

    mutating func ended(by reason: String) {
        let word = TextCut.marked(VisibleText.line(reason), atMost: Self.wordLength)
        let name = ends[word] != nil || ends.count < Self.wordLimit ? word : "other"
        ends[name, default: 0] += 1
    }
}

extension Turn {
    /// The sign of life in the turn's record: it came while the agent was away, and counts once the agent is back.
    var missedSign: SignOfLife? {
        guard agent.isAway else { return nil }
        if opening.ownWord == .asks { return SignOfLife(chat: opening.session, wrote: false, isAskedFor: true) }
        if opening.message != nil, !occupiesAgent, outcome == nil {
            return SignOfLife(chat: opening.session, wrote: true, isAskedFor: false)
        }
        return approvals.hasOwed ? SignOfLife(chat: opening.session, wrote: false, isAskedFor: false) : nil
    }

    func mayBringBack(_ matter: AskMatter, at now: Instant) -> Bool {
        switch matter {
        case .ask(let ask): mayAskAgain && opening.sealing.canSpeak && approvals.mayComeBack(ask, at: now)
        case .question(let question): mayRemind(of: question)
        }
    }

    var isBehindCard: Bool { bubble.isUnopened && !awaitsKey }

    var hasOpenAsks: Bool { outcome == nil && (!approvals.isEmpty || !agent.questions.all.isEmpty) }

    /// Unanswered asks and questions without a card.
    func returnable(isAskedFor: Bool, at now: Instant) -> [(matter: AskMatter, askedAt: Instant)] {
        guard mayAskAgain, opening.sealing.canSpeak else { return [] }
        return approvals.returnable(isAskedFor: isAskedFor, at: now).map { (.ask($0.id), $0.askedAt) }
            + agent.questions.returnable(isAskedFor: isAskedFor, at: now).map { (.question($0.id), $0.askedAt) }
    }

    var openAsks: [OpenAsk] {
        guard outcome == nil else { return [] }
        let asks = approvals.order.compactMap { id -> OpenAsk? in
            guard let approval = approvals.approvals[id], approval.state == .open else { return nil }
            let life = approval.cards.life
            let isShown = if case .shown = life.state { true } else { false }
            return open(
                life, cards: life.shownCards, ended: life.shownCards - (isShown ? 1 : 0), until: approval.expiresAt)
        }
        let questions = agent.questions.all.filter { $0.state == .open }
        return asks
            + questions.map {
                open($0.life, cards: 0, ended: $0.life.isOnPhone ? 0 : 1, until: $0.question.expiresAt)
            }
    }

    private func open(_ life: CardLife, cards: Int, ended: Int, until: Instant?) -> OpenAsk {
        OpenAsk(
            chat: opening.session, since: life.askedAt ?? opening.receivedAt, cards: cards, ended: ended, until: until,
            isOnPhone: life.isOnPhone)
    }
}
