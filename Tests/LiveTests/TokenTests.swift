import BridgeCore
import BridgeService
import RelayRules
import Testing
import Vocabulary
import Worlds

/// Tokens that die and change under a live connection, and machines that sleep.
@Suite("Another token, and waking up")
struct TokenTests {
    private static let old = RelayOptions().bridgeToken
    private static let sameInstallation = String(old.prefix { $0 != ":" }) + ":s_test_the_next_token_of_the_same_bridge"
    private static let otherInstallation = "inst_Simulator0000002:s_test_the_first_token_of_another_bridge"

    private static let answer = GatewayScript(
        (20, .says("One. ")), (1_000, .says("Two. ")), (4_000, .says("Three. ")), (6_000, .says("Four.")),
        (100, .finishes))

    private static func world(_ eras: [GatewayEra] = [.e4]) -> LiveWorld {
        LiveWorld(eras, scripts: ["Question?": answer])
    }

    private static func bubbles(_ side: WorldSide) -> [PhoneMessage] {
        side.relay.sessions.flatMap(\.messages).filter { $0.role == .agent && $0.interaction != nil }
    }

    private static func stops(_ world: LiveWorld) -> Int {
        world.events.count { if case .stopped = $0 { true } else { false } }
    }

    @Test(
        "a connection that 401 stopped works whole with another token: socket, calls, lanes, buckets",
        arguments: [0, 1, 2])
    func mended(_ cause: Int) {
        let world = Self.world([.e4, .e3])
        let side = world.sides[0]
        world.start()
        side.writes("Question?", after: .milliseconds(200))
        world.sides[1].writes("Question?", after: .milliseconds(300))
        world.time.after(.seconds(2)) {
            _ = side.relay.revoke(token: Self.old)
            side.relay.admit(token: Self.sameInstallation)
            // Which side learns of the dead token first: the socket, a call, or both.
            if cause == 1 { side.network.relayAwayUntil = .zero + .seconds(4) }
        }
        side.use(Secret(Self.sameInstallation), after: .seconds(cause == 2 ? 30 : 8))
        side.writes("Question?", chat: 1, after: .seconds(cause == 2 ? 32 : 20))
        world.run(seconds: 120, atLeast: .seconds(60))
        let told = Self.bubbles(side)
        #expect(told.map(\.text) == ["One. Two. Three. Four.", "One. Two. Three. Four."])
        #expect(told.filter { !$0.isFinal } == [])
        #expect(Self.bubbles(world.sides[1]).map(\.text) == ["One. Two. Three. Four."])
        #expect(Self.stops(world) == 1)
        #expect(world.events.contains { if case .mended = $0 { true } else { false } })
        #expect(side.authorizations["sendMessageEnd"] == "Bearer \(Self.sameInstallation)")
    }

    @Test(
        "a call without a turn is the first to hear of the end: the run of the chat is aborted, and the person told once",
        arguments: [(410, "installation_revoked"), (403, "installation_revoked"), (401, "invalid_token")])
    func heardBeside(status: Int, code: String) {
        let world = Self.world()
        world.mirror = .all
        let side = world.sides[0]
        side.relay.plan(Fault(.refused(status: status, code: code), method: "createSession", count: 1))
        world.start()
        side.writes("Question?", after: .milliseconds(200))
        side.otherClientSends("Question?", in: "agent:main:terminal", as: "run-1", after: .milliseconds(600))
        world.run(seconds: 8, atLeast: .seconds(8))
        #expect(Self.stops(world) == 1)
        #expect(side.gateway.calls.contains("chat.abort") == (code == "installation_revoked"))
        #expect(side.gateway.isActive("run-1"))
    }

    @Test("the run of another client whose bubble hears of the removal goes on, and its bubble is closed here")
    func heardByMirror() {
        let world = Self.world()
        world.mirror = .all
        let side = world.sides[0]
        world.start()
        side.otherClientSends("Question?", in: "agent:main:terminal", as: "run-1", after: .milliseconds(600))
        world.time.after(.seconds(3)) {
            side.relay.plan(
                Fault(.refused(status: 410, code: "installation_revoked"), method: "sendMessageDelta", count: 1))
        }
        world.run(seconds: 8, atLeast: .seconds(8))
        #expect(side.relay.sessions.flatMap(\.messages).map(\.streamed) == ["One. Two."])
        #expect(Self.stops(world) == 1)
        #expect(world.openTurns == 0)
        #expect(!side.gateway.calls.contains("chat.abort") && side.gateway.isActive("run-1"))
    }

    @Test("with a token of another installation what is open ends with the old one, and only then comes the new one")
    func moved() {
        let world = Self.world()
        world.start()
        world.writes("Question?", after: .milliseconds(200))
        world.relay.admit(token: Self.otherInstallation)
        world.use(Secret(Self.otherInstallation), after: .seconds(3))
        world.writes("Question?", chat: 1, after: .seconds(10))
        world.run(seconds: 60, atLeast: .seconds(30))
        let told = Self.bubbles(world.sides[0])
        #expect(told.first?.text.hasPrefix("One. Two.") == true)
        #expect(told.first?.text.contains("paired anew") == true)
        #expect(told.last?.text == "One. Two. Three. Four.")
        #expect(world.gateway.calls.contains("chat.abort"))
        #expect(world.authorizations["sendMessageEnd"] == "Bearer \(Self.otherInstallation)")
        #expect(world.relay.breaches.isEmpty, "\(world.relay.breaches.map(\.sentence))")
    }

    @Test("where the old token is dead what is open closes as dead letters, within its time", arguments: [false, true])
    func deadOld(_ isUnreachable: Bool) {
        let world = Self.world()
        world.start()
        world.writes("Question?", after: .milliseconds(200))
        world.time.after(.seconds(2)) {
            if isUnreachable {
                world.network.relayAwayUntil = .zero + .seconds(40)
            } else {
                _ = world.relay.revoke(token: Self.old)
            }
            world.relay.admit(token: Self.otherInstallation)
        }
        world.use(Secret(Self.otherInstallation), after: .seconds(4))
        var isClosedAt: Instant?
        world.afterStep = { world in
            if world.now > .zero + .seconds(4), world.openTurns == 0, isClosedAt == nil { isClosedAt = world.now }
        }
        world.writes("Question?", chat: 1, after: .seconds(60))
        world.run(seconds: 120, atLeast: .seconds(80))
        #expect(isClosedAt.map { $0 < .zero + .seconds(16) } == true)
        #expect(world.journal.openTurns == [])
        #expect((world.ask { $0.work?.deadLetters ?? 0 } ?? 0) > 0)
        #expect(Self.bubbles(world.sides[0]).last?.text == "One. Two. Three. Four.")
        #expect(world.authorizations["sendMessageEnd"] == "Bearer \(Self.otherInstallation)")
    }

    @Test("waking up is noticed within 5 s, on both links, whatever their deadlines", arguments: [Int64(10), 20, 600])
    func wakes(_ seconds: Int64) {
        let world = Self.world()
        world.start()
        world.time.after(.seconds(10)) { world.time.suspended = .seconds(seconds) }
        var lost: [Instant] = []
        var told = 0
        world.afterStep = { world in
            for case .relayLost in world.events.dropFirst(told) { lost.append(world.now) }
            told = world.events.count
        }
        world.run(seconds: 40)
        #expect(lost.count == 1)
        #expect(lost.allSatisfy { $0 <= .zero + .seconds(15) })
        let greetings = world.events.count { if case .agentConnected = $0 { true } else { false } }
        #expect(greetings == 2)
    }
}
