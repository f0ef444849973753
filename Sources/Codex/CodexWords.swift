import BridgeModel
import JSONReading

/// What people read of Codex's items.
enum CodexWords {
    /// Of one card or one approval.
    private static let limit = 160

    /// The whole command, with the program that runs it: what `commandActions` says of it may lack parts (codex.md#items). Nil: it has none.
    static func command(_ item: FrameNode) -> String? {
        guard let command = item["command"], command.compact.text != "null" else { return nil }
        #if PLANTED_FAULTS
            if PlantedFault.programDropped.isPlanted, let script = command.string?.firstRange(of: " -lc ") {
                return command.string.map { String($0[script.upperBound...]) }
            }
        #endif
        return CodexFacts.text(of: command)
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

    /// What becomes of each file, whole, for a card.
    static func diff(_ item: FrameNode) -> String {
        (item["changes"]?.elements ?? []).map { change in
            let others =
                CodexFacts.lines(of: change, besides: ["path", "kind", "diff"])
                + (change["kind"].map { CodexFacts.lines(of: $0, besides: ["type", "move_path"]) } ?? [])
            let heads = [head(change)] + others.map { "\($0.label): \($0.value)" }
            return "\(heads.joined(separator: "\n"))\n\(change["diff"]?.string ?? "")"
        }.joined(separator: "\n")
    }

    /// Verb and path of each file.
    static func heads(_ item: FrameNode) -> [String] { (item["changes"]?.elements ?? []).map(head) }

    private static func head(_ change: FrameNode) -> String {
        let target = movesTo(change)
        let verb =
            switch change["kind"]?["type"]?.string {
            case "add": "Add"
            case "delete": "Delete"
            case "update", nil: target == nil ? "Edit" : "Move"
            case let other?: other
            }
        return "\(verb) \(change["path"]?.string ?? "?")" + (target.map { " to \($0)" } ?? "")
    }

    /// All that a patch touches.
    static func paths(_ item: FrameNode) -> [String] {
        (item["changes"]?.elements ?? []).flatMap { [$0["path"]?.string, movesTo($0)].compactMap(\.self) }
    }

    private static func movesTo(_ change: FrameNode) -> String? { change["kind"]?["move_path"]?.string }

    static func fileName(_ path: String) -> String { String(path.split(separator: "/").last ?? "") }

    static func short(_ text: String) -> String {
        text.unicodeScalars.count > limit ? text.prefix(limit) + "…" : text
    }

    /// Of a sub-agent, by its path (codex.md#sub-agents).
    static func agent(_ item: FrameNode) -> String { item["agentPath"]?.string.map(fileName) ?? "agent" }
}
