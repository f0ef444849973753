import AgentKit
import JSONReading
import Vocabulary

/// The details of an approval's `request` beside its command (openclaw.md#approvals). Unknown members are shown too, since they
/// may decide what a yes runs. The same members give the same facts from an event and from a list, in any order.
struct GatewayAsk {
    private(set) var command: String?
    private(set) var message = ""
    private(set) var facts = AskFacts()
    /// A line of `facts` names what would run, although the request has no command.
    private(set) var hasPlan = false

    /// Members about the request itself: who asks, where the answer is sent,
    /// how a client draws it. None changes what a yes runs.
    private static let harmless: Set = [
        "sessionKey", "sessionId", "runId", "toolCallId", "turnSourceChannel", "turnSourceTo", "turnSourceAccountId",
        "turnSourceThreadId", "allowedDecisions", "unavailableDecisions", "commandPreview", "commandSpans", "actions",
        "approvalReviewerDeviceIds",
    ]
    /// Members that the card shows in places of their own.
    private static let placed: Set = ["command", "title", "description", "severity", "host", "cwd"]
    /// Members with a label, in the order of the card.
    private static let named = [
        ("warningText", "warning"), ("nodeId", "node"), ("resolvedPath", "program"), ("commandArgv", "arguments"),
        ("envKeys", "environment"), ("pluginId", "plugin"), ("toolName", "tool"), ("agentId", "agent"),
        ("security", "security"), ("ask", "ask"),
    ]
    /// Members of a prepared run (`systemRunPlan`, `systemRunBinding`), each with the request's member that repeats it.
    private static let copies = [
        "argv": "commandArgv", "cwd": "cwd", "commandText": "command", "agentId": "agentId", "sessionKey": "sessionKey",
    ]
    private static let plans: Set = ["systemRunPlan", "systemRunBinding"]

    init(_ request: FrameNode?) {
        guard let request else { return }
        command = Self.command(of: request)
        facts.folder = request["cwd"]?.string
        let description = request["description"]?.string
        message = description ?? request["warningText"]?.string ?? ""
        guard let members = request.wholeMembers(atMost: 64) else {
            facts.lines = [AskFacts.Line("request", request.compact.text)]
            return
        }
        for (name, label) in Self.named {
            guard let value = request.member(name), !value.isNull else { continue }
            switch name {
            case "warningText" where description == nil && value.string != nil: continue
            case "resolvedPath" where value.string.map(isFirstWord) == true: continue
            case "commandArgv" where isCommand(value) || command?.utf8.elementsEqual(value.compact.text.utf8) == true:
                continue
            case "commandArgv": facts.lines.append(AskFacts.Line(label, arguments(value)))
            default: facts.lines.append(AskFacts.Line(label, value))
            }
        }
        let known = Self.harmless.union(Self.named.map(\.0))
        for (name, value) in members.sorted(by: { $0.name < $1.name }) where !known.contains(name) && !value.isNull {
            // A value that is not a string has no place on the card.
            if Self.placed.contains(name), value.string != nil { continue }
            if Self.plans.contains(name) {
                addPlan(name, value, of: request)
            } else {
                facts.lines.append(AskFacts.Line(name, value.compact.text))
            }
        }
    }

    /// The command, or nil if the request names none or an empty one.
    private static func command(of request: FrameNode) -> String? {
        if let command = request["command"], !command.isNull { return command.string.flatMap { $0.isEmpty ? nil : $0 } }
        return request["commandArgv"].flatMap { $0.elements.isEmpty ? nil : $0.compact.text }
    }

    /// Arguments as the card shows them. A shell that runs the command, as a node
    /// starts it, refers to the command instead of repeating it.
    private func arguments(_ argv: FrameNode) -> String {
        shellStart(argv).map { "\($0) (the command above)" } ?? argv.compact.text
    }

    private func shellStart(_ argv: FrameNode) -> String? {
        let words = argv.elements.compactMap(\.string)
        guard argv.elements.count == 3, words.count == 3, Self.shells.contains(words[0]),
            ["-c", "-lc"].contains(words[1]), let command, words[2].utf8.elementsEqual(command.utf8)
        else { return nil }
        return "\(words[0]) \(words[1])"
    }

    private static let shells = Set(["sh", "bash", "zsh"].flatMap { [$0, "/bin/\($0)", "/usr/bin/\($0)"] })

    /// Whether the text is the argument vector joined with spaces, as the gateway writes it for people.
    private func isJoined(_ text: FrameNode, _ argv: FrameNode?) -> Bool {
        guard let argv, let start = shellStart(argv), let text = text.string, let command else { return false }
        let quoted = "\"\(command.replacing("\"", with: "\\\""))\""
        return [command, quoted].contains { "\(start) \($0)".utf8.elementsEqual(text.utf8) }
    }

    /// Whether the command begins with this path, which then adds nothing.
    private func isFirstWord(_ path: String) -> Bool { command == path || command?.hasPrefix("\(path) ") == true }

    /// Whether the arguments, plain words joined with single spaces, are the command.
    private func isCommand(_ argv: FrameNode) -> Bool {
        let words = argv.elements.map(\.string)
        let isPlain = words.allSatisfy { $0.map { !$0.isEmpty && $0.utf8.allSatisfy(Self.isPlain) } == true }
        return isPlain && words.compactMap(\.self).joined(separator: " ") == command
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "-_./:=@%+,".utf8.contains(byte)
        }
    }

    /// Adds the prepared run, which is what the gateway executes, less the parts that repeat the request.
    private mutating func addPlan(_ name: String, _ plan: FrameNode, of request: FrameNode) {
        guard let members = plan.wholeMembers(atMost: 64) else {
            facts.lines.append(AskFacts.Line(name, plan.compact.text))
            return
        }
        for (part, value) in members.sorted(by: { $0.name < $1.name })
        where !value.isNull && part != "commandPreview" && part != "policySnapshot" {
            let copy = Self.copies[part].flatMap { request.member($0) }
            if part == "argv", !value.elements.isEmpty { hasPlan = true }
            if copy?.compact == value.compact || part == "argv" && copy == nil && isCommand(value) { continue }
            if part == "commandText", isJoined(value, plan["argv"] ?? request["commandArgv"]) { continue }
            let text = part == "argv" ? arguments(value) : value.compact.text
            facts.lines.append(AskFacts.Line("\(name).\(part)", text))
        }
    }
}
