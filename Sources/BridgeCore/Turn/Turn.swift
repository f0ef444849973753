package import BridgeModel

/// One turn: from the user's message to the confirmed end of its bubble (DESIGN, sections 6 and 7).
///
/// States:
/// - `waiting`: the bubble is open, the message is not with the agent. Can transition to `handedOver` (its place in the
///   session's queue came), `over` (stopped; the agent stayed away).
/// - `handedOver`: the message left, the agent has not answered. Can transition to `running` (accepted, or an event of the run
///   came first), `searching` (link lost and back), `over` (refused, stopped).
/// - `running`: Can transition to `holding` (the run ended, a detached approval is open), `asking` (it ended without text),
///   `searching` (link lost and back), `over`.
/// - `asking`: an empty end asks the history before it counts as empty. Can transition to `over`.
/// - `searching`: the link was lost: what became of the run? Can transition to `running`, `over`.
/// - `holding`: Can transition to `running` (the follow-up run began), `over` (it did not, or was stopped).
/// - `over`: the run is settled; the end is posted. Can transition to `closed` when the relay has confirmed all of it.
/// - `closed`.
///
/// Invariants, for any order of events:
/// - The first post is the placeholder; exactly one end is posted for each bubble that was opened; after it come only
///   whole messages.
/// - Every task that was created is finished once, before the end.
/// - What is streamed is never out of order and never doubled (`Preview`); the end carries the full canonical text.
/// - Every state but `closed` has a way out that needs nobody's help: a deadline, or the lane's own.
/// - Nothing is handed over after a stop; no decision is forwarded after a stop; nothing is approved by default.
package struct Turn: Sendable {
    enum Phase: Hashable {
        case waiting, handedOver, running, holding
        case asking, searching(since: Instant)
        case over(TurnOutcome)
        case closed(TurnOutcome)
    }

    package let opening: TurnOpening
    let settings: TurnSettings
    let planted: PlantedFault?

    var phase = Phase.waiting
    var text = RunText()
    var preview: Preview
    var tools = ToolLedger()
    var approvals = ApprovalLedger()
    /// Runs whose events are this turn's: the one asked for, or those adopted.
    package internal(set) var runs: Set<RunID>
    /// Sentences that the end carries after the text.
    var closingLines: [String] = []
    var usage: Usage?
    /// What the bubble held when the window closed; nil while it is open.
    var heldAtWindowClose: String?
    /// The bubble can no longer be ended, or was: what comes is a message.
    var bubbleIsOver = false
    var retrying = false
    var stopping = false
    var agentAway = false
    /// Posts that must be confirmed before the turn is closed.
    var unconfirmed: Set<PostName> = []
    /// The end as it stands at the relay or on its way, so that a refusal can shorten it.
    var sentEnd: EndOfTurn?
    var lines = 0
    var deadlines = TurnDeadlines()

    package init(_ opening: TurnOpening, settings: TurnSettings = TurnSettings(), planted: PlantedFault? = nil) {
        self.opening = opening
        self.settings = settings
        self.planted = planted
        preview = Preview(limit: settings.bubbleLimit)
        runs = [opening.run]
    }

    // MARK: What others may ask

    package var nextDeadline: Instant? {
        guard !isClosed else { return nil }
        return [deadlines.earliest, approvals.nextExpiry].compactMap(\.self).min()
    }

    package var isClosed: Bool { if case .closed = phase { true } else { false } }
    package var isWaiting: Bool { phase == .waiting }
    package var outcome: TurnOutcome? {
        switch phase {
        case .over(let outcome), .closed(let outcome): outcome
        case .waiting, .handedOver, .running, .holding, .asking, .searching: nil
        }
    }
    /// The agent is at work on it, or nobody knows.
    package var occupiesAgent: Bool {
        switch phase {
        case .handedOver, .running, .asking, .searching, .holding: true
        case .waiting, .over, .closed: false
        }
    }
    package func knows(_ approval: ApprovalID) -> Bool { approvals.knows(approval) }

    /// A run that this turn waits for without knowing its whole name: the follow-up of a detached approval. Its id begins with
    /// the approval's (OpenClaw sheet 6.4).
    package func expects(_ run: RunID) -> Bool {
        guard outcome == nil, approvals.hasDetached else { return false }
        return approvals.all.contains { Self.isFollowUp(run, of: $0) }
    }

    static func isFollowUp(_ run: RunID, of approval: ApprovalID) -> Bool {
        let stem = "exec-approval-followup:\(approval.text)"
        return run.text == stem || run.text.utf8.starts(with: "\(stem):".utf8)
    }

    // MARK: The way to the agent

    package mutating func begin(at now: Instant) -> [TurnOrder] {
        guard now < opening.windowEnds - settings.windowMargin else {
            bubbleIsOver = true
            phase = .over(.neverSent)
            return [.closeWindow, post(.message(WholeMessage(part: .late, text: Sentences.expired))), .agentFree]
        }
        deadlines.window = opening.windowEnds - settings.windowMargin
        unconfirmed.insert(.open)
        return [.post(.open)]
    }

    /// Its place in the session's queue has come, and the agent is there.
    package mutating func handOver(at now: Instant) -> [TurnOrder] {
        guard phase == .waiting else { return [] }
        deadlines.agent = nil
        phase = .handedOver
        guard let message = opening.message else { return [] }
        return [
            .command(.send(turn: opening.id, session: opening.agentSession, run: opening.run, message: message))
        ]
    }

    package mutating func sendAnswered(_ answer: SendAnswer, at now: Instant) -> [TurnOrder] {
        guard outcome == nil else { return [] }
        switch answer {
        case .accepted(let run):
            let foreign = runs.insert(run).inserted
            if phase == .handedOver { phase = .running }
            return foreign ? [.note(.foreignRunAdopted)] : []
        case .noRun: return conclude(.answered, line: text.isEmpty ? Sentences.noRun : nil, at: now)
        case .refused(let message): return conclude(.failed, line: Sentences.refused(message), at: now)
        }
    }

    /// The agent put this message into the run of an older turn, which gets the text.
    package mutating func joinedOlder(at now: Instant) -> [TurnOrder] {
        guard outcome == nil else { return [] }
        return conclude(.answered, line: Sentences.joined, at: now)
    }

    package mutating func agentLost(at now: Instant) -> [TurnOrder] {
        agentAway = true
        switch phase {
        case .waiting: deadlines.agent = now + settings.agentPatience
        case .handedOver, .running, .holding, .asking, .searching:
            deadlines.retry = nil
            deadlines.look = nil
        case .over, .closed: break
        }
        return []
    }

    package mutating func agentBack(at now: Instant) -> [TurnOrder] {
        guard agentAway else { return [] }
        agentAway = false
        switch phase {
        case .waiting: deadlines.agent = nil
        case .handedOver, .running, .holding, .asking, .searching:
            text.missed()
            if phase != .holding { phase = .searching(since: now) }
            deadlines.look = now + settings.firstLook
        case .over, .closed: break
        }
        return []
    }

    package mutating func lookedUp(_ lookup: RunLookup, at now: Instant) -> [TurnOrder] {
        switch phase {
        case .asking, .searching: break
        case .holding:
            // Only the follow-up is missing; what the history holds beyond the first run's text is its answer.
            guard case .ended(let end) = lookup, let said = end.text, said.utf8.count > text.base.utf8.count else {
                return []
            }
            text.settleWithFollowUp(said)
            return conclude(.answered, at: now)
        case .waiting, .handedOver, .running, .over, .closed: return []
        }
        switch lookup {
        case .running(let known):
            phase = .running
            deadlines.look = nil
            guard let known else { return [] }
            return moved(text.apply(.snapshot(known), planted: planted))
        case .ended(let end):
            deadlines.look = nil
            return settle(end, at: now, mayAsk: false)
        case .failed(let failure): return fail(failure, at: now)
        case .unknown:
            // Asked because an end was empty: then empty it is. Asked after a loss: the next look comes by its deadline.
            return phase == .asking ? concludeEmpty(at: now) : []
        }
    }

    // MARK: The run

    package mutating func runEvent(_ event: RunEvent, of run: RunID, at now: Instant) -> [TurnOrder] {
        switch phase {
        case .over, .closed: return afterEnd(event)
        case .waiting, .handedOver: phase = .running
        case .searching where event.showsProgress: phase = .running
        case .holding where !runs.contains(run):
            runs.insert(run)
            phase = .running
            deadlines.followUp = nil
        case .holding, .running, .asking, .searching: break
        }
        if !runs.contains(run), expects(run) { runs.insert(run) }
        deadlines.retry = nil
        switch event {
        case .started:
            guard retrying else { return [] }
            retrying = false
            text.restart()
            return stream(preview.restarted(text: text.whole))
        case .text(let change): return moved(text.apply(change, planted: planted))
        case .tool(let event): return tool(event)
        case .approvalRequested(let request): return asked(request)
        case .approvalSettled(let settlement): return settled(settlement, at: now)
        case .paused(let call):
            if let id = call.call { tools.paused(id, for: call.approval) }
            approvals.markDetached(call.approval)
            return []
        case .retrying:
            retrying = true
            deadlines.retry = now + settings.retryPatience
            return []
        case .finished(let end): return settle(end, at: now, mayAsk: true)
        case .failed(let failure): return fail(failure, at: now)
        }
    }

    private mutating func afterEnd(_ event: RunEvent) -> [TurnOrder] {
        switch event {
        case .approvalRequested(let request): return asked(request)
        case .started, .text, .tool, .approvalSettled, .paused, .retrying, .finished, .failed:
            return [.note(.eventAfterEnd)]
        }
    }

    mutating func moved(_ movement: RunText.Movement) -> [TurnOrder] {
        let wasPaused = preview.isPaused
        let orders = stream(preview.moved(movement, to: text.whole))
        return preview.isPaused && !wasPaused ? orders + [.note(.previewPaused)] : orders
    }

    private mutating func stream(_ addition: String?) -> [TurnOrder] {
        guard let addition, !bubbleIsOver else { return [] }
        return preview.isOver ? [.post(.text(addition)), .note(.previewLimitReached)] : [.post(.text(addition))]
    }

    private mutating func tool(_ event: ToolEvent) -> [TurnOrder] {
        guard !bubbleIsOver else { return [.note(.eventAfterEnd)] }
        switch event {
        case .started(let start): return tools.started(start).map { [.post($0)] } ?? []
        case .progress(let progress): return tools.progressed(progress).map { [.post($0)] } ?? []
        case .finished(let result):
            guard tools.knows(result.call) else { return [.note(.toolWithoutStart)] }
            return tools.finished(result, planted: planted).map { [.post($0)] } ?? []
        }
    }

    // MARK: Time

    package mutating func deadlineHit(at now: Instant) -> [TurnOrder] {
        var orders: [TurnOrder] = []
        for id in approvals.expire(at: now) {
            orders += settled(ApprovalSettlement(id: id, outcome: .expired), at: now)
        }
        guard outcome == nil else { return orders }
        if deadlines.takeAgent(at: now) { orders += conclude(.neverSent, line: Sentences.agentAway, at: now) }
        if deadlines.takeStop(at: now) { orders += conclude(.aborted, at: now) }
        if deadlines.takeFollowUp(at: now), phase == .holding {
            orders += [lookUp]
            deadlines.ask = now + settings.lookUpPatience
        }
        if deadlines.takeRetry(at: now) {
            orders += [lookUp]
            phase = .searching(since: now)
            deadlines.look = now + settings.lookInterval
        }
        if deadlines.takeLook(at: now) { orders += look(at: now) }
        if deadlines.takeAsk(at: now) {
            orders +=
                phase == .holding
                ? conclude(.answered, line: Sentences.followUpMissing, at: now) : concludeEmpty(at: now)
        }
        if deadlines.takeAbandon(at: now) { orders += conclude(.lost, line: Sentences.agentLost, at: now) }
        if outcome == nil, deadlines.takeWindow(at: now) { orders += closeWindow(at: now) }
        return orders
    }

    var lookUp: TurnOrder { .command(.lookUp(session: opening.agentSession, run: opening.run)) }

    private mutating func look(at now: Instant) -> [TurnOrder] {
        guard case .searching(let since) = phase else { return phase == .holding ? [lookUp] : [] }
        guard now - since < settings.lookPatience else { return conclude(.lost, line: Sentences.agentLost, at: now) }
        deadlines.look = now + settings.lookInterval
        return [lookUp]
    }
}

extension RunEvent {
    /// The run is alive. What a bus repeats after a gap (ended messages, tools, approvals) does not show that.
    fileprivate var showsProgress: Bool {
        switch self {
        case .started, .text(.append), .text(.snapshot), .text(.segment), .retrying: true
        case .text(.segmentEnded), .tool, .approvalRequested, .approvalSettled, .paused, .finished, .failed: false
        }
    }
}
