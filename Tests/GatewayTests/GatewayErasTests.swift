import AgentKit
import BridgeCore
import RelayRules
import Testing
import Vocabulary
import Worlds

@Suite("The bridge against a scripted gateway of each era")
struct GatewayErasTests {
    private static func expectDone(_ world: LiveWorld, _ scenario: Scenario, _ era: GatewayEra) {
        #expect(world.ends() == [scenario.text(era)])
        #expect(world.outcome() == .answered)
        #expect(world.gateway.begun == ["Question?": 1])
        #expect(world.gateway.breaches == [])
    }

    @Test(
        "the final text is exact, and nothing is asked against the documentation", arguments: GatewayEra.allCases,
        Scenario.allCases)
    func answered(_ era: GatewayEra, _ scenario: Scenario) {
        let world = scenario.world(era)
        world.play()
        Self.expectDone(world, scenario, era)
        #expect(world.notes.allSatisfy { !$0.contains("failed") })
    }

    @Test("the text streams as it comes", arguments: GatewayEra.allCases)
    func streams(_ era: GatewayEra) {
        let world = Scenario.text.world(era)
        world.play()
        #expect(world.streamed().map { $0.hasSuffix("Hello there. I am here.") } == [true])
    }

    @Test("a tool is one card, begun and ended once", arguments: GatewayEra.allCases, [Scenario.tools, .approval])
    func tools(_ era: GatewayEra, _ scenario: Scenario) {
        let world = scenario.world(era)
        world.play()
        #expect(world.tasks.count == 1)
        #expect(world.tasks.allSatisfy { $0.status == "completed" })
        #expect(world.relay.breaches.isEmpty)
    }

    @Test("an approval is asked once and decided once, in both shapes", arguments: GatewayEra.allCases)
    func approval(_ era: GatewayEra) {
        let world = Scenario.approval.world(era)
        world.play()
        #expect(world.asked == 1)
        #expect(world.decisions == 1)
        #expect(world.gateway.calls.contains("approval.resolve") == (era == .e3 || era == .e4))
    }

    @Test("where a newer surface cannot wait, the follow-up's answer comes into the same bubble")
    func detachedLater() {
        var script = Scenario.approval.script(.e3)
        script.detaches = true
        let world = LiveWorld(.e3, scripts: ["Question?": script])
        world.writes("Question?", after: .seconds(1))
        world.play()
        #expect(world.ends() == [Scenario.approval.text(.e2)])
    }

    @Test("what was said just before a failure is told before it", arguments: GatewayEra.allCases)
    func failsAtOnce(_ era: GatewayEra) {
        let script = GatewayScript((100, .says("One ")), (40, .says("two.")), (50, .fails("overloaded")))
        let world = LiveWorld(era, scripts: ["Question?": script])
        world.writes("Question?", after: .seconds(1))
        world.play()
        #expect(world.ends().map { $0.hasPrefix("One two.\n\n") } == [true])
    }

    @Test("a denial reaches the gateway, and the run goes on without the tool", arguments: GatewayEra.allCases)
    func denied(_ era: GatewayEra) {
        let world = Scenario.approval.world(era)
        world.decision = "deny"
        world.play()
        #expect(world.ends() == [Scenario.approval.text(era)])
        #expect(world.tasks.allSatisfy { $0.status != nil && $0.status != "completed" })
    }

    @Test("what another client decides is told, and asked of nobody again", arguments: GatewayEra.allCases)
    func decidedElsewhere(_ era: GatewayEra) {
        let world = Scenario.approval.world(era)
        world.decision = nil
        world.time.after(.seconds(4)) { world.gateway.otherClientDecides("ap-1", "allow-once", at: world.time.now) }
        world.play()
        #expect(world.ends().first?.hasPrefix(Scenario.approval.text(era)) == true)
        #expect(world.decisions == 0)
    }

    @Test(
        "what another client decides while the link is away does not keep the answer back",
        arguments: GatewayEra.allCases)
    func decidedMeanwhile(_ era: GatewayEra) {
        let world = Scenario.approval.world(era)
        world.decision = nil
        world.time.after(.seconds(3)) { world.sides[0].cutGateway(away: .seconds(12)) }
        world.time.after(.seconds(6)) { world.gateway.otherClientDecides("ap-1", "allow-once", at: world.time.now) }
        world.play(seconds: 1_900)
        #expect(world.ends().count == 1)
        #expect(world.ends().first?.hasPrefix(Scenario.approval.text(era)) == true)
        #expect(world.count("chat.send") == 1)
    }

    @Test("an early gateway that takes all rights from a bridge without a key is explained")
    func withoutDevice() {
        let world = LiveWorld(.e1, scripts: [:])
        world.hasDevice = false
        world.writes("Question?", after: .seconds(1))
        world.play()
        #expect(world.gateway.begun == [:])
        #expect(world.ends().first?.contains("device key") == true)
    }

