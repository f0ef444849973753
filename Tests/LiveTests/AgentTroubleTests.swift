import BridgeService
import Links
import RelayRules
import Testing
import Vocabulary
import Worlds

/// Troubles at the agent that only a person can mend, on a live link: the bridge retries by itself, reports them, and
/// answers in the bubble.
@Suite("Agents that a person has to mend")
struct AgentTroubleTests {
    /// Texts, all that an E1 gateway sends, with the codes that later ones add
    /// (openclaw.md#auth-and-pairing-rules-that-matter-to-a-bridge).
    private static let errors: [(text: String, code: String, wait: Int64)] = [
        ("device signature invalid", "DEVICE_AUTH_SIGNATURE_INVALID", 60),
        ("device signature expired", "DEVICE_AUTH_SIGNATURE_EXPIRED", 0),
        ("device nonce required", "DEVICE_AUTH_NONCE_REQUIRED", 0),
        ("device nonce mismatch", "DEVICE_AUTH_NONCE_MISMATCH", 0),
        ("device identity mismatch", "DEVICE_AUTH_DEVICE_ID_MISMATCH", 60),
        ("device public key invalid", "DEVICE_AUTH_PUBLIC_KEY_INVALID", 60),
    ]

    private struct Loss: Equatable {
        var reason: String
        var wait: Duration
        var remedy: LinkRemedy?
    }

    private static func losses(_ world: LiveWorld) -> [Loss] {
        world.events.compactMap { event in
            guard case .agentLost(_, let reason, let wait, let remedy) = event else { return nil }
            return Loss(reason: reason, wait: wait, remedy: remedy)
        }
    }

    /// A gateway that refuses the bridge for five minutes and then accepts it.
    private static func refused(_ era: GatewayEra, _ refusal: GatewayRefusal) -> LiveWorld {
        let world = LiveWorld(era, scripts: [:])
        world.gateway.refusal = refusal
        world.start()
        world.time.after(.seconds(300)) { world.gateway.refusal = nil }
        world.run(seconds: 400)
        return world
    }

    @Test(
        "each of the early texts leads where its later code leads, as an answer and as the reason of a close",
        arguments: errors)
    func earlyTexts(_ text: String, _ code: String, _ wait: Int64) throws {
        let later = Self.refused(.e2, GatewayRefusal(text, detail: code))
        let early = Self.refused(.e1, GatewayRefusal(text))
        let closed = Self.refused(.e1, GatewayRefusal(text, onlyCloses: true))
        let losses = Self.losses(later)
        let first = try #require(losses.first)
        #expect(first.remedy != nil)
        if wait > 0 {
            #expect(losses.allSatisfy { $0.wait == .seconds(wait) })
            #expect(losses.count == 5)
        } else {
            #expect(losses.count > 5)
            #expect(losses.allSatisfy { $0.wait < .seconds(40) })
        }
        for world in [early, closed] {
            let others = Self.losses(world)
            #expect(others.map(\.reason) == losses.map(\.reason))
            #expect(others.map(\.remedy) == losses.map(\.remedy))
            #expect(others.map(\.wait) == losses.map(\.wait))
            #expect(world.gateway.introductionsRefused == later.gateway.introductionsRefused)
        }
        for world in [later, early, closed] {
            #expect(world.events.contains { if case .agentConnected = $0 { true } else { false } })
        }
    }

    @Test("a pairing that is approved while a message waits answers it", arguments: GatewayEra.allCases)
    func approved(_ era: GatewayEra) {
        let script = GatewayScript((20, .says("Here I am.")), (20, .finishes))
        let world = LiveWorld(era, scripts: ["Question?": script])
        world.gateway.refusal = .pairing
        world.start()
        world.writes("Question?", after: .seconds(1))
        world.time.after(.seconds(10)) { world.gateway.refusal = nil }
        world.run(seconds: 60)
        #expect(world.answers("Question?") == ["Here I am."])
        #expect(world.time.now < .zero + .seconds(31))
    }

    @Test("the bubble of a message that cannot be delivered says what a person can do", arguments: GatewayEra.allCases)
    func unapproved(_ era: GatewayEra) {
        let world = LiveWorld(era, scripts: [:])
        world.gateway.refusal = .pairing
        world.start()
        world.writes("Question?", after: .seconds(1))
        world.run(seconds: 300)
        let answer = world.answers("Question?").first ?? ""
        #expect(answer.contains("openclaw devices approve req-1"))
        #expect(world.gateway.calls.count { $0 == "chat.send" } == 0)
    }
}

extension LiveWorld {
    /// Ends of the bubbles of this message.
    fileprivate func answers(_ text: String) -> [String] {
        sides[0].sent.filter { $0.text == text }.flatMap { message in
            sides[0].relay.sessions.filter { $0.id == message.session }.flatMap(\.messages)
                .filter { $0.role == .agent && $0.interaction == message.interaction && $0.isFinal }.map(\.text)
        }
    }
}
