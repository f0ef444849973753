import Vocabulary

/// The meaning of a message as the answer to a question.
///
/// - `/skip` declines.
/// - A number is the option of that place; `#2` is never anything else. If another option is called by that number, or two share a
///   name, the message does not fit rather than choose the wrong one.
/// - Any other text is an option's label or value, in any case of letters, or own words, if the agent takes them.
/// - A number of no option is no text: it is more likely a slip, and an answer cannot be taken back.
enum AnswerReading: Hashable {
    /// `words`: the answer, for people.
    case answer(QuestionAnswer, words: String)
    /// The reason, and what is expected instead.
    case misfit(String)

    private enum Choice: Hashable {
        case option(Int)
        case none, ambiguous
        case outOfRange(String)
    }

    init(_ text: String, to question: Question) {
        let text = text.trimmed
        if text.lowercased() == "/skip" {
            self = .answer(.declined, words: "")
        } else if text.isEmpty {
            // A message of files alone is no answer, and an answer cannot be taken back.
            self = Self.misfit(Sentences.answerNeedsWords, question)
        } else if question.options.isEmpty {
            self = Self.ownWords(text)
        } else {
            self = Self.chosen(text, of: question)
        }
    }

    private static func ownWords(_ text: String) -> Self { .answer(.text(text), words: QuestionText.line(text)) }

    private static func chosen(_ text: String, of question: Question) -> Self {
        var options: [Int] = []
        for choice in choices(text, of: question) {
            switch choice {
            case .option(let index): options.append(index)
            case .none where question.allowsOwnWords: return ownWords(text)
            case .none: return misfit(Sentences.noSuchOption, question)
            case .ambiguous: return misfit(Sentences.ambiguousOption, question)
            case .outOfRange(let number): return misfit(Sentences.noOption(number), question)
            }
        }
        let chosen = Set(options).sorted().map { question.options[$0] }
        return .answer(
            .choices(chosen.map(\.value)), words: chosen.map(QuestionText.name).joined(separator: ", "))
    }

    private static func misfit(_ why: String, _ question: Question) -> Self {
        .misfit("\(why) \(Sentences.questionStaysOpen) \(QuestionText.hint(question))")
    }

    /// At least one choice.
    private static func choices(_ text: String, of question: Question) -> [Choice] {
        let whole = choice(text, of: question)
        guard question.isMultiSelect, whole == .none else { return [whole] }
        var pieces = text.split { ",;\n".contains($0) }.map { String($0).trimmed }.filter { !$0.isEmpty }
        let words = pieces.first?.split(separator: " ").map { String($0) } ?? []
        if pieces.count == 1, words.allSatisfy({ number($0) != nil }) { pieces = words }
        return pieces.isEmpty ? [.none] : pieces.map { choice($0, of: question) }
    }

    private static func choice(_ text: String, of question: Question) -> Choice {
        let named = question.options.indices.filter { names(question.options[$0], text) }
        if let number = number(text) {
            let place = (number.value ?? 0) - 1
            let isPlace = question.options.indices.contains(place)
            if number.isMarked { return isPlace ? .option(place) : .outOfRange(text) }
            if isPlace { return named.contains { $0 != place } ? .ambiguous : .option(place) }
            if named.isEmpty { return .outOfRange(text) }
        }
        return named.count > 1 ? .ambiguous : named.first.map { .option($0) } ?? .none
    }

    private static func names(_ option: Question.Option, _ text: String) -> Bool {
        let text = folded(text)
        return text == folded(option.label) || text == folded(option.value)
    }

    private static func folded(_ text: String) -> String {
        text.split(whereSeparator: \.isWhitespace).joined(separator: " ").lowercased()
    }

    /// Reads `2`, `2.`, `2)`, `#2`. A nil value is too large for any option.
    private static func number(_ text: String) -> (value: Int?, isMarked: Bool)? {
        let isMarked = text.hasPrefix("#")
        var digits = isMarked ? text.dropFirst() : text[...]
        if let last = digits.last, ".)".contains(last) { digits = digits.dropLast() }
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return (digits.utf8.count <= 4 ? Int(digits) : nil, isMarked)
    }
}
