package import Vocabulary

// The relay's reports on a turn's posts.
extension Turn {
    mutating func post(_ post: Post) -> TurnOrder {
        outbox.posted(post)
        return .post(post)
    }

    package mutating func reported(_ report: PostReport, at now: Instant) -> [TurnOrder] {
        guard !isClosed else { return [] }
        switch report {
        case .delivered(let name, _):
            questionsAreSeen(name, at: now)
            return settled(name) + isTaken(name, at: now)
        case .deadLetter(.text): return previewIsLost()
        case .dropped(.text, _): return [.note(.taskDropped)] + previewIsLost()
        case .deadLetter(.approval(let card)): return cardIsLost(card, at: now)
        case .dropped(.approval(let card), _): return approvalNotShown(card, at: now)
        case .deadLetter(.taskStarted(let task)), .dropped(.taskStarted(let task), _):
            tools.drop(task)
            silence.drop(task)
            return [.note(.taskDropped)]
        case .heldBack(let name): return statusHeldBack(name, at: now)
        case .deadLetter(let name): return questionNotShown(name) + settled(name) + isLost(name, at: now)
        case .dropped(let name, _): return [.note(.taskDropped)] + settled(name)
        case .refused(let name, let refusal): return refused(name, refusal, at: now)
        case .postponed: return []
        case .anothers: return belongsToAnother(at: now)
        case .destinationGone: return giveUp(at: now)
        case .windowClosed: return windowClosedAtRelay(at: now)
        }
    }

    private mutating func isTaken(_ name: PostName, at now: Instant) -> [TurnOrder] {
        switch name {
        case .approval(let card): cardTaken(card, at: now)
        case .message(let part): partIsSettled(part, isTaken: true, at: now)
        case .open, .text, .taskStarted, .taskProgress, .taskEnded, .end: []
        }
    }

    private mutating func isLost(_ name: PostName, at now: Instant) -> [TurnOrder] {
        if name == .end { return previewIsLost() }
        guard case .message(let part) = name else { return [] }
        if agent.questions.reminderIsLost(part, at: now) { return [] }
        return partIsSettled(part, isTaken: false, at: now)
    }

    private mutating func settled(_ name: PostName) -> [TurnOrder] {
        outbox.settled(name)
        return closeIfConfirmed()
    }

    private mutating func refused(_ name: PostName, _ refusal: PostRefusal, at now: Instant) -> [TurnOrder] {
        if refusal.lacksKey { return keyIsGone(name, at: now) }
        switch name {
        case .open: return goOnWithoutBubble(at: now)
        case .approval(let approval): return approvalRefused(approval, refusal, at: now)
        case .end: return endRefused(refusal)
        case .message(let part):
            if approvals.isPart(part) {
                outbox.settled(name)
                return [.skip] + partIsSettled(part, isTaken: false, at: now) + closeIfConfirmed()
            }
            if agent.questions.reminderIsLost(part, at: now) {
                outbox.settled(name)
                return [.skip] + closeIfConfirmed()
            }
            return messageRefused(part, refusal) + questionNotShown(name)
        case .text, .taskStarted, .taskProgress, .taskEnded: return [.skip]
        }
    }

    // MARK: Ends

    /// Shortens a text that is too long; the rest follows as messages. After any other refusal a fixed sentence takes its place, and the
    /// whole text follows as a message, whatever becomes of the sentence: never nothing.
    private mutating func endRefused(_ refusal: PostRefusal) -> [TurnOrder] {
        guard let end = bubble.sentEnd else { return skip(.end) }
        if end.text.isEmpty {
            // The empty end is all that a turn without a key can say: retry it once, under another key of the call.
            return refusal.code == .idempotencyConflict && end.form == 1 ? replaceEnd(with: "") : skip(.end)
        }
        switch refusal.code {
        case .messageFinalized where end.text != Sentences.followsAsMessage:
            // Another client ended the bubble without our text.
            return replaceEnd(withMessage: end.text, part: outbox.names.nextLate(), usage: end.usage)
        case .idempotencyConflict where end.form == 1:
            // The text itself is in order: send it under the next key.
            return replaceEnd(with: end.text)
        case .contentBlocked where end.text != Sentences.blocked && end.text != Sentences.followsAsMessage:
            // The filter would refuse the same text as a message too.
            return replaceEnd(with: Sentences.blocked)
        default: break
        }
        if end.text == Sentences.followsAsMessage { return skip(.end) }
        if end.text == Sentences.blocked {
            guard let line = outbox.names.nextLine() else { return skip(.end) }
            return replaceEnd(withMessage: end.text, part: line, usage: nil)
        }
        let mayBeShortened = end.form == 1 || end.text.utf8.count > Self.shortLength
        if refusal.concernsText, mayBeShortened, let pieces = Self.shortened(end.text) {
            return [.note(.textCut)] + replaceEnd(with: pieces[0], followedBy: pieces.dropFirst())
        }
        return replaceEnd(with: Sentences.followsAsMessage, followedBy: [end.text])
    }

    private static var shortLength: Int { 16_000 }

    /// Nil if the text is too short for its length to be the reason of the refusal.
    private static func shortened(_ text: String) -> [String]? {
        let length = text.utf8.count
        guard length > 1_000 else { return nil }
        let pieces = TextCut.pieces(text[...], atMost: min(shortLength, length / 2))
        return pieces.count > 1 ? pieces : nil
    }

