import AgentKit
import JSONReading
import Vocabulary

// The outcome of a run: from its history and, where that does not tell, from a short `agent.wait` (openclaw.md#disconnects).
extension OpenClawSession {
    private static var rowsLimit: Int { 16 }
    static var brokenOff: String { "the gateway broke the run off, as it does when its time is over" }
    /// The largest page of a gateway (openclaw.md#chathistory). A tool call takes two rows.
    private static var rowsAtOnce: Int { 1_000 }

    mutating func lookUp(_ run: RunID, in session: AgentSession, isAsked: Bool, at now: Instant) {
        if lookUps.joins(run, isAsked: isAsked, at: reading(now)) { return }
        guard lookUps.hasRoom else {
            if isAsked { observed([.lookedUp(run, .unknown)]) }
            return
        }
        lookUps.begin(run, in: session, isAsked: isAsked, at: reading(now))
        if isLive { askHistory(of: session, for: [run], at: now) }
    }

    /// A look-up for the core. After a long frame the history's answer would be too late for it: the known
    /// state is reported at once, and an end that the history has follows as that of any run.
    mutating func coreLooksUp(_ run: RunID, in session: AgentSession, at now: Instant) {
        let isOnItsWay = uploads.holds(run)
        guard let known = runs[run], isOnItsWay || uploads.leavingSince != nil else {
            return lookUp(run, in: session, isAsked: true, at: now)
        }
        // The core, or the next process, retries a message that the gateway has not accepted.
        observed([.lookedUp(run, known.isFollowed ? .running(text: nil) : .waits)])
        if !isOnItsWay { lookUp(run, in: session, isAsked: false, at: now) }
    }

    mutating func lookUpSend(_ run: RunID, in session: AgentSession, at now: Instant) {
        lookUp(run, in: session, isAsked: false, at: now)
        lookUps.settleSend(of: run)
    }

    /// `isLast`: the run is known to be over. `isShort`: long rows are truncated instead of left out.
    mutating func askHistory(
        of session: AgentSession, for runs: [RunID], isLast: Bool = false, isShort: Bool = false, at now: Instant
    ) {
        lookUps.asksHistory(for: runs, isLast: isLast, at: reading(now))
        var params = JSONObjectWriter()
        params.string("sessionKey", session.text)
        params.integer("limit", Self.rowsAtOnce)
        if !isShort, life.live?.refusesLength != true { params.integer("maxChars", 500_000) }
        ask(.history(runs), "chat.history", params.finish(), limit: Self.historyLimit, at: now)
    }

    /// Repeats the request without `maxChars`, which this gateway does not
    /// accept. False if that was not the reason of the refusal.
    mutating func asksAgain(for runs: [RunID], at now: Instant) -> Bool {
        let known = runs.compactMap { lookUps[$0] }
        guard life.live?.refusesLength == false, let session = known.first?.session else { return false }
        life.withLive { $0.refusesLength = true }
        let isLast = known.contains { $0.step == .lastHistory }
        askHistory(of: session, for: runs, isLast: isLast, at: now)
        return true
    }

    // MARK: Answers

    mutating func historyAnswered(_ runs: [RunID], _ payload: FrameNode?, at now: Instant) {
        let active = OpenClawHistory.active(in: payload)
        if let active, let run = runs.first(where: { lookUps[$0] != nil }), let session = lookUps[run]?.session {
            self.runs.adopted.areAtWork(active, in: session, at: reading(now))
        }
        for run in runs where lookUps[run] != nil {
            guard let payload else {
                finish(run, .unknown, at: now)
                continue
            }
            let finding = OpenClawHistory.finding(of: self.runs.questions.question(about: run), in: payload)
            lookUps.found(finding, about: run)
            if let next = finding.followUp, let session = lookUps[run]?.session {
                // An end that was not seen is reported first, since the follow-up's text comes after it.
                let isNews = self.runs[run] != nil && finding.hasText
                if isNews { finish(run, .ended(finding.end), at: now) }
                followsUp(next, in: session, at: now)
                if !isNews { finish(run, .running(text: nil), at: now) }
                ended(run, at: now)
                continue
            }
            if let elsewhere = lookElsewhere(for: run, finding, at: now) {
                finish(run, elsewhere, at: now)
                continue
            }
            switch finding.course {
            // The text beside the run's name is that of `chat`, which joins messages without a separator; rows keep them apart.
            case .running: finish(run, .running(text: finding.soFar), at: now)
            case .over: fetchRows(of: run, finding, at: now)
            // The run's end came and is held back.
            case .undecided where self.runs[run]?.heldEnd != nil: fetchRows(of: run, finding, at: now)
            case .undecided where lookUps[run]?.step == .lastHistory: fetchRows(of: run, finding, at: now)
            case .undecided where finding.isComplete && !mayBeAnothers(run, at: now):
                fetchRows(of: run, finding, at: now)
            case .undecided: wait(for: run, at: now)
            }
        }
    }

