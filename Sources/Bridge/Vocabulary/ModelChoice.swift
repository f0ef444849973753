/// Model for the answer to a message (relay.md#sessionmessage-the-user-wrote).
package enum ModelChoice: Hashable, Sendable {
    /// The agent's current model.
    case unchanged
    /// The agent's model from before the phone's choice, or nil if the agent knows it by itself.
    case own(String?)
    /// A name from the agent's own list.
    case named(String)

    /// Models that the phone names come from the agent's list: limited length, no blanks, no control characters.
    package static func isName(_ model: String) -> Bool {
        (1...200).contains(model.utf8.count)
            && model.unicodeScalars.allSatisfy { !$0.properties.isWhitespace && $0.value > 0x20 && $0.value != 0x7F }
    }
}

/// Result of a choice at the agent, before the message with the choice leaves.
package enum ModelAnswer: Hashable, Sendable {
    /// `before` is the session's model until then, or nil if the agent does not report it.
    case set(before: String?)
    /// The agent's own model answers.
    case refused(message: String)
    /// The result is unknown, or the next try may succeed: the agent's own model answers, or the chosen one.
    case unsettled(message: String)
}
