package import Vocabulary

// Approvals and stops: a person's decisions, and the agent's word on them.
extension Turn {
    mutating func asked(_ request: ApprovalRequest, at now: Instant) -> [TurnOrder] {
        let line = approvals.lineOfAnother(request.id)
        switch approvals.asked(request, showing(request), stopping: agent.isStopping, at: now) {
        case .known: return []
        case .ask(let card): return (line.map { say($0) } ?? []) + [.post(.approval(card))]
        case .askInParts: return (line.map { say($0) } ?? []) + [.tellsInParts]
        case .refuseSilently(let subject): return [deny(request.id, subject)]
        case .refuseVisibly(let subject):
            return [deny(request.id, subject), .note(.approvalRefused)] + say(Sentences.approvalImpossible)
        }
    }

    private func showing(_ request: ApprovalRequest) -> ApprovalLedger.Showing {
        ApprovalLedger.Showing(
            isSealed: opening.sealing.isSealed, messageLimit: bubbleLimit,
            hour: request.expiresAt.flatMap { settings.localTime?.hour(of: $0) },
            severity: severity(of: request), hasEnds: settings.cardsHaveEnds,
            takesWords: settings.asks.whenAsked == .refuse)
    }

    private func severity(of request: ApprovalRequest) -> ApprovalRequest.Severity {
        let asks = settings.asks
        let subject = SeverityRules.Subject(
            request, workspace: agent.folder, home: asks.home, ownFolders: asks.ownFolders)
        return SeverityRules.severity(
            of: request.severity, subject, matches: asks.severity, isSealed: opening.sealing.isSealed)
    }

    /// The relay allowed the card itself, since a person's yes has no reason. The card is gone, and the ask counts as unanswered.
    private mutating func relayAllowed(_ approval: ApprovalID, _ reason: String, at now: Instant) -> [TurnOrder] {
        let orders: [TurnOrder] = [.note(.decisionNotForwarded)]
        guard approvals.isOpen(approval) else { return orders }
        if holdsAsks {
            guard approvals.closeCard(approval, at: now) else { return orders }
            return orders + [.note(.askUnanswered)] + show(Sentences.allowedByRelay(reason: reason)).orders
        }
        if isLeftToOthers { return orders + sayOnce(Sentences.approvalLeft(reason: reason)) }
        guard let refused = approvals.refuse(approval, isUnanswered: true, agentAway: agent.isAway, at: now) else {
            return orders
        }
        let denied = refused.decision.map { [resolve($0)] } ?? []
        let finished = refused.isDetached ? finishPaused(approval, .deny, followUp: true, at: now) : []
        return orders + say(Sentences.approvalDenied(reason: reason)) + denied + finished
    }

    /// A person can still decide the ask, or has decided it.
    package func isForPerson(_ approval: ApprovalID) -> Bool { approvals.isForPerson(approval) }

