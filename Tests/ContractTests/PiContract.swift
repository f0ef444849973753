import AgentKit
import Pi
import Vocabulary
import Worlds

/// pi: one program per chat. A run dies with its program, and the session file holds the messages that had ended.
struct PiContract: ContractAgent {
    var plugin: any AgentPlugin { PiPlugin() }
    var survives: Survival { .transcript }
    var forgives: Set<MachineFault> { [] }

    func text(of prompt: String) -> String? { ContractScripts.text(of: prompt) }

    func stage(seed: UInt64) -> ContractStage {
        let world = LiveWorld(.e4, scripts: [:], seed: seed)
        let pi = ScriptedPi(world.time)
        pi.scripts = ContractScripts.all
        let network = DoubleNetwork(pi, world.time, seed: seed)
        return ContractStage(
            plugin, network, world, begun: { pi.begun }, finished: { pi.finished },
            decisions: { pi.decided.map { $0.isYes ? "yes" : "no" } }, isBusy: { pi.isBusy }, breaches: { pi.breaches })
    }
}
