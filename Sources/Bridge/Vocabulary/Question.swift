/// What an agent asks that yes and no do not answer: one of several options, some of them, or a text.
package struct Question: Hashable, Sendable {
    package struct Option: Hashable, Sendable {
        /// What the agent gets.
        package var value: String
        /// What people read; unique among the options, or only the number chooses it.
        package var label: String
        package var details: String?

        /// `label`: the value where there is none.
        package init(_ value: String, label: String? = nil, details: String? = nil) {
            self.value = value
            self.label = label ?? value
            self.details = details
        }
    }

    package var id: QuestionID
    package var title: String
    /// May be empty.
    package var message: String
    /// None: it is answered by a text.
    package var options: [Option]
    package var isMultiSelect: Bool
    package var allowsOwnWords: Bool
    /// The text that an answer replaces, for a person to see.
    package var prefill: String?
    /// An example of what is expected.
    package var placeholder: String?
    /// When the agent stops waiting, on the bridge's own clock; nil: never, or unknown.
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

    /// About what it takes in memory.
    package var heldBytes: Int {
        let words = [title, message, prefill ?? "", placeholder ?? ""].reduce(0) { $0 + $1.utf8.count }
        return options.reduce(words) { $0 + $1.value.utf8.count + $1.label.utf8.count + ($1.details?.utf8.count ?? 0) }
    }
}

package enum QuestionAnswer: Hashable, Sendable {
    /// Values of options, in the order of the question: one, or at least one where several may be chosen.
    case choices([String])
    case text(String)
    case declined
}

/// What became of a question at the agent.
package struct QuestionSettlement: Hashable, Sendable {
    package enum Reason: Hashable, Sendable {
        /// The answer of this bridge is with the agent, or as good as: nothing more is to be heard of it.
        case answered
        /// The answer, in the person's words, was not given: the agent's server would have taken it for another option.
        case mistaken(String)
        /// Another client of the agent answered it.
        case answeredElsewhere
        /// The agent stopped waiting.
        case expired
        /// The agent does not know it (any more).
        case unknown
        /// It was withdrawn, for example because its process ended.
        case cancelled
    }

    package var id: QuestionID
    package var reason: Reason

    package init(id: QuestionID, _ reason: Reason) {
        self.id = id
        self.reason = reason
    }
}
