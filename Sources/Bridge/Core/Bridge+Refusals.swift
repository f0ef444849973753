import Vocabulary

/// A message that refuses an ask, kept with its turn (DESIGN.md#words-refuse).
///
/// States of such a turn, all within `Turn.Phase.waiting` but for the last:
/// - *marked*: the message's turn names the ask, and so does its record; the ask is still open. Leads to *refused*, in the same step or once
///   the relay has said that the message is this bridge's (`Claim`); a process that dies between the two finds the mark, and refuses.
/// - *refused*: the ask is denied, its record names the message, and the denial leaves behind that record. Leads to *first*, or to the
///   turn's end if the message holds no more than a no.
/// - *first*: the message goes before all others that wait: into the run that asked, if the agent steers, otherwise as the next prompt.
///   Leads to `handedOver`, as any message does.
/// A Stop ends the turn in each of them: the denial stays, and the words do not leave.
///
/// Invariants:
/// - Words never allow, and refuse one ask: the newest whose card the relay had for two seconds when they were written.
/// - The denial leaves before the words do, and each leaves once, over a kill at any step.
struct WordsOfRefusal: Hashable, Sendable {
    var ask: ApprovalID
    var asker: TurnID
    /// The message holds no instruction besides the refusal: the agent gets the denial alone.
    var isAlone: Bool
    /// The denial was given in this process.
    var isCarriedOut = false
}

extension Bridge {
    /// A person reads a card before writing about it.
    private static let readingTime = Duration.seconds(2)

    /// The message of this turn may refuse an ask of its chat. Called once no question of the chat has taken it.
    mutating func routeWords(_ id: TurnID, at now: Instant) {
        guard settings.turn.asks.whenAsked == .refuse, let turn = entries[id]?.turn, turn.mayRefuse,
            let message = turn.opening.message
        else { return }
        let chat = turn.opening.session
        let asking = entries.values.map(\.turn).filter { $0.opening.session == chat && $0.hasOpenAsks }
        if let known = asking.first(where: { $0.approvals.ask(refusedBy: id) != nil }),
            let ask = known.approvals.ask(refusedBy: id)
        {
            // The record of this turn was lost, that of the asker was not.
            return refuse(ask, of: known.opening.id, by: id, at: now)
        }
        guard !asking.contains(where: \.hasOpenQuestion) else {
            if asking.contains(where: { !$0.approvals.open.isEmpty }) {
                change(id, at: now) { $0.goesItsWay(Sentences.questionFirst) }
            }
            return
        }
        let asks = asking.flatMap { turn in turn.approvals.open.map { ask in (turn.opening.id, ask) } }
        let shown = asks.compactMap { asker, ask in
            entries[asker]?.turn.approvals.shownSince(ask).map { (asker: asker, ask: ask, since: $0) }
        }
        guard let newest = shown.max(by: { ($0.since, $0.asker, $0.ask) < ($1.since, $1.asker, $1.ask) }) else {
            let isOnItsWay = asks.contains { asker, ask in entries[asker]?.turn.approvals.isPosted(ask) == true }
            let line = isOnItsWay ? Sentences.cardIsOnItsWay : Sentences.askHasNoCard
            if !asks.isEmpty { change(id, at: now) { $0.goesItsWay(line) } }
            return
        }
        let written = turn.opening.made?.instant ?? turn.opening.receivedAt
        guard message.attachments.isEmpty else {
            return change(id, at: now) { $0.goesItsWay(Sentences.filesDecideNothing) }
        }
        guard newest.since + Self.readingTime <= written else {
            return change(id, at: now) { $0.goesItsWay(Sentences.writtenBeforeCard) }
        }
        switch RefusalReading(message.text) {
        case .decidesNothing:
            agent.queues[turn.opening.agentSession]?.left(id)
            change(id, at: now) { $0.isNoAnswer(Sentences.tapInstead, at: now) }
        case .refusesAlone: refuse(newest.ask, of: newest.asker, by: id, isAlone: true, at: now)
        case .refuses: refuse(newest.ask, of: newest.asker, by: id, at: now)
        }
    }

