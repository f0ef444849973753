import Vocabulary

// The end of a turn.
extension Turn {
    mutating func settle(_ end: RunEnd, of run: RunID, at now: Instant, mayAsk: Bool) -> [TurnOrder] {
        let coversFollowUp = coversFollowUp(end) && !mayAsk
        if let said = end.usage { runs.used(said, isWhole: coversFollowUp) }
        runs.isRetrying = false
        text.settle(end, coversBase: coversFollowUp)
        if agent.isStopping || end.reason == .aborted { return conclude(.aborted, at: now) }
        if let next = end.nextWithin, approvals.awaitsNext(behind: run) {
            return hold(after: run, within: next, at: now)
        }
        if approvals.hasDetachedOpen || (approvals.awaitsFollowUp && !coversFollowUp) {
            if end.truncated { bubble.add(Sentences.cutShort) }
            return hold(after: run, at: now)
        }
        // A truncated end comes from the history, which has no more of it.
        if mayAsk, !end.truncated, !agent.isAway, lacksText(after: end) {
            phase = .asking
            deadlines.ask = now + settings.lookUpPatience
            return [lookUp]
        }
        if end.truncated { bubble.add(Sentences.cutShort) }
        let reason = Self.finishReason(end.reason)
        guard end.truncated || !text.isEmpty || !text.base.isEmpty else {
            return concludeEmpty(reason: reason == .stop ? nil : reason, at: now)
        }
        return conclude(.answered, reason: reason, at: now)
    }

    private func lacksText(after end: RunEnd) -> Bool {
        if text.isEmpty { return true }
        let tellsAll = end.text != nil && end.scope == .run
        return text.hasGap && end.text == nil || text.isIncomplete && !tellsAll
    }

    /// The run ended with an approval still open, whose outcome follows in another run (openclaw.md#approvals).
    private mutating func hold(after run: RunID, within patience: Duration? = nil, at now: Instant) -> [TurnOrder] {
        let questions = endQuestions()
        runs.end(with: run)
        text.keepForFollowUp()
        phase = .holding
        deadlines.look = nil
        if !approvals.hasDetachedOpen { awaitFollowUp(within: patience, at: now) }
        var said: [TurnOrder] = []
        if let line = questions.line {
            let (orders, sight) = show(line)
            agent.questions.endsShown(sight)
            said = orders
        }
        return questions.orders + said + freeAgent()
    }

    /// Waits for the follow-up: long, if a command was allowed. The history has a follow-up whose frames were missed.
    mutating func awaitFollowUp(within patience: Duration? = nil, at now: Instant) {
        let usual = approvals.awaitsCommand ? settings.commandPatience : settings.followUpPatience
        deadlines.followUp = now + (patience ?? usual)
        deadlines.look = nil
        lookWhileHolding(at: now)
    }

    mutating func lookWhileHolding(at now: Instant) {
        let next = now + settings.followUpPatience
        if let end = deadlines.followUp, next < end { deadlines.look = next }
    }

    mutating func fail(_ failure: RunFailure, at now: Instant) -> [TurnOrder] {
        runs.usage = failure.usage ?? runs.usage
        if let said = failure.text, !said.isEmpty { text.settle(RunEnd(text: said, truncated: true)) }
        // A new attempt may fail before it begins: keep the earlier attempt's text, which was shown and is all there is.
        let outcome: TurnOutcome = failure.kind == .agentGone ? .lost : .failed
        // A Stop adds a line only if it did not reach its run.
        if agent.isStopping, failure.kind == .unstoppable, !bubble.isOver { bubble.add(Sentences.failed(failure)) }
        return conclude(outcome, line: Sentences.failed(failure), at: now)
    }

    /// The end was empty, and the history adds nothing.
    mutating func concludeEmpty(reason: EndOfTurn.FinishReason? = nil, at now: Instant) -> [TurnOrder] {
        let line = text.isEmpty && text.base.isEmpty ? Sentences.emptyAnswer : nil
        return conclude(.answered, line: line, reason: reason, at: now)
    }

    mutating func concludeWithoutFollowUp(at now: Instant) -> [TurnOrder] {
        // An undecided approval has a line of its own, and needs no second one.
        conclude(.answered, line: approvals.awaitsFollowUp ? Sentences.followUpMissing : nil, at: now)
    }

    private static func finishReason(_ reason: RunEnd.Reason) -> EndOfTurn.FinishReason? {
        switch reason {
        case .stop: .stop
        case .length: .length
        case .contentFilter: .contentFilter
        case .toolCall: .toolCall
        case .aborted: nil
        }
    }

    /// Ends the turn: tasks first, then the bubble with its part of the text, then the rest as messages. After a Stop the outcome is
    /// `aborted`, whichever event comes first.
    mutating func conclude(
        _ natural: TurnOutcome, line: String? = nil, reason: EndOfTurn.FinishReason? = nil, at now: Instant
    ) -> [TurnOrder] {
        guard self.outcome == nil else { return [] }
        let outcome = agent.isStopping ? .aborted : natural
        // A Stop of the chat also ends the messages that wait behind the run, and their bubbles must say so.
        let ofStop = phase == .waiting || phase == .fetching ? [Sentences.stoppedWaiting] : []
        phase = .over(outcome)
        deadlines = TurnDeadlines()
        silence.due = nil
        approvals.close()
        let questions = endQuestions()
        let lines = agent.isStopping ? ofStop : [questions.line, line].compactMap(\.self)
        bubble.closingLines += lines
        var orders = openLate() + questions.orders
        if !opening.sealing.canSpeak {
            orders += endUnspoken(line, outcome)
        } else if bubble.isOver {
            // A bubble that never showed anything still owes its sentence for an empty answer.
            let isFirstWord = bubble.heldAtWindowClose == nil
            orders += messages(of: isFirstWord ? finalText(or: outcome) : textAfterBubble())
        } else {
            orders += finishTasks(status: Self.taskStatus(at: outcome)).map { .post($0) }
            orders += endBubble(with: finalText(or: outcome), reason: agent.isStopping ? nil : reason)
        }
        // The lane holds all of it now, and `sentEnd` keeps what a refused end may need.
        text = RunText()
        return orders + freeAgent() + closeIfConfirmed()
    }

