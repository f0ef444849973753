import Testing
import Vocabulary

@testable import BridgeCore

@Suite("When asks come back")
struct BridgeAsksTests: ~Copyable {
    private var bridge = Bridge(isJournaled: false)
    /// Whole messages that the relay accepted.
    private var messages = 0

    private func opening(_ number: Int, chat: Int? = nil, text: String = "hello", at now: Instant = .zero)
        -> TurnOpening
    {
        let (session, interaction) = (SessionID("ses_\(chat ?? number)"), InteractionID("int_\(number)"))
        let message = UserMessage(id: MessageID("m\(number)"), session: session, interaction: interaction, text: text)
        return TurnOpening(
            id: TurnID("int_\(number)"), session: session, interaction: interaction,
            agentSession: AgentSession("chat\(chat ?? number)"), run: RunID("r\(number)"), message: message,
            receivedAt: now, windowEnds: now + .seconds(1_800))
    }

    /// A turn asks, and the relay accepts its card.
    private mutating func asks(_ number: Int, at now: Instant = .zero, bytes: Int = 2, until end: Instant? = nil) {
        if bridge.turn(TurnID("int_\(number)")) == nil {
            bridge.turnBegins(opening(number, at: now), at: now)
            bridge.sendAnswered(.accepted(run: RunID("r\(number)")), run: RunID("r\(number)"), at: now)
        }
        var request = ApprovalRequest(
            id: ApprovalID("a\(number)"), subject: .exec, title: "Run", command: String(repeating: "x", count: bytes))
        request.expiresAt = end
        bridge.agentSays(RunSignal(run: RunID("r\(number)"), session: nil, event: .approvalRequested(request)), at: now)
        deliver(at: now)
    }

    /// The relay accepts everything at once. Returns the cards.
    @discardableResult
    private mutating func deliver(at now: Instant) -> [String] {
        var generator = SeededGenerator(seed: 1)
        var cards: [String] = []
        var now = now
        for _ in 0..<400 {
            let orders = bridge.takeOrders()
            var tried = false
            for case .attempt(let attempt) in orders {
                tried = true
                if case .approval(let name) = attempt.name { cards.append(name.text) }
                if case .message = attempt.name { messages += 1 }
                let receipt = RelayReceipt(message: attempt.name == .open ? MessageID("b") : nil)
                bridge.answered(
                    attempt.call, with: RelayAnswer(.delivered(receipt)), at: now, using: &generator)
            }
            if !tried {
                guard let wake = bridge.nextWake, wake <= now + .seconds(20) else { break }
                now = max(now, wake)
                bridge.timePassed(at: now)
            }
        }
        return cards
    }

    private mutating func expire(_ card: String, at now: Instant) {
        bridge.decided(ApprovalID(card), .deny, reason: "expired", at: now)
        deliver(at: now)
    }

    @Test("A message brings back the asks of its chat and the two newest of others")
    mutating func signOfLife() {
        for number in 1...4 { asks(number, at: .at(Double(number))) }
        for number in 1...4 { expire("a\(number)", at: .at(100)) }
        #expect(bridge.openAsks().map(\.isOnPhone) == [false, false, false, false])
        bridge.turnBegins(opening(9, chat: 1, text: "are you there?", at: .at(110)), at: .at(110))
        #expect(deliver(at: .at(110)).sorted() == ["a1-ask-2", "a3-ask-2", "a4-ask-2"])
        #expect(bridge.openAsks().map(\.isOnPhone) == [true, false, true, true])
        #expect(bridge.openAsks().map(\.chat.text) == ["ses_1", "ses_2", "ses_3", "ses_4"])
    }

    @Test("A Stop and a decision on another card bring them back too, a card that the relay closes does not")
    mutating func otherSigns() {
        for number in 1...3 { asks(number) }
        expire("a1", at: .at(100))
        expire("a2", at: .at(101))
        #expect(bridge.openAsks().count { $0.isOnPhone } == 1)
        bridge.decided(ApprovalID("a3"), .approve, reason: nil, at: .at(102))
        #expect(deliver(at: .at(102)).sorted() == ["a1-ask-2", "a2-ask-2"])
        bridge.decided(ApprovalID("a1-ask-2"), .deny, reason: "expired", at: .at(500))
        bridge.stopped(session: SessionID("ses_2"), interaction: nil, at: .at(501))
        #expect(deliver(at: .at(501)) == ["a1-ask-3"])
    }

