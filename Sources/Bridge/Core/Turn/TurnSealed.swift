package import Vocabulary

// Turns whose content only the phone may read: their key, and their words without one.
extension Turn {
    /// Nothing of the turn can go out, or be read, before a key comes.
    package var awaitsKey: Bool { opening.sealing == .sealed(nil) && outcome == nil }

    var bubbleLimit: Int { settings.bubbleLimit(opening.sealing) }

    /// The turn continues under this key to its end. `text`: the opened text of its message.
    package mutating func keyCame(_ key: KeyName, _ text: OpenedText?, at now: Instant) -> [TurnOrder] {
        guard awaitsKey else { return [] }
        opening.sealing = .sealed(key)
        let orders: [TurnOrder] = [.useSealing(opening.sealing)] + openLate()
        guard phase == .awaitingKey else { return orders }
        deadlines.key = nil
        switch text {
        case .text(let text):
            opening.message?.text = text
        // The message came unsealed, into a chat whose key was lost.
        case nil where opening.sealedText == nil: break
        case .unreadable, nil:
            return orders + conclude(.neverSent, line: Sentences.notTaken(.unreadable), at: now)
        }
        phase = .waiting
        if agent.isAway, !isToBridge { deadlines.agent = now + settings.agentPatience }
        return orders + nothingToHandOver(at: now)
    }

    mutating func saysThatItCameOpen() -> [TurnOrder] {
        if outcome == nil { bubble.add(notice: Sentences.cameInTheOpen) }
        return []
    }

    /// A post was to be sealed, and the turn's key is gone. No other key takes its place: its maker could then read how the turn
    /// continues.
    mutating func keyIsGone(_ name: PostName, at now: Instant) -> [TurnOrder] {
        let isNews = opening.sealing.canSpeak
        if let key = opening.sealing.key { opening.sealing = .keyGone(key) }
        preview.stop()
        // The bubble's end can say no more than that the key is gone.
        let orders: [TurnOrder] = [.useSealing(opening.sealing)] + (isNews ? textIsLost() : [])
        switch name {
        case .open: return orders + goOnWithoutBubble(at: now)
        case .approval(let card): return orders + [.skip] + cardLacksKey(card, at: now)
        // Not even the empty text could be sealed, so nothing can.
        case .end where bubble.sentEnd?.text.isEmpty == true: return orders + skip(name)
        case .end:
            let end = bubble.nextEnd("")
            // A run that continues after its window says this with its own end.
            let sentence = outcome == nil ? nil : inTheOpen(Sentences.keyGone)
            return orders + [.replace(.end(end), followedBy: sentence.map { [$0] } ?? [])]
        case .message(let part):
            outbox.settled(.message(part))
            if approvals.isPart(part) { return orders + [.skip] + partIsSettled(part, isTaken: false, at: now) }
            _ = agent.questions.reminderIsLost(part, at: now)
            let declined = questionNotShown(name)
            // One sentence stands for all messages. A turn that continues says it with its end.
            guard isNews, outcome != nil, let sentence = inTheOpen(Sentences.keyGone) else {
                return orders + declined + skip(name)
            }
            return orders + declined + [.replace(sentence)]
        case .text, .taskStarted, .taskProgress, .taskEnded: return orders + [.skip]
        }
    }

    /// The chat's key is gone. A card that was on the phone before does not count as one that could not be shown.
    mutating func cardLacksKey(_ card: ApprovalID, at now: Instant) -> [TurnOrder] {
        guard holdsAsks, let approval = approvals.openAsk(ofCard: card), approvals.hadCard(approval) else {
            return approvalNotShown(card, at: now)
        }
        _ = approvals.loseCard(approval, at: now)
        return []
    }

    /// The end of a turn that cannot say anything sealed: the sealed empty text, which needs no key, and one fixed sentence.
    mutating func endUnspoken(_ line: String?, _ outcome: TurnOutcome) -> [TurnOrder] {
        let orders = bubble.isOver ? [] : leaveUnspokenBubble(Self.taskStatus(at: outcome))
        let known = line.flatMap { Sentences.withoutContent.contains($0) ? $0 : nil }
        let sentence = outcome == .aborted ? Sentences.stopped : known ?? Sentences.keyGone
        return orders + (inTheOpen(sentence).map { [.post($0)] } ?? [])
    }

    mutating func leaveUnspokenBubble(_ status: ToolResult.Status) -> [TurnOrder] {
        let cards = finishTasks(status: status)
        // No card was made without a key, so none must be finished.
        let finished = awaitsKeyForGood ? [.dropUnsealed] : cards.compactMap(\.unspoken).map { TurnOrder.post($0) }
        return finished + endBubble(with: "", reason: nil)
    }

    private var awaitsKeyForGood: Bool { opening.sealing == .sealed(nil) }

    private mutating func inTheOpen(_ sentence: String) -> Post? {
        guard let part = outbox.names.nextLine() else { return nil }
        let message = Post.message(WholeMessage(part: part, text: sentence, inTheOpen: true))
        outbox.posted(message)
        return message
    }
}

extension Post {
    /// The end of a card without the agent's words.
    fileprivate var unspoken: Post? {
        guard case .taskEnded(let end) = self else { return nil }
        return .taskEnded(TaskEnd(task: end.task, name: end.name, status: end.status))
    }
}