    /// `/bridge no`: refuses the newest open ask of the chat, with a card or without. Returns the line that says why not, or nil if it did.
    mutating func refuseNewest(by id: TurnID, words: String?, at now: Instant) -> String? {
        guard let opening = entries[id]?.turn.opening, !opening.cameInTheOpen else { return Sentences.cameInTheOpen }
        let open = entries.values.map(\.turn).filter { $0.opening.session == opening.session && $0.hasOpenAsks }
            .flatMap { turn in
                turn.approvals.open.map { (asker: turn.opening.id, ask: $0, since: turn.approvals.askedAt($0)) }
            }
        guard let newest = open.max(by: { ($0.since, $0.asker, $0.ask) < ($1.since, $1.asker, $1.ask) }) else {
            return Sentences.nothingToRefuse
        }
        refuse(newest.ask, of: newest.asker, by: id, isAlone: words == nil, at: now)
        return nil
    }

    private mutating func refuse(
        _ ask: ApprovalID, of asker: TurnID, by id: TurnID, isAlone: Bool = false, at now: Instant
    ) {
        guard let title = entries[asker]?.turn.approvals.title(of: ask) else { return }
        let words = WordsOfRefusal(ask: ask, asker: asker, isAlone: isAlone)
        change(id, at: now) { $0.refuses(words, Sentences.refusedAsk(title), at: now) }
        // The mark is durable before the denial leaves, so that the next process does not take the message for another one.
        if keeping.isJournaled { keep(id, .synced) }
        // The denial and the words leave together; otherwise the agent asks its model in between.
        if !isIncomplete(id) { carryOut(words, by: id, at: now) }
        keepChanged(.synced)
    }

    /// Carries out refusals by messages that wait in this session and are this bridge's by now.
    mutating func carryOutRefusals(of session: AgentSession, at now: Instant) {
        for id in agent.queues[session]?.waitingTurns ?? [] {
            guard let turn = entries[id]?.turn, let words = turn.agent.refusal, !words.isCarriedOut,
                turn.phase == .waiting, !isIncomplete(id)
            else { continue }
            carryOut(words, by: id, at: now)
        }
    }

    private mutating func carryOut(_ words: WordsOfRefusal, by id: TurnID, at now: Instant) {
        entries[id]?.turn.agent.refusal?.isCarriedOut = true
        let steers =
            !words.isAlone && settings.turn.steersWords && entries[words.asker]?.turn.takesWords == true
        change(words.asker, at: now) { $0.refusedInWords(words.ask, by: id, wordsFollow: steers, at: now) }
        guard let session = entries[id]?.turn.opening.agentSession else { return }
        guard !words.isAlone else {
            agent.queues[session]?.left(id)
            return change(id, at: now) { $0.hasRefused(at: now) }
        }
        let queue = SessionQueue(whenBusy: settings.whenBusy)
        agent.queues[session, default: queue].goesFirst(id, steers: steers)
    }

    /// After a restart: carries out refusals whose ask was not denied yet, or whose words have not left.
    mutating func settleRefusals(at now: Instant) {
        let waiting = entries.values.map(\.turn).filter { $0.agent.refusal != nil && $0.phase == .waiting }
            .sorted { ($0.opening.receivedAt, $0.opening.id) < ($1.opening.receivedAt, $1.opening.id) }
        for turn in waiting {
            guard let words = turn.agent.refusal, !isIncomplete(turn.opening.id) else { continue }
            carryOut(words, by: turn.opening.id, at: now)
        }
    }

    /// In a chat whose ask has no card a message waits for the ask, even if messages steer.
    func waitsForAsk(_ id: TurnID) -> Bool {
        guard settings.whenBusy == .steer, settings.turn.asks.whenAsked == .refuse, let turn = entries[id]?.turn,
            turn.agent.refusal == nil, agent.queues[turn.opening.agentSession]?.active != nil
        else { return false }
        return entries.values.contains { other in
            other.turn.opening.session == turn.opening.session && other.turn.mayAskAgain
                && other.turn.approvals.open.contains { other.turn.approvals.shownSince($0) == nil }
        }
    }
}

