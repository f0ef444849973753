import AgentKit

/// Files that the agent sends: its text has them no more, and this bridge does not carry them. They are named.
enum AgentFiles {
    private static let lengthLimit = 300

    /// In a row of the history the files are lines of the text.
    static func named(in text: some StringProtocol) -> String {
        guard text.contains(mark) else { return String(text) }
        var (said, files): ([Substring], [String]) = ([], [])
        var fence: Substring?
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            // Within a fence it is text.
            if fence == nil, line.hasPrefix(mark) {
                files.append(String(line.dropFirst(mark.count).trimmed))
                continue
            }
            said.append(Substring(line))
            let bare = Substring(line.drop { $0 == " " })
            if let open = fence {
                if bare.hasPrefix(open) { fence = nil }
            } else {
                fence = ["```", "~~~"].first { bare.hasPrefix($0) }
            }
        }
        return [String(said.joined(separator: "\n").trimmed), line(naming: files)].compactMap(\.self).filter {
            !$0.isEmpty
        }.joined(separator: "\n\n")
    }

    private static let mark = "MEDIA:"

    /// A line for each; nil: there are none.
    static func line(naming files: [String]) -> String? {
        let named = files.compactMap { file -> String? in
            let name = file.split(whereSeparator: \.isNewline).joined(separator: " ")
            guard !name.isEmpty else { return nil }
            if name.hasPrefix("data:") { return "File: one without a name" }
            return "File: " + (name.count > lengthLimit ? "\u{2026}" + name.suffix(lengthLimit) : name)
        }
        return named.isEmpty ? nil : named.joined(separator: "\n")
    }
}
