import AgentKit
import JSONReading
import Vocabulary

// Ends without a terminal frame, and answers under another name (openclaw.md#order-of-frames-in-one-run, openclaw.md#chatsend).
extension OpenClawSession {
    // MARK: What happens in a session

    mutating func noticeSession(_ event: FrameNode?, _ payload: FrameNode?, at now: Instant) {
        guard let event, let payload, isLive else { return }
        if event.holds("agent") {
            if payload["stream"]?.holds("lifecycle") == true { noticeLifecycle(payload, at: now) }
        } else if event.holds("chat") {
            noticeRestart(payload, at: now)
        } else if event.holds("session.message") {
            noticeRow(payload, at: now)
        } else if event.holds("sessions.changed") {
            noticeChange(payload, at: now)
        }
    }

    /// A restarting gateway ends its runs with frames of their own, and resumes them afterwards (openclaw.md#disconnects).
    private mutating func noticeRestart(_ payload: FrameNode, at now: Instant) {
        guard gateway?.isNew == true, let state = payload["state"], let name = payload["runId"]?.string else { return }
        let run = runs.adopted.name(of: RunID(name)) ?? RunID(name)
        guard let known = runs[run], !known.isStopped else { return }
        let isRestart =
            state.holds("aborted") && payload["stopReason"]?.holds("restart") == true
            || state.holds("error") && known.hasBegun
                && payload["errorMessage"]?.string?.contains("Gateway is restarting") == true
        if isRestart { runs.verdicts.isCutOff(run, at: reading(now)) }
    }

    func session(of payload: FrameNode) -> AgentSession? {
        (payload["sessionKey"]?.string).map { sessionNames.ours(for: AgentSession($0)) }
    }

    private mutating func noticeLifecycle(_ payload: FrameNode, at now: Instant) {
        guard let name = payload["runId"]?.string, let data = payload["data"] else { return }
        let run = RunID(name)
        let session = session(of: payload)
        switch data["phase"]?.string {
        case "start":
            runs.begun(runs.adopted.name(of: run) ?? run)
            guard let session else { return }
            let isOurs = runs[run] != nil || run.isFollowUp
            if !isOurs, beginsFollowUp(run, in: session, at: now) { return }
            runs.adopted.began(run, in: session, isOurs: isOurs)
            guard isFirstEra else { return }
            // In the first era no row names the new run's owner: the history decides.
            for waiting in runs.adopted.mayBeAnswered(by: run) {
                runs.verdicts.endedWithoutAWord(waiting, at: reading(now))
            }
        case "end" where data["status"]?.holds("cancelled") != true: letGo(run, session, at: now)
        case "error" where data["aborted"]?.flag == true: letGo(run, session, at: now)
        case "finishing" where data["error"] != nil: runs.verdicts.finishes(runs.adopted.name(of: run) ?? run)
        case "error":
            let ours = runs.adopted.name(of: run) ?? run
            if runs[ours] != nil { runs.verdicts.errs(ours, at: reading(now)) }
        default: return
        }
    }

    /// The agent let go of the run, with a terminal frame or without.
    private mutating func letGo(_ run: RunID, _ session: AgentSession?, at now: Instant) {
        let ours = runs.adopted.name(of: run) ?? run
        if runs[ours] != nil { runs.verdicts.endedWithoutAWord(ours, at: reading(now)) }
        if let session = runs.teardowns.ended(run) {
            runs.adopted.wasStopped(in: session, at: reading(now))
            handOverHeld(in: session, at: now)
        }
        if runs.adopted.name(of: run) == nil {
            isOver(run, session, at: now)
        } else {
            runs.adopted.adoptedEnded(run, at: reading(now))
        }
    }

    private mutating func handOverHeld(in session: AgentSession, at now: Instant) {
        for run in runs.held(in: session) { handOver(run, at: now) }
    }

    private mutating func noticeChange(_ payload: FrameNode, at now: Instant) {
        guard let name = payload["runId"]?.string else {
            if payload["reason"]?.holds("send") == true, let session = session(of: payload) {
                runs.adopted.tookMessage(in: session, at: reading(now))
            }
            return
        }
        let run = runs.adopted.name(of: RunID(name)) ?? RunID(name)
        switch payload["phase"]?.string {
        case "error":
            if runs[run] != nil { runs.verdicts.isSaidToHaveFailed(run, at: reading(now)) }
        case "end":
            if runs[run] != nil { runs.verdicts.endedWithoutAWord(run, at: reading(now)) }
        default: return
        }
        if runs.adopted.name(of: RunID(name)) == nil { isOver(RunID(name), session(of: payload), at: now) }
    }