extension Turn {
    /// The message can be read, and is not with the agent.
    fileprivate var mayRefuse: Bool {
        (phase == .waiting || phase == .fetching) && opening.ownWord == nil && !opening.cameInTheOpen
            && agent.refusal == nil
    }

    fileprivate var hasOpenQuestion: Bool { mayAskAgain && agent.questions.all.contains { $0.state == .open } }

    /// The turn has an active run of ours, which words can steer.
    fileprivate var takesWords: Bool {
        switch phase {
        case .running, .searching, .asking, .handedOver: outcome == nil && !agent.isStopping && !isInRunOfOthers
        case .awaitingKey, .fetching, .waiting, .holding, .answering, .over, .closed: false
        }
    }

    /// The message is a word to the bridge itself, and not for the agent.
    var isToBridge: Bool { opening.ownWord != nil && agent.refusal == nil }

    /// The message as the agent receives it.
    var prompt: UserMessage? {
        guard var message = opening.message else { return nil }
        if case .no(let words?) = opening.ownWord { message.text = words }
        return message
    }

    // MARK: The turn of the message

    mutating func refuses(_ words: WordsOfRefusal, _ line: String, at now: Instant) -> [TurnOrder] {
        agent.refusal = words
        // Words that refuse go without files.
        if let files = opening.message?.attachments, !files.isEmpty {
            bubble.add(
                notice: Sentences.missing(files.map { .notPassedOn($0.plainName, "words that refuse go alone") }))
            opening.message?.attachments = []
        }
        if agent.isAway { deadlines.agent = deadlines.agent ?? now + settings.agentPatience }
        if !words.isAlone { bubble.add(notice: line) } else { bubble.add(line) }
        return []
    }

    /// The denial is on its way, and there is nothing else to say to the agent.
    mutating func hasRefused(at now: Instant) -> [TurnOrder] {
        guard phase == .waiting else { return [] }
        return conclude(.answered, at: now)
    }

    /// The line says why the message decides nothing, although an ask of the chat is open.
    mutating func goesItsWay(_ line: String) -> [TurnOrder] {
        bubble.add(notice: line)
        return []
    }

    // MARK: The turn that asks

    mutating func refusedInWords(
        _ approval: ApprovalID, by refuser: TurnID, wordsFollow: Bool, at now: Instant
    ) -> [TurnOrder] {
        switch approvals.decided(approval, .deny, agentAway: agent.isAway, at: now) {
        case .ignored: return []
        case .keep(_, let isDetached):
            approvals.approvals[approval]?.refuser = refuser
            return say(Sentences.refusedInChat)
                + (isDetached ? finishPaused(approval, .deny, followUp: true, at: now) : [])
        case .forward(let subject, _, _, let isDetached):
            approvals.approvals[approval]?.refuser = refuser
            let denial = TurnOrder.command(
                .resolve(approval: approval, subject: subject, decision: .deny, wordsFollow: wordsFollow))
            let finished = isDetached ? finishPaused(approval, .deny, followUp: true, at: now) : []
            return [denial] + finished + say(Sentences.refusedInChat)
        }
    }
}

extension ApprovalLedger {
    func ask(refusedBy turn: TurnID) -> ApprovalID? { order.first { approvals[$0]?.refuser == turn } }
    func askedAt(_ id: ApprovalID) -> Instant { approvals[id]?.cards.life.askedAt ?? .zero }
    func title(of id: ApprovalID) -> String? { isOpen(id) ? approvals[id]?.cards.card.title : nil }

    func isPosted(_ id: ApprovalID) -> Bool { isOpen(id) && approvals[id]?.cards.life.state == .posted }

    /// The moment at which the relay took the newest card, or nil if it has none.
    func shownSince(_ id: ApprovalID) -> Instant? { isOpen(id) ? approvals[id]?.cards.life.shownSince : nil }
}
