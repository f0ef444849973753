import Testing
import Vocabulary

@testable import BridgeCore

@Suite("Words that refuse")
struct BridgeRefusalsTests: ~Copyable {
    private var bridge: Bridge
    private var random = SeededGenerator(seed: 1)
    private var commands: [AgentCommand] = []
    private var posted: [String] = []
    private var texts: [String: String] = [:]

    init() { bridge = Self.bridge() }

    private static func bridge(steers: Bool = true, isJournaled: Bool = false) -> Bridge {
        var settings = BridgeSettings()
        settings.turn.asks.whenAsked = .refuse
        settings.turn.steersWords = steers
        return Bridge(settings: settings, isJournaled: isJournaled)
    }

    private static func opening(
        _ name: String, _ text: String, chat: String = "chat", at now: Instant, files: Bool = false,
        made: Instant? = nil
    ) -> TurnOpening {
        let (session, interaction) = (SessionID("ses_\(chat)"), InteractionID(name))
        let files = files ? [Attachment(url: "https://files.example/a.png", name: "a.png")] : []
        let message = UserMessage(
            id: MessageID("m-\(name)"), session: session, interaction: interaction, text: text, attachments: files)
        return TurnOpening(
            id: TurnID(name), session: session, interaction: interaction, agentSession: AgentSession(chat),
            run: RunID("r-\(name)"), message: message, receivedAt: now, windowEnds: now + .seconds(1_800),
            made: made.map { RelayMoment(wallMilliseconds: 0, instant: $0) })
    }

    private mutating func write(
        _ name: String, _ text: String, chat: String = "chat", at now: Instant, files: Bool = false,
        made: Instant? = nil
    ) {
        bridge.turnBegins(Self.opening(name, text, chat: chat, at: now, files: files, made: made), at: now)
        settle(at: now)
    }

    private mutating func accept(_ name: String, as run: String? = nil, at now: Instant) {
        bridge.sendAnswered(.accepted(run: RunID(run ?? "r-\(name)")), run: RunID("r-\(name)"), at: now)
        settle(at: now)
    }

    private mutating func asks(_ ask: String, in name: String, command: String = "rm -r build", at now: Instant) {
        let request = ApprovalRequest(id: ApprovalID(ask), subject: .exec, title: "Run \(ask)", command: command)
        bridge.agentSays(
            RunSignal(run: RunID("r-\(name)"), session: nil, event: .approvalRequested(request)), at: now)
        settle(at: now)
    }

    private mutating func ends(_ name: String, at now: Instant) {
        bridge.agentSays(
            RunSignal(run: RunID("r-\(name)"), session: nil, event: .finished(RunEnd(text: "Done."))), at: now)
        settle(at: now)
    }

    /// The relay and the disk accept everything at once.
    private mutating func settle(at now: Instant) {
        for _ in 0..<100 {
            let orders = bridge.takeOrders()
            guard !orders.isEmpty else { return }
            for order in orders {
                switch order {
                case .command(let command): commands.append(command)
                case .commandToKeep(let number, _): bridge.commandKept(number, at: now)
                case .attempt(let attempt):
                    posted.append("\(attempt.turn) \(attempt.name)")
                    if case .fresh(let call) = attempt.payload, case .end(let end)? = call.post {
                        texts[attempt.turn.text] = end.text
                    }
                    let receipt = RelayReceipt(message: attempt.name == .open ? MessageID("b-\(attempt.turn)") : nil)
                    bridge.answered(attempt.call, with: RelayAnswer(.delivered(receipt)), at: now, using: &random)
                default: break
                }
            }
        }
    }

    private var said: [String] {
        commands.compactMap { command in
            switch command {
            case .send(let turn, _, _, let message): "send \(turn) \(message.text)\(message.steers ? " steers" : "")"
            case .resolve(let approval, _, let decision, _, _, _, _): "\(decision) \(approval)"
            case .abort(_, let run, _): "abort \(run)"
            default: nil
            }
        }
    }

    private mutating func askedOnce() {
        write("one", "clean up", at: .at(0))
        accept("one", at: .at(0))
        asks("a1", in: "one", at: .at(1))
        commands = []
    }

    @Test("The denial leaves, then the words, into the run that asked")
    mutating func steered() {
        askedOnce()
        write("two", "use make clean instead", at: .at(5))
        #expect(said == ["deny a1", "send two use make clean instead steers"])
        accept("two", as: "r-one", at: .at(5))
        #expect(texts["two"]?.contains("Refused: Run a1") == true)
    }

