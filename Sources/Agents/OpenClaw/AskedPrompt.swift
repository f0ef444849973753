import AgentKit

/// A message as the gateway writes it into the history: behind its sender's name and a
/// time stamp, or in a list of messages that waited (openclaw.md#chatsend).
enum AskedPrompt {
    private static let list = "[Queued messages"

    /// Whether a user's row is this message, or lists it among several.
    static func holds(_ row: String, _ asked: String) -> Bool {
        guard !asked.trimmed.isEmpty else { return false }
        if PromptText.isPrompt(row, asked) { return true }
        let said = bare(row[...])
        return ([said] + queued(in: said)).contains { PromptText.isPrompt($0, asked) }
    }

    /// Messages of the list. A line `Queued #1` begins each; the next such line ends it.
    private static func queued(in text: Substring) -> [Substring] {
        guard text.hasPrefix(list) else { return [] }
        return text.split(separator: "\nQueued #").dropFirst().compactMap { block in
            guard let line = block.firstIndex(where: \.isNewline), block[..<line].allSatisfy(\.isWholeNumber) else {
                return nil
            }
            var said = block[block.index(after: line)...]
            if let end = said.firstRange(of: "\n\n---") { said = said[..<end.lowerBound] }
            return bare(said)
        }
    }

    /// Strips the metadata and the stamp that the gateway puts before a message.
    private static func bare(_ text: Substring) -> Substring {
        var text = text.trimmed
        // Metadata of the sender is one block, closed by a blank line.
        while let line = text.firstIndex(where: \.isNewline) ?? text.indices.last, text[..<line].contains(metadata),
            let end = text.firstRange(of: "\n\n")
        {
            text = text[end.upperBound...].trimmed
        }
        guard text.first == "[", let end = text.firstIndex(of: "]"),
            isStamp(text[text.index(after: text.startIndex)..<end])
        else { return text }
        return text[text.index(after: end)...].trimmed
    }

    private static let metadata = "(untrusted metadata):"

    /// Whether the text is a stamp such as `Mon 2026-11-23 16:37 UTC`.
    private static func isStamp(_ text: Substring) -> Bool {
        let words = text.split(separator: " ")
        guard words.count >= 3, words[0].count == 3, words[0].allSatisfy(\.isLetter) else { return false }
        return isNumbers(words[1], [4, 2, 2], "-") && isNumbers(words[2], [2, 2], ":")
    }

    private static func isNumbers(_ word: Substring, _ lengths: [Int], _ separator: Character) -> Bool {
        let parts = word.split(separator: separator, omittingEmptySubsequences: false)
        return parts.map(\.count) == lengths && parts.allSatisfy { $0.allSatisfy(\.isWholeNumber) }
    }
}