    // MARK: Answers under another name

    /// From now on the frames, or the rows, of the other run are the answer. A stop that is still due goes to that name.
    mutating func isAnswered(_ adoption: AdoptedRuns.Adoption, at now: Instant) {
        let run = adoption.run
        guard let known = runs[run] else { return }
        switch adoption.stage {
        case .adopted(let other):
            runs.begun(run)
            if adoption.hasMissed {
                runs.missedFrames(of: run)
                decoder.missed(other)
            }
            guard known.isStopped || runs.stops[run] != nil else { return }
            if runs.stops[run] == nil { runs.stops.keep(run, in: known.session, at: now) }
            sendStop(run, at: now)
        // The run is another client's and is not stopped.
        case .taken where runs.stops[run] != nil:
            runs.stops.forget(run)
            observed([.abortAnswered(run)])
        case .taken, .orphaned, .dead: return
        }
    }

    /// Any frame of a run proves that it lives, even one without news for the core.
    mutating func noticeRun(_ event: FrameNode?, _ payload: FrameNode?, at now: Instant) {
        guard let event, let payload, let name = payload["runId"]?.string else { return }
        let run = RunID(name)
        if runs[run] != nil { return runs.heard(run, at: reading(now)) }
        if let ours = runs.adopted.name(of: run) { return runs.heard(ours, at: reading(now)) }
        guard !runs.adopted.isKnownAtWork(run), isWork(event, payload), let session = session(of: payload) else {
            return
        }
        runs.adopted.isAtWork(run, in: session)
    }

    private func isWork(_ event: FrameNode, _ payload: FrameNode) -> Bool {
        if event.holds("chat") { return payload["state"]?.holds("delta") == true }
        guard event.holds("agent"), let stream = payload["stream"] else { return false }
        return stream.string.map { ["assistant", "thinking", "tool", "item"].contains($0) } == true
    }

    /// The signal under our run's name, or nil until it is known whose answer it is.
    mutating func whose(_ signal: RunSignal, at now: Instant) -> RunSignal? {
        guard let run = signal.run else { return signal }
        var signal = signal
        if case .alive = signal.event {
            signal.run = runs.adopted.name(of: run) ?? run
            return signal
        }
        let isEnd: Bool
        switch signal.event {
        case .finished(let end): isEnd = end.reason != .aborted
        case .failed: isEnd = true
        default: isEnd = false
        }
        let isCandidate = runs.adopted.isCandidate(run, isNews: signal.event != .started)
        if let ours = runs.adopted.name(of: run) {
            signal.run = ours
            if isEnd { runs.adopted.adoptedEnded(run, at: reading(now)) }
        } else if isEnd {
            isOver(run, signal.session, at: now)
        }
        return isCandidate ? nil : signal
    }

    /// Looks up every run that waited for the end of this one.
    private mutating func isOver(_ run: RunID, _ session: AgentSession?, at now: Instant) {
        for waiting in runs.adopted.ended(run, in: session, at: reading(now)) {
            guard let known = runs[waiting] else { continue }
            lookUp(waiting, in: known.session, isAsked: false, at: now)
        }
    }

    /// The result of a run whose answer may come elsewhere, or nil if the history is right about it.
    mutating func lookElsewhere(
        for run: RunID, _ finding: OpenClawHistory.Finding, at now: Instant
    ) -> RunLookup? {
        guard let known = runs[run], known.isFollowed else { return nil }
        let isAnswered = finding.isComplete && finding.hasText
        switch runs.adopted.stage(of: run) {
        case .orphaned where isOfYoungerGateway(run), .taken where isOfYoungerGateway(run):
            runs.adopted.forget(run)
            return lookAfterRestart(for: run, known, finding, at: now)
        case .orphaned:
            // With the row of its acceptance alone, no run took the message yet: rows that follow do not answer it.
            if isAnswered, !finding.isAcceptedOnly, !runs.adopted.isBusy(known.session, besides: run, at: reading(now))
            {
                return nil
            }
            if finding.isNewest, !finding.isAcceptedOnly, let other = runs.adopted.candidate(of: run) {
                self.isAnswered(runs.adopted.adopt(other, for: run, in: known.session), at: now)
                return .running(text: nil)
            }
            runs.adopted.isNoAnswer(to: run, at: reading(now))
            return .running(text: nil)
        case .taken(let other):
            let goesOn =
                finding.active.map { $0.contains(other) }
                ?? runs.adopted.isBusy(known.session, besides: run, at: reading(now))
            return isAnswered && !goesOn ? nil : .running(text: nil)
        case .adopted(let other):
            if finding.active?.contains(other) ?? (finding.isBusy && !isAnswered) { return .running(text: nil) }
            return lookAfterRestart(for: run, known, finding, at: now)
        case .dead: return lookAfterRestart(for: run, known, finding, at: now)
        case nil:
            if let found = lookAfterRestart(for: run, known, finding, at: now) { return found }
            return lookForOrphan(run, known, finding, at: now)
        }
    }

