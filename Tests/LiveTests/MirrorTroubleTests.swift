import BridgeCore
import BridgeModel
import BridgeService
import BridgeTesting
import RelayRules
import Testing

@Suite("Runs that no phone message began, in bad moments")
struct MirrorTroubleTests {
    private static let hello = GatewayScript((20, .says("Hello.")), (30, .finishes))

    private static func world(_ prompts: [String] = ["Hello?"]) -> LiveWorld {
        let world = LiveWorld(.e4, scripts: Dictionary(uniqueKeysWithValues: prompts.map { ($0, hello) }))
        world.mirror = .all
        return world
    }

    private static func texts(_ world: LiveWorld) -> [String] {
        world.relay.sessions.flatMap { $0.messages.filter(\.isFinal).map(\.text) }
    }

    private static func notes(_ world: LiveWorld) -> [String] {
        world.events.compactMap { if case .note(_, let words) = $0 { words } else { nil } }
    }

    @Test("a run in a chat that is there already, whose events all come at once, loses none of them")
    func atOnce() {
        let world = Self.world()
        world.start()
        world.otherClientSends("Hello?", in: "agent:main:terminal", as: "run-1", after: .milliseconds(200))
        let session = AgentSession("agent:main:terminal")
        world.agentSays(
            [
                .started, .text(.append("One, ")), .text(.append("two.")),
                .finished(RunEnd(reason: .stop)),
            ].map { RunSignal(run: RunID("run-2"), session: session, event: $0) }, after: .seconds(5))
        world.run(seconds: 30)
        #expect(Self.texts(world) == ["Hello.", "One, two."])
        #expect(world.relay.sessions.count == 1)
        #expect(world.openTurns == 0)
    }

    @Test("forty sessions that begin at once are all shown, and the relay is never asked too fast")
    func crowd() {
        let prompts = (0..<40).map { "Hello \($0)?" }
        let world = Self.world(prompts)
        world.start()
        for (number, prompt) in prompts.enumerated() {
            world.otherClientSends(
                prompt, in: "agent:main:s\(number)", as: "run-\(number)", after: .milliseconds(200 + Int64(number)))
        }
        world.run(seconds: 60)
        #expect(Self.texts(world) == Array(repeating: "Hello.", count: 40))
        #expect(world.relay.sessions.count == 40)
        #expect(world.relay.tally.refusals.isEmpty, "\(world.relay.tally.refusals)")
        #expect(world.relay.breaches.isEmpty, "\(world.relay.breaches.map(\.sentence))")
    }

    @Test("a relay that is too busy for a chat is asked again when it said so")
    func busy() {
        let world = Self.world()
        world.relay.plan(
            Fault(.rateLimited(retryAfterMilliseconds: 3_000, namesBucket: true), method: "createSession", count: 2))
        world.start()
        world.otherClientSends("Hello?", in: "agent:main:terminal", as: "run-1", after: .milliseconds(200))
        world.run(seconds: 30)
        #expect(Self.texts(world) == ["Hello."])
        #expect(world.relay.tally.calls["createSession"] == 3)
        #expect(Self.notes(world).isEmpty)
    }

    @Test("a refused chat is noted with the relay's reason, and a token that came meanwhile is the one that is used")
    func refused() throws {
        let world = Self.world(["Hello?", "Again?"])
        world.start()
        world.use(Secret("not-the-token"), after: .seconds(1))
        world.otherClientSends("Hello?", in: "agent:main:terminal", as: "run-1", after: .seconds(2))
        world.use(Secret(RelayOptions().bridgeToken), after: .seconds(4))
        world.otherClientSends("Again?", in: "agent:main:terminal", as: "run-2", after: .seconds(5))
        world.time.after(.seconds(3)) {
            #expect(world.authorizations["createSession"] == "Bearer not-the-token")
        }
        world.run(seconds: 30)
        #expect(world.authorizations["createSession"] == "Bearer \(RelayOptions().bridgeToken)")
        #expect(Self.texts(world) == ["Hello."])
        let note = try #require(Self.notes(world).first { $0.contains("made no chat") })
        #expect(note.contains("401") && note.contains("sophon-bridge pair"))
    }

    @Test("a chat that could not be written down is used all the same, and is the session's chat after a restart")
    func unwritten() {
        let world = Self.world(["Hello?", "Again?"])
        world.start()
        world.time.after(.milliseconds(100)) { world.journal.isFull = true }
        world.otherClientSends("Hello?", in: "agent:main:terminal", as: "run-1", after: .milliseconds(200))
        world.time.after(.seconds(3)) { world.journal.isFull = false }
        world.time.after(.seconds(6)) {
            world.kill()
            world.start()
        }
        world.otherClientSends("Again?", in: "agent:main:terminal", as: "run-2", after: .seconds(10))
        world.run(seconds: 40)
        #expect(world.relay.sessions.count == 1)
        #expect(Self.texts(world).last == "Hello.")
        #expect(world.relay.breaches.isEmpty, "\(world.relay.breaches.map(\.sentence))")
    }
}
