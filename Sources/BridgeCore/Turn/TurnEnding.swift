package import BridgeModel

// How a turn ends, and what the relay says to it.
extension Turn {
    mutating func settle(_ end: RunEnd, at now: Instant, mayAsk: Bool) -> [TurnOrder] {
        usage = end.usage ?? usage
        retrying = false
        text.settle(end)
        if stopping || end.reason == .aborted { return conclude(.aborted, at: now) }
        if approvals.hasDetachedOpen || (deadlines.followUp != nil && !end.includesFollowUp) {
            text.keepForFollowUp()
            phase = .holding
            return []
        }
        if text.isEmpty {
            guard mayAsk, !agentAway else { return concludeEmpty(at: now) }
            phase = .asking
            deadlines.ask = now + settings.lookUpPatience
            return [lookUp]
        }
        return conclude(.answered, reason: Self.finishReason(end.reason), at: now)
    }

    mutating func fail(_ failure: RunFailure, at now: Instant) -> [TurnOrder] {
        usage = failure.usage ?? usage
        if let said = failure.text, !said.isEmpty { text.settle(RunEnd(text: said, truncated: true)) }
        // A new attempt that never began leaves the failed attempt's text: it was shown, and it is all there is.
        if stopping { return conclude(.aborted, at: now) }
        let outcome: TurnOutcome = failure.kind == .agentGone ? .lost : .failed
        return conclude(outcome, line: Sentences.failed(failure), at: now)
    }

    /// The end was empty, and the history knows no more.
    mutating func concludeEmpty(at now: Instant) -> [TurnOrder] {
        conclude(.answered, line: text.isEmpty && text.base.isEmpty ? Sentences.emptyAnswer : nil, at: now)
    }

    private static func finishReason(_ reason: RunEnd.Reason) -> SendMessageEnd.FinishReason? {
        switch reason {
        case .stop: .stop
        case .length: .length
        case .contentFilter: .contentFilter
        case .toolCall: .toolCall
        case .aborted: nil
        }
    }

    /// Ends the turn: tasks first, then the bubble with its part of the text, then the rest as messages.
    mutating func conclude(
        _ outcome: TurnOutcome, line: String? = nil, reason: SendMessageEnd.FinishReason? = nil, at now: Instant
    ) -> [TurnOrder] {
        guard self.outcome == nil else { return [] }
        phase = .over(outcome)
        deadlines = TurnDeadlines()
        if let line { closingLines.append(line) }
        var orders: [TurnOrder] = []
        if bubbleIsOver {
            orders += lateMessage()
        } else {
            orders += tools.finishAll(status: outcome == .aborted ? .cancelled : .failed).map { .post($0) }
            orders += endBubble(with: finalText(or: outcome), reason: reason)
        }
        return orders + [.agentFree] + closeIfConfirmed()
    }

    private mutating func finalText(or outcome: TurnOutcome) -> String {
        var parts = [text.whole].filter { !$0.isEmpty }
        parts += closingLines
        if parts.isEmpty { parts = [outcome == .aborted ? Sentences.stopped : Sentences.emptyAnswer] }
        return parts.joined(separator: RunText.joint)
    }

    private mutating func endBubble(with text: String, reason: SendMessageEnd.FinishReason?) -> [TurnOrder] {
        preview.stop()
        bubbleIsOver = true
        let (head, rest) = TextCut.split(text, atMost: settings.bubbleLimit)
        let end = EndOfTurn(text: String(head), usage: usage, finishReason: reason)
        sentEnd = end
        let more = TextCut.pieces(rest, atMost: settings.bubbleLimit).enumerated().map { index, piece in
            post(.message(WholeMessage(part: .more(index + 1), text: piece)))
        }
        return [post(.end(end))] + more
    }

    /// The text after what the bubble's end held; all of it, if the text has changed since.
    private mutating func lateMessage() -> [TurnOrder] {
        let whole = text.whole
        let held = heldAtWindowClose ?? ""
        var late = whole
        if extends(whole, held) {
            late = String(whole.utf8[whole.utf8.index(whole.startIndex, offsetBy: held.utf8.count)...]) ?? whole
            while late.first?.isNewline == true { late.removeFirst() }
        }
        let parts = ([late].filter { !$0.isEmpty } + closingLines).joined(separator: RunText.joint)
        guard !parts.isEmpty else { return [] }
        let pieces = TextCut.pieces(parts[...], atMost: settings.bubbleLimit)
        return pieces.enumerated().map { index, piece in
            // The usage stands with the first.
            let message = WholeMessage(
                part: index == 0 ? .late : .more(index), text: piece, usage: index == 0 ? usage : nil)
            return post(.message(message))
        }
    }

