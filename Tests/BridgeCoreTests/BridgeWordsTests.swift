import Testing
import Vocabulary
import Worlds

@testable import BridgeCore

@Suite("The bridge's own words in its queues")
struct BridgeWordsTests {
    private static let chat = SessionID("ses_1")
    private static let base = AgentSession("pi:ses_1")

    private static func opening(
        _ number: Int, _ text: String, in chat: SessionID = chat, agent: AgentSession = base,
        sealing: TurnSealing = .open
    ) -> TurnOpening {
        let interaction = InteractionID("int_\(number)")
        return TurnOpening(
            id: TurnID(interaction.text), session: chat, interaction: interaction, agentSession: agent,
            run: RunID("r\(number)"),
            message: UserMessage(id: MessageID("m\(number)"), session: chat, interaction: interaction, text: text),
            receivedAt: .at(Double(number)), windowEnds: .at(Double(number) + 1_800), sealing: sealing,
            sealedText: sealing == .sealed(nil) ? "ct\(number)" : nil)
    }

    private static func settings(_ workspaces: Workspaces? = nil, whenBusy: WhenBusy = .wait) -> BridgeSettings {
        var settings = BridgeSettings()
        settings.words.agent = "pi"
        settings.words.workspaces = workspaces
        settings.whenBusy = whenBusy
        return settings
    }

    private static let two = Workspaces(
        standard: Workspace(name: "site", folder: "/srv/site"), others: [Workspace(name: "api", folder: "/srv/api")])

    private var random = SeededGenerator(seed: 1)
    private var homes: [SessionID: ChatHome] = [:]
    private var records: [TurnID: TurnRecord] = [:]
    /// Released sessions, as "session deleted".
    private var released: [String] = []

    /// The relay accepts every call and the disk every record. Returns messages that leave, as "text in session at
    /// folder".
    private mutating func settle(_ bridge: inout Bridge, at now: Instant = .at(1)) -> [String] {
        var sent: [String] = []
        while bridge.hasOrders {
            for order in bridge.takeOrders() {
                switch order {
                case .command(.send(_, let session, _, let message)):
                    sent.append("\(message.text) in \(session) at \(message.folder ?? "-")")
                case .commandToKeep(let number, _): bridge.commandKept(number, at: now)
                case .command(.release(let session, let isDeleted)):
                    released.append("\(session) \(isDeleted ? "deleted" : "left")")
                case .keepHome(let chat, let home): homes[chat] = home
                case .keep(let kept, _): records[kept.record.id] = kept.record
                case .turnClosed(let turn, _): records[turn] = nil
                case .attempt(let attempt):
                    let message = attempt.name.makesMessage ? MessageID("b-\(attempt.turn)-\(attempt.name)") : nil
                    bridge.answered(
                        attempt.call, with: RelayAnswer(.delivered(RelayReceipt(message: message))), at: now,
                        using: &random)
                default: break
                }
            }
            bridge.timePassed(at: now)
        }
        return sent
    }

    /// Text of the bubble's end, before the relay has it.
    private func end(_ number: Int, _ bridge: borrowing Bridge) -> String? {
        bridge.turn(TurnID("int_\(number)"))?.bubble.sentEnd?.text
    }

    private func ends(_ run: String, in session: AgentSession = base, _ bridge: inout Bridge) {
        bridge.agentSays(
            RunSignal(run: RunID(run), session: session, event: .finished(RunEnd(text: "Done."))), at: .at(5))
    }