    @Test("What a person wrote while the agent was away brings them back when it is there again")
    mutating func agentAway() {
        for number in 1...4 { asks(number, at: .at(Double(number))) }
        for number in 1...4 { expire("a\(number)", at: .at(100)) }
        bridge.agentLost(at: .at(105))
        bridge.turnBegins(opening(9, chat: 1, text: "are you there?", at: .at(110)), at: .at(110))
        #expect(deliver(at: .at(110)) == [])
        bridge.agentBack(at: .at(120))
        #expect(deliver(at: .at(120)).sorted() == ["a1-ask-2", "a3-ask-2", "a4-ask-2"])
        expire("a1-ask-2", at: .at(140))
        bridge.agentLost(at: .at(430))
        bridge.agentBack(at: .at(431))
        #expect(!deliver(at: .at(431)).contains("a1-ask-3"), "a sign of life counts once")
    }

    @Test("The bridge's own word keeps its promise to show them when the agent is back")
    mutating func askedForWhileAway() {
        for number in 1...4 { asks(number, at: .at(Double(number))) }
        for number in 1...4 { expire("a\(number)", at: .at(100)) }
        bridge.agentLost(at: .at(105))
        bridge.turnBegins(opening(9, text: "/bridge asks", at: .at(110)), at: .at(110))
        #expect(deliver(at: .at(110)) == [])
        bridge.agentBack(at: .at(120))
        #expect(deliver(at: .at(120)).sorted() == (1...4).map { "a\($0)-ask-2" })
    }

    @Test("A message that waits and a decision that has not left count over a restart too", arguments: [true, false])
    mutating func awayOverRestart(isMessage: Bool) {
        for number in 1...4 { asks(number, at: .at(Double(number))) }
        asks(5, at: .at(5))
        for number in 1...4 { expire("a\(number)", at: .at(100)) }
        bridge.agentLost(at: .at(105))
        if isMessage {
            bridge.turnBegins(opening(9, chat: 1, text: "are you there?", at: .at(110)), at: .at(110))
        } else {
            bridge.decided(ApprovalID("a5"), .approve, reason: nil, at: .at(110))
        }
        #expect(deliver(at: .at(110)) == [])
        restart(at: .at(115))
        bridge.agentBack(at: .at(120))
        #expect(deliver(at: .at(120)).sorted() == (isMessage ? ["a1-ask-2"] : []) + ["a3-ask-2", "a4-ask-2"])
        restart(at: .at(500))
        bridge.agentBack(at: .at(501))
        #expect(deliver(at: .at(501)) == [], "a sign of life counts once")
    }

    /// The next process, with the content of the journal.
    private mutating func restart(at now: Instant) {
        var next = Bridge(isJournaled: false)
        for number in 1...9 {
            if let record = bridge.record(of: TurnID("int_\(number)")) { next.restore(record, deltas: [], at: now) }
        }
        bridge = next
    }

    @Test("At most 20 come back within an hour, whatever asks for it")
    mutating func budget() {
        for number in 1...25 { asks(number) }
        for number in 1...25 { expire("a\(number)", at: .at(100)) }
        bridge.turnBegins(opening(99, chat: 99, text: "/bridge asks", at: .at(110)), at: .at(110))
        #expect(deliver(at: .at(110)).count == 20)
        bridge.timePassed(at: .at(110 + 3_600))
        #expect(deliver(at: .at(110 + 3_600)).count >= 5)
    }