    /// The run's end without words reached an earlier process, or no socket: the gateway
    /// accepted the message, is done with its name, and has not answered it.
    private mutating func lookForOrphan(
        _ run: RunID, _ known: GatewayRuns.Run, _ finding: OpenClawHistory.Finding, at now: Instant
    ) -> RunLookup? {
        guard let text = known.text, !known.hasBegun, !known.isOnSocket || known.hasMissed, known.heldEnd == nil,
            !text.hasPrefix("/"), isOfThisProcess(run), runs.verdicts.cause(of: run) == nil
        else { return nil }
        // A gateway that does not list runs at work must first report this run's end.
        let isWaiting =
            finding.active == nil
            ? lookUps[run]?.step == .lastHistory && !finding.isQuestionThere : finding.waitsBehindAnother
        guard isWaiting, runs.adopted.orphaned(run, in: known.session, text, .unheard, at: reading(now)) else {
            return nil
        }
        return .running(text: nil)
    }

    func isOfYoungerGateway(_ run: RunID) -> Bool { runs.questions[run].map { isYounger(than: $0.at) } ?? false }

    /// Runs die with the gateway's process unless the next one resumes them. The history then has all of their text.
    private mutating func lookAfterRestart(
        for run: RunID, _ known: GatewayRuns.Run, _ finding: OpenClawHistory.Finding, at now: Instant
    ) -> RunLookup? {
        guard let gateway, let began = gateway.startedBefore, isOfYoungerGateway(run),
            finding.active?.contains(run) != true
        else { return nil }
        if finding.isComplete, finding.hasText { return nil }
        // The outcome depends on a row that is not here in full.
        if mayFetch(finding, of: run) { return nil }
        // Rows without a `stopReason` are complete once the gateway reports the run
        // as over. A follow-up is no part of its run's end.
        if finding.course == .over, finding.hasText, !finding.saysReason { return nil }
        // An early gateway loses its approvals and their follow-ups with its process. On a newer one a follow-up may still come.
        if gateway.isNew, runs.questions[run]?.question.approvals.isEmpty == false { return nil }
        let text = finding.end.text
        if let words = finding.notice { return .failed(RunFailure(kind: .agentGone, message: words, text: text)) }
        if let words = finding.failure, !words.isEmpty {
            return .failed(RunFailure(message: words, text: text))
        }
        if finding.isResumed, let other = finding.active?.first(where: { runs[$0] == nil }) {
            isAnswered(runs.adopted.adopt(other, for: run, in: known.session), at: now)
            return .running(text: nil)
        }
        let latest = began + AdoptedRuns.latestSettlement
        let end =
            finding.isUnsettled
            ? min(now + AdoptedRuns.resumption, latest)
            : min(gateway.greetedAt + AdoptedRuns.resumption, began + AdoptedRuns.latestResumption)
        if gateway.isNew, now < end {
            runs.adopted.died(run, in: known.session, until: reading(end), latest: reading(latest))
            return .running(text: nil)
        }
        return .failed(RunFailure(kind: .agentGone, message: "its gateway was restarted", text: text))
    }

    // MARK: Ends that are none

    /// Whether this end is held back: nothing ran, the message runs elsewhere, or another attempt may come.
    mutating func isNoEnd(_ signal: RunSignal, at now: Instant) -> Bool {
        guard let run = signal.run, let known = runs[run] else { return false }
        switch signal.event {
        case .retrying(let reason):
            runs.verdicts.attemptFailed(run, reason, at: reading(now))
            // No attempt of the run began.
            return known.isUntouched && isDrained(run)
        case .started: runs.verdicts.attemptBegan(run)
        case .text, .tool:
            runs.begun(run)
            runs.verdicts.spoke(run)
        case .failed(let failure):
            if runs.verdicts.isCutOff(run), !known.isStopped { return true }
            return gateway?.isNew == false && runs.verdicts.mayGoOn(run, failure, at: reading(now))
        case .finished(let end):
            if runs.verdicts.isCutOff(run), !known.isStopped { return true }
            if gateway?.isNew == false, end.reason != .aborted, runs.verdicts.isBrokenOff(run), !known.isStopped {
                let failure = RunFailure(kind: .timeout, message: Self.brokenOff, usage: end.usage)
                take([.signal(RunSignal(run: run, session: known.session, event: .failed(failure)))], at: now)
                return true
            }
            if end.reason == .aborted { return mayHaveFailed(run, known, end, at: now) }
            if isNotTheLast(end, of: run, known, at: now) { return true }
            guard !known.hasBegun else { return doubts(end, of: run, known, at: now) }
            if known.isUntouched, isDrained(run) {
                if !sendAgain(run, at: now) { isRefused(run, known, at: now) }
                return true
            }
            return end.text == nil && isOrphaned(run, known, at: now)
        case .approvalRequested, .approvalSettled, .asked, .questionSettled, .paused, .alive: break
        }
        return false
    }

