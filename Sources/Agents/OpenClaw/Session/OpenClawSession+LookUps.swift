import AgentKit
import JSONReading
import Vocabulary

// What became of a run: history, and where that does not say it, a short wait (openclaw.md#disconnects).
extension OpenClawSession {
    private static var rowsLimit: Int { 16 }
    static var brokenOff: String { "the gateway broke the run off, as it does when its time is over" }
    /// The most that a gateway gives out at once (openclaw.md#chathistory). A tool call takes two.
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

    /// For the core. Behind a long frame the history's answer would come too late for it: what is known of the run is said at once, and
    /// its end, should the history have it, as that of any run.
    mutating func coreLooksUp(_ run: RunID, in session: AgentSession, at now: Instant) {
        let isOnItsWay = uploads.holds(run)
        guard let known = runs[run], isOnItsWay || uploads.leavingSince != nil else {
            return lookUp(run, in: session, isAsked: true, at: now)
        }
        // Where the gateway has not taken it, the next process has to see to that it does.
        observed([.lookedUp(run, known.isFollowed ? .running(text: nil) : .waits)])
        if !isOnItsWay { lookUp(run, in: session, isAsked: false, at: now) }
    }

    mutating func lookUpSend(_ run: RunID, in session: AgentSession, at now: Instant) {
        lookUp(run, in: session, isAsked: false, at: now)
        lookUps.settleSend(of: run)
    }

    /// `isLast`: the run is known to be over.
    /// `isShort`: long rows are cut, and not left out.
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

