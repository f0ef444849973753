import AgentHosting
import AgentKit
import BridgeService
import Journal
import Vocabulary

/// Connections with open turns in the journal that the configuration lacks: removed, or renamed.
struct LeftConnections {
    private let configuration: Configuration

    init(_ configuration: Configuration) { self.configuration = configuration }

    /// Ends agents that outlived their bridge and that no connection of this configuration would look for.
    func endAgents(_ log: Log) {
        let kinds = Dictionary(
            configuration.connections.map { ($0.name, $0.agent.kind) }, uniquingKeysWith: { first, _ in first })
        let left = LivingChildren(in: configuration.stateDirectory).all.filter {
            kinds[$0.connection] != $0.process.agent
        }
        for child in left.isEmpty ? [] : LivingChildren.end(left) {
            log.warning(
                "an agent of a connection that is not configured any more was ended", [("agent", .text(child.words))])
        }
    }

    func tell(_ output: Output, _ log: Log) {
        // This journal was opened a moment ago: a failure to read it is not worth ending the start.
        guard let summary = try? JournalReader(directory: configuration.stateDirectory).summary() else { return }
        let names = Set(configuration.connections.map(\.name))
        for left in summary.connections where left.openTurns > 0 && !names.contains(left.name) {
            let remedy =
                "give a connection of the configuration the name \(left.name) again, or end the bridge and forget these "
                + "turns: sophon-bridge journal clean --connection \(left.name)"
            output.event(
                "connection_left",
                [
                    ("connection", .string(left.name.text)), ("open_turns", .number(left.openTurns)),
                    ("remedy", .string(remedy)),
                ])
            log.warning(
                "the journal has open turns of a connection that is not configured",
                [
                    ("connection", .text(left.name.text)), ("open_turns", .integer(left.openTurns)),
                    ("remedy", .text(remedy)),
                ])
        }
    }
}