    /// A person decided on the phone, or the relay closed the card, which gives a `reason` (relay.md#others).
    package mutating func decided(
        _ card: ApprovalID, _ decision: ApprovalDecision, scope: DecisionScope = .unscoped, reason: String?,
        at now: Instant
    ) -> [TurnOrder] {
        guard let (approval, isNewest) = approvals.ask(ofCard: card) else { return [.note(.unknownApproval)] }
        guard isNewest, approvals.hasCard(approval) else { return [.note(.oldCardTapped)] }
        if let reason, decision != .deny { return relayAllowed(approval, reason, at: now) }
        if let reason, holdsAsks {
            switch CardEnd(reason) {
            case .unanswered: return cardUnanswered(approval, at: now)
            case .limited: return cardUnanswered(approval, limitedFor: CardLife.refill, at: now)
            case .denied: break
            }
        }
        if let reason, isLeftToOthers {
            // The relay closed the card by itself: no person has decided, and the ask stays open at the agent.
            return [.note(.decisionNotForwarded)] + sayOnce(Sentences.approvalLeft(reason: reason))
        }
        if decision != .deny, approvals.isUnbound(approval) {
            return [.note(.decisionNotForwarded)] + sayOnce(Sentences.askedAnew)
        }
        let isCut = decision != .deny && approvals.canOnlyBeDenied(approval)
        var orders: [TurnOrder] = []
        let taken: ApprovalGrant
        let detached: Bool
        switch approvals.decided(
            approval, decision, scope: scope, abilities: settings.abilities, agentAway: agent.isAway, at: now)
        {
        case .ignored:
            let isNews = decision != .deny && approvals.approvals[approval]?.refuser != nil
            return [.note(.decisionNotForwarded)] + (isNews ? sayOnce(Sentences.refusedBefore) : [])
        case .keep(let grant, let isDetached): (taken, detached) = (grant, isDetached)
        case .forward(let subject, let grant, let shown, let isDetached):
            orders.append(
                .command(
                    .resolve(
                        approval: approval, subject: subject, decision: grant.decision, scope: grant.scope,
                        shown: shown)))
            (taken, detached) = (grant, isDetached)
        }
        if detached { orders += finishPaused(approval, taken.decision, followUp: true, at: now) }
        if taken.decision == .deny, decision != .deny {
            orders += say(isCut ? Sentences.tooLongToAllow : Sentences.decisionNotAllowed)
        }
        if taken.isNarrowed, approvals.tellsOfNarrowing() { orders += say(Sentences.narrowed(to: taken)) }
        if let reason, decision == .deny { orders += say(Sentences.approvalDenied(reason: reason)) }
        return orders
    }

    mutating func settled(_ settlement: ApprovalSettlement, at now: Instant) -> [TurnOrder] {
        let ours = approvals.decision(on: settlement.id)
        switch approvals.settled(settlement) {
        case .ignored, .confirmed: return []
        case .otherwise(let outcome, let detached):
            let decision: ApprovalDecision? =
                switch outcome {
                case .decided(let taken): taken
                case .inDoubt: ours
                case .expired, .unknown, .cancelled, .gone: nil
                }
            let orders =
                detached
                ? finishPaused(settlement.id, decision ?? .deny, followUp: decision != nil, at: now) : []
            // A person who pressed Stop needs no further line.
            let said = agent.isStopping ? [] : say(Self.line(for: outcome))
            let isOver = outcome == .cancelled || outcome == .gone
            return orders + said + (detached && isOver ? lookAfterWithdrawal(at: now) : [])
        }
    }

    /// No run reports a withdrawn ask. The history may have a follow-up from before the withdrawal.
    private mutating func lookAfterWithdrawal(at now: Instant) -> [TurnOrder] {
        guard phase == .holding, !agent.isAway, !approvals.hasDetachedOpen, !approvals.awaitsFollowUp else { return [] }
        deadlines.followUp = nil
        deadlines.ask = now + settings.lookUpPatience
        return [lookUp]
    }

    private static func line(for outcome: ApprovalSettlement.Outcome) -> String {
        switch outcome {
        case .decided(let decision): Sentences.decidedElsewhere(decision)
        case .expired: Sentences.approvalExpired
        case .unknown: Sentences.approvalUnknown
        case .cancelled: Sentences.approvalCancelled
        case .inDoubt, .gone: Sentences.decisionInDoubt
        }
    }

    /// The decision finishes the tool that returned "waiting for approval", and the follow-up is due from here. The agent may begin a run
    /// for an undecided ask too.
    mutating func finishPaused(
        _ approval: ApprovalID, _ decision: ApprovalDecision, followUp: Bool, at now: Instant
    ) -> [TurnOrder] {
        if phase == .holding, followUp || !approvals.hasDetachedOpen {
            awaitFollowUp(at: now)
        }
        let isDenied = decision == .deny
        return tools.approvalSettled(
            approval, status: isDenied ? .cancelled : .completed, label: isDenied ? Sentences.denied : nil
        )
        .filter { _ in !bubble.isOver }.map { .post($0) }
    }

