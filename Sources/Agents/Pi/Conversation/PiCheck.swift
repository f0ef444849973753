import AgentKit
import JSONReading
import Vocabulary

/// `doctor`'s look at pi: it is started without a session, asked for its state, and ended.
struct PiCheck {
    private static let limit = Duration.seconds(30)
    static let channel = ChannelID(0)

    private let settings: PiSettings
    private let connection: String
    private var deadline: Instant?
    private var isOver = false

    init(_ settings: PiSettings, connection: String) {
        self.settings = settings
        self.connection = connection
    }

    var nextDeadline: Instant? { isOver ? nil : deadline }

    mutating func begin(at now: Instant) -> [AgentOrder] {
        deadline = now + Self.limit
        return [.open(Self.channel, .child(settings.checkPlan))]
    }

    mutating func happened(_ event: ChannelEvent) -> [AgentOrder] {
        switch event {
        case .spawned: [.send(Self.channel, PiFrames.state("sb-check"))]
        case .failed(let message, _): conclude(failed: message, .agentNotInstalled, isOpen: false)
        case .exited(let end, let lastWords):
            conclude(failed: end.words(lastWords), .agentNotInitialised, isOpen: false)
        case .opened, .heard, .skipped, .refused, .closed, .waits,
            .wanted:
            []
        }
    }

    mutating func received(_ root: FrameNode) -> [AgentOrder] {
        guard root["id"]?.holds("sb-check") == true else { return [] }
        guard root["success"]?.flag == true else {
            return conclude(
                failed: root["error"]?.string ?? "it refused get_state", .agentNotInitialised, isOpen: true)
        }
        let model = root["data"]?["model"]?["id"]?.string.map { " with \($0)" } ?? ""
        return conclude(DoctorFinding(.agent, .ok, "pi runs (\(settings.program))\(model)", connection: connection))
    }

    mutating func timePassed(at now: Instant) -> [AgentOrder] {
        guard let nextDeadline, nextDeadline <= now else { return [] }
        return conclude(failed: "it did not answer within 30 seconds", .agentUnreachable, isOpen: true)
    }

    private mutating func conclude(failed reason: String, _ code: ExitCode, isOpen: Bool) -> [AgentOrder] {
        let finding = DoctorFinding(
            .agent, .failed, "pi cannot be used: \(reason)",
            remedy:
                "install pi, or name the program by `agent.command` or PI_COMMAND, and try `\(settings.program)` in a terminal",
            connection: connection, exitCode: code)
        return conclude(finding, isOpen: isOpen)
    }

    private mutating func conclude(_ finding: DoctorFinding, isOpen: Bool = true) -> [AgentOrder] {
        guard !isOver else { return [] }
        isOver = true
        return [.finding(finding)] + (isOpen ? [.close(Self.channel, .child(atOnce: false))] : []) + [.done]
    }
}
