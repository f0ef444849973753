package import BridgeModel
import JSONReading

/// The answer of a scheduler without its words: what the person or the agent wrote stays with the agent, since the relay reads the answer.
/// Numbers, flags and the few texts that say when a routine runs are kept.
package enum RoutineCover {
    private static let kept: Set = [
        "id", "jobId", "name", "kind", "at", "expr", "tz", "sessionTarget", "wakeMode", "agentId", "status",
        "lastStatus",
        "lastRunStatus", "action", "mode", "nextRunAt", "lastRunAt", "createdAt", "updatedAt",
    ]
    private static let memberLimit = 200
    private static let depthLimit = 16

    /// What cannot be read is empty.
    package static func covered(_ document: JSONText) -> JSONText {
        let bytes = Array(document.text.utf8)
        let parser = FrameParser()
        return bytes.withUnsafeBytes { buffer in
            parser.parse(buffer, capacity: buffer.count).flatMap { text(of: $0, "", depth: 0) }
        } ?? JSONText(unchecked: "{}")
    }

    /// Nil: it says something.
    private static func text(of node: FrameNode, _ name: String, depth: Int) -> JSONText? {
        if node.string != nil { return kept.contains(name) ? node.compact : nil }
        guard node.isObject || node.isArray else { return node.compact }
        guard depth < depthLimit else { return nil }
        if node.isArray {
            let parts = node.elements.compactMap { text(of: $0, name, depth: depth + 1)?.text }
            return JSONText(unchecked: "[" + parts.joined(separator: ",") + "]")
        }
        let members = node.names(atMost: memberLimit).compactMap { member in
            node.member(member).flatMap { text(of: $0, member, depth: depth + 1) }.map {
                JSONText.string(member).text + ":" + $0.text
            }
        }
        return JSONText(unchecked: "{" + members.joined(separator: ",") + "}")
    }
}
