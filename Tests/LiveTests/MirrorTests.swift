import BridgeCore
import BridgeService
import RelayRules
import Testing
import Vocabulary
import Worlds

@Suite("Runs that no phone message began")
struct MirrorTests {
    private static let job = "agent:main:cron:backup"
    private static let talk = "agent:main:terminal"

    private static func world(
        _ mode: Configuration.Mirror, era: GatewayEra = .e4, kill: Int? = nil
    ) -> LiveWorld {
        let backup = GatewayScript(
            (20, .says("The backup ")), (200, .callsTool(id: "t1", command: "tar")),
            (200, .toolReturns(id: "t1", output: "ok")), (100, .says("is done.")), (50, .finishes))
        let hello = GatewayScript((20, .says("Hello.")), (30, .finishes))
        let world = LiveWorld(era, scripts: ["Back up.": backup, "Hello?": hello])
        world.mirror = mode
        world.start()
        world.schedulerRuns("Back up.", job: "backup", in: job, as: "run-1", after: .milliseconds(200))
        world.otherClientSends("Hello?", in: talk, as: "run-2", after: .milliseconds(400))
        world.run(seconds: 120, killAfter: kill)
        return world
    }

    @Test("a job's run has a chat of its own, and a terminal's has none", arguments: GatewayEra.allCases)
    func cron(era: GatewayEra) throws {
        let world = Self.world(.cron, era: era)
        #expect(world.relay.breaches.isEmpty, "\(world.relay.breaches.map(\.sentence))")
        #expect(world.relay.sessions.count == 1)
        let chat = try #require(world.relay.sessions.first)
        #expect(chat.source == "cron")
        let text = "The backup\n\nis done."
        #expect(chat.messages.map(\.text) == [text])
        #expect(chat.messages.first?.isFinal == true)
        let open = chat.tasks.filter { $0.status == nil }
        #expect(open.isEmpty)
    }

    @Test("all shows every run, none shows none")
    func modes() {
        let texts = Self.world(.all).relay.sessions.flatMap { $0.messages.map(\.text) }
        #expect(texts.sorted() == ["Hello.", "The backup\n\nis done."])
        #expect(Self.world(.none).relay.sessions.isEmpty)
    }

    @Test(
        "a process that is killed on the way ends the bubble all the same, and makes no second one", arguments: 12...60)
    func killed(steps: Int) {
        let world = Self.world(.cron, kill: steps)
        #expect(world.relay.breaches.isEmpty, "\(world.relay.breaches.map(\.sentence))")
        for chat in world.relay.sessions {
            let isOver = chat.messages.allSatisfy { $0.isFinal }
            #expect(isOver)
            // A chat whose answer was lost with the process stays empty.
            #expect(chat.messages.count <= 1)
        }
        #expect(world.openTurns == 0)
    }

    @Test("the chat's making and all its calls have the time that the configuration gives a call")
    func callLimit() {
        let world = LiveWorld(.e4, scripts: ["Back up.": GatewayScript((20, .says("Done.")), (50, .finishes))])
        world.mirror = .cron
        world.callLimit = .seconds(3)
        world.start()
        world.schedulerRuns("Back up.", job: "backup", in: Self.job, as: "run-1", after: .milliseconds(200))
        world.run(seconds: 20)
        #expect(world.relay.tally.calls["createSession"] == 1)
        #expect(world.relay.tally.calls["sendMessageEnd"] == 1)
        #expect(world.callLimits == [.seconds(3)])
    }

    @Test("a private run in a session after its job, or beside it, stays private", arguments: GatewayEra.allCases)
    func privateRuns(era: GatewayEra) {
        let hello = GatewayScript((20, .says("Hello.")), (30, .finishes))
        let secret = GatewayScript((20, .says("Secret.")), (30, .finishes))
        let world = LiveWorld(era, scripts: ["Back up.": hello, "Privately?": secret])
        world.mirror = .cron
        world.start()
        world.otherClientSends("Privately?", in: Self.job, as: "before", after: .milliseconds(200))
        world.schedulerRuns("Back up.", job: "backup", in: Self.job, as: "run-1", after: .seconds(2))
        world.otherClientSends("Privately?", in: Self.job, as: "after-1", after: .seconds(4))
        world.time.after(.seconds(5)) {
            world.kill()
            world.start()
        }
        world.otherClientSends("Privately?", in: Self.job, as: "after-2", after: .seconds(8))
        world.schedulerRuns("Back up.", job: "backup", in: Self.job, as: "run-2", after: .seconds(10))
        world.otherClientSends("Privately?", in: Self.job, as: "after-3", after: .seconds(12))
        world.run(seconds: 30)
        #expect(world.relay.sessions.flatMap { $0.messages.map(\.text) } == ["Hello.", "Hello."])
        #expect(world.relay.sessions.count == 1)
    }
}
