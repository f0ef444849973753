package import BridgeModel

// Approvals and stops: what a person says, and what the agent says about it.
extension Turn {
    mutating func asked(_ request: ApprovalRequest) -> [TurnOrder] {
        let isOver = outcome != nil
        switch approvals.asked(request, stopping: stopping) {
        case .known: return []
        case .ask(let card): return isOver ? [] : [.post(.approval(card))]
        case .refuseSilently(let subject): return [deny(request.id, subject)]
        case .refuseVisibly(let subject):
            return [deny(request.id, subject), .note(.approvalRefused)] + say(Sentences.approvalImpossible)
        }
    }

    /// A person decided on the phone, or the relay did for them: then there is a reason (relay sheet 4.4).
    package mutating func decided(
        _ approval: ApprovalID, _ decision: ApprovalDecision, reason: String?, at now: Instant
    ) -> [TurnOrder] {
        guard approvals.knows(approval) else { return [.note(.unknownApproval)] }
        guard case .forward(let subject, let detached) = approvals.decided(approval, decision) else {
            return [.note(.decisionNotForwarded)]
        }
        var orders: [TurnOrder] = [
            .command(.resolve(approval: approval, subject: subject, decision: decision))
        ]
        if detached { orders += finishPaused(approval, decision, at: now) }
        if let reason, decision == .deny { orders += say(Sentences.approvalDenied(reason: reason)) }
        return orders
    }

    mutating func settled(_ settlement: ApprovalSettlement, at now: Instant) -> [TurnOrder] {
        switch approvals.settled(settlement) {
        case .ignored: return []
        case .confirmed: return []
        case .otherwise(.decided(let decision), let detached):
            let orders = detached ? finishPaused(settlement.id, decision, at: now) : []
            return orders + say(Sentences.decidedElsewhere(decision))
        case .otherwise(.expired, let detached):
            let orders = detached ? finishPaused(settlement.id, .deny, at: now) : []
            return orders + say(Sentences.approvalExpired)
        case .otherwise(.unknown, let detached):
            let orders = detached ? finishPaused(settlement.id, .deny, at: now) : []
            return orders + say(Sentences.approvalUnknown)
        case .otherwise(.cancelled, let detached):
            let orders = detached ? finishPaused(settlement.id, .deny, at: now) : []
            return orders + say(Sentences.approvalCancelled)
        }
    }

    /// The tool that returned "waiting for approval" is finished by the decision; the follow-up run is awaited from here.
    private mutating func finishPaused(_ approval: ApprovalID, _ decision: ApprovalDecision, at now: Instant)
        -> [TurnOrder]
    {
        if outcome == nil { deadlines.followUp = now + settings.followUpPatience }
        let denied = decision == .deny
        return tools.approvalSettled(approval, status: denied ? .cancelled : .completed, label: denied ? "denied" : nil)
            .map { .post($0) }
    }

    private func deny(_ approval: ApprovalID, _ subject: ApprovalRequest.Subject) -> TurnOrder {
        .command(.resolve(approval: approval, subject: subject, decision: .deny))
    }

    /// A line of ours: with the end while the bubble is open, else as a short message.
    mutating func say(_ line: String) -> [TurnOrder] {
        guard bubbleIsOver || outcome != nil else {
            closingLines.append(line)
            return []
        }
        guard !isClosed, lines < 20 else { return [] }
        lines += 1
        return [post(.message(WholeMessage(part: .line(lines), text: line)))]
    }

    package mutating func stopRequested(at now: Instant) -> [TurnOrder] {
        guard outcome == nil, !stopping else { return [] }
        stopping = true
        var orders: [TurnOrder] = [.note(.stopRequested)]
        switch phase {
        case .waiting: return orders + conclude(.aborted, at: now)
        case .holding:
            orders += approvals.denyOpen().map { deny($0.0, $0.1) }
            return orders + conclude(.aborted, at: now)
        case .handedOver, .running, .asking, .searching:
            orders += runs.sorted().map { .command(.abort(session: opening.agentSession, run: $0)) }
            orders += approvals.denyOpen().map { deny($0.0, $0.1) }
            deadlines.stop = now + settings.stopPatience
            return orders
        case .over, .closed: return []
        }
    }
}