    @Test("Where the agent does not steer they are the next prompt, before what waits")
    mutating func nextPrompt() {
        bridge = Self.bridge(steers: false)
        write("one", "clean up", at: .at(0))
        accept("one", at: .at(0))
        write("other", "and then the news", at: .at(0.5))
        asks("a1", in: "one", at: .at(1))
        commands = []
        write("two", "use make clean instead", at: .at(5))
        #expect(said == ["deny a1"])
        ends("one", at: .at(6))
        #expect(said == ["deny a1", "send two use make clean instead"])
        accept("two", at: .at(6))
        ends("two", at: .at(7))
        #expect(said.last == "send other and then the news")
        #expect(texts["two"] == "Done.\n\nRefused: Run a1")
    }

    @Test("A message that was written before a person could read the card goes its way")
    mutating func tooEarly() {
        askedOnce()
        write("two", "use make clean instead", at: .at(2.5))
        #expect(said == [])
        write("three", "use make clean instead", at: .at(9), made: .at(2.9))
        #expect(said == [])
        write("four", "use make clean instead", at: .at(9), made: .at(3.1))
        #expect(said == ["deny a1", "send four use make clean instead steers"])
    }

    @Test("A yes decides nothing, and is not sent")
    mutating func yes() {
        askedOnce()
        write("two", "yes please", at: .at(5))
        write("three", "ok, go on and run all of it", at: .at(6))
        #expect(said == [])
        #expect(texts["two"]?.contains("Tap Allow or Deny on the card") == true)
        #expect(texts["three"]?.contains("this message was not sent") == true)
        bridge.decided(ApprovalID("a1"), .approve, reason: nil, at: .at(7))
        settle(at: .at(7))
        #expect(said == ["approve a1"])
    }

    @Test("A no alone refuses, and the agent gets the denial alone")
    mutating func alone() {
        askedOnce()
        write("two", "No!", at: .at(5))
        #expect(said == ["deny a1"])
        #expect(texts["two"] == "Refused: Run a1")
        ends("one", at: .at(6))
        #expect(said == ["deny a1"])
        #expect(texts["one"]?.contains("Refused by a message in this chat.") == true)
    }

    @Test("Of two cards the newest is refused, and a card of another chat is not")
    mutating func newest() {
        askedOnce()
        asks("a2", in: "one", at: .at(2))
        write("far", "elsewhere", chat: "other", at: .at(2))
        accept("far", at: .at(2))
        asks("a3", in: "far", at: .at(3))
        commands = []
        write("two", "use make clean instead", at: .at(10))
        #expect(said == ["deny a2", "send two use make clean instead steers"])
        #expect(bridge.turn(TurnID("one"))?.approvals.isOpen(ApprovalID("a1")) == true)
    }

    @Test("With files it goes its way, and its bubble says so")
    mutating func files() {
        askedOnce()
        write("two", "use this picture instead", at: .at(5), files: true)
        #expect(said == [])
        #expect(bridge.turn(TurnID("two"))?.bubble.notice == Sentences.filesDecideNothing)
    }

    @Test("/bridge no refuses the newest open ask, with words or without, at any time")
    mutating func byWord() {
        askedOnce()
        bridge.decided(ApprovalID("a1"), .deny, reason: "expired", at: .at(100))
        settle(at: .at(100))
        write("two", "/bridge no use make clean", at: .at(400))
        #expect(said == ["deny a1", "send two use make clean steers"])
        write("three", "/bridge no", at: .at(401))
        #expect(texts["three"]?.contains("nothing to refuse") == true)
    }

    @Test("An ask without a card takes no words: its card comes again, above the bubble of the message")
    mutating func withoutCard() {
        askedOnce()
        bridge.decided(ApprovalID("a1"), .deny, reason: "expired", at: .at(100))
        settle(at: .at(100))
        posted = []
        write("two", "use make clean instead", at: .at(150))
        #expect(said == [])
        #expect(posted.prefix(2).map { $0.split(separator: " ")[0] } == ["one", "two"])
        ends("one", at: .at(160))
        #expect(said == ["send two use make clean instead"])
    }

    @Test(
        "Where two bridges may have the message, denial and words leave together once it is ours",
        arguments: [true, false])
    mutating func claimed(isOurs: Bool) {
        var settings = BridgeSettings()
        settings.turn.asks.whenAsked = .refuse
        (settings.turn.steersWords, settings.turn.promptHasKey) = (true, false)
        bridge = Bridge(settings: settings)
        bridge.use(mark: StateMark(bits: 7, since: .zero), known: nil)
        askedOnce()
        var opening = Self.opening("two", "use make clean instead", at: .at(5))
        opening.isMarked = true
        bridge.turnBegins(opening, at: .at(5))
        var open: CallAttempt?
        for order in bridge.takeOrders() {
            if case .command(let command) = order { commands.append(command) }
            if case .attempt(let attempt) = order, attempt.name == .open { open = attempt }
        }
        #expect(said == [])
        guard let open else {
            Issue.record("its bubble is not opened")
            return
        }
        let answer =
            isOurs
            ? RelayAnswer(.delivered(RelayReceipt(message: MessageID("b-two"))))
            : RelayAnswer(.refused(RelayRefusal(status: 409, code: .idempotencyConflict)))
        bridge.answered(open.call, with: answer, at: .at(5.2), using: &random)
        settle(at: .at(5.2))
        #expect(said == (isOurs ? ["deny a1", "send two use make clean instead steers"] : []))
    }