    /// Replaces the refused end. Questions in its text move to the messages that follow, or are lost with it.
    private mutating func replaceEnd(with text: String, followedBy rest: some Sequence<String> = []) -> [TurnOrder] {
        let isSame = text == bubble.sentEnd?.text
        let end = bubble.nextEnd(text)
        let messages = rest.filter { !$0.allSatisfy(\.isWhitespace) }.map { follow($0) }
        // The end at the window's close may have promised more than shows now: forget it, so that the whole text comes later.
        if messages.isEmpty, bubble.heldAtWindowClose != nil, outcome == nil { bubble.heldAtWindowClose = nil }
        let replaced = [TurnOrder.replace(.end(end), followedBy: messages)]
        if case .message(let last)? = messages.last {
            agent.questions.bubbleBecomes(last.part)
            return replaced
        }
        return isSame ? replaced : replaced + textIsLost()
    }

    private mutating func replaceEnd(withMessage text: String, part: WholeMessage.Part, usage: Usage?) -> [TurnOrder] {
        outbox.replace(.end, with: part)
        agent.questions.bubbleBecomes(part)
        return [.replace(.message(WholeMessage(part: part, text: text, usage: usage)))]
    }

    /// One more message, for the caller to place.
    private mutating func follow(_ text: String, usage: Usage? = nil) -> Post {
        let message = Post.message(WholeMessage(part: outbox.names.nextPart(), text: text, usage: usage))
        outbox.posted(message)
        return message
    }

    // MARK: Messages

    /// Sends a text that is too long in smaller pieces. Otherwise one sentence takes the place of a refused message; a refused sentence is
    /// skipped.
    private mutating func messageRefused(_ part: WholeMessage.Part, _ refusal: PostRefusal) -> [TurnOrder] {
        let name = PostName.message(part)
        // The relay has another text under this key, from an earlier process or another bridge: send neither twice.
        if refusal.code == .idempotencyConflict { return skip(name) }
        if refusal.concernsText, let pieces = refusal.text.flatMap(Self.shortened) {
            outbox.settled(name)
            let posts = pieces.filter { !$0.allSatisfy(\.isWhitespace) }.map { follow($0) }
            if let first = posts.first {
                if case .message(let last)? = posts.last { agent.questions.renamed(part, to: last.part) }
                return [.replace(first, followedBy: Array(posts.dropFirst()))]
            }
        }
        if case .line = part { return skip(name) }
        guard opening.sealing.canSpeak else { return skip(name) }
        guard let line = outbox.names.nextLine() else { return skip(name) }
        outbox.replace(name, with: line)
        let text = refusal.code == .contentBlocked ? Sentences.blocked : Sentences.tooLong
        return [.replace(.message(WholeMessage(part: line, text: text)))]
    }

    mutating func skip(_ name: PostName) -> [TurnOrder] {
        outbox.settled(name)
        return [.skip] + closeIfConfirmed()
    }

    // MARK: Without a bubble

    /// The relay refused the placeholder: the bubble's content goes out as messages, first of all an end that waits behind it.
    mutating func goOnWithoutBubble(at now: Instant) -> [TurnOrder] {
        let lost = outbox.loseBubble() ? bubble.sentEnd : nil
        if lost != nil || !bubble.isOver { bubble.heldAtWindowClose = nil }
        let orders = leaveBubble(at: now)
        guard outcome != nil, let lost, !lost.text.allSatisfy(\.isWhitespace) else {
            return orders + [.skip] + closeIfConfirmed()
        }
        return orders + [.replace(follow(lost.text, usage: lost.usage))]
    }

    /// The lane dropped all posts of the interaction. An end among them is lost with the bubble.
    private mutating func windowClosedAtRelay(at now: Instant) -> [TurnOrder] {
        let lost = outbox.loseBubble() ? bubble.sentEnd : nil
        let isLost = lost != nil || !bubble.isOver
        if isLost { bubble.heldAtWindowClose = nil }
        let orders = leaveBubble(at: now)
        guard outcome != nil else { return orders }
        return orders + (lost.map { messages(of: $0.text) } ?? []) + closeIfConfirmed()
    }

    private mutating func leaveBubble(at now: Instant) -> [TurnOrder] {
        bubble.isOver = true
        preview.stop()
        _ = finishTasks(status: .completed)
        if outcome == nil {
            deadlines.window = nil
            deadlines.abandon = deadlines.abandon ?? now + settings.runPatience
        }
        bubble.notes = BubbleNotes()
        return [.closeWindow, .note(.windowClosed)] + previewIsLost()
    }

    /// The session or the interaction is gone at the relay: nothing more is shown. A run of our own is aborted. A mirrored run continues
    /// unseen, and its approvals stay with its own client.
    mutating func giveUp(at now: Instant) -> [TurnOrder] {
        var orders: [TurnOrder] = [.abandonLane]
        if occupiesAgent, !agent.isStopping { orders += leaveAgent(at: now) }
        orders += endQuestions().orders
        if agent.free() { orders.append(.agentFree) }
        phase = .closed(.gone)
        return orders + [.closed]
    }

    mutating func closeIfConfirmed() -> [TurnOrder] {
        guard case .over(let outcome) = phase, outbox.unconfirmed.isEmpty else { return [] }
        phase = .closed(outcome)
        return [.closed]
    }
}
