import BridgeCore
import RelayRules
import Testing
import Vocabulary
import Worlds

/// The link cut once, after any number of frames.
struct Cut: CustomTestStringConvertible {
    /// Cuts the link for a moment or until the run has ended, or kills the bridge's process.
    enum Kind { case blink, absence, restart }

    var era: GatewayEra
    var scenario: Scenario
    var frames: Int
    var kind: Kind

    var testDescription: String { "\(era) \(scenario) after \(frames) frames, \(kind)" }

    /// All eras cut the link alone. The other kinds go to the eras whose histories differ most.
    private static func kinds(_ era: GatewayEra) -> [Kind] {
        switch era {
        case .e1, .e4: [.blink, .absence]
        case .e2, .e3: [.blink, .restart]
        }
    }

    func prepare(_ world: LiveWorld) {
        world.network.cutGatewayAfter = frames
        switch kind {
        case .blink: break
        case .absence: world.network.insteadOfCut = { world.sides[0].cutGateway(away: .seconds(12)) }
        case .restart: world.network.insteadOfCut = { world.restarts(down: .milliseconds(100)) }
        }
    }

    /// Every position of every conversation. A first play counts the frames.
    static let all: [Cut] = GatewayEra.allCases.flatMap { era in
        // In E1 and E2 all approvals are detached.
        Scenario.allCases.filter { $0 != .detached || era == .e3 || era == .e4 }.flatMap { scenario in
            let whole = scenario.world(era)
            whole.play()
            return (0..<whole.gatewayFrames).flatMap { frames in
                kinds(era).map { Cut(era: era, scenario: scenario, frames: frames, kind: $0) }
            }
        }
    }
}

@Suite("A link that is cut at any frame")
struct GatewayCutTests {
    /// E1 has no list of approvals: a question lost with the link is never shown, and its follow-up finds the bubble
    /// ended.
    private static func text(after cut: Cut, in world: LiveWorld) -> String {
        cut.era == .e1 && cut.scenario == .approval && world.asked == 0
            ? "I must ask.\n\nI wait." : cut.scenario.text(cut.era)
    }

    /// Positions at which a stop may be lost.
    static let stops: [Cut] = GatewayEra.allCases.flatMap { era in
        let whole = Scenario.text.world(era)
        whole.stops(0, after: .milliseconds(1_300))
        whole.play()
        return (0..<whole.gatewayFrames).map { Cut(era: era, scenario: .text, frames: $0, kind: .blink) }
    }

    @Test("a stop reaches the gateway all the same, and no run goes on", arguments: stops)
    func stopped(_ cut: Cut) {
        let world = cut.scenario.world(cut.era)
        world.stops(0, after: .milliseconds(1_300))
        cut.prepare(world)
        world.play(atLeast: .seconds(20))
        #expect(world.gateway.begun["Question?", default: 0] <= 1)
        #expect(!world.gateway.isActive(world.run().text))
        #expect(world.ends().count == 1)
        #expect(world.outcome() == .aborted || world.outcome() == .answered)
    }

    @Test("exactly one run begins, the final text is exact, and nothing is doubled", arguments: Cut.all)
    func recovered(_ cut: Cut) {
        let world = cut.scenario.world(cut.era)
        cut.prepare(world)
        world.play()
        #expect(world.gateway.begun == ["Question?": 1])
        #expect(world.gateway.breaches == [])
        #expect(world.outcome() == .answered)
        #expect(world.ends() == [Self.text(after: cut, in: world)])
        #expect(world.asked <= 1)
        #expect(world.tasks.allSatisfy { $0.status != nil })
        #expect(world.relay.breaches.isEmpty, "\(world.relay.breaches.map(\.sentence))")
    }
}