    @Test("A Stop in between wins: the words do not leave")
    mutating func stop() {
        bridge = Self.bridge(steers: false)
        write("one", "clean up", at: .at(0))
        accept("one", at: .at(0))
        asks("a1", in: "one", at: .at(1))
        write("two", "use make clean instead", at: .at(5))
        commands = []
        bridge.stopped(session: SessionID("ses_chat"), interaction: nil, at: .at(6))
        settle(at: .at(6))
        ends("one", at: .at(7))
        #expect(said.filter { $0.hasPrefix("send") } == [])
        #expect(texts["two"]?.contains("Stopped") == true || texts["two"]?.contains("Refused") == true)
    }

    @Test("A question of the agent takes the message first")
    mutating func question() {
        askedOnce()
        let question = Question(id: QuestionID("q"), title: "Which colour do you want?")
        bridge.agentSays(RunSignal(run: RunID("r-one"), session: nil, event: .asked(question)), at: .at(2))
        settle(at: .at(2))
        write("two", "use a dark blue instead", at: .at(9))
        #expect(said == [])
        #expect(commands.contains { if case .answer = $0 { true } else { false } })
    }

    @Test("As configured, a message waits as any other")
    mutating func waits() {
        bridge = Bridge(isJournaled: false)
        askedOnce()
        write("two", "use make clean instead", at: .at(5))
        #expect(said == [])
    }

    @Test("In another process the words go once, wherever the one before died", arguments: 0..<12)
    mutating func killed(after steps: Int) {
        bridge = Self.bridge(isJournaled: true)
        var records: [TurnID: TurnRecord] = [:]
        var left = Int.max
        func run(at now: Instant) {
            while left > 0 {
                let orders = bridge.takeOrders()
                guard !orders.isEmpty else { return }
                for order in orders {
                    guard left > 0 else { return }
                    left -= left == .max ? 0 : 1
                    switch order {
                    case .keep(let kept, _): records[kept.record.id] = kept.record
                    case .command(let command): commands.append(command)
                    case .commandToKeep(let number, _): bridge.commandKept(number, at: now)
                    case .turnClosed(let id, _): records[id] = nil
                    case .attempt(let attempt):
                        let receipt = RelayReceipt(
                            message: attempt.name == .open ? MessageID("b-\(attempt.turn)") : nil)
                        bridge.answered(attempt.call, with: RelayAnswer(.delivered(receipt)), at: now, using: &random)
                    default: break
                    }
                }
            }
        }
        bridge.turnBegins(Self.opening("one", "clean up", at: .at(0)), at: .at(0))
        run(at: .at(0))
        bridge.sendAnswered(.accepted(run: RunID("r-one")), run: RunID("r-one"), at: .at(0))
        let request = ApprovalRequest(id: ApprovalID("a1"), subject: .exec, title: "Run a1", command: "rm -r build")
        bridge.agentSays(RunSignal(run: RunID("r-one"), session: nil, event: .approvalRequested(request)), at: .at(1))
        run(at: .at(1))
        commands = []
        left = steps
        bridge.turnBegins(Self.opening("two", "use make clean instead", at: .at(5)), at: .at(5))
        run(at: .at(5))
        let before = said
        bridge = Self.bridge(isJournaled: true)
        let kept = records
        for (_, record) in kept.sorted(by: { $0.key < $1.key }) { bridge.restore(record, deltas: [], at: .at(10)) }
        bridge.restored(at: .at(10))
        left = .max
        // The journal lacks the message, so the relay delivers it again.
        bridge.turnBegins(Self.opening("two", "use make clean instead", at: .at(5)), at: .at(10))
        bridge.agentBack(at: .at(11))
        run(at: .at(11))
        bridge.lookedUp(.running(text: nil), of: RunID("r-one"), at: .at(12))
        if kept[TurnID("two")]?.turn.phase == .handedOver {
            // The message was handed over, and its record says so: the bridge looks for it.
            #expect(said.filter { $0.hasPrefix("send two") }.count <= 1)
        } else {
            run(at: .at(12))
            #expect(said.filter { $0.hasPrefix("send two") }.count == 1, "before: \(before)")
        }
        // The agent's machine repeats a denial that had left, from the record.
        let isKnown = kept[TurnID("one")]?.forwarded.decisions.contains { $0.decision == .deny } == true
        #expect(said.contains("deny a1") || isKnown)
    }
}
