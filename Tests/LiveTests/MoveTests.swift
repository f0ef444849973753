import BridgeCore
import RelayRules
import Testing
import Vocabulary
import Worlds

@testable import BridgeService

/// Work under way while the token changes to that of another installation.
@Suite("Another installation, in bad moments")
struct MoveTests {
    private static let old = RelayOptions().bridgeToken
    private static let other = "inst_Simulator0000002:s_test_the_first_token_of_another_bridge"

    private static func world() -> LiveWorld {
        let slow = GatewayScript((20, .says("One. ")), (20_000, .says("Two.")), (50, .finishes))
        let hello = GatewayScript((20, .says("Hello.")), (30, .finishes))
        let world = LiveWorld(.e4, scripts: ["Question?": slow, "Hello?": hello])
        world.mirror = .all
        world.relay.admit(token: other)
        return world
    }

    private static func bubbles(_ world: LiveWorld) -> [PhoneMessage] {
        world.relay.sessions.flatMap(\.messages).filter { $0.role == .agent }
    }

    /// The token of each call of a method, in order.
    private static func tokens(_ world: LiveWorld, of method: String) -> () -> [String] {
        var seen: [String] = []
        var count = 0
        world.afterStep = { world in
            guard let made = world.callsMade[method], made > count else { return }
            count = made
            seen.append(world.authorizations[method] == "Bearer \(old)" ? "old" : "new")
        }
        return { seen }
    }

    @Test("a message that is being written down is answered with the old token", arguments: [400, 2_000])
    func accepting(sync: Int64) {
        let world = Self.world()
        world.start()
        world.time.after(.seconds(3)) { world.disk.syncTime = .milliseconds(sync) }
        world.writes("Question?", after: .milliseconds(3_100))
        world.use(Secret(Self.other), after: .milliseconds(3_200))
        let opens = Self.tokens(world, of: "sendMessage")
        world.run(seconds: 60, atLeast: .seconds(30))
        #expect(opens() == ["old"])
        #expect(world.authorizations["sendMessageEnd"] == "Bearer \(Self.old)")
        #expect(Self.bubbles(world).map(\.isFinal) == [true])
        #expect(Self.bubbles(world).first?.text.contains("paired anew") == true)
        #expect(world.openTurns == 0)
        #expect(world.journal.openTurns == [])
    }

    @Test("a message whose writing outlasts the old token closes with it, and nothing of it is said with the new one")
    func tooLate() {
        let world = Self.world()
        world.start()
        world.time.after(.seconds(3)) { world.disk.syncTime = .seconds(14) }
        world.writes("Question?", after: .milliseconds(3_100))
        world.use(Secret(Self.other), after: .milliseconds(3_200))
        world.time.after(.seconds(10)) { world.disk.syncTime = .milliseconds(2) }
        let opens = Self.tokens(world, of: "sendMessage")
        world.run(seconds: 60, atLeast: .seconds(40))
        #expect(opens() == [])
        #expect(!world.gateway.calls.contains("chat.send"), "\(world.gateway.calls)")
        #expect(world.openTurns == 0)
        #expect(world.journal.openTurns == [])
        #expect((world.ask { $0.work?.deadLetters ?? 0 } ?? 0) > 0)
    }

    @Test("a chat that was asked for with the old token is not the new installation's")
    func askedBefore() {
        let world = Self.world()
        world.relay.plan(Fault(.slow(milliseconds: 5_000), method: "createSession"))
        world.start()
        world.otherClientSends("Hello?", in: "agent:main:terminal", as: "run-1", after: .milliseconds(300))
        world.use(Secret(Self.other), after: .seconds(2))
        let asked = Self.tokens(world, of: "createSession")
        world.run(seconds: 40)
        #expect(asked() == ["old", "new"])
        #expect(world.relay.sessions.map { $0.messages.map(\.text) } == [[], ["Hello."]])
        #expect(world.authorizations["sendMessageEnd"] == "Bearer \(Self.other)")
        #expect(world.openTurns == 0)
    }

