import AgentProtocols
import BridgeCore
import BridgeModel
import BridgeTesting
import Testing

@Suite("The bridge against a scripted gateway of each era")
struct GatewayErasTests {
    private static func expectDone(_ world: GatewayWorld, _ scenario: Scenario, _ era: GatewayEra) {
        #expect(world.ends("r1") == [scenario.text(era)])
        #expect(world.outcome("r1") == .answered)
        #expect(world.gateway.begun == ["Question?": 1])
        #expect(world.gateway.breaches == [])
    }

    @Test(
        "the final text is exact, and nothing is asked against the sheet", arguments: GatewayEra.allCases,
        Scenario.allCases)
    func answered(_ era: GatewayEra, _ scenario: Scenario) {
        let world = scenario.world(era)
        world.run()
        Self.expectDone(world, scenario, era)
        #expect(world.notes.allSatisfy { if case .requestFailed = $0 { false } else { true } })
    }

    @Test("the text streams as it comes", arguments: GatewayEra.allCases)
    func streams(_ era: GatewayEra) {
        let world = Scenario.text.world(era)
        world.run()
        #expect(world.streamed("r1").map { $0.hasSuffix("Hello there. I am here.") } == [true])
    }

    @Test("a tool is one card, begun and ended once", arguments: GatewayEra.allCases, [Scenario.tools, .approval])
    func tools(_ era: GatewayEra, _ scenario: Scenario) {
        let world = scenario.world(era)
        world.run()
        #expect(world.tasks.count == 1)
        #expect(world.tasks.values.allSatisfy { $0.begun == 1 && $0.ended == [.completed] })
    }

    @Test("an approval is asked once and decided once, in both shapes", arguments: GatewayEra.allCases)
    func approval(_ era: GatewayEra) {
        let world = Scenario.approval.world(era)
        world.run()
        #expect(world.asked == [ApprovalID("ap-1")])
        #expect(world.count("exec.approval.resolve") + world.count("approval.resolve") == 1)
        #expect(world.gateway.calls.contains("approval.resolve") == (era == .e4))
    }

    @Test("where a newer surface cannot wait, the follow-up's answer comes into the same bubble")
    func detachedLater() {
        var script = Scenario.approval.script(.e3)
        script.detaches = true
        let world = GatewayWorld(.e3, scripts: ["Question?": script])
        world.at(1_000) { $0.writes("Question?", run: "r1") }
        world.run()
        #expect(world.ends("r1") == [Scenario.approval.text(.e2)])
    }

    @Test("a denial reaches the gateway, and the run goes on without the tool", arguments: GatewayEra.allCases)
    func denied(_ era: GatewayEra) {
        let world = Scenario.approval.world(era)
        world.decision = (.deny, .seconds(5))
        world.run()
        #expect(world.ends("r1") == [Scenario.approval.text(era)])
        #expect(world.tasks.values.allSatisfy { $0.ended.count == 1 && $0.ended != [.completed] })
    }

    @Test("what another client decides is told, and asked of nobody again", arguments: GatewayEra.allCases)
    func decidedElsewhere(_ era: GatewayEra) {
        let world = Scenario.approval.world(era)
        world.decision = nil
        world.at(4_000) { $0.gateway.otherClientDecides("ap-1", "allow-once", at: $0.now) }
        world.run()
        #expect(world.ends("r1").first?.hasPrefix(Scenario.approval.text(era)) == true)
        #expect(world.count("exec.approval.resolve") + world.count("approval.resolve") == 0)
    }

    @Test(
        "what another client decides while the link is away does not keep the answer back",
        arguments: GatewayEra.allCases)
    func decidedMeanwhile(_ era: GatewayEra) {
        let world = Scenario.approval.world(era)
        world.decision = nil
        world.away = .seconds(12)
        world.at(3_000) { $0.cutsNow() }
        world.at(6_000) { $0.gateway.otherClientDecides("ap-1", "allow-once", at: $0.now) }
        world.run(seconds: 1_900)
        #expect(world.ends("r1").count == 1)
        #expect(world.ends("r1").first?.hasPrefix(Scenario.approval.text(era)) == true)
        #expect(world.count("chat.send") == 1)
    }

    @Test("an early gateway that takes all rights from a bridge without a key is explained")
    func withoutDevice() {
        let world = GatewayWorld(.e1, device: false)
        world.at(1_000) { $0.writes("Question?", run: "r1") }
        world.run()
        #expect(world.gateway.begun == [:])
        #expect(world.ends("r1").first?.contains("device key") == true)
    }

    @Test("a stop ends the run at the gateway, and the bubble with what there was", arguments: GatewayEra.allCases)
    func stop(_ era: GatewayEra) {
        let world = Scenario.text.world(era)
        world.at(1_300) { $0.stops("r1") }
        world.run()
        #expect(world.outcome("r1") == .aborted)
        #expect(world.ends("r1").count == 1)
        #expect(world.ends("r1").first?.hasPrefix("Hello there.") == true)
        #expect(world.count("chat.abort") == 1)
    }

