package import Vocabulary

/// All decisions of one connection: the turns, the queue of each agent session, and the delivery of their posts.
///
/// Events go in by the methods, orders come out of `takeOrders()`; `nextWake` is the moment at which `timePassed` must be called at the
/// latest. The bridge holds no thread, no clock and no socket, so that the service, the golden traces and the seeded simulation all drive
/// the same machine.
package struct Bridge: ~Copyable {
    /// A class, since a turn is large and is looked at several times for each piece of text: no look copies it. The machine has no
    /// copies, so its entries are its own, and only values leave it.
    final class Entry {
        var turn: Turn
        /// Cards whose id another turn had already used.
        var renamed: [TaskID: TaskID]
        var claim: Claim
        /// Rows of the journal besides the turn's record.
        var parts: KeptParts

        init(turn: Turn, renamed: [TaskID: TaskID] = [:], claim: Claim = .needless, parts: KeptParts = KeptParts()) {
            (self.turn, self.renamed, self.claim, self.parts) = (turn, renamed, claim, parts)
        }
    }

    package internal(set) var settings: BridgeSettings
    var delivery: Delivery
    var entries: [TurnID: Entry] = [:]
    var tasksInUse = TaskNames()
    var agent: BridgeAgent
    var wakes = BridgeWakes()
    var chats = BridgeChats()
    var gate = CommandGate()
    var obligations = Obligations()
    var orders: [BridgeOrder] = []
    var keeping: BridgeKeeping

    /// `isJournaled`: orders to keep records come out too.
    package init(
        settings: BridgeSettings = BridgeSettings(), agentPresent: Bool = true, isJournaled: Bool = false
    ) {
        self.settings = settings
        keeping = BridgeKeeping(isJournaled: isJournaled)
        agent = BridgeAgent(isPresent: agentPresent)
        delivery = Delivery(settings: settings.delivery)
    }

    // MARK: Orders

    package mutating func takeOrders() -> [BridgeOrder] {
        // The array is given away whole: a part that stays would have to be copied first.
        let taken = orders
        orders = []
        return taken
    }

    package var hasOrders: Bool { !orders.isEmpty }

    /// The moment at which `timePassed` is due, should nothing else happen.
    package var nextWake: Instant? {
        guard let expiry = obligations.nextExpiry else { return wakes.next }
        return wakes.next.map { min($0, expiry) } ?? expiry
    }

    /// No call is under way or waits, and no command waits for its record.
    package var isIdle: Bool { delivery.isIdle && gate.isEmpty }
    package var openTurns: Int { entries.count }
    package var tally: DeliveryTally { delivery.tally }
    package var callsUnderWay: Int { delivery.callsUnderWay }
    package var hasWaitingText: Bool { delivery.hasWaitingText }
    package func turn(_ id: TurnID) -> Turn? { entries[id]?.turn }
    package func turn(of run: RunID) -> TurnID? { agent.turnOfRun[run] }
    /// A run that some turn waits for, such as the follow-up of an approval.
    package func expects(_ run: RunID) -> Bool { entries.values.contains { $0.turn.expects(run) } }

    // MARK: From the relay

    /// The user wrote, or a run began that no message asked for and that has a relay session by now. `answering`: in a recording, the
    /// question that the message answered.
    package mutating func turnBegins(_ opening: TurnOpening, answering: QuestionID? = nil, at now: Instant) {
        guard entries[opening.id] == nil else { return }
        let opening = atHome(opening)
        // The card stands above the message that brought it back.
        let isBehindCard = opening.message != nil && opening.ownWord == nil && bringsBackCard(opening.session, at: now)
        if isBehindCard { personIsThere(in: opening.session, wrote: true, at: now) }
        settings.turn.openingPatience = openingPatience(of: opening, at: now)
        var turn = Turn(opening, settings: settings.turn)
        delivery.openLane(
            LaneAddress(
                turn: opening.id, session: opening.session, interaction: opening.interaction, sealing: opening.sealing),
            windowEnds: opening.windowEnds, mark: mark(of: opening))
        let first = turn.begin(isBehindCard: isBehindCard, at: now)
        entries[opening.id] = Entry(turn: turn, claim: claim(of: turn))
        keeping.changed(opening.id)
        agent.turnOfRun[opening.run] = opening.id
        orders.append(.turnOpened(opening))
        if let key = opening.sealing.key { takeKey(key, of: opening.id) }
        let queue = SessionQueue(whenBusy: settings.whenBusy)
        agent.queues[opening.agentSession, default: queue].arrived(opening.id)
        change(opening.id, at: now) { _ in first }
        if opening.cameInTheOpen { change(opening.id, at: now) { $0.saysThatItCameOpen() } }
        if !agent.isPresent { change(opening.id, at: now) { $0.agentLost(at: now) } }
        // A Stop can overtake its message.
        switch chats.stops.take(of: opening) {
        case .pressed(let reach): change(opening.id, at: now) { $0.stopRequested(reach: reach, at: now) }
        case .chatDeleted: change(opening.id, at: now) { $0.chatEnded(isDeleted: true, at: now) }
        case nil: break
        }
        route(opening.id, answering: answering, at: now)
        if opening.message != nil, !isBehindCard { personIsThere(in: opening.session, wrote: true, at: now) }
        handOverNext(of: opening.agentSession, at: now)
        deliver(at: now)
        keepChanged()
    }

    /// A Stop. Without an interaction it stops everything of the session that was written before. The name of a turn identifies it as
    /// its interaction does, and needs no session. `made`: when the person pressed it; `heard`: when the relay said so first, for a
    /// Stop without a time.
    package mutating func stopped(
        session: SessionID?, interaction: InteractionID?, made: RelayMoment? = nil, heard: Instant? = nil,
        reach: StopReach = .everyRun, at now: Instant
    ) {
        let pressed = made?.instant ?? heard ?? now
        let known = entries.values.filter { entry in
            let opening = entry.turn.opening
            guard reach.covers(isOurs: !entry.turn.isInRunOfOthers) else { return false }
            let isLater = opening.isNewer(than: made)
            if let interaction { return opening.isNamed(interaction) && !(isLater && !opening.isOwnName(interaction)) }
            let saysNoTime = opening.isMirrored || made == nil
            return opening.session == session && !isLater && !(saysNoTime && opening.beganAfter(pressed))
        }
        // The youngest first, so that stopping the active one does not hand a waiting one over.
        for entry in known.sorted(by: { $0.turn.opening.receivedAt > $1.turn.opening.receivedAt }) {
            if entry.turn.agent.questions.isOnPhone {
                chats.questionEnded(in: entry.turn.opening.session, at: made?.instant ?? now)
            }
            change(entry.turn.opening.id, at: now) { $0.stopRequested(reach: reach, at: now) }
        }
        if let session = session ?? known.first?.turn.opening.session { personIsThere(in: session, at: now) }
        if known.isEmpty, let interaction {
            chats.stops.add(interaction, .pressed(reach), made: made, at: now, memory: settings.stopMemory)
        }
        deliver(at: now)
        keepChanged(.synced)
    }

    package mutating func decided(
        _ approval: ApprovalID, _ decision: ApprovalDecision, scope: DecisionScope = .unscoped, reason: String?,
        at now: Instant
    ) {
        if let reason { chats.asks.ended(by: reason) }
        let owner = entries.first { $0.value.turn.knows(card: approval) }?.key
        guard let owner else { return orders.append(.turnNote(TurnID(""), .unknownApproval)) }
        change(owner, at: now) { $0.decided(approval, decision, scope: scope, reason: reason, at: now) }
        if reason == nil, let chat = entries[owner]?.turn.opening.session { personIsThere(in: chat, at: now) }
        deliver(at: now)
        keepChanged(.synced)
    }

    package mutating func answered(
        _ call: CallID, with answer: RelayAnswer, at now: Instant, using random: inout some RandomNumberGenerator
    ) {
        for report in delivery.answered(call, with: answer, at: now, using: &random) {
            told(report, at: now)
        }
        deliver(at: now)
    }

    /// The call could not be stored, so it did not leave. `keyIsTaken`: its key is kept with another body.
    package mutating func couldNotSave(_ call: CallID, keyIsTaken: Bool = false, at now: Instant) {
        for report in delivery.couldNotSave(call, keyIsTaken: keyIsTaken, at: now) { told(report, at: now) }
        deliver(at: now)
    }

    /// The call that is sure to follow this one in its lane, if it is known: its body can be made ahead.
    package mutating func callAhead(behind call: CallID) -> CallAhead? { delivery.callAhead(behind: call) }

    package mutating func keep(_ body: [UInt8], of ahead: RelayCall, behind call: CallID) {
        delivery.keep(body, of: ahead, behind: call)
    }

    // MARK: From the agent

    /// False if no turn answers to the event's run: another client's run, or one that has ended. Returned at once and not as an order,
    /// so that a turn can be made for it before the run's next event comes in.
    @discardableResult
    package mutating func agentSays(_ signal: RunSignal, at now: Instant) -> Bool {
        noteFulfilment(signal)
        if isBeingDenied(signal) || deniesForStopped(signal, at: now) { return true }
        guard let id = owner(of: signal) else { return false }
        if case .asked = signal.event { chats.haveQuestions = true }
        let run = signal.run ?? entries[id]?.turn.opening.run
        guard let run else { return true }
        if case .alive(let activity) = signal.event, isAlive(id, activity, at: now) { return true }
        if agent.turnOfRun[run] == nil { agent.turnOfRun[run] = id }
        let form = entries[id]?.turn.textForm
        let isText = signal.event.isTransient && entries[id]?.turn.tellsStatus != true
        change(id, at: now, isText: isText) { $0.runEvent(signal.event, of: run, at: now) }
        if case .tool(let event) = signal.event { touched(agent.toolFiles.heard(event, of: id), by: id) }
        let newForm = entries[id]?.turn.textForm
        if newForm != form { keeping.changed(id) }
        deliver(at: now)
        // While the bubble is not open, a message that has ended is in no delta, and no bus of segments repeats it to the next process:
        // the text that follows would be streamed in its place.
        if signal.event.changesCourse || newForm?.ended != form?.ended { keepChanged() }
        return true
    }

    package mutating func sendAnswered(_ answer: SendAnswer, for turn: TurnID, at now: Instant) {
        if case .accepted(let run) = answer {
            // The agent put the message into a run that an older turn owns: that one gets the text.
            if let owner = agent.turnOfRun[run], owner != turn, entries[owner]?.turn.outcome == nil {
                change(turn, at: now) { $0.joinedOlder(at: now) }
                deliver(at: now)
                return keepChanged()
            }
            agent.turnOfRun[run] = turn
        }
        if case .leavesAgain(let run) = answer { agent.turnOfRun[run] = turn }
        change(turn, at: now) { $0.sendAnswered(answer, at: now) }
        deliver(at: now)
        keepChanged()
    }

    package mutating func lookedUp(_ lookup: RunLookup, of run: RunID, at now: Instant) {
        switch lookup {
        case .ended, .failed: fulfil(Obligation.name(ofAbort: run))
        case .running, .waits, .unknown: break
        }
        guard let id = agent.turnOfRun[run] else { return }
        change(id, at: now) { $0.lookedUp(lookup, at: now) }
        deliver(at: now)
        keepChanged()
    }

    package mutating func agentLost(at now: Instant) {
        agent.isPresent = false
        for id in entries.keys.sorted() { change(id, at: now) { $0.agentLost(at: now) } }
        deliver(at: now)
        keepChanged()
    }

    package mutating func agentBack(at now: Instant) {
        agent.isPresent = true
        // Commands that a Stop owes go before anything new.
        forgetObligations(at: now)
        for obligation in obligations.all { orders.append(.command(obligation.command)) }
        obligations.areOrdered()
        forgetObligations(at: now)
        for id in entries.keys.sorted() { change(id, at: now) { $0.agentBack(at: now) } }
        settleAnswers(at: now)
        followMissedSigns(at: now)
        for session in sessionsByAge { handOverNext(of: session, at: now) }
        deliver(at: now)
        keepChanged()
    }

    /// The link was lost before this turn was made of a run's words: look the run up, like those that were open then.
    package mutating func linkWasLost(behind id: TurnID, at now: Instant) {
        change(id, at: now) { $0.agentLost(at: now) }
        if agent.isPresent { change(id, at: now) { $0.agentBack(at: now) } }
        deliver(at: now)
        keepChanged()
    }

    /// Why the agent stays away, in words for the bubble that cannot be answered, or nil if unknown.
    package mutating func agentNeeds(_ remedy: String?) { agent.remedy = remedy }

    /// The process ends, and its runs are to end with it.
    package mutating func closeAll(at now: Instant) {
        for id in entries.keys.sorted() { change(id, at: now) { $0.bridgeStops(at: now) } }
        deliver(at: now)
        keepChanged(.synced)
    }

    // MARK: Within

    private func owner(of signal: RunSignal) -> TurnID? {
        if let run = signal.run, let id = agent.turnOfRun[run] { return id }
        let turns = signal.session.flatMap { agent.queues[$0]?.turns } ?? []
        if let run = signal.run {
            return turns.first { entries[$0]?.turn.expects(run) == true }
                ?? entries.first { $0.value.turn.expects(run) }?.key
        }
        // The agent names the session alone, as OpenClaw does for approvals: find the turn by the approval or the question, or take the
        // turn that is with the agent.
        let isKnown: ((Turn) -> Bool)? =
            switch signal.event {
            case .approvalRequested(let request): { $0.knows(request.id) }
            case .approvalSettled(let settlement): { $0.knows(settlement.id) }
            case .asked(let question):
                { $0.opening.agentSession == signal.session && $0.knows(question.id) }
            case .questionSettled(let settlement):
                { $0.opening.agentSession == signal.session && $0.knows(settlement.id) }
            case .started, .text, .tool, .paused, .retrying, .finished, .failed, .alive: nil
            }
        if let isKnown, let known = entries.first(where: { isKnown($0.value.turn) })?.key { return known }
        return signal.session.flatMap { agent.queues[$0]?.active } ?? turns.first
    }

    /// `isText`: nothing changes that the deltas do not say as well.
    mutating func change(
        _ id: TurnID, at now: Instant, isText: Bool = false, _ body: (inout Turn) -> [TurnOrder]
    ) {
        guard let entry = entries[id] else { return }
        if !isText { keeping.changed(id) }
        let chat = entry.turn.approvals.hasOpenParts ? entry.turn.opening.session : nil
        let (held, hadFiles) = (entry.turn.heldBytes, entry.turn.holdsFiles)
        let cards = entry.turn.approvals.postedCards
        let turnOrders = body(&entry.turn)
        if !cards.isEmpty { withdraw(cards, of: entry.turn) }
        delivery.heldBeside += entry.turn.heldBytes - held
        if hadFiles, !entry.turn.holdsFiles { dropFiles(of: id) }
        if !turnOrders.isEmpty { perform(turnOrders, of: id, at: now) }
        if let chat, entries[id]?.turn.approvals.hasOpenParts != true { tellInParts(in: chat, at: now) }
        // The orders may have closed the turn.
        if entries[id] === entry { wakes.turns.set(entry.nextDeadline, for: id) }
    }

    private mutating func perform(_ turnOrders: [TurnOrder], of id: TurnID, at now: Instant) {
        // The lane goes first: a record that is kept for a command must hold all posts of the same step. Otherwise a process that dies
        // between the two would never finish a task that its turn counts as finished.
        for order in turnOrders {
            switch order {
            case .post(let post): delivery.post(renamed(post, of: id), on: id, at: now)
            case .replace(let post, let more):
                delivery.replace(
                    renamed(post, of: id), followedBy: more.map { renamed($0, of: id) }, on: id, at: now)
            case .skip: delivery.skip(on: id)
            case .stopPreview: delivery.stopPreview(of: id)
            case .closeWindow: delivery.closeWindow(of: id)
            case .useSealing(let sealing): delivery.use(sealing, of: id)
            case .dropUnsealed: delivery.dropUnsealed(of: id)
            case .abandonLane: delivery.abandon(id)
            case .command, .fetch, .answerEnded, .withdrawAnswer, .tellsInParts, .wantsCard, .wantsReminder,
                .endsAreRefused, .agentFree, .closed, .note, .stuck:
                break
            }
        }
        var neverLeft = false
        for order in turnOrders {
            switch order {
            case .command(let command):
                hears(command, of: id, at: now)
                if give(command, of: id, at: now) { neverLeft = true }
            case .answerEnded(let answerer, let end): change(answerer, at: now) { $0.answerEnded(end, at: now) }
            case .withdrawAnswer(let question, let asker): withdrawAnswer(question, of: asker, from: id, at: now)
            case .fetch(let attachments): orders.append(.fetch(id, attachments))
            case .tellsInParts: if let chat = entries[id]?.turn.opening.session { tellInParts(in: chat, at: now) }
            case .wantsCard(let ask): bringBack(.ask(ask), of: id, at: now)
            case .wantsReminder(let question): bringBack(.question(question), of: id, at: now)
            case .endsAreRefused: useCardsWithoutEnds()
            case .agentFree: free(id, at: now)
            case .closed: close(id, at: now)
            case .note(let note): orders.append(.turnNote(id, note))
            case .stuck: orders.append(.stuck(id))
            case .useSealing(.sealed(let key?)): takeKey(key, of: id)
            case .post, .replace, .skip, .stopPreview, .closeWindow, .abandonLane, .useSealing, .dropUnsealed: break
            }
        }
        if neverLeft { change(id, at: now) { $0.sendAnswered(.noRun, at: now) } }
    }

    private mutating func close(_ id: TurnID, at now: Instant) {
        guard let entry = entries.removeValue(forKey: id) else { return }
        delivery.heldBeside -= entry.turn.heldBytes
        if entry.turn.hasUnseenQuestionEnd { chats.questionEnded(in: entry.turn.opening.session, at: now) }
        agent.forget(entry.turn.runs.all, of: id)
        agent.queues[entry.turn.opening.agentSession]?.left(id)
        wakes.turns.forget(id)
        delivery.closeLane(id)
        keeping.settled(id)
        if let key = entry.turn.opening.sealing.key {
            orders.append(.keyLeft(id, entry.turn.opening.session, key))
        }
        orders.append(.turnClosed(id, entry.turn.outcome ?? .gone))
        handOverNext(of: entry.turn.opening.agentSession, at: now)
        handOverWaiting(at: now)
    }

    mutating func told(_ report: DeliveryReport, at now: Instant) {
        switch report {
        case .post(let turn, let report):
            let report = withOwnNames(report, of: turn)
            let hadUnseenEnd = chats.haveQuestions && entries[turn]?.turn.hasUnseenQuestionEnd == true
            // Noted before the next message of the chat leaves.
            if report == .anothers { notesAnother(of: turn, at: now) }
            change(turn, at: now) { $0.reported(report, at: now) }
            heed(report, of: turn, at: now)
            if hadUnseenEnd, let entry = entries[turn], !entry.turn.hasUnseenQuestionEnd {
                chats.questionEnded(in: entry.turn.opening.session, at: now)
            }
        case .connectionStopped(let code): orders.append(.connectionStopped(code))
        case .note(let note, let turn, let name): orders.append(.deliveryNote(note, turn, name))
        }
    }

    mutating func deliver(at now: Instant) {
        while true {
            switch delivery.next(at: now) {
            case .attempt(let attempt):
                keepBefore(attempt)
                orders.append(.attempt(attempt))
            case .report(let report): told(report, at: now)
            case .idle(let until):
                wakes.delivery = until
                return
            }
        }
    }
}
