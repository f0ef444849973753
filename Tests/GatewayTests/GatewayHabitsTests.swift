import BridgeCore
import RelayRules
import Testing
import Vocabulary
import Worlds

/// Side habits of running gateways, as the scripted one has them.
@Suite("Habits of a gateway")
struct GatewayHabitsTests {
    private static let short = GatewayScript((100, .says("The second.")), (100, .finishes))

    private static func world(_ era: GatewayEra, _ script: GatewayScript) -> LiveWorld {
        let world = LiveWorld(era, scripts: ["First?": script, "Second?": short])
        world.writes("First?", after: .seconds(1))
        return world
    }

    @Test("files that are no pictures are named where the gateway would drop them", arguments: GatewayEra.allCases)
    func otherFiles(_ era: GatewayEra) {
        let world = LiveWorld(era, scripts: ["Look.": GatewayScript((80, .says("I see.")), (200, .finishes))])
        let picture: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 1]
        world.attachments.served["a.png"] = .init(picture, takes: .milliseconds(50))
        world.attachments.served["b.pdf"] = .init(Array("%PDF-1.7".utf8), takes: .milliseconds(50))
        world.sides[0].writes("Look.", files: ["a.png", "b.pdf"], after: .seconds(1))
        world.play(seconds: 60)
        defer { world.end() }
        let isEarly = era == .e1 || era == .e2
        #expect(world.gateway.attached.map { $0.files.map(\.name) } == [isEarly ? ["a.png"] : ["a.png", "b.pdf"]])
        let note = "b.pdf was not passed on: this version of the agent takes pictures alone."
        #expect(world.ends() == [isEarly ? "I see.\n\n\(note)" : "I see."])
    }

    @Test("a file that the agent sends is named", arguments: GatewayEra.allCases)
    func media(_ era: GatewayEra) {
        let world = Self.world(
            era, GatewayScript((100, .says("Here is it.\nMEDIA: ./pic.png\n")), (50, .finishes)))
        world.play(seconds: 60)
        defer { world.end() }
        #expect(world.ends() == ["Here is it.\n\nFile: ./pic.png"])
    }

    @Test("and by the history", arguments: GatewayEra.allCases)
    func mediaLater(_ era: GatewayEra) {
        let world = Self.world(
            era, GatewayScript((900, .says("Here is it.\nMEDIA: ./pic.png\n")), (50, .finishes)))
        world.time.after(.milliseconds(1_500)) { world.restarts(down: .seconds(3)) }
        world.play(seconds: 90)
        defer { world.end() }
        #expect(world.ends() == ["Here is it.\n\nFile: ./pic.png"])
    }

    @Test("an answer beside the conversation is the answer", arguments: GatewayEra.allCases)
    func aside(_ era: GatewayEra) {
        let world = Self.world(era, GatewayScript((100, .saysAside("It is Thursday.")), (10, .finishesEmpty)))
        world.play(seconds: 60)
        defer { world.end() }
        #expect(world.ends() == ["It is Thursday."])
    }

    @Test("what a run cost is told with its end", arguments: [GatewayEra.e2, .e3, .e4])
    func usage(_ era: GatewayEra) {
        let world = Scenario.tools.world(era)
        world.play(seconds: 60)
        defer { world.end() }
        let usage = world.relay.sessions.flatMap(\.messages).compactMap(\.usage)
        #expect(usage.count == 1)
        #expect(usage.first?.contains(#""input_tokens":22"#) == true, "\(usage)")
        #expect(usage.first?.contains(#""output_tokens":14"#) == true, "\(usage)")
    }

    @Test("a run that is silent when its link is cut is waited for", arguments: GatewayEra.allCases, [true, false])
    func silent(_ era: GatewayEra, _ speaksFirst: Bool) {
        var script = GatewayScript((75_000, .says("At last.")), (50, .finishes))
        if speaksFirst { script.steps.insert(.init(after: .milliseconds(100), step: .says("Well. ")), at: 0) }
        let world = Self.world(era, script)
        world.time.after(.seconds(4)) { world.sides[0].cutGateway(away: .seconds(1)) }
        world.play(seconds: 200)
        defer { world.end() }
        #expect(world.outcome() == .answered)
        #expect(world.ends() == [speaksFirst ? "Well. At last." : "At last."])
    }

    @Test("a run that waits its turn is waited for, also over a lost link", arguments: GatewayEra.allCases)
    func lane(_ era: GatewayEra) {
        let world = LiveWorld(era, scripts: [:])
        for number in 0..<6 {
            let script = GatewayScript((100, .says("Answer \(number).")), (40_000, .finishes))
            world.gateway.scripts["Question \(number)?"] = script
            world.writes("Question \(number)?", chat: number, after: .milliseconds(1_000 + 50 * Int64(number)))
        }
        world.time.after(.seconds(5)) { world.sides[0].cutGateway(away: .seconds(1)) }
        world.play(seconds: 300, atLeast: .seconds(20))
        defer { world.end() }
        for number in 0..<6 { #expect(world.ends(number) == ["Answer \(number)."]) }
        #expect(world.gateway.begun.values.allSatisfy { $0 == 1 })
    }

    @Test("a message after the Stop of a deaf agent is answered once", arguments: GatewayEra.allCases)
    func deafAgent(_ era: GatewayEra) {
        var script = GatewayScript((100, .says("One ")), (60_000, .says("two.")), (50, .finishes))
        script.letsGoAfter = .seconds(6)
        let world = Self.world(era, script)
        world.stops(0, after: .seconds(2))
        world.writes("Second?", after: .seconds(4))
        world.play(seconds: 120, atLeast: .seconds(15))
        defer { world.end() }
        #expect(world.outcome(0) == .aborted)
        #expect(world.ends(1) == ["The second."])
        #expect(world.gateway.begun["Second?"] == 1)
    }

    @Test("a Stop before the run begins is a Stop, whatever the gateway says behind it", arguments: GatewayEra.allCases)
    func stoppedEarly(_ era: GatewayEra) {
        let world = Self.world(era, GatewayScript((3_000, .says("One.")), (50, .finishes)))
        world.stops(0, after: .seconds(2))
        world.play(seconds: 60, atLeast: .seconds(10))
        defer { world.end() }
        #expect(world.outcome() == .aborted)
        #expect(world.ends().map { $0.contains("failed before reply") } == [false])
    }

    private static func longAnswer(_ era: GatewayEra) -> (world: LiveWorld, text: String) {
        let pieces = (0..<1_600).map { "\($0) " + String(repeating: "abcdefghi ", count: 10) }
        var script = GatewayScript()
        script.steps = pieces.map { .init(after: .milliseconds(2), step: .says($0)) }
        script.steps.append(.init(after: .milliseconds(50), step: .finishes))
        let world = Self.world(era, script)
        world.time.after(.milliseconds(2_000)) { world.restarts(down: .seconds(8)) }
        world.play(seconds: 200)
        return (world, ScriptedGateway.trimmed(pieces.joined()))
    }

    @Test("a long answer that ended while the bridge was away is whole", arguments: [GatewayEra.e3, .e4])
    func long(_ era: GatewayEra) {
        let (world, text) = Self.longAnswer(era)
        defer { world.end() }
        #expect(world.outcome() == .answered)
        #expect(world.relay.sessions.flatMap(\.messages).filter { $0.role == .agent }.map(\.text).joined() == text)
    }

    @Test("a question that died with its gateway is over, and a late yes too")
    func questionDied() {
        let world = Scenario.approval.world(.e3)
        world.decision = nil
        world.time.after(.seconds(4)) { world.gateway.restart(down: .seconds(2), at: world.time.now) }
        world.play(seconds: 120)
        defer { world.end() }
        #expect(world.ends().count == 1)
        #expect(world.tasks.allSatisfy { $0.status != nil })
        #expect(world.gateway.breaches == [])
        #expect(world.gateway.executed == [])
    }

    @Test("a yes that comes after the gateway's restart runs nothing")
    func lateYes() {
        let world = Scenario.approval.world(.e3)
        world.decisionTime = .milliseconds(3_500)
        world.time.after(.seconds(3)) { world.gateway.restart(down: .seconds(2), at: world.time.now) }
        world.play(seconds: 120)
        defer { world.end() }
        #expect(world.ends().count == 1)
        #expect(world.tasks.allSatisfy { $0.status != nil })
        #expect(world.gateway.executed == [])
    }
}