    /// Without a length, which this gateway does not take. False: that was not why it refused.
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
                // Whose end was not heard says first what it said itself: the follow-up's text goes behind that.
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
            // The text beside its name is that of `chat`, which joins messages by nothing. The rows have those that ended.
            case .running: finish(run, .running(text: finding.soFar), at: now)
            case .over: fetchRows(of: run, finding, at: now)
            // Its end was reported already.
            case .undecided where self.runs[run]?.heldEnd != nil: fetchRows(of: run, finding, at: now)
            case .undecided where lookUps[run]?.step == .lastHistory: fetchRows(of: run, finding, at: now)
            case .undecided where finding.isComplete && !mayBeAnothers(run, at: now):
                fetchRows(of: run, finding, at: now)
            case .undecided: wait(for: run, at: now)
            }
        }
    }

    /// The last row after the question may be a follow-up's of another run, where rows have no names: that it is complete says
    /// nothing then.
    private func mayBeAnothers(_ run: RunID, at now: Instant) -> Bool {
        runs.questions.awaitsAnothers(than: run, in: lookUps[run]?.session, at: now)
    }

    /// It began while the link was down: from here it is a run like any other.
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

    /// A timeout means "still running, or unknown" (openclaw.md#disconnects): then the rows and the gateway's age decide.
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
            // The same process has it: a run may be silent, or wait its turn, before it is in any row.
            let isHere = finding.isQuestionThere || (runs[run]?.isFollowed == true && isOfThisProcess(run))
            finish(run, isHere ? .running(text: nil) : .unknown, at: now)
        }
    }

    func isOfThisProcess(_ run: RunID) -> Bool {
        runs.questions[run] != nil && gateway?.startedAfter != nil && !isOfYoungerGateway(run)
    }

    /// Rows that the history cut, where the gateway hands them out one by one (E3).
    private mutating func fetchRows(of run: RunID, _ finding: OpenClawHistory.Finding, at now: Instant) {
        guard let known = lookUps[run] else { return }
        let wasLast = known.step == .lastHistory
        guard gateway?.offers("chat.message.get") == true else {
            // Of a row that is too long for the length that was asked for, the beginning comes where none is.
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

    /// A row that the history cut is the last, and can be had.
    func mayFetch(_ finding: OpenClawHistory.Finding, of run: RunID) -> Bool {
        guard let last = finding.pieces.last, last.isTruncated, last.messageID != nil,
            gateway?.offers("chat.message.get") == true, finding.course == .over
        else { return false }
        if case .rows? = lookUps[run]?.step { return false }
        return true
    }

    /// Without text the transcript may still be on its way to disk; only where the run is known to be over is that an answer.
    private mutating func conclude(_ run: RunID, wasLast: Bool, at now: Instant) {
        guard let finding = lookUps[run]?.finding else { return }
        // The lifecycle has the better words.
        let said = [runs.verdicts.cause(of: run), finding.failure].compactMap(\.self).first { !$0.isEmpty }
        if finding.failure != nil || said != nil && (runs.verdicts.failedLast(run) || wasLast && !finding.hasText) {
            let cause = said ?? "the agent gave no reason"
            return finish(run, .failed(RunFailure(message: cause, text: finding.end.text)), at: now)
        }
        // The time that the gateway gives a run is over: it says so nowhere.
        if wasLast, finding.isBroken, gateway?.isNew == false, runs[run]?.isStopped == false,
            runs.questions.question(about: run).approvals.isEmpty
        {
            let text = finding.end.text
            return finish(run, .failed(RunFailure(kind: .timeout, message: Self.brokenOff, text: text)), at: now)
        }
        if wasLast, !finding.hasText, hasVanished(run) {
            return finish(run, .failed(RunFailure(message: Self.vanished)), at: now)
        }
        // Where it ran, an end without words was its own.
        let isOver = wasLast || runs[run]?.hasEmptyEnd == true
        let isAnswer = finding.hasText || (isOver && finding.isQuestionThere)
        if !isAnswer { runs.adopted.isNoAnswer(to: run, at: reading(now)) }
        finish(run, isAnswer ? .ended(finding.end) : .unknown, at: now)
    }

    /// Its agent threw: no frame of it was missed, none was an end, and its gateway says that it is over.
    private func hasVanished(_ run: RunID) -> Bool {
        guard gateway?.isNew == false, let known = runs[run], known.hasBegun, !known.hasMissed, !known.isStopped,
            known.heldEnd == nil, let asked = lookUps[run]?.begunAt, known.lastHeard <= asked
        else { return false }
        return isOfThisProcess(run) && !runs.adopted.isAwaited(run)
    }

    private static var vanished: String { "its run is over, and did not say why" }

    /// An inline approval holds its run. Where the run is over and its session's question is open, it is a detached one, and the
    /// frames that said so were lost (openclaw.md#approvals); unless it is known to be another run's.
    private mutating func tellDetached(of run: RunID, in session: AgentSession, at now: Instant) {
        let others = runs.questions.question(about: run).otherApprovals
        for approval in approvals.listed(in: session) where !others.contains(approval) {
            let call = PausedCall(call: nil, approval: approval)
            take([.signal(RunSignal(run: run, session: session, event: .paused(call)))], at: now)
        }
    }

    /// Of a question that is settled.
    mutating func forget(_ approval: ApprovalID) {
        let lookUps = lookUps
        approvals.settled(approval) { lookUps.asks(about: $0) }
    }

    private mutating func forgetSettled(in session: AgentSession) {
        guard !lookUps.asks(about: session) else { return }
        approvals.forgetSettled(in: session)
    }

    // MARK: Incomplete ends

    /// The end has the last message alone. Where others were missed it waits for the history's answer.
    mutating func holdsEnd(_ signal: RunSignal, at now: Instant) -> Bool {
        guard case .finished(let end) = signal.event, end.reason != .aborted,
            let run = signal.run, let known = runs[run], known.hasMissed, known.heldEnd == nil
        else { return false }
        // The empty end of a message may be that of its queueing: the history and the gateway's word decide whether it has run.
        let maySayNothing = end.text == nil && !known.hasBegun && known.text?.hasPrefix("/") == false
        if maySayNothing { runs.endedEmpty(run) } else { runs.holds(end, of: run) }
        if lookUps[run] != nil {
            lookUps.again(run)
        } else {
            lookUp(run, in: known.session, isAsked: false, at: now)
        }
        return lookUps[run] != nil
    }

    /// With what the history has of it; its own words are the last, whether or not they are written down yet.
    private mutating func tellHeld(_ held: RunEnd, of run: RunID, _ known: LookUps.LookUp, at now: Instant) {
        var end = held
        if var finding = known.finding, finding.hasText {
            // The history has it in pieces, and the terminal frame may have glued them.
            let said = finding.pieces.map(\.text).joined().filter { !$0.isWhitespace }
            if held.scope == .segment, let text = held.text, !said.hasSuffix(text.filter { !$0.isWhitespace }) {
                // A row that was cut has the beginning of it.
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