    /// Whether the last row after the question may belong to another run's follow-up.
    /// Without names in the rows, its completeness then proves nothing.
    private func mayBeAnothers(_ run: RunID, at now: Instant) -> Bool {
        runs.questions.awaitsAnothers(than: run, in: lookUps[run]?.session, at: now)
    }

    /// The follow-up began while the link was down. From here it is a run like any other.
    private mutating func followsUp(_ run: RunID, in session: AgentSession, at now: Instant) {
        take([.signal(RunSignal(run: run, session: session, event: .started))], at: now)
        runs.missedFrames(of: run)
    }

    private mutating func wait(for run: RunID, at now: Instant) {
        lookUps.waits(for: run)
        var params = JSONObjectWriter()
        params.string("runId", (runs.adopted.answer(to: run) ?? run).text)
        params.integer("timeoutMs", 500)
        ask(.wait(run), "agent.wait", params.finish(), at: now)
    }

    /// A timeout means "still running, or unknown" (openclaw.md#disconnects): the rows and the gateway's age decide.
    mutating func waitAnswered(_ run: RunID, _ payload: FrameNode?, at now: Instant) {
        guard let known = lookUps[run], let finding = known.finding else { return }
        switch payload?["status"]?.string {
        case "ok": askHistory(of: known.session, for: [run], isLast: true, at: now)
        case "error":
            let text = finding.end.text
            finish(
                run, .failed(RunFailure(message: payload?["error"]?.string ?? "the agent gave no reason", text: text)),
                at: now)
        default:
            // The same process has the run, which may be silent or queued before it appears in any row.
            let isHere = finding.isQuestionThere || (runs[run]?.isFollowed == true && isOfThisProcess(run))
            finish(run, isHere ? .running(text: nil) : .unknown, at: now)
        }
    }

    func isOfThisProcess(_ run: RunID) -> Bool {
        runs.questions[run] != nil && gateway?.startedAfter != nil && !isOfYoungerGateway(run)
    }

    /// Fetches truncated rows in full, where the gateway returns them one by one (E3).
    private mutating func fetchRows(of run: RunID, _ finding: OpenClawHistory.Finding, at now: Instant) {
        guard let known = lookUps[run] else { return }
        let wasLast = known.step == .lastHistory
        guard gateway?.offers("chat.message.get") == true else {
            // A row longer than `maxChars` is omitted; without `maxChars` its beginning comes.
            if finding.pieces.contains(where: { $0.isTruncated && $0.text.isEmpty }), !known.isShort,
                life.live?.refusesLength != true
            {
                lookUps.takesLess(for: run)
                return askHistory(of: known.session, for: [run], isLast: true, isShort: true, at: now)
            }
            return conclude(run, wasLast: wasLast, at: now)
        }
        let cut = finding.pieces.enumerated().filter { $0.element.isTruncated && $0.element.messageID != nil }
            .prefix(Self.rowsLimit)
        guard !cut.isEmpty else { return conclude(run, wasLast: wasLast, at: now) }
        lookUps.fetches(Set(cut.map(\.offset)), of: run)
        for (index, piece) in cut {
            var params = JSONObjectWriter()
            params.string("sessionKey", known.session.text)
            params.string("messageId", piece.messageID)
            params.integer("maxChars", 2_000_000)
            ask(.row(run, piece: index), "chat.message.get", params.finish(), limit: Self.historyLimit, at: now)
        }
    }

