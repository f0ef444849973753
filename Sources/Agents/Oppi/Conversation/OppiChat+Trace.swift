import AgentKit
import JSONReading
import Vocabulary

// The outcome of a run whose frames are lost, and ends of turns without them (oppi.md#recommended-connector-procedure).
extension OppiChat {
    mutating func look(at now: Instant) -> [Order] {
        guard let turn, !turn.look.isUnderWay else { return [] }
        self.turn?.look.isUnderWay = true
        self.turn?.look.due = nil
        return [.call(.trace(of: turn.run))]
    }

    // MARK: Answers over REST

    mutating func madeSession(_ answer: OppiRest.Answer, workspace: String, at now: Instant) -> [Order] {
        guard home == .making else { return [] }
        switch answer {
        case .body(let body):
            guard let native = body["session"]?["id"]?.string, OppiPlace.isName(native) else {
                home = .unknown
                return refuse(.refused(message: "the server made no session")) + advance(at: now)
            }
            decoder = nil
            // The next advance writes the prompt's run into the place and stores it.
            home = .kept(OppiPlace(workspace: workspace, native: native))
            link.failedHomes = 0
            if let place { makeDecoder(place) }
            return advance(at: now)
        case .refused(let status, let error):
            home = .unknown
            return refuse(.refused(message: error.isEmpty ? "it answered \(status)" : error)) + advance(at: now)
        case .failed(let reason):
            home = .unknown
            // A session that was made in spite of this stays empty; the prompt was not sent.
            link.failedHomes += 1
            guard link.failedHomes >= Self.homeTries else {
                link.homeDue = now + .seconds(2)
                return [.note("no session could be made: \(reason)")]
            }
            link.failedHomes = 0
            return refuse(.notSent(sentence: "No session could be made at the agent: \(reason). Please send it again."))
                + advance(at: now)
        }
    }

    mutating func missed(_ answer: OppiRest.Answer, at now: Instant) -> [Order] {
        guard way == .asking, let turn, let place else { return [] }
        way = .absent
        switch answer {
        case .body(let body):
            self.turn?.look.backOff.succeeded()
            link.isActive = true
            let current = body["currentSeq"]?.integer(in: .counts) ?? 0
            let known = decoder?.lastSequence
            if known == nil { self.turn?.look.told = OppiTold(body["events"]?.elements ?? []) }
            var isWhole = known.map { $0 <= current } == true && body["catchUpComplete"]?.flag == true
            #if PLANTED_FAULTS
                if PlantedFault.overflowTakenWhole.isPlanted { isWhole = true }
            #endif
            if !isWhole {
                if decoder == nil { makeDecoder(place) }
                decoder?.continues(after: current)
                if turn.isTaken { self.turn?.look.isTorn = true }
                self.turn?.look.hasNewAgent = known.map { $0 > current } ?? false
            }
            self.turn?.look.isInDoubt = isWhole && turn.isTaken
            return look(at: now)
        case .refused where answer.isGone: return sessionIsGone(at: now)
        // The session is not active: no run is at work, and a subscription would start an agent.
        case .refused(404, let error) where error.hasPrefix("Session not active"):
            decoder?.continues(after: 0)
            self.turn?.look.isTorn = true
            self.turn?.look.backOff.succeeded()
            link.isActive = false
            link.isBusy = false
            return look(at: now)
        case .refused(let status, let error): return putOff("\(status) \(error)", at: now)
        case .failed(let reason): return putOff(reason, at: now)
        }
    }

    private mutating func putOff(_ reason: String, at now: Instant) -> [Order] {
        let (delay, isFirst) = lookFailed()
        way = .waiting(until: now + delay)
        return isFirst ? [.note("the server does not say what was missed: \(reason)")] : []
    }

    private mutating func lookFailed() -> (delay: Duration, isFirst: Bool) {
        var backOff = turn?.look.backOff ?? OppiTurn.Look().backOff
        defer { turn?.look.backOff = backOff }
        return (backOff.next(), backOff.failures == 1)
    }

    mutating func traced(_ run: RunID, _ answer: OppiRest.Answer, at now: Instant) -> [Order] {
        guard turn?.run == run, turn?.look.isUnderWay == true else { return foundEarlier(run, answer) }
        turn?.look.isUnderWay = false
        switch answer {
        case .body(let body):
            guard let trace = OppiTrace(body) else { return unseen("it sent no trace", at: now) }
            turn?.look.backOff.succeeded()
            if turn?.look.isOutdated == true {
                turn?.look.isOutdated = false
                return look(at: now)
            }
            return lookedBack(trace, at: now) + advance(at: now)
        case .refused where answer.isGone: return sessionIsGone(at: now)
        case .refused(let status, let error): return unseen("\(status) \(error)", at: now)
        case .failed(let reason): return unseen(reason, at: now)
        }
    }

