import AgentKit
import Vocabulary

/// A question of an `ask` and how its answer is said, so that the server takes it for nothing else (oppi.md#extension-dialogs).
///
/// The server looks an answer up among the labels of the options, and takes the first one that *contains* it, case aside; what no label
/// contains reaches the agent as it is. So an option is sent as its label, and not at all where an earlier label contains that.
struct OppiChoices: Hashable {
    enum Said: Hashable {
        case words(String)
        /// What was chosen, which the server would take for another option.
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
        // Of a list the server passes on the first alone; several labels in one text reach the agent as they are.
        let meant = places.count == 1 ? places.first : nil
        return taken(label) == meant ? .words(label) : .mistaken(label)
    }

    /// Own words that are a part of a label, between quotation marks: no label is likely to contain those.
    private func said(_ text: String) -> Said {
        if text.trimmed.isEmpty { return .nothing }
        for words in [text, "\u{201C}\(text)\u{201D}"] {
            guard let place = taken(words) else { return .words(words) }
            if options[place].label.utf8.elementsEqual(words.utf8) { return .words(words) }
        }
        return .mistaken(text)
    }

    /// The option that the server takes these words for. It compares the units of UTF-16, so that a part of a character is found too.
    private func taken(_ words: String) -> Int? {
        let words = Array(words.lowercased().utf16)
        return options.firstIndex { words.isEmpty || $0.label.lowercased().utf16.firstRange(of: words) != nil }
    }
}
