import AgentHosting
import AgentKit
import Agents
import BridgeService
import Links
import Locking
import Vocabulary

/// Checks of `doctor` on a connection's agent.
struct DoctorAgent {
    /// Longer than an agent has to answer a check.
    private static let patience = Duration.seconds(45)

    private let connection: Configuration.Connection
    private let configuration: Configuration

    init(_ connection: Configuration.Connection, _ configuration: Configuration) {
        self.connection = connection
        self.configuration = configuration
    }

    func check(_ cover: @escaping @Sendable (Secret) -> Void, _ tell: (DoctorFinding) -> Void) {
        let agents = AgentRegistry.all
        if let agent = agents.live(connection, in: configuration, clock: SystemClock()) {
            return examine(agent, cover, tell)
        }
        tell(
            DoctorFinding(
                .agent, .failed, "this version runs \(agents.liveNames) alone, not \(connection.agent.kind.rawValue)",
                remedy: "set the agent to \(agents.plugins[0].kind.rawValue)", connection: connection.name.text,
                exitCode: .usage))
    }

    /// Runs the agent's machine on the host of `run`, by `check`, then closes its channels in order.
    private func examine(
        _ agent: any LiveAgent, _ cover: @escaping @Sendable (Secret) -> Void, _ tell: (DoctorFinding) -> Void
    ) {
        let reading = agent.examine()
        for secret in reading.secrets { cover(secret) }
        let heard = Locked(Heard())
        do throws(ThreadFault) {
            let edges = AgentEdges.system(
                of: connection, in: configuration, journal: nil, clock: SystemClock(), alarm: try SystemAlarm())
            let outlets = AgentOutlets(
                tell: { event in heard.withLock { $0.take(event) } }, cover: cover)
            let link = reading.open(ConnectionHost(edges, outlets))
            link.check()
            _ = Pace.wait(atMost: Self.patience) {
                for finding in heard.withLock({ $0.takeFindings() }) { tell(finding) }
                return heard.withLock { $0.isDone }
            }
            for finding in heard.withLock({ $0.takeFindings() }) { tell(finding) }
            link.shutDown()
            _ = Pace.wait(atMost: .seconds(2)) { link.isClosed }
            link.stop()
        } catch {
            tell(DoctorFinding(.gateway, .failed, "\(error)", connection: connection.name.text, exitCode: .unexpected))
        }
    }

    private struct Heard {
        private(set) var isDone = false
        private var findings: [DoctorFinding] = []

        mutating func take(_ event: AgentLinkEvent) {
            switch event {
            case .finding(let finding): findings.append(finding)
            case .done: isDone = true
            case .observed, .state, .note: break
            }
        }

        mutating func takeFindings() -> [DoctorFinding] {
            defer { findings = [] }
            return findings
        }
    }
}
