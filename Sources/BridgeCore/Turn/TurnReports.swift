package import BridgeModel

// What the relay says to a turn's posts.
extension Turn {
    mutating func post(_ post: Post) -> TurnOrder {
        switch post {
        case .open: unconfirmed.insert(.open)
        case .end: unconfirmed.insert(.end)
        case .message(let message): unconfirmed.insert(.message(message.part))
        case .text, .taskStarted, .taskProgress, .taskEnded, .approval: break
        }
        return .post(post)
    }

    package mutating func reported(_ report: PostReport, at now: Instant) -> [TurnOrder] {
        guard !isClosed else { return [] }
        switch report {
        case .delivered(let name, _), .deadLetter(let name):
            unconfirmed.remove(name)
            return closeIfConfirmed()
        case .dropped(.approval(let approval), _): return approvalNotShown(approval, at: now)
        case .dropped(let name, _):
            unconfirmed.remove(name)
            return [.note(.taskDropped)] + closeIfConfirmed()
        case .refused(let name, let code): return refused(name, code, at: now)
        case .destinationGone: return giveUp(at: now)
        case .windowClosed: return windowClosedAtRelay(at: now)
        }
    }

    private mutating func refused(_ name: PostName, _ code: RelayErrorCode, at now: Instant) -> [TurnOrder] {
        switch name {
        case .open: return goOnWithoutBubble(at: now)
        case .end: return endRefused(code)
        case .message(let part): return messageRefused(part, code)
        case .text, .taskStarted, .taskProgress, .taskEnded, .approval: return [.skip]
        }
    }

    // MARK: Ends

    /// First shorter, then a fixed sentence in the bubble, then that sentence as a message: never nothing.
    private mutating func endRefused(_ code: RelayErrorCode) -> [TurnOrder] {
        guard let end = sentEnd else { return skip(.end) }
        switch code {
        case .messageFinalized:
            // Somebody else ended the bubble; our text is not in it.
            return replaceEnd(withMessage: end.text, part: names.nextLate(), usage: end.usage)
        case .idempotencyConflict where end.form == 1:
            // Nothing is wrong with the text: it goes under the next key.
            return replaceEnd(with: end.text)
        case .contentBlocked where end.text != Sentences.blocked: return replaceEnd(with: Sentences.blocked)
        default: break
        }
        let isShortened = end.form > 1 || end.text.utf8.count <= Sentences.tooLong.utf8.count
        if !isShortened {
            return [.note(.textCut)]
                + replaceEnd(with: TextCut.marked(end.text, atMost: min(16_000, end.text.utf8.count / 2)))
        }
        if end.text != Sentences.tooLong, end.text != Sentences.blocked { return replaceEnd(with: Sentences.tooLong) }
        guard let line = names.nextLine() else { return skip(.end) }
        return replaceEnd(withMessage: end.text, part: line, usage: nil)
    }

    private mutating func replaceEnd(with text: String) -> [TurnOrder] {
        let end = EndOfTurn(text: text, usage: sentEnd?.usage, form: (sentEnd?.form ?? 0) + 1)
        sentEnd = end
        // The window's end may have promised more than the bubble holds now: then all of it comes later.
        if heldAtWindowClose != nil, outcome == nil { heldAtWindowClose = nil }
        return [.replace(.end(end))]
    }

    private mutating func replaceEnd(withMessage text: String, part: WholeMessage.Part, usage: Usage?) -> [TurnOrder] {
        unconfirmed.remove(.end)
        unconfirmed.insert(.message(part))
        return [.replace(.message(WholeMessage(part: part, text: text, usage: usage)))]
    }

    // MARK: Messages

    /// One sentence takes the place of a refused message; a refused sentence is skipped.
    private mutating func messageRefused(_ part: WholeMessage.Part, _ code: RelayErrorCode) -> [TurnOrder] {
        let name = PostName.message(part)
        if case .line = part { return skip(name) }
        guard let line = names.nextLine() else { return skip(name) }
        unconfirmed.remove(name)
        unconfirmed.insert(.message(line))
        let text = code == .contentBlocked ? Sentences.blocked : Sentences.tooLong
        return [.replace(.message(WholeMessage(part: line, text: text)))]
    }

    private mutating func skip(_ name: PostName) -> [TurnOrder] {
        unconfirmed.remove(name)
        return [.skip] + closeIfConfirmed()
    }

    // MARK: The bubble is not to be had

    /// The placeholder was refused: what was to go into the bubble goes out as messages.
    private mutating func goOnWithoutBubble(at now: Instant) -> [TurnOrder] {
        let orders: [TurnOrder] =
            [.abandonLane] + leaveBubble(at: now) + approvals.openCards.map { .post(.approval($0)) }
        unconfirmed = []
        guard let outcome else { return orders }
        return orders + messages(of: finalText(or: outcome)) + closeIfConfirmed()
    }

    /// The lane dropped everything that carries the interaction. An end among it is lost with the bubble.
    private mutating func windowClosedAtRelay(at now: Instant) -> [TurnOrder] {
        let lost = unconfirmed.contains(.end) ? sentEnd : nil
        unconfirmed.remove(.open)
        unconfirmed.remove(.end)
        let isLost = lost != nil || !bubbleIsOver
        if isLost { heldAtWindowClose = nil }
        let orders = leaveBubble(at: now)
        guard outcome != nil else { return orders }
        return orders + (lost.map { messages(of: $0.text) } ?? []) + closeIfConfirmed()
    }

    private mutating func leaveBubble(at now: Instant) -> [TurnOrder] {
        bubbleIsOver = true
        preview.stop()
        _ = tools.finishAll(status: .completed)
        if outcome == nil {
            deadlines.window = nil
            deadlines.abandon = deadlines.abandon ?? now + settings.runPatience
        }
        return [.closeWindow, .note(.windowClosed)]
    }

    /// The session or the interaction is gone at the relay: the run is aborted, nothing more is shown.
    mutating func giveUp(at now: Instant) -> [TurnOrder] {
        var orders: [TurnOrder] = [.abandonLane]
        if occupiesAgent, !stopping {
            orders += abortRuns()
            orders += approvals.denyOpen(at: now).map(resolve)
        }
        if !agentIsFree { orders.append(.agentFree) }
        agentIsFree = true
        phase = .closed(.gone)
        return orders + [.closed]
    }

    mutating func closeIfConfirmed() -> [TurnOrder] {
        guard case .over(let outcome) = phase, unconfirmed.isEmpty else { return [] }
        phase = .closed(outcome)
        return [.closed]
    }
}
