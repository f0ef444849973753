/// What an agent does with an ask to get more out of a yes than was shown (codex.md#server-requests).
package enum CodexTrick: CaseIterable, Hashable, Sendable {
    /// A program of the workspace that is called like a shell.
    case ownShell
    /// Permissions beside the command.
    case morePermissions
    /// Bytes for a process that runs.
    case input
    /// A tool whose request says nothing of what is to be displayed.
    case tool
    case patch
    /// Behind a yes whose confirmation is lost, the same item asks for another command.
    case another
}

extension CodexTrick {
    /// The words of a command, as a shell splits them: of quotes and backslashes alone, since nothing is expanded here.
    static func words(of command: String) -> [String] {
        var words: [String] = []
        var word: String?
        var quote: Character?
        var isEscaped = false
        for character in command {
            if isEscaped {
                if quote == "\"", !"\"\\$`".contains(character) { word = (word ?? "") + "\\" }
                word = (word ?? "") + String(character)
                isEscaped = false
            } else if character == "\\", quote != "'" {
                isEscaped = true
            } else if let open = quote {
                if character == open { quote = nil } else { word = (word ?? "") + String(character) }
            } else if character == "'" || character == "\"" {
                quote = character
                word = word ?? ""
            } else if character == " " || character == "\n" || character == "\t" {
                if let ended = word { words.append(ended) }
                word = nil
            } else {
                word = (word ?? "") + String(character)
            }
        }
        return words + (word.map { [$0] } ?? [])
    }
}
