import Testing
import Vocabulary
import Worlds

@testable import BridgeCore

/// One bridge beside another with the same token, by the relay's answers.
@Suite("Whose a message is")
final class ClaimTests {
    private static let mark = StateMark(bits: 0xA5, since: .zero)
    private static let turn = TurnID("int_1")

    private struct Heard: Equatable {
        var prompts: [String] = []
        var calls: [String] = []
        var aborts = 0
        var others: [Int] = []
        var closed: [TurnOutcome] = []
    }

    private var bridge: Bridge
    private var random = SeededGenerator(seed: 1)
    private var attempts: [CallAttempt] = []

    init() { bridge = Self.bridge() }

    private static func bridge(promptHasKey: Bool = false, known: OtherBridge? = nil) -> Bridge {
        var settings = BridgeSettings()
        settings.turn.promptHasKey = promptHasKey
        var bridge = Bridge(settings: settings)
        bridge.use(mark: mark, known: known)
        return bridge
    }

    private static func opening(
        _ number: Int = 1, chat: String = "ses_1", isMarked: Bool = true, sealing: TurnSealing = .open
    ) -> TurnOpening {
        let (session, interaction) = (SessionID(chat), InteractionID("int_\(number)"))
        var opening = TurnOpening(
            id: TurnID("int_\(number)"), session: session, interaction: interaction, agentSession: AgentSession(chat),
            run: RunID("r\(number)"),
            message: UserMessage(
                id: MessageID("m\(number)"), session: session, interaction: interaction,
                text: sealing.isSealed ? "" : "text \(number)"),
            receivedAt: .at(1), windowEnds: .at(1_800), sealing: sealing, sealedText: sealing.isSealed ? "ct" : nil)
        opening.isMarked = isMarked
        return opening
    }

    private func hear() -> Heard {
        var heard = Heard()
        for order in bridge.takeOrders() {
            switch order {
            case .command(.send(_, _, _, let message)): heard.prompts.append(message.text)
            case .command(.abort): heard.aborts += 1
            case .attempt(let attempt):
                attempts.append(attempt)
                heard.calls.append(attempt.key ?? "")
            case .anotherBridge(_, let other): heard.others.append(other.messages)
            case .turnClosed(_, let outcome): heard.closed.append(outcome)
            default: break
            }
        }
        return heard
    }

    private func begin(_ opening: TurnOpening = opening(), at now: Instant = .at(1)) -> Heard {
        bridge.turnBegins(opening, at: now)
        return hear()
    }

    /// Answers the newest call.
    private func answer(_ outcome: RelayAnswer.Outcome, at now: Instant) -> Heard {
        guard let attempt = attempts.last else { return Heard() }
        bridge.answered(attempt.call, with: RelayAnswer(outcome), at: now, using: &random)
        return hear()
    }

    private func pass(to now: Instant) -> Heard {
        bridge.timePassed(at: now)
        return hear()
    }

    private func leave(_ turn: TurnID = turn, at now: Instant) { bridge.openLeft(turn, at: now) }

    private static let taken = RelayAnswer.Outcome.delivered(RelayReceipt(message: MessageID("msg_1")))
    private static let repeated = RelayAnswer.Outcome.delivered(
        RelayReceipt(message: MessageID("msg_1"), repeated: true))
    private static let conflict = RelayAnswer.Outcome.refused(RelayRefusal(status: 409, code: .idempotencyConflict))

    // MARK: The body

    @Test("the placeholder spells the mark in white space, the same in each call")
    func body() throws {
        _ = begin()
        let attempt = try #require(attempts.last)
        guard case .fresh(let call) = attempt.payload else {
            Issue.record("no fresh call")
            return
        }
        #expect(call.mark == 0xA5 && attempt.isMarked)
        let text = StateMark.text(0xA5)
        #expect(text.allSatisfy(\.isWhitespace) && text.first == " " && text.utf8.count == 33)
        #expect(text != StateMark.text(0xA4))
    }

    @Test("an update that was made before the state directory carries no mark, nor one without a time")
    func covers() {
        let mark = StateMark(bits: 1, since: .at(10))
        #expect(mark.covers(RelayMoment(wallMilliseconds: 0, instant: .at(10))))
        #expect(!mark.covers(RelayMoment(wallMilliseconds: 0, instant: .at(9))))
        #expect(!mark.covers(nil))
    }

    // MARK: The prompt

    @Test("a prompt without a key waits until the relay has taken the open", arguments: [false, true])
    func waits(isRepeated: Bool) {
        #expect(begin() == Heard(calls: ["int_1-open"]))
        leave(at: .at(1))
        #expect(answer(isRepeated ? Self.repeated : Self.taken, at: .at(1.1)).prompts == ["text 1"])
    }

