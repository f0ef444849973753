import AgentKit
import Oppi
import Vocabulary
import Worlds

/// Oppi in either dialect: its sessions continue without the bridge, which finds them again by sequence numbers or
/// history.
struct OppiContract: ContractAgent {
    var dialect = ScriptedOppi.Dialect.seed

    var plugin: any AgentPlugin { OppiPlugin() }
    var variant: String { dialect.rawValue }
    var survives: Survival { .run }
    var forgives: Set<MachineFault> { [.handsNothingBack] }

    func text(of prompt: String) -> String? { ContractScripts.text(of: prompt) }

    func stage(seed: UInt64) -> ContractStage {
        let world = LiveWorld(.e4, scripts: [:], seed: seed)
        var habits = ScriptedOppi.Habits()
        habits.dialect = dialect
        let oppi = ScriptedOppi(world.time, habits)
        oppi.scripts = ContractScripts.all
        let network = DoubleNetwork(oppi, world.time, seed: seed)
        world.sides[0].files.http = { network.answer($0, from: oppi) }
        return ContractStage(
            plugin, network, world, configuration: #", "token": "\#(ScriptedOppi.token)""#, begun: { oppi.begun },
            finished: { oppi.finished }, decisions: { oppi.decided.map { $0.isYes ? "yes" : "no" } },
            isBusy: { oppi.isBusy }, breaches: { oppi.breaches })
    }
}
