package import BridgeModel

/// Notices a sealed text of the user that has been there before.
///
/// An envelope does not say which message it is for, nor who made it (relay.md#symmetric-envelope). So a relay can send an old one as a
/// new message, or send back as the user's what this bridge said. Neither is made twice by an honest side, since each sealing draws a
/// nonce. Only what is remembered here is noticed: the last messages, of earlier processes too, and the last words of this one.
package struct ReplayGuard: Sendable {
    package enum CameAction: Hashable, Sendable {
        case fresh
        /// The same message again: the relay resends until it is acknowledged.
        case resent
        case replayed
    }

    private let limit: Int
    private var taken: [String: MessageID] = [:]
    private var takenInOrder: [String] = []
    private var said: Set<String> = []
    private var saidInOrder: [String] = []

    package init(limit: Int = 4_096) { self.limit = limit }

    /// The name under which an envelope is remembered, also in the journal.
    package static func mark(of sealed: String) -> String { StableHash.text(of: sealed) }

    /// An earlier process took the envelope of that mark as this message.
    package mutating func restore(_ mark: String, _ message: MessageID) {
        guard taken.updateValue(message, forKey: mark) == nil else { return }
        takenInOrder.append(mark)
    }

    /// `sealed` is the field as it came, after it was opened: then it is the only way to write these bytes.
    package mutating func came(_ sealed: String, as message: MessageID) -> CameAction {
        // The empty form is always the same, and says nothing.
        guard sealed != Envelope.emptyText else { return .fresh }
        let mark = Self.mark(of: sealed)
        if said.contains(mark) { return .replayed }
        if let known = taken[mark] { return known == message ? .resent : .replayed }
        taken[mark] = message
        takenInOrder.append(mark)
        if takenInOrder.count > 2 * limit {
            for old in takenInOrder.prefix(limit) { taken[old] = nil }
            takenInOrder.removeFirst(limit)
        }
        return .fresh
    }

    /// A text that this bridge has sealed.
    package mutating func said(_ sealed: String) {
        guard sealed != Envelope.emptyText else { return }
        let mark = Self.mark(of: sealed)
        guard said.insert(mark).inserted else { return }
        saidInOrder.append(mark)
        if saidInOrder.count > 2 * limit {
            for old in saidInOrder.prefix(limit) { said.remove(old) }
            saidInOrder.removeFirst(limit)
        }
    }
}
