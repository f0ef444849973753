/// A level above the agent's own that a message names (relay.md#sessionmessage-the-user-wrote).
package enum ThoughtLevel: String, Hashable, Sendable {
    case extended, max
}

/// Depth of the agent's thinking about a message.
package enum LevelChoice: Hashable, Sendable {
    /// The agent's current level.
    case unchanged
    /// The session's level from before the phone's choice, or nil if the agent knows it by itself.
    case own(String?)
    case level(ThoughtLevel)
}

/// The agent's answer to a choice, before the message leaves.
package enum LevelAnswer: Hashable, Sendable {
    /// `before` is the session's level until then, or nil if the agent does not report it. `instead` is
    /// the agent's word for a lower level, if its model lacks the chosen one.
    case set(before: String?, instead: String?)
    case refused(message: String)
    /// The result is unknown, or the next try may succeed.
    case unsettled(message: String)
}