    /// A call that the bus never ended has ended as its run did.
    static func taskStatus(at outcome: TurnOutcome) -> ToolResult.Status {
        switch outcome {
        case .answered: .completed
        case .aborted: .cancelled
        case .failed, .lost, .neverSent, .gone, .anothers: .failed
        }
    }

    private mutating func freeAgent() -> [TurnOrder] {
        agent.free() ? [.agentFree] : []
    }

    func finalText(or outcome: TurnOutcome) -> String {
        let said = joined(bubble.notes.composed(text.whole), bubble.closingLines)
        let text = said.isEmpty ? (outcome == .aborted ? Sentences.stopped : Sentences.emptyAnswer) : said
        return joined(text, bubble.notice.map { [$0] } ?? [])
    }

    private func joined(_ text: String, _ lines: [String]) -> String {
        ([text].filter { !$0.isEmpty } + lines).joined(separator: RunText.joint)
    }

    /// Cuts the head as the preview does: the end must begin with what was streamed.
    mutating func endBubble(with text: String, reason: EndOfTurn.FinishReason?) -> [TurnOrder] {
        preview.stop()
        bubble.isOver = true
        deadlines.window = nil
        let (head, rest) = TextCut.split(text, atMost: bubbleLimit)
        let end = EndOfTurn(text: String(head), usage: runs.usage, finishReason: reason)
        bubble.sentEnd = end
        var orders = [post(.end(end))]
        for piece in pieces(of: rest) {
            orders.append(post(.message(WholeMessage(part: outbox.names.nextPart(), text: piece))))
        }
        return orders
    }

    private func pieces(of text: Substring) -> [String] {
        TextCut.pieces(text, atMost: bubbleLimit).filter { !$0.allSatisfy(\.isWhitespace) }
    }

    /// The text after what the bubble's end held, or all of it if the text has changed since.
    private func textAfterBubble() -> String {
        let whole = text.whole
        let held = bubble.heldAtWindowClose ?? ""
        var late = whole
        if extends(held, whole) {
            late = ""
        } else if extends(whole, held) {
            late = String(whole.utf8[whole.utf8.index(whole.startIndex, offsetBy: held.utf8.count)...]) ?? whole
            if !held.isEmpty, let first = late.firstIndex(where: { !$0.isNewline }) { late = String(late[first...]) }
        }
        return joined(late, bubble.lines)
    }

    /// Whole messages without the interaction. The first carries the usage.
    mutating func messages(of text: String) -> [TurnOrder] {
        pieces(of: text[...]).enumerated().map { index, piece in
            post(
                .message(WholeMessage(part: outbox.names.nextLate(), text: piece, usage: index == 0 ? runs.usage : nil))
            )
        }
    }

    /// The relay takes no writes for the interaction after 30 minutes (relay.md#sessionmessage-the-user-wrote): end the bubble before that,
    /// and let the turn continue.
    private mutating func closeWindow(line: String, at now: Instant) -> [TurnOrder] {
        deadlines.abandon = now + settings.runPatience
        var orders: [TurnOrder] = [.note(.windowClosed)]
        if !opening.sealing.canSpeak { return orders + leaveUnspokenBubble(.completed) + [.closeWindow] }
        orders += finishTasks(status: .completed, label: Sentences.continues).map { .post($0) }
        bubble.heldAtWindowClose = text.whole
        let notice = bubble.notice.map { [$0] } ?? []
        let held = joined(bubble.notes.composed(text.whole), bubble.closingLines + [line] + notice)
        bubble.dropLines()
        return orders + endBubble(with: held, reason: nil) + [.closeWindow]
    }

    mutating func closeWindow(at now: Instant) -> [TurnOrder] {
        guard !bubble.isOver else { return [] }
        switch phase {
        case .asking: return concludeEmpty(at: now)
        case .awaitingKey: return conclude(.neverSent, line: Sentences.keyMissing, at: now)
        case .answering: return closeWindow(line: Sentences.windowClosedWhileAway, at: now)
        case .fetching: return closeWindow(line: Sentences.windowClosed, at: now)
        case .waiting where !agent.isAway: return closeWindow(line: Sentences.windowClosedWhileWaiting, at: now)
        case .holding where approvals.hasDetachedOpen:
            return closeWindow(line: Sentences.windowClosedWhileHolding, at: now)
        case .holding: return closeWindow(line: Sentences.windowClosed, at: now)
        case .waiting, .handedOver, .running, .searching:
            return closeWindow(line: agent.isAway ? Sentences.windowClosedWhileAway : Sentences.windowClosed, at: now)
        case .over, .closed: return []
        }
    }

    func abortRuns(_ reach: StopReach) -> [TurnOrder] {
        runs.open.filter { reach.covers(isOurs: !isOfOthers($0)) }
            .map { .command(.abort(session: opening.agentSession, run: $0, reach: reach)) }
    }
}