    /// Answers a look-up of a run whose turn has closed.
    private mutating func foundEarlier(_ run: RunID, _ answer: OppiRest.Answer) -> [Order] {
        guard asked.takeWish(run) else { return [] }
        guard case .body(let body) = answer, let trace = OppiTrace(body), let found = self.answer(to: run, in: trace),
            !found.text.isEmpty
        else { return [.observed([.lookedUp(run, .unknown)])] }
        return [.observed([.lookedUp(run, .ended(RunEnd(text: found.text)))])]
    }

    private func answer(to run: RunID, in trace: OppiTrace) -> OppiTrace.Answer? {
        guard let question = asked[run] else { return nil }
        let twins = asked.earlierTwins(of: run)
        let marks = asked.steers.marks(in: run)
        let found = trace.answer(to: question.text, sentAt: question.sentAt, behind: twins, across: marks)
        if let found { return found }
        // The history has a template in other words.
        guard question.text.hasPrefix("/"), let sentAt = question.sentAt else { return nil }
        if let turn, turn.run == run, turn.state != .going, !(turn.isAdopted && turn.isTaken) { return nil }
        return trace.answer(toAnyIn: sentAt...(sentAt + 30_000), across: marks)
    }

    private mutating func unseen(_ reason: String, at now: Instant) -> [Order] {
        guard let turn else { return [] }
        if let end = turn.look.end { return [.observed([signal(.finished(end), of: turn.run)])] + closeTurn() }
        if turn.look.isInDoubt {
            self.turn?.look.isInDoubt = false
            if way == .absent { return dial(at: now) }
        }
        let (delay, isFirst) = lookFailed()
        self.turn?.look.due = now + delay
        return isFirst ? [.note("the history of a session could not be read: \(reason)")] : []
    }

    // MARK: What the trace says

    private mutating func lookedBack(_ trace: OppiTrace, at now: Instant) -> [Order] {
        guard let turn else { return [] }
        let answer = answer(to: turn.run, in: trace)
        if let end = turn.look.end {
            if let last = turn.look.lastText, answer?.texts.contains(last) == false,
                turn.look.tries < OppiTurn.lookTries
            {
                self.turn?.look.tries += 1
                self.turn?.look.due = now + OppiTurn.lookAgain
                return []
            }
            var end = end
            if let text = answer?.text, !text.isEmpty { end.text = text }
            return [.observed([signal(.finished(end), of: turn.run)])] + closeTurn()
        }
        guard turn.isTaken else {
            let orders = decide(isThere: answer != nil, trace, at: now)
            return self.turn?.isTaken == true ? orders + lookedBack(trace, at: now) : orders
        }
        // Another client's run is in flight. Without our prompt's text, our run's start behind it cannot be recognised.
        if turn.isStopping, answer == nil, !trace.isEmpty, asked[turn.run]?.text.isEmpty != false {
            return isOver(nil, at: now)
        }
        let isOfOthers = answer?.next.map { !asked.knows($0) } == true
        if turn.look.isInDoubt {
            self.turn?.look.isInDoubt = false
            // Numbers restart with each activation, and another client may have advanced them beyond ours.
            guard isOfOthers else { return way == .absent ? dial(at: now) : [] }
            self.turn?.look.isTorn = true
            decoder = nil
        }
        if isOfOthers { return isOver(answer, at: now) }
        // The status beside a trace may be a second old, and an inactive session may have kept its last one.
        let isTold = way != .live && turn.look.told?.isRunning == true
        let mayBeWhole = answer?.isComplete == true && !turn.look.isLooping
        let isBusy = trace.isBusy || isTold || way == .live && link.isBusy && !mayBeWhole
        guard isBusy, link.isActive else { return isOver(answer, at: now) }
        // Until the trace has the run's first words, only the ring identifies the loop. If the trace has no
        // answer to ours, words that it does have are another client's or an earlier message's.
        let isNamed =
            isTold && turn.look.told?.prompt.map { isSaid($0, in: turn.run) && !trace.holds($0) } == true
        self.turn?.look.told?.isRunning = false
        if isTold { self.turn?.look.isLooping = true }
        return goesOn(answer, trace, isNamed: isNamed, at: now)
    }

