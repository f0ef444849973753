package import Vocabulary

/// What the configuration says of asks. It changes while the bridge runs.
package struct AskSettings: Sendable, Hashable {
    /// What becomes of an ask whose card expired unanswered.
    package enum WhenUnanswered: String, Sendable, Hashable {
        /// It stays open at the agent, and comes back.
        case hold
        /// The agent receives a denial.
        case deny
    }

    /// What a message says that is written while a card of its chat is open.
    package enum WhenAsked: String, Sendable, Hashable, CaseIterable {
        /// It refuses the card, and says what to do instead.
        case refuse
        /// It waits as any other message.
        case wait
    }

    package var whenUnanswered = WhenUnanswered.hold
    package var whenAsked = WhenAsked.wait
    /// How long an ask is held for a person in all (`limits.unanswered`).
    package var patience = Duration.seconds(12 * 3600)
    /// Rules beside the built-in ones.
    package var severity: [SeverityMatch] = []
    /// Of the user that the bridge runs as: `~` in commands.
    package var home: String?
    /// The bridge's configuration and state.
    package var ownFolders: [String] = []

    package init() {}
}

extension AskSettings {
    /// Nil: an unanswered card is a denial.
    var heldFor: Duration? { whenUnanswered == .hold ? patience : nil }
}