    /// The relay takes no writes for the interaction after 30 minutes (relay sheet 4.2): the bubble ends while it can.
    mutating func closeWindow(at now: Instant) -> [TurnOrder] {
        switch phase {
        // Nothing is at work any more: there is nothing that could come later.
        case .holding: return conclude(.answered, line: Sentences.followUpMissing, at: now)
        case .asking: return concludeEmpty(at: now)
        case .searching: return conclude(.lost, line: Sentences.agentLost, at: now)
        case .waiting: return conclude(.neverSent, line: Sentences.waitedTooLong, at: now)
        case .handedOver, .running, .over, .closed: break
        }
        guard !bubbleIsOver else { return [] }
        deadlines.abandon = now + settings.runPatience
        var orders: [TurnOrder] = [.note(.windowClosed)]
        orders += tools.finishAll(status: .completed, label: Sentences.continues).map { .post($0) }
        heldAtWindowClose = text.whole
        let lines = closingLines + [Sentences.windowClosed]
        closingLines = []
        let held = ([text.whole].filter { !$0.isEmpty } + lines).joined(separator: RunText.joint)
        return orders + endBubble(with: held, reason: nil) + [.closeWindow]
    }

    mutating func post(_ post: Post) -> TurnOrder {
        switch post {
        case .end: unconfirmed.insert(.end)
        case .message(let message): unconfirmed.insert(.message(message.part))
        case .open, .text, .taskStarted, .taskProgress, .taskEnded, .approval: break
        }
        return .post(post)
    }

    // MARK: What the relay says

    package mutating func reported(_ report: PostReport, at now: Instant) -> [TurnOrder] {
        guard !isClosed else { return [] }
        switch report {
        case .delivered(let name, _), .deadLetter(let name):
            unconfirmed.remove(name)
            return closeIfConfirmed()
        case .dropped: return [.note(.taskDropped)]
        case .refused(let name, let code): return refused(name, code, at: now)
        case .destinationGone: return giveUp(at: now)
        case .windowClosed:
            unconfirmed.remove(.open)
            unconfirmed.remove(.end)
            let wasOver = bubbleIsOver
            bubbleIsOver = true
            preview.stop()
            _ = tools.finishAll(status: .completed)
            // An end that was on its way is lost with the bubble: its text goes as a message.
            guard outcome != nil, wasOver, let end = sentEnd else { return [.closeWindow] + closeIfConfirmed() }
            return [.closeWindow, post(.message(WholeMessage(part: .late, text: end.text, usage: end.usage)))]
        }
    }

    private mutating func refused(_ name: PostName, _ code: RelayErrorCode, at now: Instant) -> [TurnOrder] {
        switch (name, code) {
        case (.end, .messageFinalized):
            // Somebody else ended the bubble; our text is not in it.
            unconfirmed.remove(.end)
            guard let end = sentEnd else { return [.skip] + closeIfConfirmed() }
            let message = WholeMessage(part: .late, text: end.text, usage: end.usage)
            unconfirmed.insert(.message(.late))
            return [.replace(.message(message))]
        case (.end, .contentBlocked): return replaceEnd(with: Sentences.blocked, form: 9)
        case (.end, _):
            guard let end = sentEnd else { return [.skip] }
            guard end.form < 2 else { return end.form < 3 ? replaceEnd(with: Sentences.tooLong, form: 3) : skip(name) }
            return replaceEnd(with: TextCut.marked(end.text, atMost: min(16_000, end.text.utf8.count / 2)), form: 2)
        case (.message(let part), _):
            guard part != .line(0), code != .contentBlocked, lines < 20 else { return skip(name) }
            lines += 1
            unconfirmed.remove(name)
            unconfirmed.insert(.message(.line(lines)))
            return [.replace(.message(WholeMessage(part: .line(lines), text: Sentences.tooLong)))] + stopLines()
        case (.open, _):
            // Without a bubble nothing can be shown: the run is not worth its cost.
            return giveUp(at: now)
        case (.text, _), (.taskStarted, _), (.taskProgress, _), (.taskEnded, _), (.approval, _): return [.skip]
        }
    }

    /// One replacement of a refused message is tried; the next refusal skips it.
    private mutating func stopLines() -> [TurnOrder] {
        lines = 20
        return []
    }

    private mutating func skip(_ name: PostName) -> [TurnOrder] {
        unconfirmed.remove(name)
        return [.skip] + closeIfConfirmed()
    }

    private mutating func replaceEnd(with text: String, form: Int) -> [TurnOrder] {
        let end = EndOfTurn(text: text, usage: sentEnd?.usage, finishReason: nil, form: form)
        if sentEnd?.form == form { return skip(.end) }
        sentEnd = end
        return [.replace(.end(end))]
    }

    /// The session or the interaction is gone at the relay: the run is aborted, nothing more is shown.
    private mutating func giveUp(at now: Instant) -> [TurnOrder] {
        var orders: [TurnOrder] = [.abandonLane]
        if occupiesAgent, !stopping {
            orders += runs.sorted().map { .command(.abort(session: opening.agentSession, run: $0)) }
            orders += approvals.denyOpen().map {
                .command(.resolve(approval: $0.0, subject: $0.1, decision: .deny))
            }
        }
        if outcome == nil { orders.append(.agentFree) }
        phase = .closed(.gone)
        return orders + [.closed]
    }

    mutating func closeIfConfirmed() -> [TurnOrder] {
        guard case .over(let outcome) = phase, unconfirmed.isEmpty else { return [] }
        phase = .closed(outcome)
        return [.closed]
    }
}
