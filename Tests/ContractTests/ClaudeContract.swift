import AgentKit
import Claude
import Vocabulary
import Worlds

/// Claude Code: one program per chat. Without the bridge it works to the end of its turn, and its transcript holds
/// complete messages.
struct ClaudeContract: ContractAgent {
    var plugin: any AgentPlugin { ClaudePlugin() }
    var survives: Survival { .alone }
    var forgives: Set<MachineFault> { [.handsNothingBack] }

    func text(of prompt: String) -> String? { ContractScripts.text(of: prompt) }

    func stage(seed: UInt64) -> ContractStage {
        let world = LiveWorld(.e4, scripts: [:], seed: seed)
        let claude = ScriptedClaude(world.time)
        claude.scripts = ContractScripts.all
        let network = DoubleNetwork(claude, world.time, seed: seed)
        let files = world.sides[0].files
        files.paths = { claude.paths }
        files.log = { claude.file(at: $0) }
        files.runs = { network.runs($0) }
        files.ends = { network.end($0) }
        return ContractStage(
            plugin, network, world, configuration: #", "env": {"CLAUDE_CONFIG_DIR": "\#(ScriptedClaude.folder)"}"#,
            begun: { claude.begun }, finished: { claude.finished },
            decisions: { claude.decided.map { $0.isYes ? "yes" : "no" } }, isBusy: { claude.isBusy },
            breaches: { claude.breaches })
    }
}
