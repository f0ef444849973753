/// A command line of Codex, which wraps each command for a shell: `/bin/bash -lc '…'`.
enum CodexShell {
    /// Literal names of the shells: any other path may be a program of the workspace.
    private static let shells: Set = Set(
        ["bash", "zsh", "sh"].flatMap { [$0, "/bin/\($0)", "/usr/bin/\($0)"] })

    /// The script of a command that is a system shell with one script and nothing else; any other command unchanged. The result
    /// lacks the program that runs it and serves a title alone.
    static func title(of command: String) -> String {
        let parts = command.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, shells.contains(String(parts[0])), parts[1] == "-lc" || parts[1] == "-c",
            let script = word(parts[2])
        else { return command }
        return script
    }

    /// Nil unless a shell would read the text as one word without anything to expand.
    private static func word(_ text: Substring) -> String? {
        enum Quote { case none, single, double }
        var quote = Quote.none
        var word = String.UnicodeScalarView()
        var scalars = text.unicodeScalars.makeIterator()
        while let scalar = scalars.next() {
            switch (quote, scalar) {
            case (.none, "'"): quote = .single
            case (.none, "\""): quote = .double
            case (.single, "'"), (.double, "\""): quote = .none
            case (.none, "\\"):
                guard let next = scalars.next(), next != "\n" else { return nil }
                word.append(next)
            case (.double, "\\"):
                guard let next = scalars.next(), next != "\n" else { return nil }
                if !"\"\\$`".unicodeScalars.contains(next) { word.append(scalar) }
                word.append(next)
            case (.double, "$"), (.double, "`"): return nil
            case (.none, _) where !isPlain(scalar): return nil
            default: word.append(scalar)
            }
        }
        return quote == .none && !word.isEmpty ? String(word) : nil
    }

    private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9", "_", "-", ".", "/", ":", ",", "+", "@", "%", "=": true
        default: false
        }
    }
}