    /// Whether the message waits in another run's queue: nothing ran, it is
    /// no command, and the session is busy or was a moment ago.
    private mutating func isOrphaned(_ run: RunID, _ known: GatewayRuns.Run, at now: Instant) -> Bool {
        let isBusy = runs.adopted.isBusy(known.session, besides: run, at: reading(now))
        guard isBusy || known.isUntouched && known.text?.hasPrefix("/") == false else { return false }
        let patience: AdoptedRuns.Patience = isBusy || gateway?.isNew == true ? .known : .unseen
        guard runs.adopted.orphaned(run, in: known.session, known.text, patience, at: reading(now)) else {
            return false
        }
        // The history lists the runs at work, if the gateway knows them.
        if !isBusy { lookUp(run, in: known.session, isAsked: false, at: now) }
        return true
    }

    /// Whether this `aborted` end precedes an error, as E3 announces one, without words and without a Stop of
    /// ours. If the cause is known already, the run fails now, since no error frame may come.
    private mutating func mayHaveFailed(
        _ run: RunID, _ known: GatewayRuns.Run, _ end: RunEnd, at now: Instant
    ) -> Bool {
        guard gateway?.isNew == true, !known.isStopped, !runs.verdicts.isHeld(run) else { return false }
        if let cause = runs.verdicts.cause(of: run), !cause.isEmpty {
            take(
                [.signal(RunSignal(run: run, session: known.session, event: .failed(RunFailure(message: cause))))],
                at: now)
            return true
        }
        guard end.text == nil else { return false }
        runs.verdicts.holds(end, of: run, at: reading(now))
        return true
    }

    /// Ends a message that the gateway refused while it stopped, after a second try or a Stop.
    private mutating func isRefused(_ run: RunID, _ known: GatewayRuns.Run, at now: Instant) {
        let event: RunEvent =
            known.isStopped
            ? .finished(RunEnd(reason: .aborted))
            : .failed(RunFailure(message: "its gateway took the message for one that came while it stopped"))
        take([.signal(RunSignal(run: run, session: known.session, event: event))], at: now)
    }

    /// The gateway refused the message as one that came while it stopped, and did not run it.
    private func isDrained(_ run: RunID) -> Bool {
        runs.verdicts.cause(of: run)?.contains("draining") == true
    }

    private mutating func sendAgain(_ run: RunID, at now: Instant) -> Bool {
        guard let fresh = runs.beginsAgain(run, at: now) else { return false }
        answer(run, .leavesAgain(as: fresh))
        return true
    }

    // MARK: Time

    mutating func advanceEnds(at now: Instant) {
        for (run, verdict) in runs.verdicts.due(at: reading(now)) {
            guard let known = runs[run] else { continue }
            switch verdict {
            // An early gateway may begin another attempt at any time; its history tells.
            case .failed where gateway?.isNew == false: lookUp(run, in: known.session, isAsked: false, at: now)
            case .failed(let failure):
                take([.signal(RunSignal(run: run, session: known.session, event: .failed(failure)))], at: now)
            case .stopped(let end):
                runs.isStopped(run)
                take([.signal(RunSignal(run: run, session: known.session, event: .finished(end)))], at: now)
            case .lookUp: lookUp(run, in: known.session, isAsked: false, at: now)
            }
        }
        for (session, run) in runs.teardowns.due(at: reading(now)) {
            // The first era sends no frame for a run that was stopped.
            if runs.adopted.name(of: run) == nil { isOver(run, session, at: now) }
            runs.adopted.wasStopped(in: session, at: reading(now))
            handOverHeld(in: session, at: now)
        }
        for run in runs.adopted.givenUp(at: reading(now)) {
            guard let known = runs[run] else { continue }
            if isOfYoungerGateway(run) {
                lookUp(run, in: known.session, isAsked: false, at: now)
            } else {
                // The run must not wait for another answer again.
                runs.begun(run)
                take([.signal(RunSignal(run: run, session: known.session, event: .finished(RunEnd())))], at: now)
            }
        }
    }
}
