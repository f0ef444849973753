import AgentKit
import JSONReading
import Vocabulary

// A Stop: the turns it reaches, and its retries until all that the turn began has ended (codex.md#stop-steer-busy).
extension CodexChat {
    // MARK: The command

    mutating func abort(_ run: RunID, reach: StopReach = .everyRun, at now: Instant) -> [Order] {
        if isWaiting(run) {
            errands.removeAll { $0.run == run }
            return [.observed([.abortAnswered(run)])]
        }
        if turn?.words?.run == run {
            // Words that Codex has taken cannot be revoked.
            turn?.words = nil
            return [.observed([.abortAnswered(run)])]
        }
        if stopsBehind(run, reach, at: now) { return [] }
        guard let turn, turn.run == run else {
            guard place != nil else { return [.observed([.abortAnswered(run)])] }
            owesStop(of: run, reach)
            return advance(at: now)
        }
        // A person's Stop reaches further than an earlier Stop of our own runs.
        if !turn.isStopping || reach == .everyRun { self.turn?.stopReach = reach }
        if !turn.isStopping { self.turn?.stop = .due(until: now + CodexTurn.startPatience) }
        return advance(at: now)
    }

    mutating func owesStop(of run: RunID, _ reach: StopReach) {
        if errands.contains(.abort(run, .everyRun)) { return }
        errands.removeAll { $0 == .abort(run, .ownRuns) }
        errands.append(.abort(run, reach))
    }

    // MARK: The turn

    /// The thread's turn is another client's, and the Stop covers our message alone.
    var isBeyondStop: Bool {
        guard let turn, turn.isStopping, let known = thread.turn, turn.id == known.id else { return false }
        return !turn.stopReach.covers(isOurs: !known.isOthers)
    }
    /// The Stop covers the turn, with all that it began.
    var isStopping: Bool { turn?.isStopping == true && !isBeyondStop }

    /// The requests of a due Stop, or nil if none is due.
    mutating func stops(at now: Instant) -> [Order]? {
        guard let place, let turn, case .due(let until) = turn.stop, let id = turn.id else { return nil }
        if isBeyondStop { return leaveTurn(at: now) }
        // The turn's first message says whose turn it is.
        let isUnclear = turn.stopReach == .ownRuns && thread.turn?.message == .unknown && now < until
        guard turn.state == .going, !isUnclear else { return nil }
        self.turn?.stop = .asked(until: max(until, now + CodexTurn.stopPatience))
        return interrupts(of: id, in: place.thread)
    }

    /// Ends the run of our message; the other client's turn continues with the message in it.
    private mutating func leaveTurn(at now: Instant) -> [Order] {
        guard let turn else { return [] }
        let closed = owner == turn.run ? say(asks.closeAll()) : []
        thread.isLeft()
        promptsWords()
        self.turn = nil
        return closed + [
            observed(.finished(RunEnd(reason: .aborted)), of: turn.run), .observed([.abortAnswered(turn.run)]),
        ] + advance(at: now)
    }

    /// Retries an interrupt. One that Codex missed stops nothing; a repeated one is harmless, as it names its turn.
    mutating func interruptsLater(_ run: RunID, at due: Instant) {
        guard turn?.run == run, case .asked = turn?.stop else { return }
        turn?.watch.interruptDue = due
    }

    mutating func interruptsAgain(at now: Instant) -> [Order] {
        turn?.watch.interruptDue = nil
        if isBeyondStop { return leaveTurn(at: now) }
        guard let place, let turn, let id = turn.id, case .asked = turn.stop else { return [] }
        return [.request(.interrupt(turn.run), "turn/interrupt", CodexFrames.interrupt(place.thread, id))]
    }

    /// The bubble ended long ago; the thread stays busy until Codex says otherwise.
    mutating func ignoredStop() -> [Order] {
        guard let turn else { return [] }
        let refused = owner == turn.run ? say(asks.refuseAll()) : []
        if owner == turn.run { thread.isStopped() }
        promptsWords()
        self.turn = nil
        return refused + [
            observed(.finished(RunEnd(reason: .aborted)), of: turn.run), .observed([.abortAnswered(turn.run)]),
            .note("Codex ignored a stop; the chat's next message waits for the end of its turn"),
        ]
    }

    // MARK: An earlier turn

