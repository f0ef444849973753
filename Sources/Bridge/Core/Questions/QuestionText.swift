import Vocabulary

/// A question as the chat shows it (DESIGN.md#questions). The phone page reads the numbered options and the last line (`page/questions.js`),
/// so the two change together.
///
/// Invariant: the title, the message, and each option's label, value and details are shown whole, or the question is declined.
enum QuestionText {
    static let optionLimit = 100
    /// UTF-8 bytes, of what a bubble holds. A longer question is declined: an answer to what was cut would be one to what no person read.
    static let limit = 32_000
    private static let prefillLimit = 4_000
    /// Of what is no part of the decision.
    private static let lineLimit = 200
    /// What is kept of it until it is answered; a list of files may be long.
    private static let heldLimit = 64_000

    /// Nil: it cannot be answered on the phone.
    static func whole(_ question: Question) -> String? {
        guard question.options.count <= optionLimit, question.heldBytes <= heldLimit else { return nil }
        let message = VisibleText.words(VisibleText.trimmed(question.message))
        let parts = [
            title(question), message, question.prefill.map(prefill),
            question.placeholder.map { "For example: \(line($0))" }, options(question), hint(question),
        ]
        let text = parts.compactMap(\.self).filter { !$0.isEmpty }.joined(separator: RunText.joint)
        return text.utf8.count <= limit ? text : nil
    }

    /// What a reply may be. The last line of the question, and of the answer to a reply that does not fit.
    static func hint(_ question: Question) -> String {
        let words = question.allowsOwnWords ? ", or in your own words" : ""
        let how =
            switch (question.options.isEmpty, question.isMultiSelect) {
            case (true, _): "Reply with your text"
            case (false, false): "Reply with the number of one option\(words)"
            case (false, true): "Reply with the numbers of all that you choose, such as 1, 3\(words)"
            }
        return "\(how). /skip declines."
    }

    private static func title(_ question: Question) -> String {
        let title = VisibleText.words(VisibleText.trimmed(question.title))
        return title.isEmpty ? "The agent asks:" : title
    }

    private static func options(_ question: Question) -> String {
        question.options.enumerated().map { index, option in
            let details = option.details.map(whole) ?? ""
            return "\(index + 1). \(whole(option))" + (details.isEmpty ? "" : ": \(details)")
        }.joined(separator: "\n")
    }

    /// The value is what the agent gets, whatever the label says.
    private static func whole(_ option: Question.Option) -> String {
        let (label, value) = (whole(option.label), whole(option.value))
        if label.isEmpty { return value.isEmpty ? "(empty)" : value }
        return label == value ? label : "\(label) (\(value))"
    }

    private static func whole(_ text: String) -> String { VisibleText.unbroken(VisibleText.trimmed(text)) }

    private static func prefill(_ text: String) -> String {
        let shown = TextCut.marked(VisibleText.words(text.trimmed), atMost: prefillLimit)
        guard !shown.isEmpty else { return "" }
        let quoted = shown.split(separator: "\n", omittingEmptySubsequences: false).map { "> \($0)" }
        return "The text so far:\n\n" + quoted.joined(separator: "\n")
    }

    /// Of an option that was chosen.
    static func name(of option: Question.Option) -> String {
        let label = line(option.label)
        return label.isEmpty ? "(empty)" : label
    }

    /// Words of the agent or the user within a line of ours, which decides nothing.
    static func line(_ text: String) -> String {
        TextCut.marked(VisibleText.line(text), atMost: lineLimit)
    }
}

extension String {
    /// Without the white space at both ends.
    var trimmed: String {
        let head = drop(while: \.isWhitespace)
        return String(head.prefix(head.count - head.reversed().prefix(while: \.isWhitespace).count))
    }
}