    var holdsAsks: Bool {
        return settings.asks.whenUnanswered == .hold
    }

    /// The relay closed the card without a person's answer: the ask stays open at the agent.
    private mutating func cardUnanswered(
        _ approval: ApprovalID, limitedFor refill: Duration? = nil, at now: Instant
    ) -> [TurnOrder] {
        guard approvals.closeCard(approval, limitedFor: refill, at: now) else { return [.note(.decisionNotForwarded)] }
        guard refill == nil, approvals.tellsUnanswered(approval) else { return [.note(.askUnanswered)] }
        return [.note(.askUnanswered)] + show(Sentences.nobodyAnswered).orders
    }

    /// A deadline of an open ask has come.
    mutating func isDue(_ approval: ApprovalID, _ due: ApprovalLedger.Due, at now: Instant) -> [TurnOrder] {
        switch due {
        case .expired: return settled(ApprovalSettlement(id: approval, outcome: .expired), at: now)
        case .card(.cardIsOver): return cardUnanswered(approval, at: now)
        case .card(.givesUp): return giveUpAsk(approval, at: now)
        case .card(.returns):
            if !agent.isAway { return [.wantsCard(approval)] }
            approvals.postpone(approval, to: now + .seconds(300))
            return []
        }
    }

    /// Nobody answered for as long as the bridge holds an ask. In another client's run the ask stays open there.
    private mutating func giveUpAsk(_ approval: ApprovalID, at now: Instant) -> [TurnOrder] {
        if leavesAsks {
            let isDetached = approvals.leave(approval)
            let finished = isDetached ? finishPaused(approval, .deny, followUp: false, at: now) : []
            return sayOnce(Sentences.askStaysOpen) + finished
        }
        guard let refused = approvals.refuse(approval, isUnanswered: true, agentAway: agent.isAway, at: now) else {
            return []
        }
        let denied = refused.decision.map { [resolve($0)] } ?? []
        let finished = refused.isDetached ? finishPaused(approval, .deny, followUp: true, at: now) : []
        return say(Sentences.unansweredForGood) + denied + finished
    }

    // MARK: Cards

    /// The next card of an unanswered ask.
    mutating func askAgain(_ approval: ApprovalID, at now: Instant) -> [TurnOrder] {
        guard mayAskAgain else { return [] }
        switch approvals.comesBack(approval, hasEnds: settings.cardsHaveEnds, at: now) {
        case .card(let card): return [.post(.approval(card))]
        case .inParts: return [.tellsInParts]
        case nil: return []
        }
    }

    var mayAskAgain: Bool {
        return outcome == nil && !agent.isStopping
    }

    mutating func askLater(_ approval: ApprovalID, at moment: Instant) -> [TurnOrder] {
        approvals.postpone(approval, to: moment)
        return []
    }

    /// The first of the queued asks in parts shows its parts.
    mutating func tellInParts(at now: Instant) -> [TurnOrder] {
        guard outcome == nil, !agent.isStopping, let approval = approvals.queuedForParts.first else { return [] }
        let texts = approvals.parts(of: approval)
        if texts.isEmpty {
            let card = approvals.postCard(approval, hasEnds: settings.cardsHaveEnds, at: now)
            return card.map { [.post(.approval($0))] } ?? []
        }
        guard opening.sealing.canSpeak else {
            approvals.tells(approval, in: [.line(0)])
            return partIsSettled(.line(0), isTaken: false, at: now)
        }
        let parts = texts.map { WholeMessage(part: outbox.names.nextPart(), text: $0) }
        approvals.tells(approval, in: parts.map(\.part))
        return parts.map { post(.message($0)) }
    }

    /// The relay has the part or refused it for good; a refused part leaves its ask with a denial alone.
    mutating func partIsSettled(_ part: WholeMessage.Part, isTaken: Bool, at now: Instant) -> [TurnOrder] {
        guard outcome == nil else { return [] }
        let card = approvals.told(part, isTaken: isTaken, hasEnds: settings.cardsHaveEnds, at: now)
        return card.map { [.post(.approval($0))] } ?? []
    }

