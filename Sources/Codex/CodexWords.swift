import BridgeModel
import JSONReading

/// What people read of Codex's items.
enum CodexWords {
    /// Of one card or one approval.
    private static let limit = 160

    /// The bare command, whole: Codex wraps it for a shell, and what `commandActions` says of it may lack parts (codex.md#items).
    static func command(_ item: FrameNode) -> String { unwrapped(item["command"]?.string ?? "") }

    /// `/bin/bash -lc '…'` without its shell and its quotes.
    static func unwrapped(_ command: String) -> String {
        for option in [" -lc ", " -c "] {
            guard let range = command.firstRange(of: option), !command[..<range.lowerBound].contains(" ") else {
                continue
            }
            return unquoted(String(command[range.upperBound...]))
        }
        return command
    }

    private static func unquoted(_ text: String) -> String {
        if text.hasPrefix("'"), text.hasSuffix("'"), text.utf8.count >= 2 {
            let inner = String(text.dropFirst().dropLast())
            return inner.replacing(#"'\''"#, with: "'").replacing(#"'"'"'"#, with: "'")
        }
        guard text.hasPrefix("\""), text.hasSuffix("\""), text.utf8.count >= 2 else { return text }
        var plain = ""
        var isEscaped = false
        for character in text.dropFirst().dropLast() {
            if !isEscaped, character == "\\" {
                isEscaped = true
                continue
            }
            if isEscaped, !"\"\\$`".contains(character) { plain.append("\\") }
            plain.append(character)
            isEscaped = false
        }
        return plain
    }

    static func changes(_ item: FrameNode) -> String {
        let changes = item["changes"]?.elements ?? []
        let kinds = Set(changes.map { $0["kind"]?["type"]?.string ?? "update" })
        let verb = kinds == ["add"] ? "Add" : kinds == ["delete"] ? "Delete" : "Edit"
        let names = changes.compactMap { $0["path"]?.string.map(fileName) }
        guard let first = names.first else { return "Edit files" }
        return names.count <= 3
            ? "\(verb) \(names.joined(separator: ", "))" : "\(verb) \(first) and \(names.count - 1) more"
    }

    /// Paths and what changes in them, for a card.
    static func diff(_ item: FrameNode) -> String {
        (item["changes"]?.elements ?? []).map { change in
            "\(change["path"]?.string ?? "?")\n\(change["diff"]?.string ?? "")"
        }.joined(separator: "\n")
    }

    static func fileName(_ path: String) -> String { String(path.split(separator: "/").last ?? "") }

    static func short(_ text: String) -> String {
        text.unicodeScalars.count > limit ? text.prefix(limit) + "…" : text
    }

    /// Of a sub-agent, by its path (codex.md#sub-agents).
    static func agent(_ item: FrameNode) -> String { item["agentPath"]?.string.map(fileName) ?? "agent" }
}
