import AgentKit
import Vocabulary

/// Recorded frames of one conversation.
final class Frames {
    struct Heard {
        var text: String?
        var prompts: [String] = []
        var tools = 0
        var approvals = 0
        var decisions = 0
    }

    private var frames: [(isIncoming: Bool, bytes: [UInt8])] = []

    func add(_ isIncoming: Bool, _ bytes: [UInt8]) {
        var bytes = bytes
        bytes.reserveCapacity(bytes.count + 64)
        frames.append((isIncoming, bytes))
    }

    func replayed(by plugin: any AgentPlugin) -> Heard {
        var decoder = plugin.decoder()
        var heard = Heard()
        var said = [""]
        for (number, frame) in frames.enumerated() {
            let now = Instant.zero + .milliseconds(Int64(number))
            let observations = frame.bytes.withUnsafeBytes { bytes in
                frame.isIncoming
                    ? decoder.received(bytes, capacity: frame.bytes.capacity, at: now)
                    : decoder.sent(bytes, capacity: frame.bytes.capacity, at: now)
            }
            for observation in observations { Self.take(observation, &heard, &said) }
        }
        // A decoder may recognise an end only because nothing follows it.
        if let deadline = decoder.nextDeadline {
            for observation in decoder.deadlineHit(at: deadline) { Self.take(observation, &heard, &said) }
        }
        return heard
    }

    private static func take(_ observation: Observation, _ heard: inout Heard, _ said: inout [String]) {
        switch observation {
        case .prompt(let prompt): heard.prompts.append(prompt.text)
        case .decisionSent, .answerSent: heard.decisions += 1
        case .signal(let signal):
            switch signal.event {
            case .text(.append(let more)): said[said.count - 1] += more
            case .text(.snapshot(let all)): said = [all]
            case .text(.segment(let newest)), .text(.replaced(let newest)): said[said.count - 1] = newest
            case .text(.segmentEnded(let whole)):
                said[said.count - 1] = whole ?? said[said.count - 1]
                said.append("")
            case .tool: heard.tools += 1
            case .approvalRequested: heard.approvals += 1
            case .finished(let end):
                let all = said.filter { !$0.isEmpty }.joined(separator: "\n\n")
                heard.text = end.scope == .run ? end.text ?? all : all
            default: break
            }
        default: break
        }
    }

    /// Frames that the registry attributes to another agent.
    func strangers(to plugin: any AgentPlugin) -> [String] {
        let recognition = AgentRecognition(ContractTable.registry)
        let owners = frames.compactMap { frame in
            frame.bytes.withUnsafeBytes { recognition.agent(of: $0, capacity: frame.bytes.capacity)?.kind }
        }
        if owners.isEmpty { return ["no frame is recognised"] }
        return owners.filter { $0 != plugin.kind }.map { "a frame counts as \($0.rawValue)'s" }
    }
}
