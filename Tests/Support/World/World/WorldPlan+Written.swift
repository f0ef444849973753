import BridgeService
import RelayRules
import Vocabulary

// Plans written by hand, for what seeds meet too seldom: one message to one agent, and its Stop.
extension WorldPlan {
    /// The person allows the ask, and presses Stop a second later.
    package static func stopBehindYes(_ agent: WorldAgentKind, seed: UInt64) -> WorldPlan {
        var plan = WorldPlan(oneMessageTo: agent, .approval, seed: seed)
        let asksAfter = plan.messages[0].script.script.timeOfAsk
        plan.messages[0].decision = Decision(tap: "approve", after: .milliseconds(300))
        plan.messages[0].stopsAfter = asksAfter + .milliseconds(1_300)
        return plan
    }

    /// The agent does not hear the Stop, and its process dies.
    package static func lossBehindStop(_ agent: WorldAgentKind, seed: UInt64) -> WorldPlan {
        var plan = WorldPlan(oneMessageTo: agent, .long, seed: seed)
        plan.messages[0].stopsAfter = .seconds(3)
        plan.troubles = [
            Trouble(at: .milliseconds(3_500), side: 0, misfortune: .deafGateway(.seconds(2))),
            Trouble(at: .milliseconds(4_500), side: 0, misfortune: .cutGateway(away: .zero)),
        ]
        return plan
    }

    private init(oneMessageTo agent: WorldAgentKind, _ kind: WorldScript.Kind, seed: UInt64) {
        self.init(seed: seed)
        var random = SeededGenerator(seed: seed)
        (agents, eras, mirrors) = ([agent], [.e4], [.none])
        let script = WorldScript(kind, name: "m\(seed)x0", using: &random)
        messages = [Message(at: .seconds(1), side: 0, chat: 0, script: script)]
    }
}

extension GatewayScript {
    /// Time from the beginning of the run to its last ask.
    fileprivate var timeOfAsk: Duration {
        let last = steps.firstIndex { if case .asksApproval = $0.step { true } else { false } } ?? steps.endIndex
        return steps[..<last].reduce(last < steps.endIndex ? steps[last].after : .zero) { $0 + $1.after }
    }
}
