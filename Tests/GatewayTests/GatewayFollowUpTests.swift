import BridgeCore
import BridgeModel
import BridgeTesting
import RelayRules
import Testing

/// Follow-ups of approvals as real gateways have them: late, or without words.
@Suite("Follow-ups of approvals")
struct GatewayFollowUpTests {
    private static func world(_ era: GatewayEra, _ script: GatewayScript) -> LiveWorld {
        let world = LiveWorld(era, scripts: ["Question?": script])
        world.writes("Question?", after: .seconds(1))
        world.decisionTime = .seconds(5)
        return world
    }

    private static func said(_ world: LiveWorld) -> String {
        world.relay.sessions.flatMap(\.messages).filter { $0.role == .agent }.map(\.text).joined(separator: "\n\n")
    }

    @Test("the answer behind an allowed command of more than a minute is shown", arguments: [GatewayEra.e1, .e2])
    func longCommand(_ era: GatewayEra) {
        var script = Scenario.approval.script(era)
        script.commandTakes = .seconds(75)
        let world = Self.world(era, script)
        world.play(seconds: 200, atLeast: .seconds(150))
        defer { world.end() }
        #expect(Self.said(world).contains("Done, it is up."), "\(Self.said(world))")
    }

    @Test("a follow-up that says nothing leaves no bubble open", arguments: [GatewayEra.e1, .e2], ["approve", "deny"])
    func silent(_ era: GatewayEra, _ decision: String) {
        let world = Self.world(
            era,
            GatewayScript(
                (60, .says("I must ask. ")), (200, .callsTool(id: "call-1", command: "reboot")),
                (10, .asksApproval(id: "ap-1", command: "reboot")), (300, .toolReturns(id: "call-1", output: "ok")),
                (60, .finishesEmpty)))
        world.decision = decision
        world.play(seconds: 700)
        defer { world.end() }
        #expect(world.ends().count == 1, "\(world.streamed())")
    }
}
