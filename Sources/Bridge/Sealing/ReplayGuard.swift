import Vocabulary

/// Detects a text that this bridge sealed when it comes back as the user's.
///
/// An envelope names neither its message nor its maker (relay.md#symmetric-envelope). The journal detects an old envelope of the
/// user in a new message, by the mark of each (`AcceptedMessage.mark`). No honest side makes the same envelope twice, since each
/// sealing draws a nonce. The guard remembers the newest words of this process alone.
package struct ReplayGuard: Sendable {
    private let limit: Int
    private var said: Set<String> = []
    private var saidInOrder: [String] = []

    package init(limit: Int = 4_096) { self.limit = limit }

    /// Name of an envelope in the guard's memory, or nil for the empty form, which is always the same.
    package static func mark(of sealed: String) -> String? {
        sealed == Envelope.emptyText ? nil : StableHash.text(of: sealed)
    }

    /// `sealed` is the field in its original form, and has been opened: no other text encodes the same bytes.
    package func isOurs(_ sealed: String) -> Bool { Self.mark(of: sealed).map { said.contains($0) } ?? false }

    /// Notes a text that this bridge sealed.
    package mutating func said(_ sealed: String) {
        guard let mark = Self.mark(of: sealed), said.insert(mark).inserted else { return }
        saidInOrder.append(mark)
        if saidInOrder.count > 2 * limit {
            for old in saidInOrder.prefix(limit) { said.remove(old) }
            saidInOrder.removeFirst(limit)
        }
    }
}
