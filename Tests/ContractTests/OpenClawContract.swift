import AgentKit
import OpenClaw
import Vocabulary
import Worlds

/// OpenClaw with the scripted gateway of the newest era.
struct OpenClawContract: ContractAgent {
    var plugin: any AgentPlugin { OpenClawPlugin() }
    var survives: Survival { .run }
    var forgives: Set<MachineFault> { [.handsNothingBack] }

    /// The gateway trims messages and makes each a paragraph.
    func text(of prompt: String) -> String? {
        switch prompt {
        case "Tool.": "I look.\n\nIt is full."
        case "Long.": "Begun."
        default: ScriptedRuns.texts[prompt]
        }
    }

    private static var scripts: [String: GatewayScript] {
        var long = GatewayScript((50, .says("Begun. ")), (3_600_000, .finishes))
        long.answersAfter = .milliseconds(5)
        return [
            "Say.": GatewayScript(
                (100, .says("One. ")), (200, .says("Two. ")), (200, .says("Three.")), (100, .finishes)),
            "Tool.": GatewayScript(
                (50, .says("I look. ")), (100, .callsTool(id: "t1", command: "df")),
                (300, .toolReturns(id: "t1", output: "61%")), (100, .says("It is full.")), (50, .finishes)),
            "Ask.": GatewayScript(
                (50, .says("May I? ")), (100, .asksApproval(id: "a1", command: "reboot")), (50, .says("Done.")),
                (50, .finishes)),
            "Long.": long,
        ]
    }

    func stage(seed: UInt64) -> ContractStage {
        let world = LiveWorld(.e4, scripts: Self.scripts, seed: seed)
        let side = world.sides[0]
        return ContractStage(
            world: world, begun: { side.gateway.begun }, finished: { [] },
            decisions: { side.gateway.decisions.map { $0 == "deny" ? "no" : "yes" } },
            isBusy: { side.gateway.isBusy }, breaches: { side.gateway.breaches },
            cut: { side.cutGateway(away: $0) }, open: { side.hasGatewaySocket ? 1 : 0 },
            examine: { side.examine() })
    }
}
