import AgentKit

/// Names the files that an agent sends along. The gateway takes them out of the text
/// and this bridge carries no files, so a line of text stands for each.
enum AgentFiles {
    private static let lengthLimit = 300

    /// Replaces the `MEDIA:` lines in a row of the history by the files' names at its end.
    static func named(in text: some StringProtocol) -> String {
        guard text.contains(mark) else { return String(text) }
        var (said, files): ([Substring], [String]) = ([], [])
        var fence: Substring?
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            // A directive within a code fence is text of the answer.
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

    /// One line per file, or nil if no file has a name.
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
