import AgentKit
import Vocabulary

/// A question of an `ask`, and the form of its answer that the server cannot
/// mistake for another option (oppi.md#extension-dialogs).
///
/// The server takes the first option whose label *contains* the answer, case aside; an answer within no label reaches the agent
/// unchanged. An option is therefore sent as its label, and not at all if an earlier label contains that label.
struct OppiChoices: Hashable {
    enum Said: Hashable {
        case words(String)
        /// The choice, which the server would mistake for another option.
        case mistaken(String)
        case nothing
    }

    let id: String
    let options: [Question.Option]

    func said(_ answer: QuestionAnswer?) -> Said {
        switch answer {
        case .choices(let values): return said(values)
        case .text(let text): return said(text)
        case .declined, nil: return .nothing
        }
    }

    private func said(_ values: [String]) -> Said {
        let places = values.compactMap { value in options.firstIndex { $0.value.utf8.elementsEqual(value.utf8) } }
        guard places.count == values.count, !places.isEmpty else {
            return .mistaken(values.joined(separator: ", "))
        }
        let label = places.map { options[$0].label }.joined(separator: ", ")
        // The server passes on only the first element of a list; several labels in one text reach the agent unchanged.
        let meant = places.count == 1 ? places.first : nil
        return taken(label) == meant ? .words(label) : .mistaken(label)
    }

    /// Sends own words that are part of a label between quotation marks, which labels rarely contain.
    private func said(_ text: String) -> Said {
        if text.trimmed.isEmpty { return .nothing }
        for words in [text, "\u{201C}\(text)\u{201D}"] {
            guard let place = taken(words) else { return .words(words) }
            if options[place].label.utf8.elementsEqual(words.utf8) { return .words(words) }
        }
        return .mistaken(text)
    }

    /// The option that the server finds for these words. It compares UTF-16 units, so part of a character matches too.
    private func taken(_ words: String) -> Int? {
        let words = Array(words.lowercased().utf16)
        return options.firstIndex { words.isEmpty || $0.label.lowercased().utf16.firstRange(of: words) != nil }
    }
}
