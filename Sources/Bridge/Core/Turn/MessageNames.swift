import Vocabulary

/// Names of a turn's whole messages, each used once: the relay takes a second body under a used key for a repetition, and nobody sees it
/// (relay.md#rules).
struct MessageNames: Sendable, Hashable {
    /// Short lines of our own beyond this limit are dropped.
    static let lineLimit = 20

    var usedLate = false
    var more = 0
    var lines = 0

    /// The name of a message with text that did not fit into the bubble.
    mutating func nextPart() -> WholeMessage.Part {
        more += 1
        return .more(more)
    }

    /// The name of a message after the bubble: the first is `late`.
    mutating func nextLate() -> WholeMessage.Part {
        guard usedLate else {
            usedLate = true
            return .late
        }
        return nextPart()
    }

    /// Nil once `lineLimit` lines have gone out.
    mutating func nextLine() -> WholeMessage.Part? {
        guard lines < Self.lineLimit else { return nil }
        lines += 1
        return .line(lines)
    }
}