    mutating func rowAnswered(_ run: RunID, _ index: Int, _ payload: FrameNode?, at now: Instant) {
        var piece: OpenClawHistory.Piece?
        if let row = payload?["message"], row.isObject, let text = row["content"]?.contentText {
            piece = OpenClawHistory.piece(text, row)
        }
        guard lookUps.rowCame(index, piece, of: run, reason: payload?["message"]?["stopReason"]?.string) == true,
            let finding = lookUps[run]?.finding
        else { return }
        if let elsewhere = lookElsewhere(for: run, finding, at: now) { return finish(run, elsewhere, at: now) }
        conclude(run, wasLast: true, at: now)
    }

    /// Whether the last row is truncated and can be fetched in full.
    func mayFetch(_ finding: OpenClawHistory.Finding, of run: RunID) -> Bool {
        guard let last = finding.pieces.last, last.isTruncated, last.messageID != nil,
            gateway?.offers("chat.message.get") == true, finding.course == .over
        else { return false }
        if case .rows? = lookUps[run]?.step { return false }
        return true
    }

    /// Concludes the look-up. Rows without text may not be on disk yet, so they
    /// are an answer only if the run is known to be over.
    private mutating func conclude(_ run: RunID, wasLast: Bool, at now: Instant) {
        guard let finding = lookUps[run]?.finding else { return }
        // The lifecycle's words are better than the row's.
        let said = [runs.verdicts.cause(of: run), finding.failure].compactMap(\.self).first { !$0.isEmpty }
        if finding.failure != nil || said != nil && (runs.verdicts.failedLast(run) || wasLast && !finding.hasText) {
            let cause = said ?? "the agent gave no reason"
            return finish(run, .failed(RunFailure(message: cause, text: finding.end.text)), at: now)
        }
        // The run exceeded the gateway's own time limit, which no frame reports.
        if wasLast, finding.isBroken, gateway?.isNew == false, runs[run]?.isStopped == false,
            runs.questions.question(about: run).approvals.isEmpty
        {
            let text = finding.end.text
            return finish(run, .failed(RunFailure(kind: .timeout, message: Self.brokenOff, text: text)), at: now)
        }
        if wasLast, !finding.hasText, hasVanished(run) {
            return finish(run, .failed(RunFailure(message: Self.vanished)), at: now)
        }
        // A run that began ended without words only by its own end.
        let isOver = wasLast || runs[run]?.hasEmptyEnd == true
        let isAnswer = finding.hasText || (isOver && finding.isQuestionThere)
        if !isAnswer { runs.adopted.isNoAnswer(to: run, at: reading(now)) }
        finish(run, isAnswer ? .ended(finding.end) : .unknown, at: now)
    }

    /// Whether the agent threw: no frame was missed, none was an end, and the gateway reports the run as over.
    private func hasVanished(_ run: RunID) -> Bool {
        guard gateway?.isNew == false, let known = runs[run], known.hasBegun, !known.hasMissed, !known.isStopped,
            known.heldEnd == nil, let asked = lookUps[run]?.begunAt, known.lastHeard <= asked
        else { return false }
        return isOfThisProcess(run) && !runs.adopted.isAwaited(run)
    }

    private static var vanished: String { "its run is over, and did not say why" }

    /// Reports approvals that detached from the run. An inline approval holds its run; if the run
    /// has ended and a question of its session is open, that one is detached and its frames were lost
    /// (openclaw.md#approvals), unless it is known to be another run's.
    private mutating func tellDetached(of run: RunID, in session: AgentSession, at now: Instant) {
        let others = runs.questions.question(about: run).otherApprovals
        for approval in approvals.listed(in: session) where !others.contains(approval) {
            let call = PausedCall(call: nil, approval: approval)
            take([.signal(RunSignal(run: run, session: session, event: .paused(call)))], at: now)
        }
    }

    /// Drops a settled question.
    mutating func forget(_ approval: ApprovalID) {
        let lookUps = lookUps
        approvals.settled(approval) { lookUps.asks(about: $0) }
    }

