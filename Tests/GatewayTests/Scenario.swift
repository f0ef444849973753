import Worlds

/// A message and the agent's work on it, with the text that the bubble must have in the end.
enum Scenario: String, CaseIterable {
    case text, tools, approval, detached, retry, emptyEnd, immediate

    func script(_ era: GatewayEra) -> GatewayScript {
        switch self {
        case .text:
            return GatewayScript(
                (80, .says("Hello")), (160, .says(" there.")), (40, .says(" I am")), (170, .says(" here.\n")),
                (50, .finishes))
        case .tools:
            return GatewayScript(
                (60, .says("Let me look.")),
                (200, .callsTool(id: "call-1", command: "df -h")),
                (300, .toolReturns(id: "call-1", output: "61%")), (200, .says("It is")), (200, .says(" 61% full.")),
                (60, .finishes))
        case .approval:
            return GatewayScript(
                (60, .says("I must ask. ")), (200, .callsTool(id: "call-1", command: "reboot")),
                (10, .asksApproval(id: "ap-1", command: "reboot")),
                (300, .toolReturns(id: "call-1", output: "ok")), (200, .says("Done,")), (200, .says(" it is up.")),
                (60, .finishes))
        case .detached:
            var script = Scenario.approval.script(era)
            script.detaches = true
            return script
        case .retry:
            return GatewayScript(
                (60, .says("Looking at")), (200, .says(" your")), (200, .attemptFails("overloaded")),
                (2_500, .triesAgain), (300, .says("You have")), (200, .says(" four new mails.")), (60, .finishes))
        case .emptyEnd:
            return GatewayScript((60, .says("The answer")), (200, .says(" is 42.")), (60, .finishesEmpty))
        case .immediate:
            var script = GatewayScript((9, .says("At once.")), (0, .finishes))
            script.speaksFirst = true
            return script
        }
    }

    func text(_ era: GatewayEra) -> String {
        switch self {
        case .text: "Hello there. I am here."
        case .tools: "Let me look.\n\nIt is 61% full."
        case .approval:
            era.detachesApprovals ? "I must ask.\n\nI wait.\n\nDone, it is up." : "I must ask.\n\nDone, it is up."
        case .detached: Scenario.approval.text(era == .e1 ? .e1 : .e2)
        case .retry: "You have four new mails."
        case .emptyEnd: "The answer is 42."
        case .immediate: "At once."
        }
    }

    func world(_ era: GatewayEra) -> LiveWorld {
        let world = LiveWorld(era, scripts: ["Question?": script(era)])
        world.writes("Question?", after: .seconds(1))
        world.decisionTime = .seconds(5)
        return world
    }
}
