package import Vocabulary

/// A message that cannot be read before its key comes.
package struct AwaitedMessage: Hashable, Sendable {
    package var turn: TurnID
    package var message: MessageID
    /// The sealed text, unchanged.
    package var sealedText: String
}

// Turns that only the phone may read: the arrival of their key, and their sealed calls (relay.md#session-key-life-cycle).
extension Bridge {
    /// The chats in which some turn awaits its key, restored turns included.
    package var sessionsAwaitingKey: Set<SessionID> {
        Set(entries.values.lazy.map(\.turn).filter(\.awaitsKey).map(\.opening.session))
    }

    /// The messages of that chat that await its key, in the order they came.
    package func messagesAwaitingKey(in session: SessionID) -> [AwaitedMessage] {
        awaitingKey(in: session).compactMap { opening in
            guard let message = opening.message, let sealed = opening.sealedText else { return nil }
            return AwaitedMessage(turn: opening.id, message: message.id, sealedText: sealed)
        }
    }

    /// A key of the chat may be used. The turns that await one continue under it: those in `opened`, with the text of their message,
    /// and those without a sealed text. A message that is not in `opened` keeps waiting.
    package mutating func keyCame(
        _ key: KeyName, in session: SessionID, opened: [TurnID: OpenedText] = [:], at now: Instant
    ) {
        var known = awaitingKey(in: session)
        known.removeAll { $0.sealing == .sealed(nil) && $0.sealedText != nil && opened[$0.id] == nil }
        for opening in known {
            change(opening.id, at: now) { $0.keyCame(key, opened[opening.id], at: now) }
            route(opening.id, at: now)
        }
        for agentSession in Set(known.map(\.agentSession)).sorted() { handOverNext(of: agentSession, at: now) }
        deliver(at: now)
        keepChanged(.synced)
    }

    private func awaitingKey(in session: SessionID) -> [TurnOpening] {
        return entries.values.map(\.turn).filter { $0.awaitsKey && $0.opening.session == session }.map(\.opening)
            .sorted { ($0.receivedAt, $0.id) < ($1.receivedAt, $1.id) }
    }

    mutating func takeKey(_ key: KeyName, of id: TurnID) {
        guard let session = entries[id]?.turn.opening.session else { return }
        orders.append(.keyTaken(id, session, key))
    }

    // MARK: Calls

    /// The call was sealed. Returns the body for this try and each later one.
    package mutating func keepSealed(_ body: [UInt8], of call: CallID) -> [UInt8]? {
        delivery.keepSealed(body, of: call)
    }

    /// The call was to be sealed, and its key is gone: no try is made.
    package mutating func couldNotSeal(_ call: CallID, at now: Instant) {
        for report in delivery.couldNotSeal(call, at: now) { told(report, at: now) }
        deliver(at: now)
    }
}
