import Vocabulary

/// Notices when a text that this bridge has sealed comes back as the user's.
///
/// An envelope does not say which message it is for, nor who made it (relay.md#symmetric-envelope). An old one of the user, sent as a new
/// message, is noticed by the journal, which has the mark of each (`AcceptedMessage.mark`). Neither is made twice by an honest side, since
/// each sealing draws a nonce. The newest words of this process alone are remembered here.
package struct ReplayGuard: Sendable {
    private let limit: Int
    private var said: Set<String> = []
    private var saidInOrder: [String] = []

    package init(limit: Int = 4_096) { self.limit = limit }

    /// The name under which an envelope is remembered. Nil: the empty form, which is always the same and says nothing.
    package static func mark(of sealed: String) -> String? {
        sealed == Envelope.emptyText ? nil : StableHash.text(of: sealed)
    }

    /// `sealed` is the field as it came, after it was opened: then it is the only way to write these bytes.
    package func isOurs(_ sealed: String) -> Bool { Self.mark(of: sealed).map { said.contains($0) } ?? false }

    /// A text that this bridge has sealed.
    package mutating func said(_ sealed: String) {
        guard let mark = Self.mark(of: sealed), said.insert(mark).inserted else { return }
        saidInOrder.append(mark)
        if saidInOrder.count > 2 * limit {
            for old in saidInOrder.prefix(limit) { said.remove(old) }
            saidInOrder.removeFirst(limit)
        }
    }
}