    @Test("what the bridge knows by itself is answered at once, also while a run goes on and while the agent is away")
    mutating func atOnce() {
        var bridge = Bridge(settings: Self.settings(Self.two), agentPresent: false, isJournaled: true)
        bridge.turnBegins(Self.opening(1, "/bridge status"), at: .at(1))
        #expect(end(1, bridge)?.contains("There is no connection to pi.") == true)
        #expect(end(1, bridge)?.contains("Nothing runs in this chat.") == true)
        bridge.agentBack(at: .at(1))
        bridge.turnBegins(Self.opening(2, "work"), at: .at(2))
        bridge.turnBegins(Self.opening(3, "/bridge workspaces"), at: .at(3))
        bridge.turnBegins(Self.opening(4, "/bridge dance"), at: .at(4))
        #expect(end(3, bridge) == "- site (/srv/site): this chat, default\n- api (/srv/api)")
        #expect(end(4, bridge)?.contains("does not know") == true)
        #expect(settle(&bridge) == ["work in pi:ses_1 at /srv/site"])
        #expect(bridge.openTurns == 1)
    }

    @Test("other words with a slash go to the agent as they are")
    mutating func verbatim() {
        var bridge = Bridge(settings: Self.settings())
        bridge.turnBegins(Self.opening(1, "/new /bridge new"), at: .at(1))
        #expect(settle(&bridge) == ["/new /bridge new in pi:ses_1 at -"])
    }

    @Test("new waits for the run, and what was written behind it is for the new session", arguments: WhenBusy.allCases)
    mutating func new(whenBusy: WhenBusy) throws {
        var bridge = Bridge(settings: Self.settings(Self.two, whenBusy: whenBusy), isJournaled: true)
        bridge.turnBegins(Self.opening(1, "one"), at: .at(1))
        bridge.turnBegins(Self.opening(2, "/bridge new API"), at: .at(2))
        bridge.turnBegins(Self.opening(3, "three"), at: .at(3))
        #expect(settle(&bridge) == ["one in pi:ses_1 at /srv/site"])
        #expect(end(2, bridge) == nil && bridge.openTurns == 3)
        ends("r1", &bridge)
        let sent = settle(&bridge, at: .at(6))
        let home = try #require(homes[Self.chat])
        #expect(home.base == Self.base && home.session != Self.base && home.workspace == "api")
        #expect(sent == ["three in \(home.session) at /srv/api"])
        bridge.turnBegins(Self.opening(4, "four"), at: .at(7))
        ends("r3", in: home.session, &bridge)
        #expect(settle(&bridge, at: .at(8)) == ["four in \(home.session) at /srv/api"])
        #expect(bridge.openTurns == 1)
    }