    mutating func cardTaken(_ card: ApprovalID, at now: Instant) -> [TurnOrder] {
        approvals.cardTaken(card, at: now) ? [.endsAreRefused] : []
    }

    /// The relay refused the card. Retry it without its end, which the relay may not know, then once more with the least that a request
    /// must have.
    mutating func approvalRefused(
        _ card: ApprovalID, _ refusal: PostRefusal, at now: Instant
    ) -> [TurnOrder] {
        guard let approval = approvals.openAsk(ofCard: card) else { return [.skip] }
        let isTooLarge = refusal.code == .payloadTooLarge
        if refusal.code == .idempotencyConflict {
            // The relay has another card under this name, with other content.
            if let next = approvals.underNextName(approval) { return [.replace(.approval(next))] }
        } else if !isTooLarge, refusal.code != .interactionExpired, let same = approvals.askWithoutEnd(approval) {
            return [.replace(.approval(same))]
        } else if let least = approvals.askWithLeast(approval, isTooLarge: isTooLarge) {
            return [.replace(.approval(least))]
        }
        // An ask that was on the phone before is not denied because the relay refuses its next card.
        if holdsAsks, opening.sealing.canSpeak, approvals.hadCard(approval) {
            _ = approvals.loseCard(approval, at: now)
            return [.skip]
        }
        return [.skip] + approvalNotShown(card, at: now)
    }

    /// The relay was away for longer than the card is worth retrying. The ask waits as an unanswered one.
    mutating func cardIsLost(_ card: ApprovalID, at now: Instant) -> [TurnOrder] {
        guard let approval = approvals.openAsk(ofCard: card) else { return [] }
        guard holdsAsks, opening.sealing.canSpeak else { return approvalNotShown(card, at: now) }
        _ = approvals.loseCard(approval, at: now)
        return []
    }

    /// An approval that cannot be shown must not block the run: the chat says what was asked, then the ask is denied.
    mutating func approvalNotShown(_ card: ApprovalID, at now: Instant) -> [TurnOrder] {
        if isLeftToOthers { return sayOnce(Sentences.approvalLeftUnshown) }
        guard let approval = approvals.openAsk(ofCard: card),
            let refused = approvals.refuse(approval, agentAway: agent.isAway, at: now)
        else { return [] }
        let said = say(Sentences.approvalNotShown(refused.card.question))
        let denied = refused.decision.map { [resolve($0)] } ?? []
        let finished = refused.isDetached ? finishPaused(approval, .deny, followUp: true, at: now) : []
        return said + [.note(.approvalRefused)] + denied + finished
    }

    private func deny(_ approval: ApprovalID, _ subject: ApprovalRequest.Subject) -> TurnOrder {
        .command(.resolve(approval: approval, subject: subject, decision: .deny))
    }

    private mutating func sayOnce(_ line: String) -> [TurnOrder] {
        bubble.closingLines.contains(line) ? [] : say(line)
    }

    /// Adds a line of ours to the end while the bubble is open, or sends it as a short message.
    mutating func say(_ line: String) -> [TurnOrder] {
        if !bubble.isOver, outcome == nil {
            bubble.add(line)
            return []
        }
        guard !isClosed, opening.sealing.canSpeak, let part = outbox.names.nextLine() else { return [] }
        return [post(.message(WholeMessage(part: part, text: line)))]
    }

    /// A person deleted or archived the chat. A mirrored run continues unseen; a run of our own is stopped. An archived chat gets a line
    /// about it, since a person may take it out of the archive again; a deleted one takes no writes (relay.md#codes).
    package mutating func chatEnded(isDeleted: Bool, at now: Instant) -> [TurnOrder] {
        if isDeleted, !isClosed { return giveUp(at: now) }
        return opening.isMirrored
            ? conclude(.answered, line: Sentences.archived, at: now) : stopRequested(reach: .ownRuns, at: now)
    }

