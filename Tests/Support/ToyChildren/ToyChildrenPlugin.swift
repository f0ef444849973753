package import AgentKit
import ConfigurationFile
package import JSONReading
import Vocabulary

/// A toy agent of programs, one for each chat, to show what the least plug-in is.
package struct ToyChildrenPlugin: AgentPlugin {
    private struct Values: AgentValues {
        var command: [String]
    }

    package init() {}

    package var kind: AgentKind { AgentKind(rawValue: "toy-children") }
    package var name: String { "the toy of programs" }
    package func recognises(_ type: String, _ root: FrameNode) -> Bool { type == "toy-child" }
    package func decoder() -> any AgentDecoder { ToyChildrenDecoder() }
    package var keys: [String] { ["command"] }
    package var isChild: Bool { true }
    package var isLive: Bool { true }
    package func settings(_ section: inout AgentSection) -> any AgentValues {
        let form = ValueForm<[String]>.words(atMost: 64, "a program and its arguments, as a list of texts")
        return Values(command: section.value("command", as: form, else: ["toy"]))
    }
    package func live(_ settings: AgentSettings, in context: AgentContext) -> (any LiveAgent)? {
        let command = (settings.values as? Values)?.command ?? ["toy"]
        return PlainAgent(kind) { $0.carry(ToyChildrenMachine(command, context.connection)) }
    }
}

struct ToyChildrenDecoder: AgentDecoder {
    private let parser = FrameParser()
    private(set) var unknown = UnknownTally()
    var nextDeadline: Instant? { nil }
    mutating func deadlineHit(at now: Instant) -> [Observation] { [] }

    mutating func received(_ frame: UnsafeRawBufferPointer, capacity: Int, at now: Instant) -> [Observation] {
        guard let root = parser.parse(frame, capacity: capacity), root.isObject else { return [] }
        return observation(root)
    }

    /// A program speaks of its own chat alone.
    func observation(_ root: FrameNode) -> [Observation] {
        let (run, id) = (root["run"]?.string.map { RunID($0) }, root["id"]?.string ?? "")
        let text = root["text"]?.string ?? ""
        let end = RunEnd(text: text, reason: root["state"]?.holds("aborted") == true ? .aborted : .stop)
        let event: RunEvent
        switch root["is"]?.string {
        case "text": event = .text(.append(text))
        case "tool": event = .tool(.started(ToolStart(call: ToolCallID(id), name: text)))
        case "tooled":
            event = .tool(.finished(ToolResult(call: ToolCallID(id), status: .completed, result: .string(text))))
        case "ask":
            event = .approvalRequested(ApprovalRequest(id: ApprovalID(id), subject: .permission, title: text))
        case "answered":
            event = .approvalSettled(.init(id: ApprovalID(id), outcome: .decided(text == "yes" ? .approve : .deny)))
        case "end": event = .finished(end)
        case "found":
            let isKnown = root["state"]?.holds("unknown") == false
            let isRunning = root["state"]?.holds("running") == true
            let found: RunLookup = isRunning ? .running(text: text) : isKnown ? .ended(end) : .failed(Self.gone)
            return run.map { [.lookedUp($0, found)] } ?? []
        case "stopped": return run.map { [.abortAnswered($0)] } ?? []
        default: return []
        }
        return [.signal(RunSignal(run: run, session: nil, event: event))]
    }

    /// What a program was doing ends with it, and is not begun again.
    static let gone = RunFailure(kind: .agentGone, message: "the toy's program ended while it worked")

    mutating func sent(_ frame: UnsafeRawBufferPointer, capacity: Int, at now: Instant) -> [Observation] {
        guard let root = parser.parse(frame, capacity: capacity), let verb = root["do"]?.string else { return [] }
        let (id, text) = (root["id"]?.string ?? "", root["text"]?.string ?? "")
        return switch verb {
        case "prompt": [.prompt(AgentPrompt(session: AgentSession("toy"), run: RunID(id), text: text))]
        case "stop": [.stopSent(session: nil, run: RunID(id))]
        case "answer": [.decisionSent(ApprovalID(id), text == "yes" ? .approve : .deny)]
        default: []
        }
    }
}
