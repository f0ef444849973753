package import Vocabulary

/// A message as its agent reads it: what the person wrote, and behind it which of its files did not come along.
package enum PromptText {
    private static let note = "[Not attached: "
    /// The bridge's own, and what agents write behind the words for the model: the sizes of pictures that they made smaller, and where
    /// they put those that were too large.
    private static let notes = [note, "[Image: ", "[media attached: "]

    package static func noting(_ missing: [MissingFile], behind prompt: String) -> String {
        missing.reduce(into: prompt) { $0 += "\n\n\(note)\($1.sentence)]" }
    }

    /// Whether the agent's history has this prompt, with such notes or without: another process does not know them. White space at
    /// either end counts for nothing: agents trim it, and between the words and their notes they cannot.
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
    /// Without white space at either end.
    package var trimmed: SubSequence {
        guard let first = firstIndex(where: { !$0.isWhitespace }), let last = lastIndex(where: { !$0.isWhitespace })
        else { return self[startIndex..<startIndex] }
        return self[first...last]
    }
}
