import AgentKit
import JSONReading
import Vocabulary

/// The card of a tool call that a person must allow, with everything that matters for the decision (claude-code.md#permissions).
enum ClaudeCard {
    private static let titleLimit = 160
    private static let memberLimit = 100
    /// Members of a request that the card shows elsewhere, or that change nothing about a yes.
    private static let read: Set = [
        "subtype", "tool_name", "display_name", "input", "tool_use_id", "permission_suggestions", "title",
        "description", "decision_reason", "decision_reason_type", "decision_reason_code", "decision_reason_rule_source",
        "blocked_path", "agent_id", "mcp_server", "server_policy_ask_only", "classifier_approvable",
        "requires_user_interaction",
    ]

    static func request(_ id: String, _ tool: String, _ request: FrameNode, always: String?) -> ApprovalRequest {
        let input = request["input"].flatMap { $0.isNull ? nil : $0 }
        let isCommand = tool == "Bash" && input?["command"]?.string?.isEmpty == false
        let change = input.flatMap { ClaudeChange(tool, $0) }
        let asked = change == nil ? AskedInput(input) : nil
        var facts = asked?.facts ?? AskFacts()
        if let change { facts = change.facts }
        facts.leavesSandbox = input?["dangerouslyDisableSandbox"]?.flag == true
        facts.reachesNetwork = ["WebFetch", "WebSearch"].contains(tool)
        facts.paths += [input?["notebook_path"], request["blocked_path"]].compactMap { $0?.string }.filter {
            $0.hasPrefix("/") && !facts.paths.contains($0)
        }
        let description = description(request, input)
        facts.lines += lines(request, description: change == nil ? nil : description)
        if let always { facts.lines.append(AskFacts.Line("Always, until its process ends", always)) }
        var card = ApprovalRequest(
            id: ApprovalID(id), subject: isCommand ? .exec : .permission,
            title: title(tool, request, isCommand: isCommand), message: change?.difference ?? description ?? "",
            command: asked?.command, call: request["tool_use_id"]?.string.map { ToolCallID($0) },
            allowed: always == nil ? [.approve, .deny] : nil, facts: facts)
        // Without an input nothing says what the tool would get.
        card.isIncomplete = input == nil
        return card
    }

    private static func title(_ tool: String, _ request: FrameNode, isCommand: Bool) -> String {
        if let title = request["title"]?.string.map(plain), fits(title) { return title }
        if isCommand { return "Run a command?" }
        let name = request["display_name"]?.string.map(plain) ?? tool
        return fits(name) ? "Allow \(name)?" : "Allow a tool?"
    }

    private static func fits(_ title: String) -> Bool {
        !title.isEmpty && title.unicodeScalars.count <= titleLimit && !title.contains(where: \.isNewline)
    }

    /// The description of a request. Nil if the input or its path says the same.
    private static func description(_ request: FrameNode, _ input: FrameNode?) -> String? {
        guard let text = request["description"]?.string.map(plain), !text.isEmpty else { return nil }
        if input?["description"]?.equals(text) == true { return nil }
        if input?["file_path"]?.string?.hasSuffix(text) == true { return nil }
        return text
    }

    private static func lines(_ request: FrameNode, description: String?) -> [AskFacts.Line] {
        var lines: [AskFacts.Line] = []
        func add(_ label: String, _ text: String?) {
            if let text, !text.isEmpty { lines.append(AskFacts.Line(label, text)) }
        }
        // The display name does not identify the tool.
        if let tool = request["tool_name"]?.string, tool.hasPrefix("mcp__") { add("tool", tool) }
        add("description", description)
        if let title = request["title"]?.string.map(plain), !fits(title) { add("title", title) }
        add("reason", request["decision_reason"]?.string.map(plain))
        if request["decision_reason_type"]?.holds("safetyCheck") == true { add("protected", "yes") }
        add("blocked path", request["blocked_path"]?.string)
        add("agent", request["agent_id"]?.string)
        if let server = request["mcp_server"], server.isObject { lines.append(AskFacts.Line("MCP server", server)) }
        let names = request.names(atMost: memberLimit + 1)
        guard names.count <= memberLimit else { return lines + [AskFacts.Line("all fields", request.compact.text)] }
        for name in names where !read.contains(name) {
            guard let value = request.member(name), !value.isNull else { continue }
            lines.append(AskFacts.Line(name, value))
        }
        return lines
    }

    /// The text without escapes of a terminal.
    static func plain(_ text: String) -> String {
        guard text.unicodeScalars.contains("\u{1B}") else { return text }
        var plain = String.UnicodeScalarView()
        var rest = text.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            guard scalar == "\u{1B}" else {
                plain.append(scalar)
                continue
            }
            switch rest.first {
            case "[":
                rest = rest.dropFirst().drop { !(0x40...0x7E).contains($0.value) }.dropFirst()
            case "]":
                rest = rest.drop { $0.value != 0x07 && $0.value != 0x1B }
                let isLong = rest.first?.value == 0x1B
                rest = rest.dropFirst(isLong ? 2 : 1)
            default: rest = rest.dropFirst()
            }
        }
        return String(plain)
    }
}

/// A change to a file by a tool that is known to write it: every line of the change, with a mark in front.
struct ClaudeChange {
    let difference: String
    let facts: AskFacts

    /// Nil if the tool is another, or its input has an unknown shape.
    init?(_ tool: String, _ input: FrameNode) {
        guard let members = input.wholeMembers(atMost: 32), let path = input["file_path"]?.string, !path.isEmpty else {
            return nil
        }
        var shown: Set<String> = ["file_path"]
        switch tool {
        case "Edit":
            guard let old = input["old_string"]?.string, let new = input["new_string"]?.string else { return nil }
            shown.formUnion(["old_string", "new_string"])
            if input["replace_all"]?.flag == false { shown.insert("replace_all") }
            difference = [Self.marked("-", old), Self.marked("+", new)].filter { !$0.isEmpty }.joined(separator: "\n")
        case "Write":
            guard let content = input["content"]?.string else { return nil }
            shown.insert("content")
            difference = content.isEmpty ? "The file becomes empty." : Self.marked("+", content)
        default: return nil
        }
        var facts = AskFacts(lines: [AskFacts.Line("file", path)], paths: path.hasPrefix("/") ? [path] : [])
        for (name, value) in members where !shown.contains(name) {
            facts.lines.append(AskFacts.Line("input.\(name)", value))
        }
        self.facts = facts
    }

    /// A text that ends in a line break gets an empty last line, to tell it from one that does not.
    private static func marked(_ mark: String, _ text: String) -> String {
        guard !text.isEmpty else { return "" }
        // Split by bytes: a carriage return and a line feed are one character.
        return text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false).map { mark + String(Substring($0)) }
            .joined(separator: "\n")
    }
}
