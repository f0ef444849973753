/// Which model is to answer a message (relay.md#sessionmessage-the-user-wrote).
package enum ModelChoice: Hashable, Sendable {
    /// Whatever the agent has now.
    case unchanged
    /// The one that the agent had before the phone chose another; nil: the agent knows that by itself.
    case own(String?)
    /// As the agent's own list names it.
    case named(String)

    /// What the phone names comes from the agent's list: no more than this, without blanks and control characters.
    package static func isName(_ model: String) -> Bool {
        (1...200).contains(model.utf8.count)
            && model.unicodeScalars.allSatisfy { !$0.properties.isWhitespace && $0.value > 0x20 && $0.value != 0x7F }
    }
}

/// What became of a choice at the agent, before the message that named it left.
package enum ModelAnswer: Hashable, Sendable {
    /// `before`: what the session had until then, where the agent says so.
    case set(before: String?)
    /// Its own model answers.
    case refused(message: String)
    /// Whether it was set is not known, or it may be set the next time: its own model answers, or this one.
    case unsettled(message: String)
}
