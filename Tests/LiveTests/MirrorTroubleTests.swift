import BridgeCore
import BridgeService
import RelayRules
import Testing
import Vocabulary
import Worlds

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
        // The chat made for the second run shows the text of the first run as well.
        #expect(Self.texts(world) == ["Hello.", "Hello."])
        #expect(world.relay.sessions.count == 1)
        let note = try #require(Self.notes(world).first { $0.contains("made no chat") })
        #expect(note.contains("401") && note.contains("sophon-bridge pair"))
    }

    @Test("a full disk puts the chat off, and the session has one chat after a restart")
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

    // MARK: Chats that are not to be had

    @Test(
        "a chat of unknown outcome is asked for three times at most, and the next run begins anew",
        arguments: [Fault.Kind.status(500, retryAfterMilliseconds: nil), .reset, .replyLost, .truncated])
    func unknown(fault: Fault.Kind) {
        let world = Self.world(["Hello?", "Again?"])
        world.relay.plan(Fault(fault, method: "createSession", count: 3))
        world.start()
        world.otherClientSends("Hello?", in: "agent:main:terminal", as: "run-1", after: .milliseconds(200))
        world.time.after(.seconds(60)) {
            #expect(world.relay.tally.calls["createSession"] == 3)
            #expect(Self.texts(world).isEmpty)
            #expect(Self.notes(world).filter { $0.contains("made no chat") }.count == 1)
        }
        world.otherClientSends("Again?", in: "agent:main:terminal", as: "run-2", after: .seconds(70))
        world.run(seconds: 90)
        #expect(world.relay.tally.calls["createSession"] == 4)
        #expect(Self.texts(world) == ["Hello.", "Hello."])
        // Chats whose answers the network lost stay empty.
        #expect(world.relay.sessions.filter { $0.messages.isEmpty }.count <= 3)
        #expect(world.openTurns == 0)
    }

    @Test("a process that dies over and over while the chat's outcome is unknown asks three times in all")
    func dying() {
        let world = Self.world()
        world.relay.plan(Fault(.slow(milliseconds: 60_000), method: "createSession", count: 10))
        world.start()
        world.otherClientSends("Hello?", in: "agent:main:terminal", as: "run-1", after: .milliseconds(200))
        for number in 1...6 {
            world.time.after(.seconds(Int64(number) * 12)) {
                world.kill()
                world.start()
            }
        }
        world.run(seconds: 100)
        #expect(world.callsMade["createSession"] == 3)
    }

    @Test("being told to wait is no try: after five of them the chat is made, at the moment that was named")
    func waits() {
        let world = Self.world()
        world.relay.plan(
            Fault(.status(503, retryAfterMilliseconds: 4_000), method: "createSession", count: 5))
        world.start()
        world.otherClientSends("Hello?", in: "agent:main:terminal", as: "run-1", after: .milliseconds(200))
        world.time.after(.seconds(19)) { #expect(world.relay.tally.calls["createSession"] == 5) }
        world.run(seconds: 60)
        #expect(world.relay.tally.calls["createSession"] == 6)
        #expect(Self.texts(world) == ["Hello."])
    }

    @Test("a run whose process died before its chat was made is shown by the next one", arguments: GatewayEra.allCases)
    func interrupted(era: GatewayEra) {
        let slow = GatewayScript((20, .says("Slowly ")), (9_000, .says("done.")), (30, .finishes))
        let world = LiveWorld(era, scripts: ["Hello?": slow])
        world.mirror = .cron
        world.relay.plan(Fault(.status(503, retryAfterMilliseconds: 4_000), method: "createSession", count: 1))
        world.start()
        world.schedulerRuns("Hello?", job: "j", in: "agent:main:cron:j", as: "run-1", after: .milliseconds(200))
        world.time.after(.seconds(2)) {
            world.kill()
            world.start()
        }
        world.run(seconds: 60)
        #expect(Self.texts(world) == ["Slowly done."])
        #expect(world.openTurns == 0)
    }

    // MARK: Deleted chats

    @Test(
        "a deleted or archived chat is forgotten: the next run gets another, also after a restart",
        arguments: [true, false])
    func deleted(archives: Bool) {
        let world = Self.world(["Hello?", "Again?", "More?"])
        world.start()
        let session = "agent:main:terminal"
        world.otherClientSends("Hello?", in: session, as: "run-1", after: .milliseconds(200))
        if archives { world.archivesChat(0, after: .seconds(3)) } else { world.deletesChat(0, after: .seconds(3)) }
        world.otherClientSends("Again?", in: session, as: "run-2", after: .seconds(5))
        world.time.after(.seconds(8)) {
            world.kill()
            world.start()
        }
        world.otherClientSends("More?", in: session, as: "run-3", after: .seconds(12))
        world.run(seconds: 30)
        #expect(world.relay.tally.calls["createSession"] == 2)
        let chats = world.relay.sessions
        #expect(chats.last?.messages.map(\.text) == ["Hello.", "Hello."])
        #expect(world.relay.tally.refusals.isEmpty, "\(world.relay.tally.refusals)")
    }

    @Test("with mute no run of that session is shown any more, also after a restart, until the configuration says new")
    func muted() {
        let world = Self.world(["Hello?", "Again?", "More?", "News?"])
        world.deletedChats = .mute
        world.start()
        let session = "agent:main:terminal"
        world.otherClientSends("Hello?", in: session, as: "run-1", after: .milliseconds(200))
        world.deletesChat(0, after: .seconds(3))
        world.otherClientSends("Again?", in: session, as: "run-2", after: .seconds(5))
        world.time.after(.seconds(8)) {
            world.kill()
            world.start()
        }
        world.otherClientSends("More?", in: session, as: "run-3", after: .seconds(12))
        world.time.after(.seconds(20)) {
            #expect(world.relay.tally.calls["createSession"] == 1)
            world.kill()
            world.deletedChats = .new
            world.start()
        }
        world.otherClientSends("News?", in: session, as: "run-4", after: .seconds(24))
        world.run(seconds: 40)
        #expect(world.relay.tally.calls["createSession"] == 2)
        #expect(world.relay.sessions.last?.messages.map(\.text) == ["Hello."])
    }

    @Test("the relay's word on a call that the chat is gone does the same", arguments: [true, false])
    func goneByCall(mutes: Bool) {
        let world = Self.world(["Hello?", "Again?", "More?"])
        world.deletedChats = mutes ? .mute : .new
        world.start()
        let session = "agent:main:terminal"
        world.otherClientSends("Hello?", in: session, as: "run-1", after: .milliseconds(200))
        world.time.after(.seconds(3)) {
            world.relay.plan(Fault(.refused(status: 404, code: "session_not_found"), method: "sendMessage"))
        }
        world.otherClientSends("Again?", in: session, as: "run-2", after: .seconds(4))
        world.otherClientSends("More?", in: session, as: "run-3", after: .seconds(8))
        world.run(seconds: 30)
        #expect(world.relay.tally.calls["createSession"] == (mutes ? 1 : 2))
        #expect(Self.texts(world).count == (mutes ? 1 : 2))
        #expect(world.openTurns == 0)
    }

    // MARK: What the relay may not do to them

    @Test(
        "a run of others goes on and its approval stays open, whatever the relay refuses or the person deletes",
        arguments: [GatewayEra.e3, .e4], [true, false])
    func untouched(era: GatewayEra, deletes: Bool) {
        let script = GatewayScript(
            (20, .says("May I? ")), (60, .asksApproval(id: "a1", command: "reboot")), (100, .says("Done.")),
            (50, .finishes))
        let world = LiveWorld(era, scripts: ["Hello?": script])
        world.mirror = .all
        world.decision = nil
        if !deletes {
            let refusal = Fault(.refused(status: 410, code: "session_deleted"), method: "requestApproval", count: 9)
            world.relay.plan(refusal)
        }
        world.start()
        world.otherClientSends("Hello?", in: "agent:main:terminal", as: "run-1", after: .milliseconds(200))
        if deletes { world.deletesChat(0, after: .seconds(3)) }
        world.run(seconds: 20)
        #expect(world.gateway.isActive("run-1"))
        #expect(
            !world.gateway.calls.contains { $0.contains("resolve") || $0 == "chat.abort" }, "\(world.gateway.calls)")
        #expect(world.openTurns == 0)
    }

    @Test(
        "an approval whose card the relay refuses is left to others, and the bubble says so",
        arguments: [GatewayEra.e3, .e4])
    func refusedCard(era: GatewayEra) {
        let script = GatewayScript(
            (20, .says("May I? ")), (60, .asksApproval(id: "a1", command: "reboot")),
            (100, .toolReturns(id: "t", output: "")), (100, .says("Done.")), (50, .finishes))
        let world = LiveWorld(era, scripts: ["Hello?": script])
        world.mirror = .all
        world.relay.plan(Fault(.refused(status: 400, code: "invalid_request"), method: "requestApproval", count: 9))
        world.start()
        world.otherClientSends("Hello?", in: "agent:main:terminal", as: "run-1", after: .milliseconds(200))
        world.time.after(.seconds(5)) {
            #expect(world.gateway.isActive("run-1"))
            world.gateway.otherClientDecides("a1", "allow-once", at: world.time.now)
        }
        world.run(seconds: 30)
        #expect(!world.gateway.calls.contains { $0.contains("resolve") }, "\(world.gateway.calls)")
        let text = Self.texts(world).first ?? ""
        #expect(text.hasPrefix("May I? Done."))
        #expect(text.contains("could not be shown here"))
    }
}
