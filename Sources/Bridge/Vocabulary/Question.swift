/// A question beyond yes and no: one of several options, some of them, or a text.
package struct Question: Hashable, Sendable {
    package struct Option: Hashable, Sendable {
        /// Value for the agent.
        package var value: String
        /// Words for people. Unique among the options; otherwise only the number chooses the option.
        package var label: String
        package var details: String?

        /// Uses the value in place of a missing label.
        package init(_ value: String, label: String? = nil, details: String? = nil) {
            self.value = value
            self.label = label ?? value
            self.details = details
        }
    }

    package var id: QuestionID
    package var title: String
    /// Empty if the title says it all.
    package var message: String
    /// Empty if a text answers the question.
    package var options: [Option]
    package var isMultiSelect: Bool
    package var allowsOwnWords: Bool
    /// The text that an answer replaces, for a person to see.
    package var prefill: String?
    /// An example of an expected answer.
    package var placeholder: String?
    /// End of the agent's patience, on the bridge's own clock, or nil if it never ends or is unknown.
    package var expiresAt: Instant?

    package init(
        id: QuestionID, title: String, message: String = "", options: [Option] = [], isMultiSelect: Bool = false,
        allowsOwnWords: Bool = false, prefill: String? = nil, placeholder: String? = nil, expiresAt: Instant? = nil
    ) {
        self.id = id
        self.title = title
        self.message = message
        self.options = options
        self.isMultiSelect = isMultiSelect
        self.allowsOwnWords = allowsOwnWords
        self.prefill = prefill
        self.placeholder = placeholder
        self.expiresAt = expiresAt
    }

    /// Approximate size in memory.
    package var heldBytes: Int {
        let words = [title, message, prefill ?? "", placeholder ?? ""].reduce(0) { $0 + $1.utf8.count }
        return options.reduce(words) { $0 + $1.value.utf8.count + $1.label.utf8.count + ($1.details?.utf8.count ?? 0) }
    }
}

package enum QuestionAnswer: Hashable, Sendable {
    /// Values of options, in the question's order: one, or one and more if the question allows several.
    case choices([String])
    case text(String)
    case declined
}

/// A question's fate at the agent.
package struct QuestionSettlement: Hashable, Sendable {
    package enum Reason: Hashable, Sendable {
        /// The agent has this bridge's answer, or nearly certainly: no further report follows.
        case answered
        /// The answer, in the person's words, was not sent: the agent's server would have read it as another option.
        case mistaken(String)
        /// Another client of the agent answered it.
        case answeredElsewhere
        /// The agent stopped waiting.
        case expired
        /// The agent does not know the question, or no longer.
        case unknown
        /// The agent withdrew the question, for example because its process ended.
        case cancelled
    }

    package var id: QuestionID
    package var reason: Reason

    package init(id: QuestionID, _ reason: Reason) {
        self.id = id
        self.reason = reason
    }
}
