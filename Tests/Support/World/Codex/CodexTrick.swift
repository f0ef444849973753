/// Tricks of an agent that gets more out of a yes than the card showed (codex.md#server-requests).
package enum CodexTrick: CaseIterable, Hashable, Sendable {
    /// A program of the workspace named like a shell.
    case ownShell
    /// Permissions beside the command.
    case morePermissions
    /// Bytes for the input of a running process.
    case input
    /// An MCP tool whose request carries nothing to display.
    case tool
    case patch
    /// A patch whose yes also opens a folder.
    case grantRoot
    /// Permissions without a command.
    case permissions
    /// A host without a command.
    case network
    /// The confirmation of a yes is lost, and the same item asks about another command.
    case another
}

extension CodexTrick {
    /// Words of a command as a shell splits them. Quotes and backslashes are all it knows: nothing here needs
    /// expansion.
    static func words(of command: String) -> [String] {
        var words: [String] = []
        var word: String.UnicodeScalarView?
        var quote: Unicode.Scalar?
        var isEscaped = false
        func add(_ scalar: Unicode.Scalar) {
            if word == nil { word = .init() }
            word?.append(scalar)
        }
        for scalar in command.unicodeScalars {
            if isEscaped {
                if quote == "\"", !"\"\\$`".unicodeScalars.contains(scalar) { add("\\") }
                add(scalar)
                isEscaped = false
            } else if scalar == "\\", quote != "'" {
                isEscaped = true
            } else if let open = quote {
                if scalar == open { quote = nil } else { add(scalar) }
            } else if scalar == "'" || scalar == "\"" {
                quote = scalar
                word = word ?? .init()
            } else if scalar == " " || scalar == "\n" || scalar == "\t" {
                if let ended = word { words.append(String(ended)) }
                word = nil
            } else {
                add(scalar)
            }
        }
        return words + (word.map { [String($0)] } ?? [])
    }
}
