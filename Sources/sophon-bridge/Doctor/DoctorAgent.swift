import AgentKit
import Agents
import BridgeModel
import BridgeService

/// What `doctor` asks of a connection's agent.
struct DoctorAgent {
    private let connection: Configuration.Connection
    private let configuration: Configuration

    init(_ connection: Configuration.Connection, _ configuration: Configuration) {
        self.connection = connection
        self.configuration = configuration
    }

    func check(_ cover: @escaping @Sendable (Secret) -> Void, _ tell: (DoctorFinding) -> Void) {
        let agents = AgentRegistry.all
        if let agent = agents.live(connection, in: configuration, clock: SystemClock()) {
            return agent.examine(Waiting(), cover: cover, tell: tell)
        }
        tell(
            DoctorFinding(
                .agent, .failed, "this version runs \(agents.liveNames) alone, not \(connection.agent.kind.rawValue)",
                remedy: "set the agent to \(agents.plugins[0].kind.rawValue)", connection: connection.name.text,
                exitCode: .usage))
    }
}
