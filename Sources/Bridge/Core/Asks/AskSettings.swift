package import Vocabulary

/// The configuration of asks. It changes while the bridge runs.
package struct AskSettings: Sendable, Hashable {
    /// The fate of an ask whose card expired unanswered.
    package enum WhenUnanswered: String, Sendable, Hashable {
        /// The ask stays open at the agent, and comes back.
        case hold
        /// The agent receives a denial.
        case deny
    }

    /// The meaning of a message that is written while a card of its chat is open.
    package enum WhenAsked: String, Sendable, Hashable, CaseIterable {
        /// The message refuses the card, and says what to do instead.
        case refuse
        /// The message waits like any other.
        case wait
    }

    package var whenUnanswered = WhenUnanswered.hold
    package var whenAsked = WhenAsked.wait
    /// How long an ask is held for a person in all (`limits.unanswered`).
    package var patience = Duration.seconds(12 * 3600)
    /// Rules in addition to the built-in ones.
    package var severity: [SeverityMatch] = []
    /// Home folder of the user that the bridge runs as: `~` in commands.
    package var home: String?
    /// The bridge's configuration and state.
    package var ownFolders: [String] = []

    package init() {}
}

extension AskSettings {
    /// Nil if an unanswered card is a denial.
    var heldFor: Duration? { whenUnanswered == .hold ? patience : nil }
}
