import AgentKit
import BridgeService
import ConfigurationFile
import Testing
import Vocabulary
import Worlds

/// One agent under the contract: its plug-in, and a world in which its double knows the contract's prompts (`ScriptedRuns`).
protocol ContractAgent: Sendable {
    var plugin: any AgentPlugin { get }
    /// Which of several doubles it is, for the names of tests.
    var variant: String { get }
    /// What is left of a run when the way to it breaks.
    var survives: Survival { get }
    /// Faults that it makes up for by what it is; each with its reason where it is named.
    var forgives: Set<MachineFault> { get }
    /// The text that a prompt's bubble ends with.
    func text(of prompt: String) -> String?
    /// Not started.
    func stage(seed: UInt64) -> ContractStage
}

extension ContractAgent {
    var variant: String { "" }
    func text(of prompt: String) -> String? { ScriptedRuns.texts[prompt] }
}

enum Survival {
    /// It goes on, and is found again.
    case run
    /// It ends, and nothing begins it again: the bubble says so.
    case transcript
    /// The same where its program is killed. Without the bridge it works to its end, which the transcript has; what it asks then is denied.
    case alone
}

/// A world with one connection, and what its double knows of itself.
struct ContractStage {
    let world: LiveWorld
    /// How often the agent began to work on each text.
    var begun: () -> [String: Int]
    /// Texts on which the agent's work is done.
    var finished: () -> Set<String>
    /// What the agent heard of approvals, in order: `yes` or `no`.
    var decisions: () -> [String]
    /// It works on something.
    var isBusy: () -> Bool
    /// Requests against its rules.
    var breaches: () -> [String]
    /// Everything that is open breaks, and nothing opens for so long.
    var cut: (Duration) -> Void
    /// How many sockets and programs are open at the far side.
    var open: () -> Int
    /// `doctor`.
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

    /// The same, with a double that knows by itself what it heard.
    init(
        _ plugin: any AgentPlugin, _ network: DoubleNetwork, _ world: LiveWorld, configuration: String = "",
        begun: @escaping () -> [String: Int], finished: @escaping () -> Set<String>,
        decisions: @escaping () -> [String], isBusy: @escaping () -> Bool, breaches: @escaping () -> [String]
    ) {
        let agent = PluggedAgent(plugin, configuration)
        world.sides[0].agent = WorldAgent(
            kind: plugin.kind, network: network, session: { agent.live.session(of: $0) },
            open: { agent.reading.open($0) }, examine: { agent.live.examine().open($0) })
        self.init(
            world: world, begun: begun, finished: finished, decisions: decisions, isBusy: isBusy, breaches: breaches,
            cut: { network.cut(away: $0) }, open: { network.open.count }, examine: { world.sides[0].examine() })
    }
}

/// A plug-in's agent, by the way that `run` takes: configuration, settings, reading.
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

/// Of the table, for the names of tests.
struct ContractEntry: CustomTestStringConvertible, Sendable {
    let agent: any ContractAgent

    init(_ agent: any ContractAgent) { self.agent = agent }

    var testDescription: String { "\(agent.plugin.kind.rawValue) \(agent.variant)" }
}
