import AgentKit
import BridgeService
import ConfigurationFile
import Testing
import Vocabulary
import Worlds

/// One agent under the contract: its plug-in, and a world whose double knows the contract's prompts (`ScriptedRuns`).
protocol ContractAgent: Sendable {
    var plugin: any AgentPlugin { get }
    /// Tells several doubles of one agent apart, in the names of tests.
    var variant: String { get }
    /// Fate of a run whose connection breaks.
    var survives: Survival { get }
    /// Faults without an effect on this agent, each with its reason at the place that lists it.
    var forgives: Set<MachineFault> { get }
    /// Text at the end of a prompt's bubble.
    func text(of prompt: String) -> String?
    /// A world that is ready and not started.
    func stage(seed: UInt64) -> ContractStage
}

extension ContractAgent {
    var variant: String { "" }
    func text(of prompt: String) -> String? { ScriptedRuns.texts[prompt] }
}

enum Survival {
    /// The run continues, and the bridge finds it again.
    case run
    /// The run ends, and never begins again: the bubble says so.
    case transcript
    /// The same if the program is killed. Without the bridge the program works to its end, denies its own asks, and
    /// writes the transcript.
    case alone
}

/// A world with one connection, and the double's own knowledge.
struct ContractStage {
    let world: LiveWorld
    /// Number of times that the agent began to work on each text.
    var begun: () -> [String: Int]
    /// Texts whose work is done.
    var finished: () -> Set<String>
    /// Decisions that the agent heard, in order: `yes` or `no`.
    var decisions: () -> [String]
    /// The agent works on something.
    var isBusy: () -> Bool
    /// Requests against the agent's rules.
    var breaches: () -> [String]
    /// Breaks everything open, and keeps everything closed for this long.
    var cut: (Duration) -> Void
    /// Number of sockets and programs open at the far side.
    var open: () -> Int
    /// Runs `doctor`.
    var examine: () -> (findings: [DoctorFinding], isDone: Bool, isClosed: Bool)
}

extension ContractStage {
    /// A double's world, with the agent as its plug-in makes it from a configuration.
    init(
        _ plugin: any AgentPlugin, _ double: some AgentDouble, _ runs: ScriptedRuns, _ world: LiveWorld, seed: UInt64,
        configuration: String = ""
    ) {
        self.init(
            plugin, DoubleNetwork(double, world.time, seed: seed), world, configuration: configuration,
            begun: { runs.begun }, finished: { runs.finished }, decisions: { runs.decisions }, isBusy: { runs.isBusy },
            breaches: { runs.breaches })
    }

    /// The same for a double that records by itself what it heard.
    init(
        _ plugin: any AgentPlugin, _ network: DoubleNetwork, _ world: LiveWorld, configuration: String = "",
        begun: @escaping () -> [String: Int], finished: @escaping () -> Set<String>,
        decisions: @escaping () -> [String], isBusy: @escaping () -> Bool, breaches: @escaping () -> [String]
    ) {
        let agent = PluggedAgent(plugin, configuration)
        world.sides[0].agent = WorldAgent(plugin.kind, agent.live, agent.reading, network)
        self.init(
            world: world, begun: begun, finished: finished, decisions: decisions, isBusy: isBusy, breaches: breaches,
            cut: { network.cut(away: $0) }, open: { network.open.count }, examine: { world.sides[0].examine() })
    }
}

/// A plug-in's agent, made as `run` makes it: configuration, settings, reading.
struct PluggedAgent: Sendable {
    let live: any LiveAgent
    let reading: AgentReading

    init(_ plugin: any AgentPlugin, _ configuration: String) {
        do {
            let settings: AgentSettings
            (live, settings) = try Self.live(plugin, configuration)
            reading = try live.read(settings)
        } catch { fatalError("\(error)") }
    }

    static func live(
        _ plugin: any AgentPlugin, _ configuration: String
    ) throws -> (agent: any LiveAgent, settings: AgentSettings) {
        let text = #"{"connections": [{"agent": {"kind": "\#(plugin.kind.rawValue)"\#(configuration)}}]}"#
        let sources = ConfigurationSources(
            flags: [:], environment: ["HOME": "/home/ada"], file: .init(name: "bridge.json", bytes: Array(text.utf8)))
        let context = AgentContext(
            connection: ConnectionName("default"), environment: [:], configDirectory: nil, displayName: "Test bridge",
            version: "1.0.0", clock: VirtualTime())
        let loaded = try ConfigurationLoader.load(sources, agents: ContractTable.registry)
        let settings = loaded.configuration.connections[0].agent
        guard let live = plugin.live(settings, in: context) else { fatalError("\(plugin.kind) is not live") }
        return (live, settings)
    }
}

/// An entry of the table, with a name for tests.
struct ContractEntry: CustomTestStringConvertible, Sendable {
    let agent: any ContractAgent

    init(_ agent: any ContractAgent) { self.agent = agent }

    var testDescription: String { "\(agent.plugin.kind.rawValue) \(agent.variant)" }
}
