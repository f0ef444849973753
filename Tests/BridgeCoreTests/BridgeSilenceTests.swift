import Testing
import Vocabulary
import Worlds

@testable import BridgeCore

@Suite("Runs of which nothing is heard, all together")
struct BridgeSilenceTests {
    private static func settings() -> BridgeSettings {
        var settings = BridgeSettings()
        settings.turn.quiet = .seconds(300)
        settings.turn.stuck = .seconds(1_200)
        return settings
    }

    private static func opening(_ number: Int, _ text: String = "Do it", sealing: TurnSealing = .open) -> TurnOpening {
        let interaction = InteractionID("int_\(number)")
        let chat = SessionID("ses_\(number)")
        return TurnOpening(
            id: TurnID(interaction.text), session: chat, interaction: interaction,
            agentSession: AgentSession("chat-\(number)"), run: RunID("r\(number)"),
            message: UserMessage(id: MessageID("m\(number)"), session: chat, interaction: interaction, text: text),
            receivedAt: .zero, windowEnds: .at(1_800), sealing: sealing)
    }

    /// A relay that accepts every call, with the buckets of its sheet.
    private struct Relay {
        var random = SeededGenerator(seed: 1)
        var records: [TurnID: TurnRecord] = [:]
        var created: [TurnID: [TaskID]] = [:]
        var finished: [TaskID: Int] = [:]
        var calls: [TurnID: [Instant]] = [:]
        var stuck: [TurnID] = []
        var now = Instant.zero
        var level = 60.0
        var filledAt = Instant.zero
        var lowest = 60.0

        mutating func obey(_ bridge: inout Bridge, at now: Instant) {
            while bridge.hasOrders {
                for order in bridge.takeOrders() {
                    switch order {
                    case .stuck(let turn): stuck.append(turn)
                    case .keep(let kept, _): records[kept.record.id] = kept.record
                    case .commandToKeep(let number, _): bridge.commandKept(number, at: now)
                    case .turnClosed(let turn, _): records[turn] = nil
                    case .attempt(let attempt): take(attempt, &bridge, at: now)
                    default: break
                    }
                }
            }
        }

        private mutating func take(_ attempt: CallAttempt, _ bridge: inout Bridge, at now: Instant) {
            if attempt.name.kind.bucket == .task {
                level = min(60, level + (now - filledAt).seconds * 30)
                filledAt = now
                level -= 1
                lowest = min(lowest, level)
            }
            switch attempt.name {
            case .taskStarted(let task):
                created[attempt.turn, default: []].append(task)
                calls[attempt.turn, default: []].append(now)
            case .taskProgress: calls[attempt.turn, default: []].append(now)
            case .taskEnded(let task): finished[task, default: 0] += 1
            default: break
            }
            let message = attempt.name.makesMessage ? MessageID("b-\(attempt.turn)-\(attempt.name)") : nil
            bridge.answered(
                attempt.call, with: RelayAnswer(.delivered(RelayReceipt(message: message))), at: now, using: &random)
        }

        mutating func wait(_ bridge: inout Bridge, until end: Instant) {
            obey(&bridge, at: now)
            while let wake = bridge.nextWake, wake <= end {
                now = max(now, wake)
                bridge.timePassed(at: now)
                obey(&bridge, at: now)
            }
            now = end
        }
    }

    @Test("a hundred runs that fall silent together leave a fifth of the bucket, and each says how it is")
    func hundred() {
        var bridge = Bridge(settings: Self.settings())
        var relay = Relay()
        for number in 0..<100 { bridge.turnBegins(Self.opening(number), at: .zero) }
        relay.wait(&bridge, until: .at(1_000))
        #expect(relay.created.count == 100)
        #expect(relay.lowest >= 60.0 / 5 - 1)
        for (turn, calls) in relay.calls {
            #expect(zip(calls, calls.dropFirst()).allSatisfy { $1 - $0 >= .seconds(60) }, "\(turn) \(calls)")
        }
        for number in 0..<100 {
            bridge.agentSays(
                RunSignal(
                    run: RunID("r\(number)"), session: AgentSession("chat-\(number)"),
                    event: .finished(RunEnd(text: "Done."))), at: .at(1_000))
        }
        relay.wait(&bridge, until: .at(1_100))
        #expect(bridge.openTurns == 0)
        for (turn, tasks) in relay.created {
            #expect(tasks.allSatisfy { relay.finished[$0] == 1 }, "\(turn)")
        }
        #expect(relay.stuck.isEmpty)
    }