    package func hasOpen(_ task: TaskID) -> Bool { outcome == nil && tools.openCall(of: task) != nil }

    /// The phone or the relay stopped an open card of this turn. A run that the bridge did not begin continues all the same.
    package mutating func taskStopped(_ task: TaskID, reason: String?, at now: Instant) -> [TurnOrder] {
        let goesOn = isInRunOfOthers
        guard hasOpen(task), let (name, end) = tools.cancel(task, error: goesOn ? Sentences.toolGoesOn : nil) else {
            return []
        }
        if goesOn { return [.post(end)] }
        if !agent.isStopping { bubble.add(Sentences.toolStopped(name, reason: reason)) }
        return [.post(end)] + stopRequested(reach: .ownRuns, at: now)
    }

    /// The agent answered with another model than the message names.
    package mutating func modelNotSet(_ line: String) -> [TurnOrder] {
        if outcome == nil { bubble.add(notice: line) }
        return []
    }

    package mutating func conversationLost() -> [TurnOrder] { told(Sentences.conversationLost) }

    package mutating func told(_ line: String) -> [TurnOrder] {
        if outcome == nil { bubble.add(notice: line) }
        return []
    }

    package mutating func stopRequested(reach: StopReach = .everyRun, at now: Instant) -> [TurnOrder] {
        guard outcome == nil else { return [] }
        guard !agent.isStopping else { return widenStop(to: reach) }
        // The answer may have left already, which the bridge knows.
        if case .answering(let question, let asker) = phase { return [.withdrawAnswer(question, of: asker)] }
        agent.isStopping = true
        agent.stopsOwnRunsAlone = reach == .ownRuns
        var orders: [TurnOrder] = [.note(.stopRequested)]
        switch phase {
        case .awaitingKey, .fetching, .waiting: return orders + conclude(.aborted, at: now)
        case .holding:
            orders += approvals.denyOpen(at: now).map(resolve) + declineQuestions()
            agent.questions.stopped()
            return orders + conclude(.aborted, at: now)
        case .handedOver, .running, .asking, .searching:
            orders += abortRuns(reach)
            orders += approvals.denyOpen(at: now).map(resolve) + declineQuestions()
            agent.questions.stopped()
            deadlines.stop = now + settings.stopPatience
            return orders
        case .answering, .over, .closed: return []
        }
    }

    /// A person presses Stop after a stop of our own runs alone.
    private mutating func widenStop(to reach: StopReach) -> [TurnOrder] {
        guard reach == .everyRun, agent.stopsOwnRunsAlone else { return [] }
        agent.stopsOwnRunsAlone = false
        return occupiesAgent ? abortRuns(reach) : []
    }

    /// The bridge shuts down, configured to leave nothing open.
    mutating func bridgeStops(line: String = Sentences.bridgeStopped, at now: Instant) -> [TurnOrder] {
        guard outcome == nil else { return [] }
        return leaveAgent(at: now) + conclude(.lost, line: line, at: now)
    }

    /// The turn ends before its run: a run of our own is aborted and its open approvals are denied. A run of another client continues,
    /// approvals included.
    mutating func leaveAgent(at now: Instant) -> [TurnOrder] {
        guard !leavesAsks else { return [] }
        let abort = occupiesAgent ? abortRuns(.ownRuns) : []
        return abort + approvals.denyOpen(at: now).map(resolve) + declineQuestions()
    }

    /// The turn shows a run that the bridge did not begin, or its message went into one. The follow-up of an approval counts as its run.
    var isInRunOfOthers: Bool { opening.isMirrored || runs.open.contains { isOfOthers($0) } }

    /// Another client can answer the asks of this turn's runs, so they stay open.
    var leavesAsks: Bool { settings.hasOtherClients && isInRunOfOthers }
    /// The whole turn shows a run of another client.
    private var isLeftToOthers: Bool { settings.hasOtherClients && opening.isMirrored }

    func isOfOthers(_ run: RunID) -> Bool {
        opening.isMirrored || run != opening.run && !approvals.expects(run)
    }

}