    @Test("The bridge's own word lists them without a word of their chats")
    mutating func word() {
        asks(1)
        expire("a1", at: .at(100))
        let said = OwnWordAnswers.asks(bridge.openAsks(), in: SessionID("ses_9"), clock: nil, at: .at(700))
        #expect(
            said
                == "Waiting for your answer:\n- in chat ses_1, for 11 minutes\nWhat has no card is shown again now, as far as the hour's limit goes."
        )
        #expect(OwnWord("/bridge asks") == .asks)
    }

    @Test("One ask in parts at a time in a chat")
    mutating func parts() {
        asks(1, bytes: 100_000)
        let other = ApprovalRequest(
            id: ApprovalID("b1"), subject: .exec, title: "Run", command: String(repeating: "y", count: 100_000))
        bridge.agentSays(RunSignal(run: RunID("r1"), session: nil, event: .approvalRequested(other)), at: .at(1))
        #expect(deliver(at: .at(1)) == [], "a1 is open")
        bridge.decided(ApprovalID("a1"), .approve, reason: nil, at: .at(2))
        #expect(deliver(at: .at(2)) == ["b1"])
    }

    @Test("One in parts that comes back shows its parts again, and waits for the one that is open")
    mutating func partsComeBack() {
        asks(1, bytes: 100_000)
        let other = ApprovalRequest(
            id: ApprovalID("b1"), subject: .exec, title: "Run", command: String(repeating: "y", count: 100_000))
        bridge.agentSays(RunSignal(run: RunID("r1"), session: nil, event: .approvalRequested(other)), at: .at(1))
        bridge.decided(ApprovalID("a1"), .deny, reason: "expired", at: .at(100))
        #expect(deliver(at: .at(100)) == ["b1"])
        bridge.timePassed(at: .at(401))
        #expect(deliver(at: .at(401)) == [], "b1 is open")
        let before = messages
        bridge.decided(ApprovalID("b1"), .deny, reason: nil, at: .at(402))
        #expect(deliver(at: .at(402)) == ["a1-ask-2"])
        #expect(messages == before + 1, "its second part is above the card")
    }

    @Test("A Stop in words brings no card of the asks that it ends")
    mutating func stopInWords() {
        asks(1)
        expire("a1", at: .at(100))
        bridge.turnBegins(opening(9, chat: 1, text: "stop", at: .at(500)), at: .at(500))
        #expect(deliver(at: .at(500)) == [])
    }

    @Test("A card that waits in its lane while its ask ends goes to no phone")
    mutating func withdrawn() {
        asks(1)
        expire("a1", at: .at(100))
        let text = RunEvent.text(.append("I wait."))
        bridge.agentSays(RunSignal(run: RunID("r1"), session: nil, event: text), at: .at(401))
        // The card waits behind the text, which the relay has not answered.
        bridge.timePassed(at: .at(401))
        bridge.agentSays(
            RunSignal(
                run: RunID("r1"), session: nil,
                event: .approvalSettled(ApprovalSettlement(id: ApprovalID("a1"), outcome: .cancelled))), at: .at(401))
        #expect(deliver(at: .at(401)) == [])
    }

    @Test("An ask that ends too soon to come back costs none of the returns")
    mutating func tooLate() {
        asks(1)
        asks(2, at: .at(30), until: .at(64))
        expire("a1", at: .at(60))
        bridge.decided(ApprovalID("a2"), .deny, reason: "limit", at: .at(61))
        for second in 62...90 { bridge.timePassed(at: .at(Double(second))) }
        bridge.turnBegins(opening(99, chat: 99, text: "/bridge asks", at: .at(100)), at: .at(100))
        #expect(deliver(at: .at(100)) == ["a1-ask-2"])
    }

    @Test("The relay's words are counted")
    mutating func words() {
        asks(1)
        asks(2)
        expire("a1", at: .at(1))
        bridge.decided(ApprovalID("a2"), .deny, reason: "session_deleted", at: .at(2))
        #expect(bridge.figures(at: .at(3)).cardEnds == ["expired": 1, "session_deleted": 1])
    }

    @Test("A change of the configuration holds for open asks")
    mutating func reload() {
        asks(1)
        var settings = AskSettings()
        settings.whenUnanswered = .deny
        bridge.use(asks: settings, at: .at(1))
        bridge.decided(ApprovalID("a1"), .deny, reason: "expired", at: .at(2))
        #expect(
            bridge.takeOrders().contains {
                if case .command(.resolve(_, _, .deny, _, _, _, _)) = $0 { true } else { false }
            })
        settings.whenUnanswered = .hold
        settings.patience = .seconds(60)
        asks(2, at: .at(3))
        bridge.use(asks: settings, at: .at(4))
        #expect(bridge.nextWake.map { $0 <= .at(63) } == true)
    }
}