    @Test("the change is ordered to be kept before the end of its bubble, and before anything that follows from it")
    mutating func order() throws {
        var bridge = Bridge(settings: Self.settings(), isJournaled: true)
        bridge.turnBegins(Self.opening(1, "/bridge new"), at: .at(1))
        bridge.turnBegins(Self.opening(2, "two"), at: .at(1))
        let orders = bridge.takeOrders()
        let home = try #require(orders.firstIndex { if case .keepHome = $0 { true } else { false } })
        let record = try #require(
            orders.firstIndex { if case .keep(let kept, _) = $0 { kept.record.turn.outcome != nil } else { false } })
        let send = try #require(orders.firstIndex { if case .commandToKeep = $0 { true } else { false } })
        #expect(home < record && home < send)
    }

    @Test("carried out again after a crash it is the same session, and what waited behind it goes there")
    mutating func crash() throws {
        var bridge = Bridge(settings: Self.settings(), isJournaled: true)
        bridge.turnBegins(Self.opening(1, "one"), at: .at(1))
        bridge.turnBegins(Self.opening(2, "/bridge new"), at: .at(2))
        bridge.turnBegins(Self.opening(3, "three"), at: .at(3))
        _ = settle(&bridge)
        // Records of that moment. Later only the home reaches the disk.
        let before = records
        ends("r1", &bridge)
        _ = settle(&bridge, at: .at(5))
        let home = try #require(homes[Self.chat])
        for kept in [nil, home] {
            var next = Bridge(settings: Self.settings(), agentPresent: false, isJournaled: true)
            if let kept { next.restore(kept, of: Self.chat) }
            for id in ["int_2", "int_3"] { next.restore(try #require(before[TurnID(id)]), deltas: [], at: .at(6)) }
            next.restored(at: .at(6))
            #expect(end(2, next)?.hasPrefix("The next message begins a new conversation with pi") == true)
            _ = settle(&next, at: .at(6))
            #expect(homes[Self.chat] == home)
            next.agentBack(at: .at(7))
            #expect(settle(&next, at: .at(7)) == ["three in \(home.session) at -"])
        }
    }

    @Test("a chat keeps its workspace when another becomes the default one")
    mutating func bound() throws {
        var bridge = Bridge(settings: Self.settings(Self.two), isJournaled: true)
        bridge.turnBegins(Self.opening(1, "one"), at: .at(1))
        _ = settle(&bridge)
        let home = try #require(homes[Self.chat])
        #expect(home == ChatHome(base: Self.base, session: Self.base, workspace: "site"))
        let other = Workspaces(standard: Self.two.others[0], others: [Self.two.standard])
        var next = Bridge(settings: Self.settings(other), isJournaled: true)
        next.restore(home, of: Self.chat)
        next.turnBegins(Self.opening(2, "two"), at: .at(1))
        #expect(settle(&next) == ["two in pi:ses_1 at /srv/site"])
        var without = Bridge(
            settings: Self.settings(Workspaces(standard: Self.two.others[0])), isJournaled: true)
        without.restore(home, of: Self.chat)
        without.turnBegins(Self.opening(3, "three"), at: .at(1))
        #expect(end(3, without)?.contains("site of this chat is not configured any more") == true)
        #expect(settle(&without) == [])
        without.turnBegins(Self.opening(4, "/bridge new"), at: .at(2))
        without.turnBegins(Self.opening(5, "five"), at: .at(2))
        #expect(settle(&without).first?.hasSuffix("at /srv/api") == true)
    }

    @Test("what cannot be begun changes nothing")
    mutating func refused() {
        var bridge = Bridge(settings: Self.settings(Self.two), isJournaled: true)
        bridge.turnBegins(Self.opening(1, "/bridge new docs"), at: .at(1))
        #expect(end(1, bridge)?.contains("There is no workspace \u{201C}docs\u{201D}; there is site, api.") == true)
        bridge.isOfRuns(SessionID("ses_job"))
        bridge.turnBegins(
            Self.opening(2, "/bridge new", in: SessionID("ses_job"), agent: AgentSession("agent:main:cron:1")),
            at: .at(2))
        #expect(end(2, bridge) == OwnWordAnswers.ofRuns)
        _ = settle(&bridge)
        #expect(homes.isEmpty)
        var plain = Bridge(settings: Self.settings())
        plain.turnBegins(Self.opening(3, "/bridge new site"), at: .at(3))
        #expect(end(3, plain)?.contains("the bridge has no workspaces for it") == true)
    }

    @Test("another agent of the connection begins by its own name of the chat")
    mutating func otherAgent() {
        var bridge = Bridge(settings: Self.settings(), isJournaled: true)
        bridge.restore(ChatHome(base: Self.base, session: AgentSession("pi:ses_1-abc")), of: Self.chat)
        bridge.turnBegins(Self.opening(1, "one", agent: AgentSession("agent:main:sophon-ses_1")), at: .at(1))
        #expect(settle(&bridge) == ["one in agent:main:sophon-ses_1 at -"])
    }

    @Test("a sealed word is read when its key has come, and waits for no agent")
    mutating func sealed() {
        var bridge = Bridge(settings: Self.settings(), agentPresent: false, isJournaled: true)
        let key = KeyName("k1")
        bridge.turnBegins(Self.opening(1, "", sealing: .sealed(nil)), at: .at(1))
        bridge.keyCame(key, in: Self.chat, opened: [TurnID("int_1"): .text("/bridge help")], at: .at(2))
        #expect(end(1, bridge) == OwnWordAnswers.help)
        bridge.turnBegins(Self.opening(2, "", sealing: .sealed(nil)), at: .at(3))
        bridge.keyCame(key, in: Self.chat, opened: [TurnID("int_2"): .text("/bridge new")], at: .at(4))
        #expect(end(2, bridge)?.hasPrefix("The next message begins") == true)
    }

    @Test("a Stop of a word that waits ends it, and nothing changes")
    mutating func stopped() {
        var bridge = Bridge(settings: Self.settings(), isJournaled: true)
        bridge.turnBegins(Self.opening(1, "one"), at: .at(1))
        bridge.turnBegins(Self.opening(2, "/bridge new"), at: .at(2))
        _ = settle(&bridge)
        bridge.stopped(session: Self.chat, interaction: InteractionID("int_2"), at: .at(3))
        #expect(bridge.turn(TurnID("int_2"))?.outcome == .aborted)
        ends("r1", &bridge)
        _ = settle(&bridge, at: .at(5))
        #expect(homes.isEmpty && bridge.openTurns == 0)
    }

    @Test("a question is not answered by a word to the bridge")
    mutating func question() {
        var bridge = Bridge(settings: Self.settings())
        bridge.turnBegins(Self.opening(1, "one"), at: .at(1))
        _ = settle(&bridge)
        bridge.agentSays(
            RunSignal(run: RunID("r1"), session: Self.base, event: .asked(Make.question())), at: .at(2))
        _ = settle(&bridge, at: .at(2))
        bridge.turnBegins(Self.opening(2, "/bridge help"), at: .at(3))
        #expect(end(2, bridge) == OwnWordAnswers.help)
        #expect(bridge.turn(TurnID("int_1"))?.openQuestion != nil)
    }

    @Test(
        "a message that says stop stops the run of its chat, and leaves what waits behind it",
        arguments: WhenBusy.allCases)
    mutating func stop(whenBusy: WhenBusy) {
        var bridge = Bridge(settings: Self.settings(whenBusy: whenBusy))
        bridge.turnBegins(Self.opening(1, "stop"), at: .at(1))
        #expect(settle(&bridge) == ["stop in pi:ses_1 at -"], "nothing runs: it is the agent's")
        ends("r1", &bridge)
        bridge.turnBegins(Self.opening(2, "work"), at: .at(6))
        _ = settle(&bridge)
        let other = SessionID("ses_2")
        bridge.turnBegins(Self.opening(3, "work", in: other, agent: AgentSession("pi:ses_2")), at: .at(6))
        bridge.turnBegins(Self.opening(4, "Stop!"), at: .at(7))
        #expect(end(4, bridge) == OwnWordAnswers.stopped)
        #expect(bridge.turn(TurnID("int_2"))?.agent.isStopping == true)
        #expect(bridge.turn(TurnID("int_3"))?.agent.isStopping == false)
        bridge.turnBegins(Self.opening(5, "and then"), at: .at(8))
        ends("r2", &bridge)
        #expect(settle(&bridge).contains("and then in pi:ses_1 at -"))
    }

    @Test("/bridge stop stops the run of its chat, and says so where nothing runs")
    mutating func bridgeStop() {
        var bridge = Bridge(settings: Self.settings())
        bridge.turnBegins(Self.opening(1, "/bridge stop"), at: .at(1))
        #expect(end(1, bridge) == OwnWordAnswers.nothingToStop)
        bridge.turnBegins(Self.opening(2, "work"), at: .at(2))
        bridge.turnBegins(Self.opening(3, "more"), at: .at(3))
        #expect(settle(&bridge, at: .at(3)) == ["work in pi:ses_1 at -"])
        bridge.turnBegins(Self.opening(4, "/bridge stop"), at: .at(4))
        #expect(end(4, bridge) == OwnWordAnswers.stopped)
        #expect(bridge.turn(TurnID("int_2"))?.agent.isStopping == true)
        #expect(bridge.turn(TurnID("int_3"))?.agent.isStopping == false)
    }

    @Test("a question takes stop for its answer, and /stop is a Stop")
    mutating func stopWithQuestion() {
        var bridge = Bridge(settings: Self.settings())
        bridge.turnBegins(Self.opening(1, "one"), at: .at(1))
        _ = settle(&bridge)
        bridge.agentSays(
            RunSignal(run: RunID("r1"), session: Self.base, event: .asked(Make.question())), at: .at(2))
        _ = settle(&bridge, at: .at(2))
        bridge.turnBegins(Self.opening(2, "stop"), at: .at(3))
        #expect(bridge.turn(TurnID("int_1"))?.agent.isStopping == false)
        bridge.turnBegins(Self.opening(3, "/stop"), at: .at(4))
        #expect(bridge.turn(TurnID("int_1"))?.agent.isStopping == true)
        #expect(end(3, bridge) == OwnWordAnswers.stopped)
    }

    @Test("a chat that is deleted leaves nothing behind, and releases every session that has served it")
    mutating func deleted() throws {
        var bridge = Bridge(settings: Self.settings(), isJournaled: true)
        bridge.turnBegins(Self.opening(1, "/bridge new"), at: .at(1))
        _ = settle(&bridge)
        let first = try #require(homes[Self.chat]).session
        #expect(released == ["\(Self.base) left"])
        bridge.turnBegins(Self.opening(2, "/bridge new"), at: .at(2))
        _ = settle(&bridge)
        let second = try #require(homes[Self.chat]).session
        #expect(released.last == "\(first) deleted" && first != second)
        bridge.turnBegins(Self.opening(3, "three"), at: .at(3))
        #expect(settle(&bridge) == ["three in \(second) at -"])
        released = []
        bridge.ended(session: Self.chat, isDeleted: true, releasing: Self.base, at: .at(4))
        _ = settle(&bridge, at: .at(4))
        #expect(homes[Self.chat] == nil)
        #expect(released == ["\(Self.base) deleted", "\(second) deleted"])
    }

    @Test("an archived chat goes on in its own session and workspace")
    mutating func archived() throws {
        var bridge = Bridge(settings: Self.settings(Self.two), isJournaled: true)
        bridge.turnBegins(Self.opening(1, "/bridge new api"), at: .at(1))
        bridge.turnBegins(Self.opening(2, "two"), at: .at(2))
        _ = settle(&bridge)
        let home = try #require(homes[Self.chat])
        ends("r2", in: home.session, &bridge)
        _ = settle(&bridge, at: .at(5))
        released = []
        bridge.ended(session: Self.chat, isDeleted: false, releasing: Self.base, at: .at(6))
        _ = settle(&bridge, at: .at(6))
        #expect(released == ["\(Self.base) left", "\(home.session) left"])
        #expect(homes[Self.chat] == home)
        bridge.turnBegins(Self.opening(7, "seven"), at: .at(7))
        #expect(settle(&bridge, at: .at(7)) == ["seven in \(home.session) at /srv/api"])
    }

    @Test("with its installation the sessions of idle chats are released too")
    mutating func revoked() throws {
        var bridge = Bridge(settings: Self.settings(), isJournaled: true)
        bridge.turnBegins(Self.opening(1, "/bridge new"), at: .at(1))
        bridge.turnBegins(Self.opening(2, "two"), at: .at(2))
        _ = settle(&bridge)
        let home = try #require(homes[Self.chat])
        ends("r2", in: home.session, &bridge)
        _ = settle(&bridge, at: .at(5))
        #expect(bridge.openTurns == 0)
        released = []
        bridge.installationRevoked(at: .at(6))
        _ = settle(&bridge, at: .at(6))
        #expect(released == ["\(home.session) deleted"])
    }
}