    @Test("a stop ends the run at the gateway, and the bubble with what there was", arguments: GatewayEra.allCases)
    func stop(_ era: GatewayEra) {
        let world = Scenario.text.world(era)
        world.stops(0, after: .milliseconds(1_300))
        world.play()
        #expect(world.outcome() == .aborted)
        #expect(world.ends().count == 1)
        #expect(world.ends().first?.hasPrefix("Hello there.") == true)
        #expect(world.count("chat.abort") == 1)
    }

    @Test("a failed run ends with the failure, after the gateway's own patience", arguments: GatewayEra.allCases)
    func failure(_ era: GatewayEra) {
        let script = GatewayScript((60, .says("Looking")), (200, .fails("the model is overloaded")))
        let world = LiveWorld(era, scripts: ["Question?": script])
        world.writes("Question?", after: .seconds(1))
        world.play()
        #expect(world.outcome() == .failed)
        #expect(world.ends().count == 1)
        #expect(world.ends().first?.hasPrefix("Looking") == true)
    }

    @Test(
        "the same text that runs for another client already is answered by that run", arguments: [GatewayEra.e3, .e4])
    func joined(_ era: GatewayEra) {
        let world = LiveWorld(era, scripts: ["Question?": Scenario.text.script(era)])
        world.writes("Question?", after: .seconds(1))
        // Before the bridge has heard of the message.
        world.time.after(.seconds(1)) {
            let session = world.sides[0].agentSession(ofChat: 0)?.text ?? ""
            world.gateway.otherClientSends("Question?", in: session, as: "theirs", at: world.time.now)
        }
        world.play()
        #expect(world.gateway.begun == ["Question?": 1])
        #expect(world.ends() == ["Hello there. I am here."])
        #expect(world.observations.contains(.sendAnswered(asked: world.run(), .accepted(run: RunID("theirs")))))
    }

    @Test("another client's run is told with its session, and touches no bubble", arguments: GatewayEra.allCases)
    func foreign(_ era: GatewayEra) {
        let world = Scenario.text.world(era)
        world.otherClientSends("Other?", in: "agent:main:other", as: "theirs", after: .milliseconds(900))
        world.play()
        Self.expectEqualForeign(world)
        #expect(world.ends() == ["Hello there. I am here."])
    }

    private static func expectEqualForeign(_ world: LiveWorld) {
        let foreign = world.observations.compactMap { observation -> RunSignal? in
            guard case .signal(let signal) = observation, signal.run == RunID("theirs") else { return nil }
            return signal
        }
        #expect(!foreign.isEmpty)
        #expect(foreign.allSatisfy { $0.session == AgentSession("agent:main:other") })
        #expect(world.relay.sessions.count == 1)
    }

    @Test("deltas that are dropped for a slow reader do not change the final", arguments: GatewayEra.allCases)
    func dropped(_ era: GatewayEra) {
        let script = GatewayScript(
            (80, .says("One")), (0, .drops(1)), (160, .says(" two")), (160, .says(" three")), (160, .says(" four.")),
            (60, .finishes))
        let world = LiveWorld(era, scripts: ["Question?": script])
        world.writes("Question?", after: .seconds(1))
        world.play()
        #expect(world.ends() == ["One two three four."])
        #expect(world.notes.contains("the gateway dropped 1 frames") == (era == .e3 || era == .e4))
    }

    @Test("an approval that was dropped for a slow reader is found in the list", arguments: [GatewayEra.e3, .e4])
    func droppedApproval(_ era: GatewayEra) {
        var script = Scenario.approval.script(era)
        script.steps.insert(.init(after: .milliseconds(5), step: .drops(1)), at: 2)
        let world = LiveWorld(era, scripts: ["Question?": script])
        world.writes("Question?", after: .seconds(1))
        world.play()
        #expect(world.asked == 1)
        #expect(world.ends() == [Scenario.approval.text(era)])
    }

    @Test("a gateway that restarts is called again, and what died with it is explained", arguments: GatewayEra.allCases)
    func restart(_ era: GatewayEra) {
        let script = GatewayScript((80, .says("Half")), (200, .restarts(downMilliseconds: 4_000)))
        let world = LiveWorld(era, scripts: ["Question?": script])
        world.writes("Question?", after: .seconds(1))
        world.play()
        #expect(world.gateway.begun == ["Question?": 1])
        #expect(world.ends().count == 1)
        #expect(world.ends().first?.hasPrefix("Half") == true)
        #expect(world.count("connect") == (era == .e1 ? 3 : 2))
    }

    @Test(
        "a hundred runs that speak in the instant of their answers lose nothing", arguments: GatewayEra.allCases,
        [true, false])
    func hundred(_ era: GatewayEra, _ speaksFirst: Bool) {
        var script = Scenario.immediate.script(era)
        script.speaksFirst = speaksFirst
        let world = LiveWorld(era, scripts: [:])
        for number in 0..<100 {
            world.gateway.scripts["Question \(number)?"] = script
            world.writes("Question \(number)?", chat: number, after: .seconds(1))
        }
        world.play()
        #expect(world.gateway.begun.count == 100)
        #expect(world.gateway.begun.values.allSatisfy { $0 == 1 })
        for number in 0..<100 {
            #expect(world.ends(number) == ["At once."])
        }
        #expect(world.count("chat.send") == 100)
    }
}
