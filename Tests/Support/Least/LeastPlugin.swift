package import AgentKit
import ConfigurationFile
import ConversationEngine
package import JSONReading
import Vocabulary

/// The made-up program of `LeastDialect` as an agent, which no program registers: the least plug-in of an agent on the engine.
package struct LeastPlugin: AgentPlugin {
    private struct Values: AgentValues {
        var command: [String]
    }

    package init() {}

    package var kind: AgentKind { AgentKind(rawValue: "least") }
    package var name: String { "Least" }
    package func recognises(_ type: String, _ root: FrameNode) -> Bool { type == kind.rawValue }
    package func decoder() -> any AgentDecoder { LeastDecoder() }
    package var keys: [String] { ["command"] }
    package func settings(_ section: inout AgentSection) -> any AgentValues {
        let form = ValueForm<[String]>.words(atMost: 64, "a program and its arguments, as a list of texts")
        return Values(command: section.value("command", as: form, else: ["least"]))
    }
    package var isChild: Bool { true }
    package var isLive: Bool { true }
    package func live(_ settings: AgentSettings, in context: AgentContext) -> (any LiveAgent)? {
        var least = LeastDialect.Settings()
        least.folder = "/"
        least.command = (settings.values as? Values)?.command ?? least.command
        return PlainAgent(kind) { [least, connection = context.connection.text] host in
            host.carry(ConversationMachine<LeastDialect>(least, checkOf: connection))
        }
    }
}

/// Reads recordings: the frames by `LeastReading`, the bridge's lines by their words.
struct LeastDecoder: AgentDecoder {
    private let parser = FrameParser()
    private var reading = LeastReading(session: AgentSession("least"))
    private(set) var unknown = UnknownTally()
    var nextDeadline: Instant? { nil }
    mutating func deadlineHit(at now: Instant) -> [Observation] { [] }

    mutating func received(_ frame: UnsafeRawBufferPointer, capacity: Int, at now: Instant) -> [Observation] {
        guard let root = parser.parse(frame, capacity: capacity), root.isObject else { return [] }
        var reports: [Report<String>] = []
        reading.hears(root, into: &reports)
        return reports.flatMap { report -> [Observation] in
            switch report {
            case .seen(let observations): return observations
            case .asks(let ask):
                guard case .card(let request) = ask.content else { return [] }
                let event = RunEvent.approvalRequested(request)
                return [.signal(RunSignal(run: ask.run, session: reading.session, event: event))]
            default: return []
            }
        }
    }

    mutating func sent(_ frame: UnsafeRawBufferPointer, capacity: Int, at now: Instant) -> [Observation] {
        let words = String(decoding: frame, as: UTF8.self).split(separator: " ", maxSplits: 3).map(String.init)
        switch words.count {
        case 4 where words[1] == "prompt":
            return [.prompt(AgentPrompt(session: reading.session, run: RunID(words[2]), text: words[3]))]
        case 3 where words[0] == "settle":
            return [.decisionSent(ApprovalID(words[1]), words[2] == "yes" ? .approve : .deny)]
        case 2 where words[1] == "stop": return reading.going.map { [.stopSent(session: nil, run: $0)] } ?? []
        default: return []
        }
    }
}
