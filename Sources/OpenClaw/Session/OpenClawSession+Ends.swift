import AgentKit
import BridgeModel
import JSONReading

// Ends that no terminal frame brings, and answers that come under another name (openclaw.md#order-of-frames-in-one-run, openclaw.md#chatsend).
extension OpenClawSession {
    // MARK: What happens in a session

    mutating func noticeSession(_ event: FrameNode?, _ payload: FrameNode?, at now: Instant) {
        guard let event, let payload, isLive else { return }
        if event.holds("agent") {
            if payload["stream"]?.holds("lifecycle") == true { noticeLifecycle(payload, at: now) }
        } else if event.holds("session.message") {
            noticeRow(payload, at: now)
        } else if event.holds("sessions.changed") {
            noticeChange(payload, at: now)
        }
    }

    private func session(of payload: FrameNode) -> AgentSession? {
        (payload["sessionKey"]?.string).map { sessionNames.ours(for: AgentSession($0)) }
    }

    private mutating func noticeLifecycle(_ payload: FrameNode, at now: Instant) {
        guard let name = payload["runId"]?.string, let data = payload["data"] else { return }
        let run = RunID(name)
        let session = session(of: payload)
        switch data["phase"]?.string {
        case "start":
            runs.begun(run)
            guard let session else { return }
            let isOurs = runs[run] != nil || run.isFollowUp
            if !isOurs, gateway?.offers("sessions.messages.subscribe") == false,
                let approval = runs.questions.decided(in: session)
            {
                // The first era names no follow-up: what begins next after the decision is it.
                return runs.adopted.adopt(run, for: RunID(followUpOf: approval), in: session)
            }
            runs.adopted.began(run, in: session, isOurs: isOurs)
        case "end" where data["status"]?.holds("cancelled") != true: letGo(run, session, at: now)
        case "error" where data["aborted"]?.flag == true: letGo(run, session, at: now)
        default: return
        }
    }

    /// The agent is done with the run, whether or not a terminal frame says so.
    private mutating func letGo(_ run: RunID, _ session: AgentSession?, at now: Instant) {
        let ours = runs.adopted.name(of: run) ?? run
        if runs[ours] != nil { runs.verdicts.endedWithoutAWord(ours, at: now) }
        if let session = runs.teardowns.ended(run) {
            runs.adopted.wasStopped(in: session, at: now)
            handOverHeld(in: session, at: now)
        }
        if runs.adopted.name(of: run) == nil { isOver(run, session, at: now) }
    }

    private mutating func handOverHeld(in session: AgentSession, at now: Instant) {
        for run in runs.held(in: session) { handOver(run, at: now) }
    }

    private mutating func noticeChange(_ payload: FrameNode, at now: Instant) {
        guard let name = payload["runId"]?.string else { return }
        let run = runs.adopted.name(of: RunID(name)) ?? RunID(name)
        switch payload["phase"]?.string {
        case "error":
            #if PLANTED_FAULTS
                if PlantedFault.errorTakenForEnd.isPlanted { runs.verdicts.endedWithoutAWord(run, at: now) }
            #endif
            if runs[run] != nil { runs.verdicts.isSaidToHaveFailed(run, at: now) }
        case "end":
            if runs[run] != nil { runs.verdicts.endedWithoutAWord(run, at: now) }
        default: return
        }
        if runs.adopted.name(of: RunID(name)) == nil { isOver(RunID(name), session(of: payload), at: now) }
    }

    private mutating func noticeRow(_ payload: FrameNode, at now: Instant) {
        guard let row = payload["message"], let session = session(of: payload) else { return }
        if row["role"]?.holds("user") == true {
            _ = runs.adopted.asked(
                in: session, by: OpenClawHistory.asker(row), row["content"]?.contentText ?? "",
                isInterruption: OpenClawHistory.isInterruption(row))
            return
        }
        guard row["role"]?.holds("assistant") == true else { return }
        if OpenClawHistory.noticeOfRestart(row) != nil {
            for run in runs.followed where runs[run]?.session == session {
                if case .dead? = runs.adopted.stage(of: run) { lookUp(run, in: session, isAsked: false, at: now) }
            }
            return
        }
        guard let run = runs.adopted.answered(in: session), row["stopReason"]?.holds("error") != true else { return }
        let text = OpenClawHistory.piece(row["content"]?.contentText ?? "", row).text
        guard !text.isEmpty else { return }
        observed([.signal(RunSignal(run: run, session: session, event: .text(.segmentEnded(text))))])
        runs.told(of: run, in: session, at: now)
    }

    // MARK: Answers under another name

    /// As ours; nil: it is not known yet whose it is.
    mutating func whose(_ signal: RunSignal, at now: Instant) -> RunSignal? {
        guard let run = signal.run else { return signal }
        var signal = signal
        let isEnd: Bool
        switch signal.event {
        case .finished(let end): isEnd = end.reason != .aborted
        case .failed: isEnd = true
        default: isEnd = false
        }
        let isCandidate = runs.adopted.isCandidate(run)
        if let ours = runs.adopted.name(of: run) {
            signal.run = ours
        } else if isEnd {
            isOver(run, signal.session, at: now)
        }
        return isCandidate ? nil : signal
    }

    /// What waits for the end of this run is looked for in the history.
    private mutating func isOver(_ run: RunID, _ session: AgentSession?, at now: Instant) {
        for waiting in runs.adopted.ended(run, in: session, at: now) {
            guard let known = runs[waiting] else { continue }
            lookUp(waiting, in: known.session, isAsked: false, at: now)
        }
    }