    @Test("a prompt with a key of its own goes at once, and so does one of a message that carries no mark")
    func atOnce() {
        #expect(begin(Self.opening(isMarked: false)).prompts == ["text 1"])
        bridge = Self.bridge(promptHasKey: true)
        #expect(begin().prompts == ["text 1"])
    }

    @Test("a prompt with a key waits too once another bridge was seen, also one that was queued before")
    func otherWasSeen() {
        bridge = Self.bridge(promptHasKey: true, known: OtherBridge(last: .at(0.5), messages: 1))
        #expect(begin().prompts == [])
        leave(at: .at(1))
        #expect(answer(Self.taken, at: .at(1.1)).prompts == ["text 1"])
    }

    @Test("a message that was queued behind another's waits for the relay's answer to its own bubble")
    func queuedBehindAnothers() {
        bridge = Self.bridge(promptHasKey: true)
        #expect(begin().prompts == ["text 1"])
        #expect(begin(Self.opening(2)).prompts == [])
        leave(at: .at(1))
        #expect(answer(Self.conflict, at: .at(1.1)).prompts == [])
    }

    @Test("a prompt waits two seconds from when the bytes of its open have left, and no longer for another try")
    func patience() {
        _ = begin()
        #expect(pass(to: .at(60)) == Heard(), "the open is still here")
        leave(at: .at(60))
        #expect(answer(.unknown(reason: "reset"), at: .at(60.5)).prompts == [])
        leave(at: .at(61))
        #expect(pass(to: .at(61.9)).prompts == [])
        #expect(pass(to: .at(62)).prompts == ["text 1"])
    }

    @Test("while the open waits for its bucket the prompt waits too")
    func bucket() {
        _ = begin()
        leave(at: .at(1))
        let full = RelayRefusal(status: 429, code: .rateLimited, retryAfter: .seconds(10))
        #expect(answer(.refused(full), at: .at(1.1)) == Heard())
        #expect(pass(to: .at(5)) == Heard())
        #expect(pass(to: .at(13)).calls == ["int_1-open"])
        leave(at: .at(13))
        #expect(answer(Self.taken, at: .at(13.1)).prompts == ["text 1"])
    }

