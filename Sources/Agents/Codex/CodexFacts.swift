import JSONReading
import Vocabulary

/// Fields of a request beside its command, diff or question (codex.md#server-requests). The bridge tells Codex that it understands
/// the experimental fields: each field is read, or known to change nothing about a yes, or shown as a line of the card.
enum CodexFacts {
    /// Ids of the request, and the server's suggestions for rules that the bridge never writes.
    private static let harmless: Set = [
        "threadId", "turnId", "itemId", "approvalId", "elicitationId", "startedAtMs", "availableDecisions",
        "proposedExecpolicyAmendment", "proposedNetworkPolicyAmendments",
        // Codex's reading of the command, for display.
        "commandActions",
    ]
    /// Ids in the `_meta` of a tool's approval; its parameters are the tool's input.
    private static let harmlessMeta: Set = ["codex_approval_kind", "persist", "tool_description"]
    /// An object with more members is shown as one value.
    private static let memberLimit = 100
    private static let depthLimit = 16
    /// Longest text in a title; a longer one has a line of its own.
    private static let titleLimit = 160

    /// `read`: fields that the card shows elsewhere.
    static func facts(of params: FrameNode, read: Set<String>) -> AskFacts {
        var known = harmless.union(read).union(["reason", "cwd"])
        if params["environmentId"]?.holds("local") == true { known.insert("environmentId") }
        var facts = AskFacts(lines: lines(of: params, besides: known))
        if let folder = params["cwd"], folder.compact.text != "null" { facts.folder = text(of: folder) }
        if let reason = params["reason"]?.string, !fitsTitle(reason) {
            facts.lines.insert(AskFacts.Line("reason", reason), at: 0)
        }
        return facts
    }

    /// Lines of `_meta`, with a prefix: the server chooses the names, and none may imitate a line of the bridge.
    static func meta(_ meta: FrameNode, read: Set<String>) -> [AskFacts.Line] {
        lines(of: meta, besides: harmlessMeta.union(read)).map { AskFacts.Line("_meta.\($0.label)", $0.value) }
    }

    /// Members outside `known`, as they came.
    static func lines(of node: FrameNode, besides known: Set<String>) -> [AskFacts.Line] {
        let names = node.names(atMost: memberLimit + 1)
        guard names.count <= memberLimit else { return [AskFacts.Line("all fields", node.compact.text)] }
        return names.filter { !known.contains($0) }.compactMap { name in
            guard let value = node.member(name), value.compact.text != "null" else { return nil }
            return AskFacts.Line(name, text(of: value))
        }
    }

    /// A string without its quotes; any other value as JSON.
    static func text(of node: FrameNode) -> String { node.string ?? node.compact.text }

    static func fitsTitle(_ text: String) -> Bool {
        text.unicodeScalars.count <= titleLimit && !text.contains(where: \.isNewline)
    }

    // MARK: Permissions

    /// Absolute paths anywhere in the value: Codex has several shapes, and may add more.
    static func paths(in node: FrameNode, depth: Int = 0) -> [String] {
        if let text = node.string { return text.hasPrefix("/") ? [text] : [] }
        guard depth < depthLimit else { return [] }
        if node.isArray { return node.elements.flatMap { paths(in: $0, depth: depth + 1) } }
        if node["kind"]?.holds("root") == true { return ["/"] }
        return node.names(atMost: memberLimit).flatMap { name in
            node.member(name).map { paths(in: $0, depth: depth + 1) } ?? []
        }
    }

    static func reachesNetwork(_ permissions: FrameNode) -> Bool {
        guard let network = permissions["network"], network.compact.text != "null" else { return false }
        return network["enabled"]?.flag != false
    }
}
