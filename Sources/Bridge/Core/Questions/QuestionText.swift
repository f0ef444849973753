import Vocabulary

/// A question as the chat shows it (DESIGN.md#questions). The phone page reads the numbered options and the last line (`page/questions.js`),
/// so the two change together.
///
/// Invariant: the title, the message, and each option's label, value and details are shown whole, or the question is declined.
enum QuestionText {
    static let optionLimit = 100
    /// UTF-8 bytes that fit into a bubble. A longer question is declined: an answer to a cut one would answer words that no person read.
    static let limit = 32_000
    private static let prefillLimit = 4_000
    /// Bytes of a line that is no part of the decision.
    private static let lineLimit = 200
    /// Bytes that a question may hold until it is answered; a list of files may be long.
    private static let heldLimit = 64_000

    /// Nil if the question cannot be answered on the phone.
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

    /// The replies that fit: the last line of the question, and of the answer to a reply that does not fit.
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

    /// The agent gets the value, whatever the label says.
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

    /// The label of a chosen option.
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
    /// The text without white space at either end.
    var trimmed: String {
        let head = drop(while: \.isWhitespace)
        return String(head.prefix(head.count - head.reversed().prefix(while: \.isWhitespace).count))
    }
}
