import BridgeCore
import BridgeModel
import BridgeService
import BridgeTesting
import RelayRules
import Testing

@Suite("Runs that no phone message began")
struct MirrorTests {
    private static let job = "agent:main:cron:backup"
    private static let talk = "agent:main:terminal"

    private static func world(_ mode: Configuration.Mirror, kill: Int? = nil) -> LiveWorld {
        let backup = GatewayScript(
            (20, .says("The backup ")), (200, .callsTool(id: "t1", command: "tar")),
            (200, .toolReturns(id: "t1", output: "ok")), (100, .says("is done.")), (50, .finishes))
        let hello = GatewayScript((20, .says("Hello.")), (30, .finishes))
        let world = LiveWorld(.e4, scripts: ["Back up.": backup, "Hello?": hello])
        world.mirror = mode
        world.start()
        world.otherClientSends("Back up.", in: job, as: "run-1", after: .milliseconds(200))
        world.otherClientSends("Hello?", in: talk, as: "run-2", after: .milliseconds(400))
        world.run(seconds: 120, killAfter: kill)
        return world
    }

    @Test("a job's run has a chat of its own, and a terminal's has none")
    func cron() throws {
        let world = Self.world(.cron)
        #expect(world.relay.breaches.isEmpty, "\(world.relay.breaches.map(\.sentence))")
        #expect(world.relay.sessions.count == 1)
        let chat = try #require(world.relay.sessions.first)
        #expect(chat.source == "cron")
        #expect(chat.messages.map(\.text) == ["The backup is done."])
        #expect(chat.messages.first?.isFinal == true)
        let open = chat.tasks.filter { $0.status == nil }
        #expect(open.isEmpty)
    }

    @Test("all shows every run, none shows none")
    func modes() {
        let texts = Self.world(.all).relay.sessions.flatMap { $0.messages.map(\.text) }
        #expect(texts.sorted() == ["Hello.", "The backup is done."])
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
        world.otherClientSends("Back up.", in: Self.job, as: "run-1", after: .milliseconds(200))
        world.run(seconds: 20)
        #expect(world.relay.tally.calls["createSession"] == 1)
        #expect(world.relay.tally.calls["sendMessageEnd"] == 1)
        #expect(world.callLimits == [.seconds(3)])
    }

    @Test("a run that says too much before its chat is made is left whole, and its session still gets its one chat")
    func talkative() {
        var mirroring = Mirroring(.all)
        let session = AgentSession("agent:main:terminal")
        func signal(_ run: String, _ event: RunEvent) -> RunSignal {
            RunSignal(run: RunID(run), session: session, event: event)
        }
        #expect(mirroring.heard(signal("a", .started), at: .zero) == .makeChat(session))
        for _ in 0..<511 { #expect(mirroring.heard(signal("a", .text(.append("x"))), at: .zero) == .none) }
        #expect(mirroring.left == 0)
        #expect(mirroring.heard(signal("a", .text(.append("x"))), at: .zero) == .none)
        #expect(mirroring.left == 1)
        #expect(mirroring.heard(signal("b", .started), at: .zero) == .none)
        #expect(mirroring.chatMade(SessionID("ses_1"), for: session).map(\.run.text) == ["b"])
        #expect(mirroring.heard(signal("a", .text(.append("y"))), at: .zero) == .none)
    }

    @Test("only so many runs wait for their chats, and only so much of them is kept; there is room again afterwards")
    func waiting() {
        var mirroring = Mirroring(.all)
        func signal(_ number: Int, _ event: RunEvent = .started) -> RunSignal {
            RunSignal(run: RunID("r\(number)"), session: AgentSession("agent:main:s\(number)"), event: event)
        }
        for number in 0..<64 {
            #expect(
                mirroring.heard(signal(number), at: .zero + .seconds(number))
                    == .makeChat(AgentSession("agent:main:s\(number)")))
        }
        #expect(mirroring.heard(signal(64), at: .zero + .seconds(64)) == .none)
        #expect(mirroring.left == 1)
        // 8 runs fill what is kept for all.
        for number in 0..<8 { for _ in 0..<504 { _ = mirroring.heard(signal(number, .text(.append("x"))), at: .zero) } }
        #expect(mirroring.left == 1)
        #expect(mirroring.heard(signal(63, .text(.append("x"))), at: .zero) == .none)
        #expect(mirroring.left == 2)
        mirroring.chatFailed(for: AgentSession("agent:main:s0"))
        #expect(mirroring.left == 3)
        #expect(mirroring.heard(signal(65), at: .zero + .seconds(65)) == .makeChat(AgentSession("agent:main:s65")))
    }

    @Test("runs of one session share a chat; what comes before it is made is kept; an end begins nothing again")
    func machine() {
        var mirroring = Mirroring(.all)
        let session = AgentSession("agent:main:terminal")
        let chat = SessionID("ses_1")
        func signal(_ run: String, _ event: RunEvent) -> RunSignal {
            RunSignal(run: RunID(run), session: session, event: event)
        }
        let first = signal("a", .started)
        let text = signal("a", .text(.append("x")))
        #expect(mirroring.heard(first, at: .zero) == .makeChat(session))
        #expect(mirroring.heard(text, at: .zero) == .none)
        #expect(mirroring.heard(signal("b", .started), at: .zero) == .none)
        let made = mirroring.chatMade(chat, for: session)
        #expect(made.map(\.run.text) == ["a", "b"])
        #expect(made.first?.said == [first, text])
        #expect(mirroring.heard(text, at: .zero) == .none)
        guard case .begin(let third) = mirroring.heard(signal("c", .started), at: .zero) else {
            Issue.record("the chat is there")
            return
        }
        #expect(third.chat == chat)
        #expect(mirroring.agentSession(of: chat) == session)
        #expect(mirroring.heard(signal("sophon-int_1", .started), at: .zero) == .none)
        let question = ApprovalRequest(id: ApprovalID("x"), subject: .exec, title: "t")
        #expect(mirroring.heard(signal("d", .approvalRequested(question)), at: .zero) == .none)
    }
}