    @Test("a failed run ends with the failure, after the gateway's own patience", arguments: GatewayEra.allCases)
    func failure(_ era: GatewayEra) {
        let script = GatewayScript((60, .says("Looking")), (200, .fails("the model is overloaded")))
        let world = GatewayWorld(era, scripts: ["Question?": script])
        world.at(1_000) { $0.writes("Question?", run: "r1") }
        world.run()
        #expect(world.outcome("r1") == .failed)
        #expect(world.ends("r1").count == 1)
        #expect(world.ends("r1").first?.hasPrefix("Looking") == true)
    }

    @Test(
        "the same text that runs for another client already is answered by that run", arguments: [GatewayEra.e3, .e4])
    func joined(_ era: GatewayEra) {
        let world = GatewayWorld(era, scripts: ["Question?": Scenario.text.script(era)])
        world.at(900) { $0.gateway.otherClientSends("Question?", in: GatewayWorld.chat.text, as: "theirs", at: $0.now) }
        world.at(950) { $0.writes("Question?", run: "r1") }
        world.run()
        #expect(world.gateway.begun == ["Question?": 1])
        #expect(world.ends("r1") == ["Hello there. I am here."])
        #expect(world.observations.contains(.sendAnswered(asked: RunID("r1"), .accepted(run: RunID("theirs")))))
    }

    @Test("another client's run is told with its session, and touches no bubble", arguments: GatewayEra.allCases)
    func foreign(_ era: GatewayEra) {
        let world = Scenario.text.world(era)
        world.at(900) { $0.gateway.otherClientSends("Other?", in: "agent:main:other", as: "theirs", at: $0.now) }
        world.run()
        Self.expectEqualForeign(world)
        #expect(world.ends("r1") == ["Hello there. I am here."])
    }

    private static func expectEqualForeign(_ world: GatewayWorld) {
        #expect(!world.foreign.isEmpty)
        #expect(
            world.foreign.allSatisfy {
                $0.run == RunID("theirs") && $0.session == AgentSession("agent:main:other")
            })
    }

    @Test("deltas that are dropped for a slow reader do not change the final", arguments: GatewayEra.allCases)
    func dropped(_ era: GatewayEra) {
        let script = GatewayScript(
            (80, .says("One")), (0, .drops(1)), (160, .says(" two")), (160, .says(" three")), (160, .says(" four.")),
            (60, .finishes))
        let world = GatewayWorld(era, scripts: ["Question?": script])
        world.at(1_000) { $0.writes("Question?", run: "r1") }
        world.run()
        #expect(world.ends("r1") == ["One two three four."])
        #expect(world.notes.contains(.framesLost(1)) == (era != .e1))
    }

    @Test("an approval that was dropped for a slow reader is found in the list", arguments: [GatewayEra.e3, .e4])
    func droppedApproval(_ era: GatewayEra) {
        var script = Scenario.approval.script(era)
        script.steps.insert(.init(after: .milliseconds(5), step: .drops(1)), at: 2)
        let world = GatewayWorld(era, scripts: ["Question?": script])
        world.at(1_000) { $0.writes("Question?", run: "r1") }
        world.run()
        #expect(world.asked == [ApprovalID("ap-1")])
        #expect(world.ends("r1") == [Scenario.approval.text(era)])
    }

    @Test("a gateway that restarts is called again, and what died with it is explained", arguments: GatewayEra.allCases)
    func restart(_ era: GatewayEra) {
        let script = GatewayScript((80, .says("Half")), (200, .restarts(downMilliseconds: 4_000)))
        let world = GatewayWorld(era, scripts: ["Question?": script])
        world.at(1_000) { $0.writes("Question?", run: "r1") }
        world.run()
        #expect(world.gateway.begun == ["Question?": 1])
        #expect(world.ends("r1").count == 1)
        #expect(world.ends("r1").first?.hasPrefix("Half") == true)
        #expect(world.count("connect") == (era == .e1 ? 3 : 2))
    }

    @Test(
        "a hundred runs that speak in the instant of their answers lose nothing", arguments: GatewayEra.allCases,
        [true, false])
    func hundred(_ era: GatewayEra, _ speaksFirst: Bool) {
        var script = Scenario.immediate.script(era)
        script.speaksFirst = speaksFirst
        let world = GatewayWorld(era)
        for number in 0..<100 {
            world.gateway.scripts["Question \(number)?"] = script
            world.at(1_000) {
                $0.writes("Question \(number)?", run: "r\(number)", in: AgentSession("agent:main:chat-\(number)"))
            }
        }
        world.run()
        #expect(world.gateway.begun.count == 100)
        #expect(world.gateway.begun.values.allSatisfy { $0 == 1 })
        for number in 0..<100 {
            #expect(world.ends("r\(number)") == ["At once."])
        }
        #expect(world.count("chat.send") == 100)
    }
}
