package import Vocabulary

/// A message as its agent reads it: the person's words, then the files that were left out.
package enum PromptText {
    private static let note = "[Not attached: "
    /// Beginnings of notes behind the words: the bridge's, and those of agents about pictures that they made smaller or stored
    /// elsewhere.
    private static let notes = [note, "[Image: ", "[media attached: "]

    package static func noting(_ missing: [MissingFile], behind prompt: String) -> String {
        missing.reduce(into: prompt) { $0 += "\n\n\(note)\($1.sentence)]" }
    }

    /// Whether an entry of the agent's history is this prompt, with such notes or without: another process does not know them.
    /// White space at either end is ignored, because agents trim it; between words and notes they cannot.
    package static func isPrompt(_ said: some StringProtocol, _ asked: some StringProtocol) -> Bool {
        if said == asked { return true }
        let (said, asked) = (said.trimmed, asked.trimmed)
        guard said.starts(with: asked) else { return false }
        let rest = said.dropFirst(asked.count)
        let noted = rest.drop { $0.isWhitespace }
        return rest.isEmpty || rest.first?.isWhitespace == true && notes.contains { noted.starts(with: $0) }
    }
}

extension StringProtocol {
    /// The text without white space at either end.
    package var trimmed: SubSequence {
        guard let first = firstIndex(where: { !$0.isWhitespace }), let last = lastIndex(where: { !$0.isWhitespace })
        else { return self[startIndex..<startIndex] }
        return self[first...last]
    }
}
