import BridgeCore
import RelayRules
import Testing
import Vocabulary
import Worlds

@Suite("Answers of a gateway under another name")
struct GatewayBusyTests {
    private static let steady = GatewayScript(
        (100, .says("One ")), (400, .says("two ")), (400, .says("three ")), (400, .says("four.")), (100, .finishes))
    private static let short = GatewayScript((100, .says("The second.")), (100, .finishes))

    /// Another client's run is under way in our chat when a message arrives.
    private static func busy(_ era: GatewayEra, thirdParty: Bool = false) -> LiveWorld {
        let world = LiveWorld(era, scripts: ["First?": short, "Desk?": steady, "Second?": short, "Third?": steady])
        world.writes("First?", after: .seconds(1))
        world.time.after(.seconds(4)) {
            let session = world.sides[0].agentSession(ofChat: 0)?.text ?? ""
            world.gateway.otherClientSends("Desk?", in: session, as: "desk-1", at: world.time.now)
            // Begins right behind the other run, before ours.
            if thirdParty {
                world.otherClientSends("Third?", in: session, as: "desk-2", after: .milliseconds(1_600))
            }
        }
        world.writes("Second?", after: .milliseconds(4_500))
        world.play(seconds: 120, atLeast: .seconds(15))
        return world
    }

    @Test("the answer to a message into a busy chat is in its bubble", arguments: GatewayEra.allCases)
    func busy(_ era: GatewayEra) {
        let world = Self.busy(era)
        defer { world.end() }
        #expect(world.ends(1) == ["The second."])
        #expect(world.outcome(1) == .answered)
        #expect(world.gateway.begun["Second?"] == 1)
        #expect(world.gateway.breaches == [])
    }

    @Test("a third client's run that begins before ours is not adopted", arguments: [GatewayEra.e1, .e2])
    func third(_ era: GatewayEra) {
        let world = Self.busy(era, thirdParty: true)
        defer { world.end() }
        #expect(world.ends(1) == ["The second."])
    }

    @Test("faults of adoption are caught", arguments: [PlantedFault.foreignRunAdopted, .ownRunNotAdopted])
    func planted(_ fault: PlantedFault) {
        PlantedFault.$planted.withValue(fault) {
            let world = Self.busy(.e2, thirdParty: true)
            defer { world.end() }
            #expect(world.ends(1) != ["The second."])
        }
    }

    @Test(
        "a run that failed while the bridge was away has failed, and was not refused, wherever the process died",
        arguments: GatewayEra.allCases, 4..<16)
    func failedMeanwhile(_ era: GatewayEra, frames: Int) {
        let script = GatewayScript((30, .says("Half of it.")), (30, .fails("the model is overloaded")))
        let world = LiveWorld(era, scripts: ["First?": script])
        world.writes("First?", after: .seconds(1))
        world.network.cutGatewayAfter = frames
        world.network.insteadOfCut = { world.restarts(down: .seconds(3)) }
        world.play(seconds: 120, atLeast: .seconds(15))
        defer { world.end() }
        #expect(world.gateway.begun["First?"] == 1)
        let end = world.ends(0).first ?? ""
        #expect(end.contains("ask again"), "\(end)")
        #expect(!end.contains("refused"), "\(end)")
    }

    @Test("a message that waits behind a Stop is answered once", arguments: GatewayEra.allCases)
    func stopped(_ era: GatewayEra) {
        let world = LiveWorld(era, scripts: ["First?": Self.steady, "Second?": Self.short])
        world.writes("First?", after: .seconds(1))
        world.writes("Second?", after: .milliseconds(1_300))
        world.stops(0, after: .milliseconds(1_700))
        world.play(seconds: 120, atLeast: .seconds(10))
        defer { world.end() }
        #expect(world.outcome(0) == .aborted)
        #expect(world.ends(1) == ["The second."])
        #expect(world.gateway.begun["Second?"] == 1)
        #expect(world.gateway.breaches == [])
    }

    @Test("a newer gateway that goes on with a run after its restart is followed")
    func resumed() {
        var script = GatewayScript((100, .says("Half of it.")), (400, .restarts(downMilliseconds: 2_000)))
        script.steps += [
            .init(after: .milliseconds(100), step: .says("The other half.")),
            .init(after: .milliseconds(100), step: .finishes),
        ]
        let world = LiveWorld(.e3, scripts: ["First?": script])
        world.writes("First?", after: .seconds(1))
        world.play(seconds: 120)
        defer { world.end() }
        #expect(world.outcome() == .answered)
        #expect(world.ends().map { $0.hasSuffix("The other half.") } == [true])
        #expect(world.gateway.begun["First?"] == 1)
    }

    @Test("one that it cannot go on with ends with its words")
    func notResumed() {
        let script = GatewayScript(
            (100, .says("Half of it.")), (100, .callsTool(id: "c", command: "df -h")),
            (400, .restarts(downMilliseconds: 2_000)),
            (100, .toolReturns(id: "c", output: "61%")), (100, .finishes))
        let world = LiveWorld(.e3, scripts: ["First?": script])
        world.writes("First?", after: .seconds(1))
        world.play(seconds: 120)
        defer { world.end() }
        #expect(world.outcome() == .lost)
        #expect(world.ends().map { $0.hasPrefix("Half of it.\n\n") && $0.contains("couldn't safely resume") } == [true])
        #expect(world.tasks.map(\.status) == ["failed"])
    }

    @Test("a failed run says why, and is no answer", arguments: GatewayEra.allCases)
    func failed(_ era: GatewayEra) {
        let script = GatewayScript((100, .says("I begin,")), (200, .fails("the disk of the vendor is full")))
        let world = LiveWorld(era, scripts: ["First?": script])
        world.writes("First?", after: .seconds(1))
        world.play(seconds: 120)
        defer { world.end() }
        #expect(world.outcome() == .failed)
        #expect(
            world.ends() == [
                "I begin,\n\nThe agent could not finish. Please ask again. (the disk of the vendor is full)"
            ])
    }

    @Test("a question that died with its gateway is withdrawn", arguments: [GatewayEra.e1, .e2, .e4])
    func questionDied(_ era: GatewayEra) {
        let world = Scenario.approval.world(era)
        world.decision = nil
        world.time.after(.seconds(4)) { world.gateway.restart(down: .seconds(2), at: world.time.now) }
        world.play(seconds: 200)
        defer { world.end() }
        #expect(world.ends().count == 1)
        #expect(world.relay.sessions.flatMap(\.tasks).allSatisfy { $0.status != nil })
        #expect(world.gateway.breaches == [])
    }
}
