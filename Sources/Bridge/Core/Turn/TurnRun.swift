package import Vocabulary

// Events of a run from the agent's bus, and look-ups where the bus was silent.
extension Turn {
    package mutating func runEvent(_ event: RunEvent, of run: RunID, at now: Instant) -> [TurnOrder] {
        // Nothing was handed over yet, so no run can be this turn's.
        if outcome != nil || !mayHaveRun { return event.isOnlyAlive ? [] : [.note(.eventAfterEnd)] }
        if runs.ended.contains(run), event.tellsTheRun { return event.isOnlyAlive ? [] : [.note(.eventAfterEnd)] }
        if case .alive(.retrying) = event {
            retries(at: now)
            return []
        }
        let heard = isHeard(at: now)
        if case .alive(let activity) = event {
            isAlive(activity, at: now)
            return heard
        }
        enter(event, of: run)
        deadlines.retry = nil
        let orders = take(event, of: run, at: now)
        return heard.isEmpty ? orders : heard + orders
    }

    private mutating func take(_ event: RunEvent, of run: RunID, at now: Instant) -> [TurnOrder] {
        switch event {
        case .started: return started()
        case .text(let change): return moved(text.apply(change))
        case .tool(let event): return tool(event, at: now)
        case .approvalRequested(let request): return asked(request, at: now)
        case .approvalSettled(let settlement): return settled(settlement, at: now)
        case .asked(let question): return asked(question)
        case .questionSettled(let settlement): return settled(settlement)
        case .paused(let call):
            if let id = call.call { tools.paused(id, for: call.approval) }
            approvals.markDetached(call.approval)
            return []
        case .retrying:
            runs.isRetrying = true
            if !agent.isAway { deadlines.retry = now + settings.retryPatience }
            return []
        case .finished(let end): return settle(end.joined(along: streamed), of: run, at: now, mayAsk: true)
        case .failed(let failure): return fail(failure, at: now)
        case .alive: return []
        }
    }

    private var mayHaveRun: Bool {
        switch phase {
        case .awaitingKey, .fetching, .answering: false
        case .waiting, .handedOver, .running, .holding, .asking, .searching, .over, .closed: true
        }
    }

    private mutating func enter(_ event: RunEvent, of run: RunID) {
        agent.isInDoubt = false
        agent.isBesideRun = false
        switch phase {
        case .waiting:
            deadlines.agent = nil
            phase = .running
        case .handedOver: phase = .running
        case .searching where event.showsProgress: phase = .running
        case .holding where event.tellsTheRun:
            phase = .running
            deadlines.followUp = nil
            deadlines.ask = nil
            deadlines.look = nil
        case .awaitingKey, .fetching, .answering, .holding, .running, .asking, .searching, .over, .closed: break
        }
        if run != opening.run, runs.adopt(run) { approvals.followUpBegan(run) }
    }

    private mutating func started() -> [TurnOrder] {
        text.began()
        guard runs.isRetrying else { return [] }
        runs.isRetrying = false
        text.restart()
        silence.tools = []
        bubble.notes.restart(after: text.base.utf8.count)
        let failed = bubble.isOver ? [] : tools.attemptFailed().map { TurnOrder.post($0) }
        return failed + moved(.changed)
    }

    mutating func moved(_ movement: RunText.Movement) -> [TurnOrder] {
        let wasPaused = preview.isPaused
        let addition = preview.moved(bubble.notes.moved(movement), to: bubble.notes.composed(text.whole))
        if let addition, !bubble.isOver {
            return preview.isOver ? [.post(.text(addition)), .note(.previewLimitReached)] : [.post(.text(addition))]
        }
        return preview.isPaused && !wasPaused ? [.note(.previewPaused)] : []
    }

    private mutating func tool(_ event: ToolEvent, at now: Instant) -> [TurnOrder] {
        guard !bubble.isOver else {
            silence.heard(event)
            return [.note(.eventAfterEnd)]
        }
        let said: Post?
        switch event {
        case .started(let start): said = tools.started(start, at: now)
        case .progress(let progress): said = tools.progressed(progress)
        case .finished(let result):
            guard tools.knows(result.call) else { return [.note(.toolWithoutStart)] }
            said = tools.finished(result)
        }
        return said.map { [.post($0)] } ?? []
    }

