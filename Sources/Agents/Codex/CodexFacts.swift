import JSONReading
import Vocabulary

/// What a request says beside its command, diff or question (codex.md#server-requests). The bridge declares to Codex that its experimental fields are
/// understood, so each field is either read, or known to change nothing about what a yes does, or a line of the card.
enum CodexFacts {
    /// Names of the request, and the server's suggestions for rules that the bridge never writes.
    private static let harmless: Set = [
        "threadId", "turnId", "itemId", "approvalId", "elicitationId", "startedAtMs", "availableDecisions",
        "proposedExecpolicyAmendment", "proposedNetworkPolicyAmendments",
        // A reading of the command for display.
        "commandActions",
    ]
    /// Names in the `_meta` of a tool's approval; the parameters themselves are its input.
    private static let harmlessMeta: Set = ["codex_approval_kind", "persist", "tool_description"]
    /// More members are shown as one value.
    private static let memberLimit = 100
    private static let depthLimit = 16
    /// A title has room for this; a longer text has a line of its own.
    private static let titleLimit = 160

    /// `read`: what the card shows elsewhere.
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

    /// The server chooses the names, which must not read as lines of the bridge's own.
    static func meta(_ meta: FrameNode, read: Set<String>) -> [AskFacts.Line] {
        lines(of: meta, besides: harmlessMeta.union(read)).map { AskFacts.Line("_meta.\($0.label)", $0.value) }
    }

    /// The members that were not read, as they came.
    static func lines(of node: FrameNode, besides known: Set<String>) -> [AskFacts.Line] {
        let names = node.names(atMost: memberLimit + 1)
        guard names.count <= memberLimit else { return [AskFacts.Line("all fields", node.compact.text)] }
        return names.filter { !known.contains($0) }.compactMap { name in
            guard let value = node.member(name), value.compact.text != "null" else { return nil }
            return AskFacts.Line(name, text(of: value))
        }
    }

    /// As it came: a string without its quotes, anything else as JSON.
    static func text(of node: FrameNode) -> String { node.string ?? node.compact.text }

    static func fitsTitle(_ text: String) -> Bool {
        text.unicodeScalars.count <= titleLimit && !text.contains(where: \.isNewline)
    }

    // MARK: Permissions

    /// Absolute paths anywhere in it: there are several shapes, and more may come.
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