    /// Repeats an earlier Stop, whose bubble has ended.
    mutating func stop(_ run: RunID, _ reach: StopReach, _ listed: FrameNode?, at now: Instant) -> [Order] {
        let isOurs = listed.flatMap { CodexThread.labels(of: $0).first }.map { $0 == run } ?? true
        guard reach.covers(isOurs: isOurs) else { return [.observed([.abortAnswered(run)])] }
        guard let listed, let id = listed["id"]?.string, listed["status"]?.holds("inProgress") == true else {
            return [.observed([.abortAnswered(run)])] + endTurns(of: listed.map { CodexThread.begun(in: $0) } ?? [])
        }
        guard turn == nil else { return stopBeside(run, listed, id) }
        var turn = CodexTurn(CodexPrompt(run: run, text: ""), .going, at: now)
        turn.id = id
        turn.stop = .due(until: now + CodexTurn.startPatience)
        self.turn = turn
        thread.begins(turn: id, isAdopted: true)
        // The turn's bubble has ended: discard its later text.
        _ = thread.caughtUp(listed)
        return followChildren(isStopping: true)
    }

    /// Looks the stopped turn up again: at once in an open thread, else at the next join.
    mutating func stopsAgain(_ run: RunID) -> [Order] {
        owesStop(of: run, .everyRun)
        guard way == .open else { return [] }
        way = .listing
        return list()
    }

    // MARK: What a turn leaves behind

    mutating func ends(_ left: [CodexCleanUp], attempt: Int = 1) -> [Order] {
        for cleanUp in left {
            cleanUps.isAsked(cleanUp, attempt: attempt, isKept: isKept(cleanUp))
            if case .interrupt(let child, let turn) = cleanUp { thread.isInterrupted(child, turn: turn) }
        }
        return left.map { $0.order(attempt: attempt) }
    }

    mutating func answered(
        _ cleanUp: CodexCleanUp, attempt: Int, _ result: FrameNode, at now: Instant
    ) -> [Order] {
        cleanUps.isDone(cleanUp)
        let next =
            switch cleanUp {
            case .interrupt(let child, let turn): attempt > 1 ? isEnded(turn, of: child) : []
            case .turns(let child) where isOfNewerTurn(child), .terminals(let child, nil) where isOfNewerTurn(child):
                [Order]()
            case .turns(let child): childIsListed(child, result, isStopping: true)
            case .terminals(let thread, let calls): terminals(result, thread, calls)
            case .terminate: [Order]()
            }
        return next + advance(at: now)
    }

    /// Any refusal but an overload means that nothing is left to end.
    mutating func refused(_ cleanUp: CodexCleanUp, attempt: Int, _ code: Int, at now: Instant) -> [Order] {
        guard code != CodexRefusal.overloaded else {
            return isNotDone(cleanUp, attempt: attempt, until: now + CodexCleanUps.pause(behind: attempt), at: now)
        }
        cleanUps.isDone(cleanUp)
        guard case .interrupt(let child, let turn) = cleanUp else { return advance(at: now) }
        let orders = attempt > 1 ? endsCommands(of: child) : []
        thread.isOver(turn, of: child)
        return orders + advance(at: now)
    }

    mutating func isNotDone(_ cleanUp: CodexCleanUp, attempt: Int, until due: Instant, at now: Instant) -> [Order] {
        guard attempt >= CodexCleanUps.tries else {
            cleanUps.waits(cleanUp, attempt: attempt, until: due)
            return []
        }
        cleanUps.isDone(cleanUp)
        return [.note("Codex did not say that all has ended that a stopped turn had begun")] + advance(at: now)
    }

    mutating func endsAgain(at now: Instant) -> [Order] {
        cleanUps.takeDue(at: now).flatMap { cleanUp, attempt -> [Order] in
            switch cleanUp {
            case .interrupt(let child, let turn) where thread.hasEnded(turn, of: child): endsCommands(of: child)
            case .turns(let child) where isOfNewerTurn(child), .terminals(let child, nil) where isOfNewerTurn(child): []
            case .interrupt, .turns, .terminals, .terminate: ends([cleanUp], attempt: attempt)
            }
        }
    }

    private mutating func isEnded(_ turn: String, of child: String) -> [Order] {
        let orders = endsCommands(of: child)
        thread.isOver(turn, of: child)
        return orders
    }

    /// Ends commands that the sub-agent began while its interrupt was refused.
    private mutating func endsCommands(of child: String) -> [Order] {
        guard thread.hasBegun(child) ?? true, !isOfNewerTurn(child) else { return [] }
        return ends([.terminals(thread: child, calls: nil)])
    }

    /// The sub-agent works for a newer turn, which no Stop reaches.
    private func isOfNewerTurn(_ child: String) -> Bool {
        guard let known = thread.turn, known.message != .stopped, !isStopping else { return false }
        return thread.children[child] != nil || cleanUps.isEarlier(child)
    }

    /// Requests that the next process may repeat: they name their target, or concern the stopped turn alone.
    private func isKept(_ cleanUp: CodexCleanUp) -> Bool {
        switch cleanUp {
        case .interrupt: true
        case .turns(let child), .terminals(let child, nil): thread.hasBegun(child) ?? true
        case .terminals: true
        case .terminate: false
        }
    }
}
