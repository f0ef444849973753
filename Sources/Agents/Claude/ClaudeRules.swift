import AgentKit
import JSONReading
import Vocabulary

/// Grants of an "always": rules that hold in the process alone (claude-code.md#always).
enum ClaudeRules {
    static let editors: Set = ["Edit", "MultiEdit", "NotebookEdit", "Write"]
    private static let edits = JSONText(
        unchecked: #"{"type":"addRules","rules":[{"toolName":"Edit","ruleContent":"/**"}],"#
            + #""behavior":"allow","destination":"session"}"#)
    private static let ruleLimit = 20

    /// Empty if none can be offered. A protected file asks whatever was granted, and the process's offer for an edit outside its
    /// folder opens more than that file.
    static func always(_ tool: String, _ request: FrameNode) -> [JSONText] {
        let offers = request["permission_suggestions"]?.elements ?? []
        guard !offers.isEmpty, request["decision_reason_type"]?.holds("safetyCheck") != true else { return [] }
        if editors.contains(tool) { return isOutside(request, offers) ? [] : [edits] }
        return offers.compactMap { entry($0, tool) }
    }

    private static func isOutside(_ request: FrameNode, _ offers: [FrameNode]) -> Bool {
        request["decision_reason_type"]?.holds("workingDir") == true
            || offers.contains { $0["type"]?.holds("addDirectories") == true }
    }

    /// One malformed entry would make the process ignore all of them.
    private static func entry(_ offer: FrameNode, _ tool: String) -> JSONText? {
        guard offer["type"]?.holds("addRules") == true, offer["behavior"]?.holds("allow") == true else { return nil }
        let rules = offer["rules"]?.elements ?? []
        guard (1...ruleLimit).contains(rules.count) else { return nil }
        var objects: [[UInt8]] = []
        for rule in rules {
            guard let name = rule["toolName"]?.string, !name.isEmpty else { return nil }
            let content = rule["ruleContent"]?.string
            // Without content the rule would allow every command, which the card does not say.
            if name == "Bash", content?.isEmpty ?? true { return nil }
            var object = JSONObjectWriter()
            object.string("toolName", name)
            object.string("ruleContent", content)
            objects.append(object.finish())
        }
        var entry = JSONObjectWriter()
        entry.string("type", "addRules")
        entry.objects("rules", objects)
        entry.string("behavior", "allow")
        entry.string("destination", "session")
        return JSONText(unchecked: String(decoding: entry.finish(), as: UTF8.self))
    }

    /// The words of a card about an "always". Nil if none is offered.
    static func words(_ always: [JSONText], _ tool: String) -> String? {
        guard !always.isEmpty else { return nil }
        if editors.contains(tool) { return "all edits in this folder, those by > in commands too" }
        let parser = FrameParser()
        let rules = always.flatMap { entry in
            let bytes = Array(entry.text.utf8)
            return bytes.withUnsafeBytes { buffer in
                (parser.parse(buffer, capacity: buffer.count)?["rules"]?.elements ?? []).map { rule in
                    let name = rule["toolName"]?.string ?? "?"
                    return rule["ruleContent"]?.string.map { "\(name)(\($0))" } ?? name
                }
            }
        }
        return rules.joined(separator: ", ")
    }
}