    /// Decides whether a prompt of unknown outcome arrived.
    private mutating func decide(isThere: Bool, _ trace: OppiTrace, at now: Instant) -> [Order] {
        guard let turn else { return [] }
        if isThere { return accept() }
        if trace.isBusy, trace.isEmpty, link.isActive, turn.state == .doubtful {
            self.turn?.look.due = now + OppiTurn.lookAgain
            return []
        }
        if turn.isStopping {
            decoder?.abandon(turn.run)
            return closeTurn()
        }
        let earlier = asked[turn.run]?.sentAt.map { Duration.milliseconds(serverMilliseconds(now) - $0) }
        let age = turn.writtenAt.map { link.hostTime(now) - $0 } ?? earlier
        let isForgotten = trace.isBusy && (age.map { $0 > OppiTurn.idLife } ?? false)
        guard turn.mayBeRepeated, !isForgotten else {
            decoder?.abandon(turn.run)
            return refuse(.notSent(sentence: Self.unknowable))
        }
        self.turn?.state = .held
        return []
    }

    static let unknowable =
        "The connection to the agent broke while this message was on its way, and it cannot be found out whether it arrived. "
        + "Please look into the session, and send it again if it is not there."

    /// The run is in flight: the trace supplies missed messages, the stream later ones.
    /// `isNamed`: the run is known to be ours although the trace has no answer yet.
    private mutating func goesOn(
        _ answer: OppiTrace.Answer?, _ trace: OppiTrace, isNamed: Bool, at now: Instant
    ) -> [Order] {
        guard let turn, let place else { return [] }
        if decoder == nil { makeDecoder(place) }
        var orders: [Order] = []
        self.turn?.stuckSince = nil
        self.turn?.look.heldEnd = nil
        if answer != nil || isNamed {
            self.turn?.state = .going
            asked.hasBegun(turn.run)
            orders += listLeft()
            decoder?.takeUp(turn.run, turn.prompt.frameText, steered: asked.steers.marks(in: turn.run))
            if let answer { decoder?.knows(answer.texts) }
            if let answer, !answer.texts.isEmpty {
                orders.append(
                    .observed([
                        signal(.text(.snapshot(answer.text)), of: turn.run),
                        signal(.text(.segmentEnded(nil)), of: turn.run),
                    ]))
            }
        } else {
            decoder?.mayBegin(turn.run, turn.prompt.frameText)
        }
        let isEmpty = trace.isEmpty || isNamed && answer == nil
        self.turn?.look.isEmpty = isEmpty
        if isEmpty { self.turn?.look.due = now + OppiTurn.lookAgain }
        self.turn?.look.isTorn = true
        self.turn?.look.tries = 0
        if way == .absent { orders += dial(at: now) }
        return orders
    }

    private mutating func isOver(_ answer: OppiTrace.Answer?, at now: Instant) -> [Order] {
        guard let turn else { return [] }
        if waitsForAttempt(of: turn, answer, at: now) { return way == .absent ? dial(at: now) : [] }
        let text = answer.flatMap { $0.text.isEmpty ? nil : $0.text }
        if let answer, answer.isComplete { return settle(ended(turn, answer.text), at: now) }
        // The agent may compact for minutes before a run, and the stop stays due until the run has begun.
        if answer == nil, link.isActive, mayYetBegin(turn, at: now) {
            // A long history is fetched seldom; frames report the beginning.
            self.turn?.look.due = now + (way == .live ? OppiTurn.lookSeldom : OppiTurn.lookAgain)
            if decoder == nil, let place { makeDecoder(place) }
            decoder?.mayBegin(turn.run, turn.prompt.frameText)
            return way == .absent ? dial(at: now) : []
        }
        let mayRunNothing = turn.isCommand && turn.state == .accepted && answer == nil && !turn.look.isAwaited
        if mayRunNothing, !turn.isStopping, way == .live || turn.look.tries > 0 {
            decoder?.abandon(turn.run)
            return [.observed([.sendAnswered(asked: turn.run, .noRun)])] + closeTurn()
        }
        // A stopped run has no more text; any other may be about to begin, or its end is not in the file yet.
        guard turn.isStopping || turn.look.tries >= OppiTurn.lookTries else {
            self.turn?.look.tries += 1
            self.turn?.look.due = now + OppiTurn.lookAgain
            return []
        }
        if answer == nil, let orders = leaveQueue(at: now) { return orders }
        if turn.isStopping { return settle(.ended(RunEnd(text: answer?.text, reason: .aborted)), at: now) }
        if case .failed(var failure)? = turn.look.heldEnd {
            failure.text = text
            return settle(.failed(failure), at: now)
        }
        // The loop's end was seen, or the agent is there and idle: the run has ended without words at its end.
        if let answer, turn.look.heldEnd != nil || link.isActive && !turn.look.hasNewAgent {
            return settle(ended(turn, answer.text), at: now)
        }
        let hasBegun = answer != nil || turn.state == .going
        if !hasBegun, self.turn?.queue == .stays { return settle(.failed(Self.isQueued), at: now) }
        var failure = gone(hasBegun ? "its work was cut off" : "it never began to work on this")
        failure.text = text
        return settle(.failed(failure), at: now)
    }

