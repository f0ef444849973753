import Vocabulary

/// The names of a turn's whole messages: each is used once, because a second body under a used key would be taken for a
/// repetition and never be seen (relay.md#rules).
struct MessageNames: Sendable, Hashable {
    /// Short lines of our own beyond this are not worth a message.
    static let lineLimit = 20

    var usedLate = false
    var more = 0
    var lines = 0

    /// For what did not fit into the bubble.
    mutating func nextPart() -> WholeMessage.Part {
        more += 1
        return .more(more)
    }

    /// For messages after the bubble: the first is `late`.
    mutating func nextLate() -> WholeMessage.Part {
        guard usedLate else {
            usedLate = true
            return .late
        }
        return nextPart()
    }

    /// Nil: there were enough.
    mutating func nextLine() -> WholeMessage.Part? {
        guard lines < Self.lineLimit else { return nil }
        lines += 1
        return .line(lines)
    }
}
