import AgentHosting
import AgentKit
import AgentWork
import BridgeService
import Children
import Commands
import FoundationEssentials
import Recording
import Transport
import Vocabulary

extension AgentRegistry {
    /// The agent of a connection, the same for `run`, a reload and `doctor`. Nil if this version can only replay the agent's recordings.
    func live(
        _ connection: Configuration.Connection, in configuration: Configuration, clock: any Clock
    ) -> (any LiveAgent)? {
        let context = AgentContext(
            connection: connection.name, environment: ProcessInfo.processInfo.environment,
            configDirectory: configuration.configDirectory, stateDirectory: configuration.stateDirectory,
            displayName: configuration.hostLabel ?? "Sophon bridge",
            version: HelpText.version, clock: clock)
        return self[kind: connection.agent.kind]?.live(connection.agent, in: context)
    }

    /// Names of the agents that this version runs, for a sentence.
    var liveNames: String { plugins.filter(\.isLive).map(\.name).joined(separator: " and ") }
}

extension SystemNotices {
    /// `scale` divides the limits for tests.
    convenience init(children: any ChildRunner, scale: Int) {
        var limits = Limits()
        if scale > 1 {
            limits.command = max(limits.command / scale, .seconds(2))
            limits.call = max(limits.call / scale, .seconds(2))
        }
        self.init(children: children, limits: limits)
    }
}

extension AgentEdges {
    /// Edges to the real outside, for `run` and `doctor` alike. Nothing is kept without a journal.
    static func system(
        of connection: Configuration.Connection, in configuration: Configuration, journal: (any TurnJournal)?,
        clock: any Clock, alarm: any Alarm, places: ChildPlaces? = nil,
        redact: @escaping @Sendable (String) -> String = { $0.withoutSecrets },
        record: (@Sendable (ChannelID, Bool, [UInt8]) -> Void)? = nil
    ) -> AgentEdges {
        let children = SystemChildren()
        let work = SystemWork(children: children, secretsFolder: configuration.configDirectory, writableFolders: [])
        var edges = AgentEdges(
            kind: connection.agent.kind, sockets: CurlWebSocketClient(), children: children, work: work,
            journal: journal, clock: clock, alarm: alarm, random: SystemRandom())
        edges.record = record
        edges.places = places
        edges.redact = redact
        return edges
    }
}