    @Test("while what is open ends with the old token no chat is asked for", arguments: [1_500, 4_000])
    func duringFarewell(wait: Int64) {
        let world = Self.world()
        world.relay.plan(Fault(.status(503, retryAfterMilliseconds: wait), method: "createSession"))
        world.relay.plan(Fault(.slow(milliseconds: 6_000), method: "sendMessageEnd"))
        world.start()
        world.writes("Question?", after: .milliseconds(200))
        world.otherClientSends("Hello?", in: "agent:main:terminal", as: "run-1", after: .milliseconds(300))
        world.use(Secret(Self.other), after: .seconds(1))
        let asked = Self.tokens(world, of: "createSession")
        world.run(seconds: 40, atLeast: .seconds(30))
        #expect(asked() == ["old", "new"])
        let texts = Self.bubbles(world).filter { $0.isFinal }.map(\.text)
        #expect(texts.contains("Hello."))
        #expect(world.openTurns == 0)
    }

    @Test("what an earlier process left open of another installation closes with the status, and nothing of it is said")
    func whileDown() {
        let world = Self.world()
        world.start()
        world.writes("Question?", after: .milliseconds(200))
        world.otherClientSends("Hello?", in: "agent:main:terminal", as: "run-1", after: .milliseconds(300))
        world.time.after(.seconds(3)) {
            world.kill()
            world.token = Self.other
            world.start()
            #expect(world.openTurns == 0)
        }
        let opens = Self.tokens(world, of: "createSession")
        world.otherClientSends("Hello?", in: "agent:main:terminal", as: "run-2", after: .seconds(8))
        world.writes("Hello?", chat: 1, after: .seconds(10))
        world.run(seconds: 60, atLeast: .seconds(40))
        #expect(opens() == ["old", "new"])
        #expect(world.journal.openTurns == [])
        #expect((world.ask { $0.work?.deadLetters ?? 0 } ?? 0) == 1)
        #expect(world.gateway.calls.contains("chat.abort"))
        let notes = world.events.filter {
            if case .note(_, let words) = $0 { words.contains("another installation") } else { false }
        }
        #expect(notes.count == 1)
        #expect(Self.bubbles(world).filter(\.isFinal).map(\.text) == ["Hello.", "Hello.", "Hello."])
    }

    @Test("nothing is kept of the chats that the old installation had", arguments: [false, true])
    func forgotten(whileDown: Bool) {
        let world = Self.world()
        func kept() -> [String] {
            world.journal.load().settings.keys.filter { $0.hasPrefix("home:") || $0.hasPrefix("model:") }
        }
        world.start()
        world.writes("/bridge new", after: .milliseconds(200))
        world.time.after(.seconds(2)) {
            let session = world.sent[0].session
            world.sides[0].pushes("session.model.changed", #"{"session":{"id":"\#(session)"},"model":"a/one"}"#)
        }
        world.time.after(.seconds(4)) { #expect(kept().count == 2, "\(kept())") }
        if whileDown {
            world.time.after(.seconds(5)) {
                world.kill()
                world.token = Self.other
                world.start()
            }
        } else {
            world.use(Secret(Self.other), after: .seconds(5))
        }
        world.run(seconds: 60, atLeast: .seconds(30))
        #expect(kept() == [])
    }

    @Test("so it does where the bridge was started without a token first")
    func withoutToken() {
        var state = TokenState(token: nil)
        state.restored = "inst_one"
        #expect(state.use(Secret("inst_two:s_secret"), hasOpenTurns: true, at: .zero) == .abandon)
        #expect(state.use(Secret("inst_two:s_secret"), hasOpenTurns: false, at: .zero) == .move)
        #expect(state.use(Secret("inst_one:s_secret"), hasOpenTurns: true, at: .zero) == .move)
    }

    @Test("a restart with the same installation goes on with what is open", arguments: [false, true])
    func sameInstallation(otherToken: Bool) {
        let world = Self.world()
        let next = String(Self.old.prefix { $0 != ":" }) + ":s_test_another_token"
        world.relay.admit(token: next)
        world.start()
        world.writes("Question?", after: .milliseconds(200))
        world.time.after(.seconds(3)) {
            world.kill()
            if otherToken { world.token = next }
            world.start()
        }
        world.run(seconds: 60, atLeast: .seconds(30))
        #expect(Self.bubbles(world).map(\.text) == ["One. Two."])
    }
}