    /// An answer that may come, or have come, elsewhere. Nil: the history is right about it.
    mutating func lookElsewhere(
        for run: RunID, _ finding: OpenClawHistory.Finding, at now: Instant
    ) -> RunLookup? {
        guard let known = runs[run], known.isFollowed else { return nil }
        let isAnswered = finding.isComplete && finding.hasText
        switch runs.adopted.stage(of: run) {
        case .orphaned, .taken:
            if isAnswered, !runs.adopted.isBusy(known.session, besides: run, at: now) { return nil }
            runs.adopted.isNoAnswer(to: run, at: now)
            return .running(text: nil)
        case .adopted(let other): return finding.active.contains(other) ? .running(text: nil) : nil
        case .dead, nil: return lookAfterRestart(for: run, known, finding, at: now)
        }
    }

    /// With a process of the gateway its runs die, unless the next one goes on with them. What it wrote down is all there will be.
    private mutating func lookAfterRestart(
        for run: RunID, _ known: GatewayRuns.Run, _ finding: OpenClawHistory.Finding, at now: Instant
    ) -> RunLookup? {
        guard let gateway, let asked = runs.questions[run]?.at, let began = gateway.startedAt, began > asked,
            !finding.active.contains(run)
        else { return nil }
        if finding.isComplete, finding.hasText { return nil }
        // Rows that say no reasons are whole where the gateway says that the run is over, and a follow-up is no part of the run's own end.
        if finding.course == .over, finding.hasText, !finding.saysReason { return nil }
        if runs.questions[run]?.question.approvals.isEmpty == false { return nil }
        let text = finding.end.text
        if let words = finding.notice { return .failed(RunFailure(kind: .agentGone, message: words, text: text)) }
        if let words = finding.failure, !words.isEmpty {
            return .failed(RunFailure(message: words, text: text))
        }
        if finding.isResumed, let other = finding.active.first(where: { runs[$0] == nil }) {
            runs.adopted.adopt(other, for: run, in: known.session)
            return .running(text: nil)
        }
        let end = gateway.greetedAt + AdoptedRuns.resumption
        if gateway.isNew, now < end {
            runs.adopted.died(run, in: known.session, until: end)
            return .running(text: nil)
        }
        return .failed(RunFailure(kind: .agentGone, message: "its gateway was restarted", text: text))
    }

    // MARK: Ends that are none

    /// It is held back: nothing ran, it runs elsewhere, or another attempt may come.
    mutating func isNoEnd(_ signal: RunSignal, at now: Instant) -> Bool {
        guard let run = signal.run, let known = runs[run] else { return false }
        switch signal.event {
        case .retrying(let reason):
            runs.verdicts.attemptFailed(run, reason, at: now)
            // No attempt of it began.
            return known.isUntouched && isDrained(run)
        case .started: runs.verdicts.attemptBegan(run)
        case .text, .tool:
            runs.begun(run)
            runs.verdicts.spoke(run)
        case .failed(let failure): return gateway?.isNew == false && runs.verdicts.mayGoOn(run, failure, at: now)
        case .finished(let end):
            #if PLANTED_FAULTS
                if PlantedFault.sentAgainThoughItRan.isPlanted, end.reason == .stop { return sendAgain(run, at: now) }
            #endif
            guard !known.hasBegun, end.reason != .aborted else { return false }
            if known.isUntouched, isDrained(run) { return sendAgain(run, at: now) }
            guard end.text == nil, runs.adopted.isBusy(known.session, besides: run, at: now) else { return false }
            #if PLANTED_FAULTS
                if PlantedFault.ownRunNotAdopted.isPlanted { return false }
            #endif
            runs.adopted.orphaned(run, in: known.session, known.text, at: now)
            return true
        case .approvalRequested, .approvalSettled, .asked, .questionSettled, .paused: break
        }
        return false
    }

    /// The gateway took the message for one that came while it stopped, and did not run it.
    private func isDrained(_ run: RunID) -> Bool {
        runs.verdicts.cause(of: run)?.contains("draining") == true
    }

    private mutating func sendAgain(_ run: RunID, at now: Instant) -> Bool {
        guard let fresh = runs.beginsAgain(run, at: now) else { return false }
        answer(run, .accepted(run: fresh))
        return true
    }

    // MARK: Time

    mutating func advanceEnds(at now: Instant) {
        for (run, verdict) in runs.verdicts.due(at: now) {
            guard let known = runs[run] else { continue }
            switch verdict {
            case .failed(let failure):
                take([.signal(RunSignal(run: run, session: known.session, event: .failed(failure)))], at: now)
            case .lookUp: lookUp(run, in: known.session, isAsked: false, at: now)
            }
        }
        for session in runs.teardowns.due(at: now) {
            runs.adopted.wasStopped(in: session, at: now)
            handOverHeld(in: session, at: now)
        }
        for run in runs.adopted.givenUp(at: now) {
            guard let known = runs[run] else { continue }
            if let asked = runs.questions[run]?.at, let began = gateway?.startedAt, began > asked {
                lookUp(run, in: known.session, isAsked: false, at: now)
            } else {
                take([.signal(RunSignal(run: run, session: known.session, event: .finished(RunEnd())))], at: now)
            }
        }
    }
}
