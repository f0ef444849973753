import AgentKit
import JSONReading
import Vocabulary

/// What an approval's `request` says beside its command (openclaw.md#approvals). A member that is not known here is shown too, since it may
/// decide; the same members give the same facts in an event and in a list, whatever their order.
struct GatewayAsk {
    private(set) var command: String?
    private(set) var message = ""
    private(set) var facts = AskFacts()
    /// Some line says what would run, where there is no command.
    private(set) var hasPlan = false

    /// Of the request itself: who asks, where its answer goes, how it is drawn. None of it changes what a yes runs.
    private static let harmless: Set = [
        "sessionKey", "sessionId", "runId", "toolCallId", "turnSourceChannel", "turnSourceTo", "turnSourceAccountId",
        "turnSourceThreadId", "allowedDecisions", "unavailableDecisions", "commandPreview", "commandSpans", "actions",
        "approvalReviewerDeviceIds",
    ]
    /// Shown elsewhere on the card.
    private static let placed: Set = ["command", "title", "description", "severity", "host", "cwd"]
    /// By these names, in this order.
    private static let named = [
        ("warningText", "warning"), ("nodeId", "node"), ("resolvedPath", "program"), ("commandArgv", "arguments"),
        ("envKeys", "environment"), ("pluginId", "plugin"), ("toolName", "tool"), ("agentId", "agent"),
        ("security", "security"), ("ask", "ask"),
    ]
    /// Of a prepared run (`systemRunPlan`, `systemRunBinding`), what the request has under a name of its own.
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
            // What is no text has no place there.
            if Self.placed.contains(name), value.string != nil { continue }
            if Self.plans.contains(name) {
                addPlan(name, value, of: request)
            } else {
                facts.lines.append(AskFacts.Line(name, value.compact.text))
            }
        }
    }

    /// Nil: it names none, or an empty one.
    private static func command(of request: FrameNode) -> String? {
        if let command = request["command"], !command.isNull { return command.string.flatMap { $0.isEmpty ? nil : $0 } }
        return request["commandArgv"].flatMap { $0.elements.isEmpty ? nil : $0.compact.text }
    }

    /// A shell that is given the command, as a node runs it: the command is not said again.
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

    /// Arguments with a space between them, as the gateway writes them for people.
    private func isJoined(_ text: FrameNode, _ argv: FrameNode?) -> Bool {
        guard let argv, let start = shellStart(argv), let text = text.string, let command else { return false }
        let quoted = "\"\(command.replacing("\"", with: "\\\""))\""
        return [command, quoted].contains { "\(start) \($0)".utf8.elementsEqual(text.utf8) }
    }

    /// Where the command begins with the same path, it says no more.
    private func isFirstWord(_ path: String) -> Bool { command == path || command?.hasPrefix("\(path) ") == true }

    /// Plain words, which the command has with one space between them.
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

    /// The gateway runs the plan; where it says what the request says, it is shown once.
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
