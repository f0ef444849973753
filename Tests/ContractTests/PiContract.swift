import AgentKit
import BridgeModel
import BridgeTesting
import Pi

/// pi: a program for each chat. What it was doing ends with it; its session file holds the messages that had ended.
struct PiContract: ContractAgent {
    var plugin: any AgentPlugin { PiPlugin() }
    var survives: Survival { .transcript }
    var forgives: Set<MachineFault> { [] }

    private static let scripts: [String: GatewayScript] = [
        "Say.": GatewayScript((100, .says("One. ")), (200, .says("Two. ")), (200, .says("Three.")), (100, .finishes)),
        "Tool.": GatewayScript(
            (50, .says("I look. ")), (100, .callsTool(id: "t1", command: "df")),
            (300, .toolReturns(id: "t1", output: "61%")), (100, .says("It is full.")), (50, .finishes)),
        "Ask.": GatewayScript(
            (50, .says("May I? ")), (20, .callsTool(id: "t1", command: "reboot")),
            (20, .asksApproval(id: "a1", command: "reboot")), (50, .toolReturns(id: "t1", output: "done")),
            (50, .says("Done.")), (50, .finishes)),
        "Long.": GatewayScript((50, .says("Begun. ")), (3_600_000, .finishes)),
    ]

    /// A message ends before its tools run, and the texts of a run's messages are joined by a blank line.
    func text(of prompt: String) -> String? {
        switch prompt {
        case "Tool.": "I look. \n\nIt is full."
        case "Ask.": "May I? \n\nDone."
        default: ScriptedRuns.texts[prompt]
        }
    }

    func stage(seed: UInt64) -> ContractStage {
        let world = LiveWorld(.e4, scripts: [:], seed: seed)
        let pi = ScriptedPi(world.time)
        pi.scripts = Self.scripts
        let network = DoubleNetwork(pi, world.time, seed: seed)
        return ContractStage(
            plugin, network, world, begun: { pi.begun }, finished: { pi.finished },
            decisions: { pi.decided.map { $0.isYes ? "yes" : "no" } }, isBusy: { pi.isBusy }, breaches: { pi.breaches })
    }
}
