import BridgeCore
import RelayRules
import Testing
import Vocabulary
import Worlds

/// Follow-ups of approvals as real gateways send them: late, or without words.
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

    @Test("a heartbeat that tells of the running command is not its answer")
    func notice() {
        var script = Scenario.approval.script(.e1)
        script.commandTakes = .seconds(30)
        script.notice = "It is still running."
        let world = Self.world(.e1, script)
        world.play(seconds: 100, atLeast: .seconds(60))
        defer { world.end() }
        let said = Self.said(world)
        #expect(said.contains("It is still running.") && said.contains("Done, it is up."), "\(said)")
        #expect(world.ends().count == 1)
    }

    @Test("with its gateway the command is gone, and the bubble says so at once", arguments: [GatewayEra.e1, .e2])
    func killed(_ era: GatewayEra) {
        var script = Scenario.approval.script(era)
        script.commandTakes = .seconds(75)
        let world = Self.world(era, script)
        world.time.after(.seconds(9)) { world.gateway.restart(down: .seconds(2), at: world.time.now) }
        world.play(seconds: 20, atLeast: .seconds(19))
        defer { world.end() }
        let said = Self.said(world)
        #expect(world.ends().count == 1 && said.contains("its gateway was restarted"), "\(said)")
    }

    @Test(
        "a run of which nothing more is heard has failed where its gateway says that it is over",
        arguments: [GatewayEra.e1, .e2], [false, true])
    func vanished(_ era: GatewayEra, _ isLater: Bool) {
        let script = GatewayScript((100, .says("Half an answer")), (100, .vanishes))
        let world = LiveWorld(era, scripts: ["Question?": script])
        if isLater { world.writes("Hello?", after: .seconds(1)) }
        world.writes("Question?", after: .seconds(isLater ? 4 : 1))
        world.play(seconds: isLater ? 66 : 63, atLeast: .seconds(62))
        defer { world.end() }
        let said = Self.said(world)
        #expect(world.ends(isLater ? 1 : 0).count == 1, "\(said)")
        #expect(said.contains("Half an answer\n\nThe agent could not finish."), "\(said)")
    }
}
