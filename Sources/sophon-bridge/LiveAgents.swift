import AgentKit
import BridgeModel
import BridgeService
import Commands
import FoundationEssentials

extension AgentRegistry {
    /// The agent of a connection as `run`, a reload and `doctor` speak to it. Nil: this version plays its recordings alone.
    func live(
        _ connection: Configuration.Connection, in configuration: Configuration, clock: any Clock
    ) -> (any LiveAgent)? {
        let context = AgentContext(
            connection: connection.name, environment: ProcessInfo.processInfo.environment,
            configDirectory: configuration.configDirectory, displayName: configuration.hostLabel ?? "Sophon bridge",
            version: HelpText.version, clock: clock)
        return self[kind: connection.agent.kind]?.live(connection.agent, in: context)
    }

    /// Those that this version runs, in a sentence.
    var liveNames: String { plugins.filter(\.isLive).map(\.name).joined(separator: " and ") }
}
