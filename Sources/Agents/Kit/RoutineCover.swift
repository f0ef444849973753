import JSONReading
package import Vocabulary

/// A scheduler's answer without its words: the relay reads the answer, and words of the person or the agent stay with the agent.
/// Known members keep ids, numbers, flags and the scheduler's own words. A person may have named any other member, or its value may
/// hold written text.
package enum RoutineCover {
    /// Members that hold a word of the scheduler, a time or an id.
    private static let texts: Set = [
        "id", "jobId", "runId", "kind", "at", "expr", "tz", "wakeMode", "status", "lastStatus", "lastRunStatus",
        "completionStatus", "deliveryStatus", "action", "mode", "nextRunAt", "lastRunAt", "createdAt", "updatedAt",
    ]
    private static let numbers: Set = [
        "enabled", "deleteAfterRun", "everyMs", "anchorMs", "staggerMs", "timeoutSeconds", "nextRunAtMs", "lastRunAtMs",
        "runningAtMs", "lastDurationMs", "consecutiveErrors", "createdAtMs", "updatedAtMs", "nextWakeAtMs", "ts",
        "runAtMs",
        "durationMs", "total", "limit", "offset", "nextOffset", "hasMore", "jobs", "ok", "ran", "removed", "enqueued",
        "delivered",
    ]
    private static let containers: Set = ["jobs", "job", "entries", "schedule", "payload", "delivery", "state"]
    /// Parameters of the list that select pages.
    private static let pages: Set = ["includeDisabled", "enabled", "limit", "offset"]
    private static let memberLimit = 200
    private static let depthLimit = 16

    /// Parameters of a list without its search: a searched list would reveal its words one by one.
    package static func bare(_ parameters: JSONText, for verb: String) -> JSONText {
        guard verb == "list" else { return parameters }
        let bytes = Array(parameters.text.utf8)
        let parser = FrameParser()
        return bytes.withUnsafeBytes { buffer in
            guard let root = parser.parse(buffer, capacity: buffer.count), root.isObject else { return parameters }
            let members = root.names(atMost: memberLimit).filter(pages.contains).compactMap { name in
                root.member(name).map { JSONText.string(name).text + ":" + $0.compact.text }
            }
            return JSONText(unchecked: "{" + members.joined(separator: ",") + "}")
        }
    }

    package static func covered(_ reply: AgentReply) -> AgentReply {
        switch reply {
        case .document(let document): .document(covered(document))
        case .refusedInItsWords:
            .refused(
                message:
                    "The agent's scheduler refused this. The reason may hold words of a routine, and is not sent (routines)."
            )
        case .refused, .models: reply
        }
    }

    /// An unreadable document becomes an empty object.
    package static func covered(_ document: JSONText) -> JSONText {
        let bytes = Array(document.text.utf8)
        let parser = FrameParser()
        return bytes.withUnsafeBytes { buffer in
            parser.parse(buffer, capacity: buffer.count).flatMap { text(of: $0, "", depth: 0) }
        } ?? JSONText(unchecked: "{}")
    }

    /// Nil if the value may hold words.
    private static func text(of node: FrameNode, _ name: String, depth: Int) -> JSONText? {
        if node.string != nil { return texts.contains(name) ? node.compact : nil }
        guard node.isObject || node.isArray else {
            return numbers.contains(name) || texts.contains(name) ? node.compact : nil
        }
        guard depth < depthLimit, depth == 0 || containers.contains(name) else { return nil }
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
