/// A level above the agent's own that a message names (relay.md#sessionmessage-the-user-wrote).
package enum ThoughtLevel: String, Hashable, Sendable {
    case extended, max
}

/// How long the agent is to think about a message.
package enum LevelChoice: Hashable, Sendable {
    /// Whatever the agent has now.
    case unchanged
    /// The level that the session had before the phone chose one; nil: the agent knows it by itself.
    case own(String?)
    case level(ThoughtLevel)
}

/// The agent's answer to a choice, before the message leaves.
package enum LevelAnswer: Hashable, Sendable {
    /// `before`: the session's level until then, where the agent says so. `instead`: the agent's word for the lower level that its model
    /// has in place of the chosen one.
    case set(before: String?, instead: String?)
    case refused(message: String)
    /// Whether it was set is not known, or it may be set the next time.
    case unsettled(message: String)
}
