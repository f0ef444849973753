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
    /// A patch whose yes opens a folder besides.
    case grantRoot
    /// Permissions without a command.
    case permissions
    /// A host, and no command.
    case network
    /// Behind a yes whose confirmation is lost, the same item asks for another command.
    case another
}

extension CodexTrick {
    /// The words of a command, as a shell splits them: of quotes and backslashes alone, since nothing is expanded here.
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
