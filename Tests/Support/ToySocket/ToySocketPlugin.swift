package import AgentKit
import ConfigurationFile
package import JSONReading
import Vocabulary

/// A toy agent behind one socket, to show what the least plug-in is. Its frames are lists of words in an object with its type.
package struct ToySocketPlugin: AgentPlugin {
    package static let kind = AgentKind(rawValue: "toy-socket")

    private struct Values: AgentValues {
        var address: WebAddress
    }

    package init() {}

    package var kind: AgentKind { Self.kind }
    package var name: String { "the toy on a socket" }
    package func recognises(_ type: String, _ root: FrameNode) -> Bool { type == kind.rawValue }
    package func decoder() -> any AgentDecoder { ToySocketDecoder() }
    package var keys: [String] { ["url"] }
    package func settings(_ section: inout AgentSection) -> any AgentValues {
        Values(
            address: section.value("url", as: section.address([.ws, .wss]), else: WebAddress(.ws, "127.0.0.1", 7070)))
    }
    package var isLive: Bool { true }
    package func live(_ settings: AgentSettings, in context: AgentContext) -> (any LiveAgent)? {
        guard let values = settings.values as? Values else { return nil }
        return PlainAgent(kind) { host in
            host.carry(ToySocketMachine(url: values.address.description, connection: context.connection.text))
        }
    }
}

struct ToySocketDecoder: AgentDecoder {
    private let parser = FrameParser()
    private(set) var unknown = UnknownTally()
    var nextDeadline: Instant? { nil }

    mutating func deadlineHit(at now: Instant) -> [Observation] { [] }

    mutating func words(_ frame: UnsafeRawBufferPointer, _ capacity: Int) -> [String] {
        let words = parser.parse(frame, capacity: capacity)?["words"]?.elements.map { $0.string ?? "" } ?? []
        if words.count < 2 { unknown.countMalformed() }
        // Room for all that any verb has.
        return words + Array(repeating: "", count: max(0, 5 - words.count))
    }

    mutating func received(_ frame: UnsafeRawBufferPointer, capacity: Int, at now: Instant) -> [Observation] {
        observations(words(frame, capacity))
    }

    func observations(_ words: [String]) -> [Observation] {
        let run = RunID(words[1])
        func signal(_ event: RunEvent) -> [Observation] { [.signal(RunSignal(run: run, session: nil, event: event))] }
        switch words[0] {
        case "taken": return [.sendAnswered(asked: run, .accepted(run: run))]
        case "text": return signal(.text(.append(words[2])))
        case "tool": return signal(.tool(.started(ToolStart(call: ToolCallID(words[2]), name: words[3]))))
        case "tooled":
            let result = ToolResult(call: ToolCallID(words[2]), status: .completed, result: .string(words[3]))
            return signal(.tool(.finished(result)))
        case "ask":
            return signal(
                .approvalRequested(ApprovalRequest(id: ApprovalID(words[2]), subject: .permission, title: words[3])))
        case "decided":
            let outcome = ApprovalSettlement.Outcome.decided(words[2] == "yes" ? .approve : .deny)
            return [
                .signal(
                    RunSignal(
                        run: nil, session: nil,
                        event: .approvalSettled(.init(id: ApprovalID(words[1]), outcome: outcome))))
            ]
        case "end": return signal(.finished(RunEnd(text: words[2], reason: words[3] == "aborted" ? .aborted : .stop)))
        case "stopped": return [.abortAnswered(run)]
        case "found":
            let end = RunEnd(text: words[3], reason: words[2] == "aborted" ? .aborted : .stop)
            let isRunning = words[2] == "running"
            return [
                .lookedUp(run, words[2] == "unknown" ? .unknown : isRunning ? .running(text: words[3]) : .ended(end))
            ]
        default: return []
        }
    }

    mutating func sent(_ frame: UnsafeRawBufferPointer, capacity: Int, at now: Instant) -> [Observation] {
        let words = words(frame, capacity)
        switch words[0] {
        case "prompt":
            return [.prompt(AgentPrompt(session: AgentSession(words[2]), run: RunID(words[1]), text: words[3]))]
        case "stop": return [.stopSent(session: nil, run: RunID(words[1]))]
        case "decide": return [.decisionSent(ApprovalID(words[1]), words[2] == "yes" ? .approve : .deny)]
        default: return []
        }
    }
}