    @Test("an open that the relay refuses for another reason keeps nothing back")
    func refused() {
        _ = begin()
        leave(at: .at(1))
        #expect(
            answer(.refused(RelayRefusal(status: 400, code: .invalidRequest)), at: .at(1.1)).prompts == ["text 1"])
    }

    @Test("a later message of the chat does not overtake one that waits, and another chat does not wait for it")
    func order() {
        _ = begin()
        _ = begin(Self.opening(2, isMarked: false))
        #expect(begin(Self.opening(3, chat: "ses_2", isMarked: false)).prompts == ["text 3"])
        let first = attempts[0]
        bridge.answered(first.call, with: RelayAnswer(Self.taken), at: .at(2), using: &random)
        #expect(hear().prompts == ["text 1"])
    }

    // MARK: Another's

    @Test("a conflict on any try: no second form, no prompt, no task, no end", arguments: [0, 1, 3])
    func anothers(lostBefore: Int) {
        _ = begin()
        leave(at: .at(1))
        for number in 0..<lostBefore {
            _ = answer(.unknown(reason: "reset"), at: .at(1 + Double(number) / 10))
            // Before the prompt's patience ends.
            while attempts.count < number + 2, let wake = bridge.nextWake, wake < .at(2.9) { _ = pass(to: wake) }
        }
        #expect(answer(Self.conflict, at: .at(2.9)) == Heard(others: [1], closed: [.anothers]))
        #expect(pass(to: .at(1_700)) == Heard())
        #expect(bridge.openTurns == 0)
    }

    @Test("what is said of a message that is another's changes nothing here")
    func silence() {
        _ = begin()
        _ = answer(Self.conflict, at: .at(1.1))
        bridge.stopped(session: SessionID("ses_1"), interaction: InteractionID("int_1"), at: .at(2))
        bridge.decided(ApprovalID("a1"), .approve, reason: nil, at: .at(2))
        bridge.agentSays(RunSignal(run: RunID("r1"), session: nil, event: .finished(RunEnd(text: "x"))), at: .at(3))
        #expect(hear() == Heard())
        #expect(begin(Self.opening(2, isMarked: false)).prompts == ["text 2"], "the chat goes on")
    }

    @Test("a run that the agent shares with the other bridge is left alone; one that only this bridge sees is stopped")
    func begun() {
        bridge = Self.bridge(promptHasKey: true)
        #expect(begin().prompts == ["text 1"])
        bridge.sendAnswered(.accepted(run: RunID("r1")), run: RunID("r1"), at: .at(1))
        #expect(answer(Self.conflict, at: .at(1.1)) == Heard(others: [1], closed: [.anothers]))

        bridge = Self.bridge()
        attempts = []
        _ = begin()
        leave(at: .at(1))
        #expect(pass(to: .at(3)).prompts == ["text 1"], "the relay says nothing")
        bridge.sendAnswered(.accepted(run: RunID("r1")), run: RunID("r1"), at: .at(3))
        #expect(answer(Self.conflict, at: .at(4)) == Heard(aborts: 1, others: [1], closed: [.anothers]))
    }

    @Test("a message that was made before the state directory is answered as without a mark")
    func before() {
        #expect(begin(Self.opening(isMarked: false)).prompts == ["text 1"])
        let heard = answer(Self.conflict, at: .at(1.1))
        #expect(heard.calls == ["int_1-open-2"] && heard.others == [])
    }

    @Test("sightings are counted until there was none for a day")
    func counted() {
        for number in 1...3 {
            _ = begin(Self.opening(number))
            #expect(answer(Self.conflict, at: .at(10)).others == [number])
        }
        let (known, later) = (bridge.figures(at: .at(10)).another, bridge.figures(at: .at(10 + 86_400)).another)
        #expect(known == OtherBridge(last: .at(10), messages: 3))
        #expect(later == nil)
    }

    // MARK: Sealed

    @Test("once another bridge was seen, a message that cannot be read is opened when its key comes")
    func delayed() throws {
        bridge = Self.bridge(known: OtherBridge(last: .zero, messages: 2))
        #expect(begin(Self.opening(sealing: .sealed(nil))) == Heard())
        let key = KeyName("k1")
        bridge.keyCame(key, in: SessionID("ses_1"), opened: [Self.turn: .text("read")], at: .at(2))
        #expect(hear() == Heard(calls: ["int_1-open"]))
        #expect(attempts.last?.seal == CallSeal(session: SessionID("ses_1"), key: key))
        leave(at: .at(2))
        #expect(answer(Self.taken, at: .at(2.1)).prompts == ["read"])
    }

    @Test("or when two minutes are over, and then it ends with a sentence, or is another's", arguments: [false, true])
    func keyless(isAnothers: Bool) {
        bridge = Self.bridge(known: OtherBridge(last: .zero, messages: 2))
        _ = begin(Self.opening(sealing: .sealed(nil)))
        #expect(pass(to: .at(120)) == Heard())
        #expect(pass(to: .at(121)) == Heard(calls: ["int_1-open"]))
        guard isAnothers else { return #expect(answer(Self.taken, at: .at(121.1)).calls == ["int_1-end"]) }
        #expect(answer(Self.conflict, at: .at(121.1)) == Heard(others: [3], closed: [.anothers]))
    }

    @Test("where none was seen, it is opened after a second, and at once without a mark")
    func alone() {
        #expect(begin(Self.opening(sealing: .sealed(nil))).calls == [])
        #expect(pass(to: .at(1.9)).calls == [])
        #expect(pass(to: .at(2)).calls == ["int_1-open"])
        _ = answer(Self.taken, at: .at(2.1))
        #expect(begin(Self.opening(2, isMarked: false, sealing: .sealed(nil)), at: .at(3)).calls == ["int_2-open"])
    }

    // MARK: The next process

    @Test("after a restart a stored open is tried again with its bytes; a conflict is another's, and the prompt waits")
    func restarted() throws {
        _ = begin()
        let kept = bridge.record(of: Self.turn)
        let record = try #require(kept)
        #expect(record.unanswered.map(\.text) == ["int_1-open"])
        for isAnothers in [false, true] {
            bridge = Self.bridge()
            attempts = []
            bridge.restore(record.stored, deltas: [], at: .at(20))
            bridge.agentBack(at: .at(20))
            #expect(hear() == Heard(calls: ["int_1-open"]))
            guard case .stored = attempts.last?.payload else {
                Issue.record("not the stored bytes")
                return
            }
            leave(at: .at(20))
            let heard = answer(isAnothers ? Self.conflict : Self.repeated, at: .at(20.1))
            #expect(heard.prompts == (isAnothers ? [] : ["text 1"]))
            #expect(heard.closed == (isAnothers ? [.anothers] : []))
        }
    }
}
