package import Vocabulary

/// Work under way, for `status` and metrics.
package struct BridgeFigures: Hashable, Sendable {
    package var openTurns: Int
    package var waitingTurns: Int
    package var callsUnderWay: Int
    package var deadLetters: Int
    /// Calls that each bucket would allow now.
    package var levels: [RelayBucket: Double]
    /// Number of posts in all lanes that wait for a try, and how long the oldest of them has waited.
    package var waitingPosts = 0
    package var longestWait: Duration?
    /// `HeldBytes.lanes` and `HeldBytes.texts` of this machine.
    package var held = 0
    /// Asks and questions that wait for a person, the longest waiting first.
    package var asks: [OpenAsk] = []
    /// The state of each busy chat, sorted by urgency.
    package var chats: [ChatFigure] = []
    /// How often the relay closed a card by itself, by its word for the reason (relay.md#others).
    package var cardEnds: [String: Int] = [:]
    /// Another bridge that has answered messages in the last day.
    package var another: OtherBridge?
}

/// An ask or a question that waits for a person, without a word of the chat.
package struct OpenAsk: Hashable, Sendable {
    package var chat: SessionID
    package var since: Instant
    /// Cards of the ask that the relay took; 0 for a question, which has none.
    package var cards: Int
    /// Expired cards; for a question 1 while it is unanswered and not displayed.
    package var ended: Int
    /// The moment at which the agent stops waiting, if it said so.
    package var until: Instant?
    /// A card is on the phone now.
    package var isOnPhone: Bool

    package init(chat: SessionID, since: Instant, cards: Int, ended: Int, until: Instant?, isOnPhone: Bool) {
        (self.chat, self.since, self.until) = (chat, since, until)
        (self.cards, self.ended, self.isOnPhone) = (cards, ended, isOnPhone)
    }
}

extension Bridge {
    package func figures(at now: Instant) -> BridgeFigures {
        // A copy, since reading the level of a bucket fills it up to the moment.
        var delivery = delivery
        var levels: [RelayBucket: Double] = [:]
        for bucket in RelayBucket.allCases { levels[bucket] = delivery.level(of: bucket, at: now) }
        var figures = BridgeFigures(
            openTurns: openTurns, waitingTurns: agent.queues.values.reduce(0) { $0 + $1.waitingCount },
            callsUnderWay: callsUnderWay, deadLetters: tally.deadLetters, levels: levels, held: heldBytes,
            asks: openAsks(), chats: chatFigures(at: now), cardEnds: chats.asks.ends)
        figures.another = otherBridge(at: now)
        let waiting = delivery.waitingPosts
        (figures.waitingPosts, figures.longestWait) = (waiting.count, waiting.oldest.map { now - $0 })
        return figures
    }

    /// Aborts and denials that the agent has not confirmed.
    package var owesAgent: Bool { !obligations.isEmpty }

    /// Bytes of lanes and turns. At most `DeliverySettings.heldBytes`, apart from posts that are never cut: ends, messages, approvals,
    /// text, and the calls under way.
    package var heldBytes: Int { delivery.heldBytes + heldTexts }

    /// `HeldBytes.lanes`.
    package var heldInLanes: Int { delivery.heldBytes }

    /// `HeldBytes.texts`.
    package var heldTexts: Int { delivery.heldBeside }

    /// Runs that no phone message began have a share of the open turns, so that none of them keeps a message out.
    package var hasRoomForMirrored: Bool {
        entries.count < settings.mirroredLimit
            || entries.values.count { $0.turn.opening.isMirrored } < settings.mirroredLimit
    }

    /// The call was tried and will be tried again.
    package func isPending(_ call: CallID) -> Bool { delivery.isPending(call) }
}