    @Test("of a run that tries its model again the bubble says so, and no longer once it goes on")
    func triesAgain() {
        var bridge = Bridge(settings: Self.settings())
        var relay = Relay()
        bridge.turnBegins(Self.opening(1), at: .zero)
        func hears(_ event: RunEvent) {
            let signal = RunSignal(run: RunID("r1"), session: AgentSession("chat-1"), event: event)
            bridge.agentSays(signal, at: relay.now)
        }
        relay.wait(&bridge, until: .at(10))
        hears(.started)
        for second in [20, 35, 45] {
            relay.wait(&bridge, until: .at(Double(second)))
            hears(.alive(.retrying))
        }
        let turn = TurnID("int_1")
        #expect(relay.created[turn] == nil)
        relay.wait(&bridge, until: .at(55))
        #expect(relay.created[turn]?.count == 1 && relay.finished.isEmpty)
        hears(.alive(.working))
        relay.wait(&bridge, until: .at(60))
        #expect(relay.finished.count == 1)
    }

    @Test("a hundred tools that begin together may drain the bucket")
    func drained() {
        var bridge = Bridge(settings: Self.settings())
        var relay = Relay()
        for number in 0..<100 { bridge.turnBegins(Self.opening(number), at: .zero) }
        relay.wait(&bridge, until: .at(10))
        for number in 0..<100 {
            let start = ToolStart(call: ToolCallID("c\(number)"), name: "exec")
            let signal = RunSignal(
                run: RunID("r\(number)"), session: AgentSession("chat-\(number)"), event: .tool(.started(start)))
            bridge.agentSays(signal, at: .at(10))
        }
        relay.wait(&bridge, until: .at(20))
        #expect(relay.lowest < 60.0 / 5 - 1)
    }

    /// Two messages of one session. The second is beside the run of the first.
    private static func beside(_ bridge: inout Bridge, _ relay: inout Relay) {
        for number in 1...2 {
            var opening = opening(number)
            opening.agentSession = AgentSession("chat-1")
            bridge.turnBegins(opening, at: .at(Double(number)))
            relay.wait(&bridge, until: .at(Double(number) + 0.5))
            bridge.sendAnswered(.accepted(run: RunID("r\(number)")), run: RunID("r\(number)"), at: relay.now)
        }
    }

    private static func ends(_ number: Int, _ bridge: inout Bridge, at now: Instant) {
        bridge.agentSays(
            RunSignal(
                run: RunID("r\(number)"), session: AgentSession("chat-1"), event: .finished(RunEnd(text: "Done."))),
            at: now)
    }

    @Test(
        "a message beside a run has a silence of its own from the end of that run on, over a restart too",
        arguments: [false, true])
    func beside(isRestarted: Bool) throws {
        var settings = Self.settings()
        settings.whenBusy = .steer
        var bridge = Bridge(settings: settings, isJournaled: true)
        var relay = Relay()
        Self.beside(&bridge, &relay)
        let second = TurnID("int_2")
        if isRestarted {
            relay.wait(&bridge, until: .at(60))
            let records = relay.records
            bridge = Bridge(settings: settings, agentPresent: false, isJournaled: true)
            for number in 1...2 {
                let record = try #require(records[TurnID("int_\(number)")])
                bridge.restore(record.stored, deltas: [], at: .at(61))
            }
            bridge.restored(at: .at(61))
            bridge.agentBack(at: .at(62))
            for number in 1...2 { bridge.lookedUp(.running(text: nil), of: RunID("r\(number)"), at: .at(63)) }
        }
        relay.wait(&bridge, until: .at(1_700))
        #expect(relay.stuck == [TurnID("int_1")])
        Self.ends(1, &bridge, at: .at(1_700))
        relay.wait(&bridge, until: .at(1_700 + 1_190))
        #expect(!relay.stuck.contains(second))
        relay.wait(&bridge, until: .at(1_700 + 1_600))
        #expect(relay.stuck.contains(second))
    }