    private mutating func forgetSettled(in session: AgentSession) {
        guard !lookUps.asks(about: session) else { return }
        approvals.forgetSettled(in: session)
    }

    // MARK: Incomplete ends

    /// Whether the end waits for the history: it has the last message alone, and earlier ones were missed.
    mutating func holdsEnd(_ signal: RunSignal, at now: Instant) -> Bool {
        guard case .finished(let end) = signal.event, end.reason != .aborted,
            let run = signal.run, let known = runs[run], known.hasMissed, known.heldEnd == nil
        else { return false }
        // An empty end may only mean that the message was queued: the history and the gateway decide whether it ran.
        let maySayNothing = end.text == nil && !known.hasBegun && known.text?.hasPrefix("/") == false
        if maySayNothing { runs.endedEmpty(run) } else { runs.holds(end, of: run) }
        if lookUps[run] != nil {
            lookUps.again(run)
        } else {
            lookUp(run, in: known.session, isAsked: false, at: now)
        }
        return lookUps[run] != nil
    }

    /// Reports the held end with the history's text before it. The end's own words come last, written already or not.
    private mutating func tellHeld(_ held: RunEnd, of run: RunID, _ known: LookUps.LookUp, at now: Instant) {
        var end = held
        if var finding = known.finding, finding.hasText {
            // Compared without white space: the terminal frame may have joined what the history has in pieces.
            let said = finding.pieces.map(\.text).joined().filter { !$0.isWhitespace }
            if held.scope == .segment, let text = held.text, !said.hasSuffix(text.filter { !$0.isWhitespace }) {
                // A truncated row has the beginning of these words.
                if let last = finding.pieces.last, last.isTruncated, OpenClawHistory.isCut(last.text, of: text) {
                    finding.pieces.removeLast()
                }
                finding.pieces.append(.init(text: text, messageID: nil, isTruncated: false))
            }
            end = finding.end
            end.usage = held.usage
            end.reason = held.reason
        }
        if known.isAsked { observed([.lookedUp(run, .ended(end))]) }
        observed([.signal(RunSignal(run: run, session: known.session, event: .finished(end)))])
        ended(run, at: now)
    }

    mutating func finish(_ run: RunID, _ result: RunLookup, at now: Instant) {
        guard let known = lookUps.remove(run) else { return }
        if let end = runs[run]?.heldEnd {
            if known.isAgain { return lookUp(run, in: known.session, isAsked: known.isAsked, at: now) }
            return tellHeld(end, of: run, known, at: now)
        }
        let result = isFollowUpGone(of: run, result) ? Self.isGone : result
        if known.settlesSend {
            sendLookedUp(run, isThere: result.isFound ? true : known.finding?.isQuestionThere, at: now)
        }
        if case .ended = result { tellDetached(of: run, in: known.session, at: now) }
        forgetSettled(in: known.session)
        if known.isAsked {
            observed([.lookedUp(run, result)])
        } else if let event = result.event {
            observed([.signal(RunSignal(run: run, session: known.session, event: event))])
        }
        switch result {
        case .ended(let end):
            if end.reason != .aborted { runs.questions.answered(run) }
            ended(run, at: now)
        case .failed: ended(run, at: now)
        case .waits, .unknown: runs.missed(run)
        case .running where runs[run]?.isUnstoppable == true:
            let failure = RunFailure(kind: .unstoppable, message: "its gateway began that run itself")
            take([.signal(RunSignal(run: run, session: known.session, event: .failed(failure)))], at: now)
        case .running:
            runs.found(run, in: known.session, read: reading(now))
            runs.verdicts.isUndecided(run, at: reading(now))
        }
        if known.isAgain { lookUp(run, in: known.session, isAsked: known.isAsked, at: now) }
    }
}

extension RunLookup {
    fileprivate var isFound: Bool { if case .unknown = self { false } else { true } }

    fileprivate var event: RunEvent? {
        switch self {
        case .ended(let end): .finished(end)
        case .failed(let failure): .failed(failure)
        case .running, .waits, .unknown: nil
        }
    }
}