    // MARK: Look-ups

    package mutating func lookedUp(_ lookup: RunLookup, at now: Instant) -> [TurnOrder] {
        switch lookup {
        case .running, .waits: if outcome == nil { return isHeard(at: now) + found(lookup, at: now) }
        case .ended, .failed, .unknown: break
        }
        return found(lookup, at: now)
    }

    private mutating func found(_ lookup: RunLookup, at now: Instant) -> [TurnOrder] {
        switch phase {
        case .asking, .searching: break
        case .holding: return lookedUpWhileHolding(lookup, at: now)
        case .awaitingKey, .fetching, .waiting, .answering, .handedOver, .running, .over, .closed: return []
        }
        switch lookup {
        case .running(let known):
            agent.isInDoubt = false
            phase = .running
            deadlines.look = nil
            deadlines.ask = nil
            guard let known, text.base.isEmpty else { return [] }
            return moved(text.caughtUp(with: known))
        case .waits:
            phase = .handedOver
            deadlines.look = nil
            deadlines.ask = nil
            return []
        case .ended(let found):
            let end = found.joined(along: streamed)
            // The history has the first run alone; its follow-up is still missing.
            guard text.base.isEmpty || coversFollowUp(end) else { return isUnknown(at: now) }
            deadlines.look = nil
            return settle(end, of: opening.run, at: now, mayAsk: false)
        case .failed(let failure): return fail(failure, at: now)
        case .unknown: return isUnknown(at: now)
        }
    }

    /// The history knows nothing: an empty end counts as empty. After a lost link the next look comes by its deadline.
    private mutating func isUnknown(at now: Instant) -> [TurnOrder] {
        phase == .asking ? concludeEmpty(at: now) : []
    }

    private mutating func lookedUpWhileHolding(_ lookup: RunLookup, at now: Instant) -> [TurnOrder] {
        if case .ended(let found) = lookup {
            let end = found.joined(along: streamed)
            if coversFollowUp(end) { return settle(end, of: opening.run, at: now, mayAsk: false) }
        }
        // The process that was to run the command is gone, and the follow-up with it.
        if case .failed(let failure) = lookup, failure.kind == .agentGone, approvals.awaitsFollowUp,
            !approvals.hasDetachedOpen
        {
            return fail(failure, at: now)
        }
        return deadlines.ask == nil ? [] : concludeWithoutFollowUp(at: now)
    }

    /// Text that the agent said in one piece: all of it, or what the preview showed before a missing piece.
    private var streamed: String { text.isTorn ? bubble.notes.removed(from: preview.streamed) : text.whole }

    /// The history's text goes beyond the first run's, so it includes the follow-up.
    func coversFollowUp(_ end: RunEnd) -> Bool {
        if end.includesFollowUp { return true }
        guard let said = end.text, !text.base.isEmpty, extends(said, text.base) else { return false }
        // The history keeps trailing white space that a `final` lacks.
        return said.utf8.dropFirst(text.base.utf8.count).contains { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
    }
}

extension RunEvent {
    /// The event proves that the run is alive. A bus repeats ended messages, tools and approvals after a gap, so those prove nothing.
    fileprivate var showsProgress: Bool {
        switch self {
        case .started, .text(.append), .text(.snapshot), .text(.segment), .text(.replaced), .retrying: true
        case .text(.segmentEnded), .tool, .approvalRequested, .approvalSettled, .asked, .questionSettled, .paused,
            .finished, .failed, .alive:
            false
        }
    }

    fileprivate var isOnlyAlive: Bool { if case .alive = self { true } else { false } }

    /// The event is about the course of one run. Tools and approvals outlive it.
    fileprivate var tellsTheRun: Bool {
        switch self {
        case .started, .text, .retrying, .finished, .failed, .alive: true
        case .tool, .approvalRequested, .approvalSettled, .asked, .questionSettled, .paused: false
        }
    }
}