    @Test("over a restart the task is finished once, the next has another name, and the chat is told once")
    func restart() throws {
        var bridge = Bridge(settings: Self.settings(), isJournaled: true)
        var relay = Relay()
        bridge.turnBegins(Self.opening(1), at: .zero)
        relay.wait(&bridge, until: .at(1_300))
        #expect(relay.stuck == [TurnID("int_1")])
        let record = try #require(relay.records[TurnID("int_1")])
        var next = Bridge(settings: Self.settings(), agentPresent: false, isJournaled: true)
        next.restore(record.stored, deltas: [], at: .at(1_310))
        next.restored(at: .at(1_310))
        next.agentBack(at: .at(1_311))
        relay.wait(&next, until: .at(1_312))
        next.lookedUp(.running(text: nil), of: RunID("r1"), at: .at(1_312))
        relay.wait(&next, until: .at(1_313))
        let first = try #require(relay.created[TurnID("int_1")]?.first)
        #expect(relay.finished[first] == 1)
        relay.wait(&next, until: .at(1_700))
        #expect(relay.created[TurnID("int_1")]?.count == 2)
        #expect(relay.stuck.count == 1)
    }

    @Test("the list has those first that want a person, and no word of a sealed chat")
    func list() {
        var bridge = Bridge(settings: Self.settings())
        var relay = Relay()
        bridge.turnBegins(Self.opening(1, "Quiet one"), at: .zero)
        bridge.turnBegins(Self.opening(2, "Secret one", sealing: .sealed(KeyName("k"))), at: .zero)
        bridge.turnBegins(Self.opening(3, "Asking one"), at: .zero)
        bridge.turnBegins(Self.opening(4, "Working one"), at: .zero)
        relay.wait(&bridge, until: .at(1))
        func says(_ event: RunEvent, _ number: Int, at seconds: Double) {
            bridge.agentSays(
                RunSignal(run: RunID("r\(number)"), session: AgentSession("chat-\(number)"), event: event),
                at: .at(seconds))
        }
        says(.tool(.started(ToolStart(call: ToolCallID("c"), name: "exec", title: "cat secret"))), 2, at: 2)
        says(.approvalRequested(Make.request()), 3, at: 3)
        relay.wait(&bridge, until: .at(398))
        says(.text(.append("Hello")), 4, at: 399)
        let list = bridge.standings(for: Self.opening(9), at: .at(400)).map { "\($0.place): \($0.state)" }
        #expect(
            list == [
                "“Asking one”: waits for you, for 6 min", "“Quiet one”: no sign of life for 6 min",
                "“Working one”: works, for 6 min", "a sealed chat: a tool runs for 6 min",
            ])
        let figures = bridge.figures(at: .at(400)).chats
        #expect(figures.map(\.state) == [.asks, .silent, .works, .tool])
        #expect(figures.map(\.chat?.text) == ["ses_3", "ses_1", "ses_4", nil])
        var reader = Self.opening(9)
        reader.session = SessionID("ses_2")
        let own = bridge.standings(for: reader, at: .at(400)).map { "\($0.place): \($0.state)" }
        #expect(own.contains("this chat: cat secret runs for 6 min"))
    }

    @Test("a command to the agent begins the silence anew, and ends what was said of it")
    func decided() {
        var bridge = Bridge(settings: Self.settings())
        var relay = Relay()
        bridge.turnBegins(Self.opening(1), at: .zero)
        relay.wait(&bridge, until: .at(1))
        bridge.agentSays(
            RunSignal(
                run: RunID("r1"), session: AgentSession("chat-1"), event: .approvalRequested(Make.request())),
            at: .at(2))
        relay.wait(&bridge, until: .at(1_500))
        #expect(relay.created.count == 1 && relay.stuck.isEmpty)
        bridge.decided(ApprovalID("a1"), .approve, reason: nil, at: .at(1_500))
        relay.wait(&bridge, until: .at(1_501))
        #expect(relay.finished.count == 1)
        relay.wait(&bridge, until: .at(1_700))
        #expect(relay.stuck.isEmpty)
    }

    @Test("another configuration counts for runs that are silent already")
    func reload() {
        var settings = Self.settings()
        settings.turn.quiet = nil
        var bridge = Bridge(settings: settings)
        var relay = Relay()
        bridge.turnBegins(Self.opening(1), at: .zero)
        relay.wait(&bridge, until: .at(400))
        #expect(relay.created.isEmpty)
        bridge.use(quiet: .seconds(60), stuck: nil, at: .at(400))
        relay.wait(&bridge, until: .at(470))
        #expect(relay.created.count == 1)
        bridge.use(quiet: nil, stuck: nil, at: .at(500))
        relay.wait(&bridge, until: .at(501))
        #expect(relay.finished.count == 1)
    }
}
