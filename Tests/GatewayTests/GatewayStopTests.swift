import BridgeCore
import RelayRules
import Testing
import Vocabulary
import Worlds

@Suite("Stops and decisions against a scripted gateway of each era")
struct GatewayStopTests {
    /// The agent asks at about 1.3 s, and the person decides half a second later.
    private static func asking(_ era: GatewayEra, _ decision: String = "approve") -> LiveWorld {
        let world = Scenario.approval.world(era)
        world.decision = decision
        world.decisionTime = .milliseconds(500)
        return world
    }

    private static func expectAborted(_ world: LiveWorld, _ era: GatewayEra) {
        #expect(!world.gateway.isActive(world.run().text))
        // An approval that ended its run leaves no run to abort.
        if !era.detachesApprovals { #expect(world.count("chat.abort") >= 1) }
        #expect(world.outcome() == .aborted)
        #expect(world.gateway.breaches == [])
        #expect(!world.journal.owes, "something is owed still")
    }

    @Test("a yes that was sent and not answered is denied on the next link", arguments: GatewayEra.allCases)
    func deniedOnTheNextLink(_ era: GatewayEra) {
        let world = Self.asking(era)
        world.time.after(.milliseconds(1_700)) { world.gateway.isDeaf = true }
        world.stops(0, after: .milliseconds(2_500))
        world.time.after(.seconds(8)) {
            #expect(world.gateway.unheard > 0)
            world.gateway.isDeaf = false
            world.sides[0].cutGateway()
        }
        world.play(atLeast: .seconds(40))
        #expect(world.asked == 1)
        #expect(world.gateway.decisions == ["deny"])
        Self.expectAborted(world, era)
    }

    @Test("and by the next process, whose turn is closed", arguments: GatewayEra.allCases)
    func deniedByTheNextProcess(_ era: GatewayEra) {
        let world = Self.asking(era)
        world.time.after(.milliseconds(1_700)) { world.gateway.isDeaf = true }
        world.stops(0, after: .milliseconds(2_500))
        world.time.after(.seconds(10)) {
            #expect(world.openTurns == 0)
            world.gateway.isDeaf = false
            world.restarts(down: .seconds(1))
        }
        world.play(atLeast: .seconds(40))
        #expect(world.gateway.decisions == ["deny"])
        Self.expectAborted(world, era)
    }

    @Test(
        "the turn closes in its time, and the abort is owed until the gateway hears it", arguments: GatewayEra.allCases)
    func owed(_ era: GatewayEra) {
        let script = GatewayScript((60, .says("One. ")), (900_000, .says("Two.")), (60, .finishes))
        let world = LiveWorld(era, scripts: ["Question?": script])
        world.writes("Question?", after: .seconds(1))
        world.time.after(.milliseconds(1_500)) { world.gateway.isDeaf = true }
        world.stops(0, after: .seconds(2))
        world.time.after(.seconds(8)) {
            #expect(world.outcome() == .aborted)
            #expect(world.journal.load().settings.count { $0.key != "installation" } == 1)
        }
        world.time.after(.seconds(300)) {
            #expect(world.gateway.isActive(world.run().text))
            world.gateway.isDeaf = false
        }
        world.play(seconds: 500, atLeast: .seconds(420))
        Self.expectAborted(world, era)
        #expect(world.ends() == ["One."])
    }

    @Test(
        "an abort is owed across an absence and a restart, and said once where that was longer than a day by the wall clock",
        arguments: [true, false])
    func absent(_ comesBack: Bool) {
        let day: Int64 = 86_400
        let script = GatewayScript((60, .says("One. ")), (2 * Int(day) * 1_000, .says("Two.")), (60, .finishes))
        let world = LiveWorld(.e3, scripts: ["Question?": script])
        world.writes("Question?", after: .seconds(1))
        let back = Duration.seconds(comesBack ? day - 600 : day + 600)
        world.time.after(.milliseconds(1_500)) { world.sides[0].cutGateway(away: back) }
        world.stops(0, after: .seconds(2))
        world.time.after(.seconds(20)) { world.restarts(down: .seconds(1)) }
        world.play(seconds: day + 3_600, atLeast: .seconds(day + 1_200))
        #expect(world.outcome() == .aborted)
        #expect(world.count("chat.abort") == 1)
        #expect(!world.gateway.isActive(world.run().text))
        #expect(!world.journal.owes)
    }

    @Test(
        "a decision after a long turn is as old as itself, also for the next process", arguments: [GatewayEra.e3, .e4])
    func ageOfADecision(_ era: GatewayEra) {
        let script = GatewayScript(
            (60, .says("Begun. ")), (2_400_000, .callsTool(id: "call-1", command: "reboot")),
            (10, .asksApproval(id: "ap-1", command: "reboot")), (300, .toolReturns(id: "call-1", output: "ok")),
            (200, .says("Done.")), (60, .finishes))
        let world = LiveWorld(era, scripts: ["Question?": script])
        world.writes("Question?", after: .seconds(1))
        world.decisionTime = .seconds(5)
        world.time.after(.seconds(2_402)) { world.gateway.isDeaf = true }
        world.time.after(.seconds(2_410)) {
            #expect(world.gateway.unheard > 0)
            world.gateway.isDeaf = false
            world.restarts(down: .seconds(1))
        }
        world.play(seconds: 2_700, atLeast: .seconds(2_500))
        #expect(world.gateway.decisions == ["allow-once"])
        #expect(!world.gateway.isActive(world.run().text))
    }

    @Test(
        "an always with a limit is granted once, and the bubble says so once", arguments: GatewayEra.allCases,
        ["session", "domain", "tool"])
    func scoped(_ era: GatewayEra, _ scope: String) {
        let world = Self.asking(era, "approve_always")
        world.decisionScope = ApprovalScope(kind: scope, value: "exec")
        world.play()
        #expect(world.gateway.decisions == ["allow-once"])
        #expect(world.ends().count == 1)
        #expect(world.ends().first?.hasPrefix(Scenario.approval.text(era)) == true)
        #expect(world.ends().first?.split(separator: "allowed once").count == 2)
    }

    @Test("an always without a limit is permanent", arguments: GatewayEra.allCases, [nil, "all"])
    func always(_ era: GatewayEra, _ scope: String?) {
        let world = Self.asking(era, "approve_always")
        world.decisionScope = ApprovalScope(kind: scope)
        world.play()
        #expect(world.gateway.decisions == ["allow-always"])
        #expect(world.ends() == [Scenario.approval.text(era)])
    }
}
