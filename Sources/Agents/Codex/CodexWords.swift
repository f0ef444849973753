import AgentKit
import JSONReading
import Vocabulary

/// Text that people read of Codex's items.
enum CodexWords {
    /// Longest text of a card or an approval.
    private static let limit = 160

    /// The whole command with the program that runs it, or nil if the item has none. `commandActions` may lack parts
    /// (codex.md#items).
    static func command(_ item: FrameNode) -> String? {
        guard let command = item["command"], command.compact.text != "null" else { return nil }
        let text = CodexFacts.text(of: command)
        return text.trimmed.isEmpty ? nil : text
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

    /// Every change with its whole diff, for a card. A member of an unexpected type is shown as JSON: Codex may read it by a later
    /// version of its protocol.
    static func diff(_ item: FrameNode) -> String {
        (item["changes"]?.elements ?? []).map { change in
            let others =
                CodexFacts.lines(of: change, besides: ["path", "kind", "diff"])
                + (change["kind"].map { CodexFacts.lines(of: $0, besides: ["type", "move_path"]) } ?? [])
            let heads = [head(change)] + others.map { "\($0.label): \($0.value)" }
            return "\(heads.joined(separator: "\n"))\n\(text(change["diff"]) ?? "")"
        }.joined(separator: "\n")
    }

    /// Verb and path of each file.
    static func heads(_ item: FrameNode) -> [String] { (item["changes"]?.elements ?? []).map(head) }

    private static func head(_ change: FrameNode) -> String {
        guard change.isObject else { return "Edit \(change.compact.text)" }
        let target = text(change["kind"]?["move_path"])
        return "\(verb(change["kind"], isMove: target != nil)) \(text(change["path"]) ?? "?")"
            + (target.map { " to \($0)" } ?? "")
    }

    private static func verb(_ kind: FrameNode?, isMove: Bool) -> String {
        let isSaid = text(kind) != nil
        switch kind?["type"]?.string {
        case "add": return "Add"
        case "delete": return "Delete"
        case "update": return isMove ? "Move" : "Edit"
        case let other?: return other
        case nil where isSaid && (kind?.isObject == false || text(kind?["type"]) != nil):
            return kind?.compact.text ?? "Edit"
        case nil: return isMove ? "Move" : "Edit"
        }
    }

    /// Nil if the member is missing or null.
    private static func text(_ node: FrameNode?) -> String? {
        node.flatMap { $0.isNull ? nil : CodexFacts.text(of: $0) }
    }

    /// Every path that a patch touches.
    static func paths(_ item: FrameNode) -> [String] {
        (item["changes"]?.elements ?? []).flatMap { change in
            [change["path"]?.string, change["kind"]?["move_path"]?.string].compactMap(\.self)
        }
    }

    static func fileName(_ path: String) -> String { String(path.split(separator: "/").last ?? "") }

    static func short(_ text: String) -> String {
        text.unicodeScalars.count > limit ? text.prefix(limit) + "…" : text
    }

    /// Short name of a sub-agent, from its path (codex.md#sub-agents).
    static func agent(_ item: FrameNode) -> String { item["agentPath"]?.string.map(fileName) ?? "agent" }
}
