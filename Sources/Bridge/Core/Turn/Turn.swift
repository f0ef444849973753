package import Vocabulary

/// One turn: from the user's message to the confirmed end of its bubble (DESIGN.md#a-runs-journey, DESIGN.md#the-turn-machine).
///
/// States:
/// - `awaitingKey`: the message came sealed and is unreadable before its key comes. Can transition to `waiting` or `fetching` (its
///   key came), `over` (the key is late, or does not open the message; stopped).
/// - `fetching`: the files of the message are being fetched. Can transition to `waiting` (each was, or could not be), `over` (stopped).
/// - `waiting`: the bubble is open, the message is not with the agent. Can transition to `handedOver` (its place in the
///   session's queue came), `running` (an event of its run came first), `answering`, `over` (stopped; the agent stayed away; it came
///   too late for a question, or does not fit it).
/// - `answering`: the message is the answer to a question of another turn, which passes it on. Can transition to `over` (taken, too
///   late, stopped).
/// - `handedOver`: the message left, the agent has not answered. Can transition to `running` (accepted, or an event of the run
///   came first), `searching` (link lost and back), `over` (refused, stopped).
/// - `running`: Can transition to `holding` (the run ended, a detached approval is open), `asking` (it ended without text, or
///   with a hole in it), `searching` (link lost and back, or silence after a failed attempt), `over`.
/// - `asking`: the run ended empty, and a look-up reads the history before the end counts as empty. Can transition to `running`,
///   `searching`, `over`.
/// - `searching`: the link was lost, and look-ups ask the agent what became of the run. Can transition to `running`, `over`.
/// - `holding`: the agent is free for other messages. Can transition to `running` (the follow-up run began), `over` (it did
///   not, or was stopped).
/// - `over`: the run is settled; the end is posted. Can transition to `closed` when the relay has confirmed all of it.
/// - `closed`.
///
/// The bubble may end before the run does, when the relay's window closes (`TurnBubble.isOver`). The same states follow then, and later
/// text goes out as messages.
///
/// Invariants, for any order of events:
/// - The first post is the placeholder, unless the window was over on arrival or another bridge has opened the bubble (`Claim`).
///   Each bubble that was opened gets exactly one end; after it come only whole messages, and the approvals of a run that outlives
///   its bubble.
/// - Every task that was created is finished once, before the end.
/// - Streamed text is never out of order and never doubled (`Preview`); the end carries the full canonical text.
/// - Every state but `closed` has a way out that needs no one's help: a deadline, or the lane's own.
/// - Nothing is handed over after a stop; no decision is forwarded after a stop; nothing is approved by default.
/// - A sealed turn (`TurnOpening.sealing`) says nothing in the open except one fixed sentence, and that only without a key
///   (`TurnSealed.swift`).
package struct Turn: Sendable {
    enum Phase: Hashable {
        case awaitingKey, fetching, waiting, handedOver, running, holding
        case answering(QuestionID, of: TurnID)
        case asking, searching(since: Instant)
        case over(TurnOutcome)
        case closed(TurnOutcome)
    }

    /// How the turn began. Later changes: its key, the text that the key opens, the outcomes of its files, and the run of a message that
    /// leaves again.
    package internal(set) var opening: TurnOpening
    private(set) var settings = TurnSettings()

    /// Takes a reloaded configuration, or a habit of the relay that was learnt.
    mutating func use(_ new: TurnSettings) {
        settings = new
        approvals.patience = new.asks.heldFor
    }

    var phase = Phase.waiting
    var text = RunText()
    var preview: Preview
    var tools = ToolLedger()
    var approvals = ApprovalLedger()
    var runs: TurnRuns
    var agent = TurnAgent()
    var bubble = TurnBubble()
    var outbox = TurnOutbox()
    var deadlines = TurnDeadlines()
    var silence = TurnSilence()

    package init(_ opening: TurnOpening, settings: TurnSettings = TurnSettings()) {
        self.opening = opening
        self.settings = settings
        approvals.patience = settings.asks.heldFor
        preview = Preview(limit: settings.bubbleLimit(opening.sealing))
        runs = TurnRuns(opening.run)
    }

    /// Resumes after a restart. Requests that were under way to or from the agent are lost. Nil as `streamed` means that it is unknown:
    /// the preview stops, and the end carries the whole text.
    mutating func resume(after streamed: String?, settings: TurnSettings) {
        use(settings)
        let inStep = streamed != nil && preview.state == .inStep
        if occupiesAgent { text.resume(after: bubble.notes.removed(from: streamed ?? ""), inStep: inStep) }
        if let streamed {
            let isWhole = occupiesAgent && inStep && bubble.notes.composed(text.whole) == streamed
            preview.resume(after: streamed, isWhole: isWhole)
        } else {
            preview.stop()
        }
        agent.questions.linkLost()
        forgetFiles()
    }

    // MARK: What others may ask

    /// Bytes of the run's words in memory (`HeldBytes.texts`).
    package var heldBytes: Int {
        text.heldBytes + preview.heldBytes + bubble.notes.heldBytes + agent.questions.heldBytes + approvals.heldBytes
    }

    /// Changes with the preview's state and with each ended segment, but not while the text merely grows.
    var textForm: TextForm { TextForm(state: preview.state, ended: text.endedLength) }
    struct TextForm: Equatable {
        var state: Preview.State
        var ended: Int
    }

    /// The moment at which `deadlineHit` is due next. Read after every event.
    package var nextDeadline: Instant? {
        guard !isClosed else { return nil }
        let earliest = Self.earlier(Self.earlier(deadlines.earliest, approvals.nextExpiry), silence.due)
        guard !agent.questions.all.isEmpty else { return earliest }
        return Self.earlier(earliest, agent.questions.nextDue(patience: settings.asks.heldFor))
    }

    private static func earlier(_ one: Instant?, _ other: Instant?) -> Instant? {
        guard let one, let other else { return one ?? other }
        return min(one, other)
    }

    package var isClosed: Bool { if case .closed = phase { true } else { false } }
    package var outcome: TurnOutcome? {
        switch phase {
        case .over(let outcome), .closed(let outcome): outcome
        case .awaitingKey, .fetching, .waiting, .answering, .handedOver, .running, .holding, .asking, .searching: nil
        }
    }
    /// The agent works on the message, or may do so.
    package var occupiesAgent: Bool {
        switch phase {
        case .handedOver, .running, .asking, .searching, .holding: true
        case .awaitingKey, .fetching, .waiting, .answering, .over, .closed: false
        }
    }
    package func knows(_ approval: ApprovalID) -> Bool { approvals.knows(approval) }
    package func knows(card: ApprovalID) -> Bool { approvals.ask(ofCard: card) != nil }

    /// Whether a command still stands now that its record is stored: a Stop or another decision may have overtaken it.
    func maySend(_ command: AgentCommand) -> Bool {
        switch command {
        case .send: outcome == nil && !agent.isStopping
        case .resolve(let approval, _, let decision, _, _, let shown, _):
            decision == .deny || approvals.stands(decision, of: approval, shown: shown)
        case .answer(let question, _, let answer, let shown):
            answer == .declined || openForAnswers && agent.questions.isValid(answer, to: question, shown: shown)
        case .abort, .lookUp, .release: true
        }
    }

    private var openForAnswers: Bool { outcome == nil && !agent.isStopping }
    package func knows(_ question: QuestionID) -> Bool { agent.questions.knows(question) }

    /// The run may be the follow-up of an approval. The turn waits for one without knowing its whole name.
    package func expects(_ run: RunID) -> Bool { outcome == nil && approvals.expects(run) }

    // MARK: The way to the agent

    /// How long a bubble waits for the card above it.
    private static let cardPatience = Duration.seconds(2)

    /// `isBehindCard`: an ask of the chat shows its card again first.
    package mutating func begin(isBehindCard: Bool = false, at now: Instant) -> [TurnOrder] {
        // A mirrored run needs no hand-over: it runs already.
        if opening.isMirrored { phase = .handedOver }
        silence.heardAt = now
        silence.due = nextSilence(at: now)
        return openBubble(isBehindCard, at: now) + nothingToHandOver(at: now)
    }

    private mutating func openBubble(_ isBehindCard: Bool, at now: Instant) -> [TurnOrder] {
        guard now < opening.windowEnds - settings.windowMargin else {
            // Too late for a bubble: the answer goes out as messages.
            bubble.isOver = true
            deadlines.abandon = now + settings.runPatience
            return [.closeWindow, .note(.windowClosed)]
        }
        deadlines.window = opening.windowEnds - settings.windowMargin
        let awaitsKey = settings.openingPatience != .zero && awaitsKey && opening.sealedText != nil
        guard awaitsKey || isBehindCard else { return [post(.open)] }
        bubble.isUnopened = true
        deadlines.open = awaitsKey ? settings.openingPatience.map { now + $0 } : now + Self.cardPatience
        return []
    }

    /// Ends the turn, or lets it wait, if its message cannot go to the agent now. An agent would refuse an empty message.
    mutating func nothingToHandOver(at now: Instant) -> [TurnOrder] {
        if let refusal = opening.refusal {
            return conclude(.neverSent, line: Sentences.notTaken(refusal), at: now)
        }
        if awaitsKey, !opening.isMirrored {
            phase = .awaitingKey
            deadlines.key = now + settings.keyPatience
            return []
        }
        // The bridge answers messages to itself, whatever files they carry.
        guard let message = opening.message, !isToBridge else { return [] }
        if !message.attachments.isEmpty { return fetch(at: now) }
        return message.text.allSatisfy(\.isWhitespace)
            ? conclude(.neverSent, line: Sentences.emptyMessage, at: now) : []
    }

    /// A mirrored run that an earlier process heard of, and this one has not: it may have ended.
    package mutating func beganUnseen(at now: Instant) -> [TurnOrder] {
        guard phase == .handedOver else { return [] }
        text.missed()
        phase = .searching(since: now)
        if !agent.isAway { deadlines.look = now + settings.firstLook }
        return []
    }

    /// The session's queue hands the message over, with the agent present. `folder`: the chat's workspace. `line`: why the model that the
    /// message names is not passed on.
    package mutating func handOver(
        in folder: String? = nil, at now: Instant, choice: ModelChoice = .unchanged,
        level: LevelChoice = .unchanged, line: String? = nil
    ) -> [TurnOrder] {
        guard phase == .waiting else { return [] }
        deadlines.agent = nil
        if let message = opening.message, message.holdsFilesAlone, message.files.isEmpty {
            return conclude(.neverSent, line: Sentences.missing(message.missing), at: now)
        }
        phase = .handedOver
        guard var message = prompt else { return [] }
        message.steers = agent.refusal != nil && settings.steersWords
        agent.wentWithout = message.files.isEmpty ? message.missing : []
        message.folder = folder
        agent.folder = folder
        message.choice = choice
        message.level = level
        bubble.add(notice: Sentences.missing(message.missing))
        bubble.add(notice: line)
        return [
            .command(.send(turn: opening.id, session: opening.agentSession, run: opening.run, message: message))
        ]
    }

    /// The agent never received the message; the next process hands it over. A card about its wait may have made the turn `running`.
    mutating func neverLeft() -> [TurnOrder] {
        guard phase == .handedOver || phase == .running, !opening.isMirrored else { return [] }
        phase = .waiting
        agent.wentWithout = []
        return []
    }

    package mutating func sendAnswered(_ answer: SendAnswer, at now: Instant) -> [TurnOrder] {
        guard outcome == nil || agent.isStopping, !isClosed else { return [] }
        filesArrived()
        return isHeard(at: now) + taken(answer, at: now)
    }

    private mutating func taken(_ answer: SendAnswer, at now: Instant) -> [TurnOrder] {
        switch answer {
        case .accepted(let run):
            agent.isInDoubt = false
            guard runs.adopt(run) else {
                if phase == .handedOver { phase = .running }
                return []
            }
            if phase == .handedOver { phase = .running }
            // The Stop aborted the run that the bridge asked for. The adopted run must stop instead, if the Stop reaches it.
            let mustStop = agent.isStopping && agent.stopReach.covers(isOurs: false)
            let abort: [TurnOrder] = mustStop ? [.command(.abort(session: opening.agentSession, run: run))] : []
            return [.note(.foreignRunAdopted)] + abort
        case .leavesAgain(let run):
            opening.run = run
            runs = TurnRuns(run)
            if phase == .running { phase = .handedOver }
            return agent.isStopping ? abortRuns(agent.stopReach) : []
        case .noRun: return conclude(.answered, line: text.isEmpty ? Sentences.noRun : nil, at: now)
        case .refused(let message): return conclude(.failed, line: Sentences.refused(message), at: now)
        case .notSent(let sentence): return conclude(.failed, line: sentence, at: now)
        case .neverLeft: return neverLeft()
        }
    }

    /// The agent put this message into the run of an older turn, which gets the text.
    package mutating func joinedOlder(at now: Instant) -> [TurnOrder] {
        conclude(.answered, line: Sentences.joined, at: now)
    }

    // MARK: The agent comes and goes

    package mutating func agentLost(at now: Instant) -> [TurnOrder] {
        guard !agent.isAway else { return [] }
        agent.isAway = true
        agent.questions.linkLost()
        switch phase {
        // The bridge answers messages to itself, with or without the agent.
        case .waiting where isToBridge: break
        case .waiting: deadlines.agent = now + settings.agentPatience
        case .handedOver, .running, .holding, .asking, .searching:
            // The link is down: look-ups resume when it is back.
            deadlines.retry = nil
            deadlines.look = nil
            deadlines.ask = nil
        case .awaitingKey, .fetching, .answering, .over, .closed: break
        }
        return []
    }

    package mutating func agentBack(at now: Instant) -> [TurnOrder] {
        guard agent.isAway else { return [] }
        agent.isAway = false
        let isHeard = isHeard(at: now)
        switch phase {
        case .waiting: deadlines.agent = nil
        case .handedOver, .running, .asking, .searching:
            if phase == .handedOver { agent.isInDoubt = true }
            text.missed()
            phase = .searching(since: now)
            deadlines.look = now + settings.firstLook
        case .holding: deadlines.look = now + settings.firstLook
        case .awaitingKey, .fetching, .answering, .over, .closed: return isHeard
        }
        let answers = agent.isStopping ? [] : agent.questions.takeOwed()
        let dropped = approvals.dropUnbound() ? say(Sentences.decisionDropped) : []
        return isHeard + dropped + approvals.takeOwed().map(resolve) + answers.map { command($0.answer, to: $0.id) }
    }

    func resolve(_ decision: ApprovalLedger.Decision) -> TurnOrder {
        .command(
            .resolve(
                approval: decision.approval, subject: decision.subject, decision: decision.decision,
                scope: decision.scope, isUnanswered: decision.isUnanswered, shown: decision.fingerprint))
    }

    var lookUp: TurnOrder { .command(.lookUp(session: opening.agentSession, run: opening.run)) }

    // MARK: Time

    /// `agentRemedy`: how a person can make an absent agent reachable.
    package mutating func deadlineHit(at now: Instant, agentRemedy: String? = nil) -> [TurnOrder] {
        var orders: [TurnOrder] = []
        for (id, due) in approvals.due(at: now) { orders += isDue(id, due, at: now) }
        for id in agent.questions.expired(at: now) { orders += settled(QuestionSettlement(id: id, .expired)) }
        for (id, due) in agent.questions.due(patience: settings.asks.heldFor, at: now) {
            orders += isDue(id, due, at: now)
        }
        if deadlines.takeOpen(at: now) { orders += openLate() }
        if deadlines.takeKey(at: now) {
            orders += conclude(.neverSent, line: Sentences.keyMissing, at: now)
        }
        if deadlines.takeFetch(at: now) { orders += fetchIsLate(at: now) }
        if deadlines.takeAgent(at: now) {
            orders += conclude(.neverSent, line: Sentences.agentAway(agentRemedy), at: now)
        }
        if deadlines.takeStop(at: now) { orders += conclude(.aborted, at: now) }
        if deadlines.takeFollowUp(at: now) { orders += followUpIsLate(at: now) }
        if deadlines.takeRetry(at: now) {
            phase = .searching(since: now)
            deadlines.look = now + settings.lookInterval
            orders.append(lookUp)
        }
        if deadlines.takeLook(at: now) { orders += look(at: now) }
        if deadlines.takeAsk(at: now) {
            orders += phase == .holding ? concludeWithoutFollowUp(at: now) : concludeEmpty(at: now)
        }
        if deadlines.takeAbandon(at: now) {
            orders += abandon(agentRemedy, at: now)
        }
        if deadlines.takeWindow(at: now) { orders += closeWindow(at: now) }
        return orders + silenceIsDue(at: now)
    }

    /// A run that asks a person is not abandoned before its last ask has ended.
    private mutating func abandon(_ agentRemedy: String?, at now: Instant) -> [TurnOrder] {
        let ends = [approvals.lastEnd, agent.questions.lastEnd(patience: settings.asks.heldFor)].compactMap(\.self)
        if let end = ends.max(), end >= now {
            deadlines.abandon = end + Self.goesOnWithin
            return []
        }
        let wasSent = occupiesAgent
        return conclude(
            wasSent ? .lost : .neverSent,
            line: wasSent ? Sentences.agentLost : Sentences.agentAway(agentRemedy), at: now)
    }

    /// How long an agent may work on after its last ask has ended.
    private static let goesOnWithin = Duration.seconds(3600)

    private mutating func followUpIsLate(at now: Instant) -> [TurnOrder] {
        guard phase == .holding else { return [] }
        guard !agent.isAway else {
            // The follow-up may have begun while the link was down: wait once more.
            deadlines.followUp = now + settings.followUpPatience
            return []
        }
        deadlines.look = nil
        deadlines.ask = now + settings.lookUpPatience
        return [lookUp]
    }

    private mutating func look(at now: Instant) -> [TurnOrder] {
        guard case .searching(let since) = phase else {
            guard phase == .holding else { return [] }
            lookWhileHolding(at: now)
            return [lookUp]
        }
        guard now - since < settings.lookPatience else { return conclude(.lost, line: Sentences.agentLost, at: now) }
        deadlines.look = now + settings.lookInterval
        return [lookUp]
    }
}