    func gone(_ words: String) -> RunFailure { RunFailure(kind: .agentGone, message: words) }

    // MARK: Ends

    /// Ends the turn. After a loss of the whole link the result waits for the bridge's look-up.
    mutating func settle(_ found: RunLookup, at now: Instant) -> [Order] {
        guard let turn else { return [] }
        decoder?.abandon(turn.run)
        guard turn.look.isAwaited, !turn.isStopping else { return say(found) }
        self.turn?.look.found = turn.look.found ?? found
        if asked.isWanted(turn.run) { return answerWish() }
        // In case the bridge does not look the run up.
        self.turn?.look.due = now + .seconds(5)
        return []
    }

    /// Answers the bridge's look-up as soon as possible.
    mutating func answerWish() -> [Order] {
        guard let turn, asked.isWanted(turn.run) else { return [] }
        if let found = turn.look.found {
            _ = asked.takeWish(turn.run)
            return [.observed([.lookedUp(turn.run, found)])] + closeTurn()
        }
        guard
            [.held, .written, .unanswered].contains(turn.state)
                || (way == .live && turn.isTaken && !turn.look.isUnderWay)
        else { return [] }
        _ = asked.takeWish(turn.run)
        self.turn?.look.isAwaited = false
        return [.observed([.lookedUp(turn.run, turn.isTaken ? .running(text: nil) : .waits)])]
    }

    mutating func say(_ found: RunLookup) -> [Order] {
        guard let turn else { return [] }
        switch found {
        case .ended(var end):
            if turn.isStopping { end.reason = .aborted }
            return [.observed([signal(.finished(end), of: turn.run)])] + closeTurn()
        case .failed(let failure):
            let event: RunEvent = turn.isStopping ? .finished(RunEnd(reason: .aborted)) : .failed(failure)
            return [.observed([signal(event, of: turn.run)])] + closeTurn()
        case .running, .waits, .unknown: return []
        }
    }

    mutating func closeTurn(isStopAnswered: Bool = true) -> [Order] {
        guard let turn else { return [] }
        self.turn = nil
        requests.forget(.prompt(turn.run))
        requests.forget(.stop(turn.run))
        if link.earlier?.run == turn.run { link.earlier = nil }
        link.asksFirst = []
        for index in waiting.indices { waiting[index].comesNext() }
        let ended = dialogs.takeAll().map { signal($0, of: turn.run) }
        let all = ended + (turn.isStopping && isStopAnswered ? [.abortAnswered(turn.run)] : [])
        return all.isEmpty ? [] : [.observed(all)]
    }

    /// Drops the turn's unsent prompt with this answer.
    mutating func refuse(_ answer: SendAnswer) -> [Order] {
        guard let turn else { return [] }
        return [.observed([.sendAnswered(asked: turn.run, answer)])] + closeTurn()
    }

    /// The server no longer has the session.
    mutating func sessionIsGone(at now: Instant) -> [Order] {
        var orders: [Order] = hasSocket ? [.close(reason: "the session is gone")] : []
        leaveSocket()
        way = .absent
        home = .unknown
        link.earlier = nil
        decoder = nil
        orders += aside(dialogs.takeAll())
        switch turn?.state {
        case .doubtful: orders += refuse(.notSent(sentence: Self.unknowable))
        case .accepted, .going: orders += settle(.failed(gone("its session was deleted")), at: now)
        case .held, .written, .unanswered, nil: break
        }
        return orders + advance(at: now)
    }
}
