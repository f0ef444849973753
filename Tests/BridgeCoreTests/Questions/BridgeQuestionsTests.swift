import Testing
import Vocabulary
import Worlds

@testable import BridgeCore

@Suite("Messages that answer")
struct BridgeQuestionsTests {
    private static let chat = SessionID("ses_1")

    /// `madeAt` is when it was written, if it came later.
    private static func opening(
        _ number: Int, _ text: String, in chat: SessionID = chat, madeAt: Int? = nil, receivedAt: Int? = nil
    ) -> TurnOpening {
        let interaction = InteractionID("int_\(number)")
        return TurnOpening(
            id: TurnID(interaction.text), session: chat, interaction: interaction,
            agentSession: AgentSession("agent:\(chat)"), run: RunID("r\(number)"),
            message: UserMessage(
                id: MessageID("m\(number)"), session: chat, interaction: interaction, text: text),
            receivedAt: .at(Double(receivedAt ?? number)), windowEnds: .at(Double(number) + 1_800),
            made: madeAt.map { RelayMoment(wallMilliseconds: Int64($0) * 1_000, instant: .at(Double($0))) })
    }

    private static func answer(_ said: QuestionAnswer) -> AgentCommand {
        .answer(question: QuestionID("q1"), session: AgentSession("agent:ses_1"), answer: said, shown: Make.shown(said))
    }

    private var numbers: [CommandNumber] = []
    private var random = SeededGenerator(seed: 1)

    /// The relay accepts every call. Returns commands that leave; `numbers` has those that wait for the disk.
    private mutating func settle(_ bridge: inout Bridge, at now: Instant = .at(1)) -> [AgentCommand] {
        var commands: [AgentCommand] = []
        while bridge.hasOrders {
            for order in bridge.takeOrders() {
                switch order {
                case .command(let command): commands.append(command)
                case .commandToKeep(let number, _): numbers.append(number)
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
        return commands
    }

    private func signal(_ event: RunEvent) -> RunSignal {
        RunSignal(run: RunID("r1"), session: AgentSession("agent:ses_1"), event: event)
    }

    /// The agent has the message, and the phone shows the question.
    private mutating func questioning(isJournaled: Bool = true) -> Bridge {
        var bridge = Bridge(isJournaled: isJournaled)
        bridge.turnBegins(Self.opening(1, "hello"), at: .at(1))
        _ = settle(&bridge)
        for number in numbers { bridge.commandKept(number, at: .at(1)) }
        numbers = []
        bridge.sendAnswered(.accepted(run: RunID("r1")), run: RunID("r1"), at: .at(1))
        bridge.agentSays(signal(.asked(Make.question())), at: .at(1))
        _ = settle(&bridge)
        #expect(bridge.turn(TurnID("int_1"))?.openQuestion != nil)
        return bridge
    }

    private func outcome(_ number: Int, _ bridge: borrowing Bridge) -> (TurnOutcome?, String?) {
        let turn = bridge.turn(TurnID("int_\(number)"))
        return (turn?.outcome, turn?.bubble.sentEnd?.text)
    }

    @Test("an answer passes the queue, leaves when it is written down, and its bubble says so when the agent has it")
    mutating func answered() {
        var bridge = questioning()
        bridge.turnBegins(Self.opening(2, "2"), at: .at(2))
        #expect(bridge.turn(TurnID("int_2"))?.phase == .answering(QuestionID("q1"), of: TurnID("int_1")))
        #expect(settle(&bridge) == [])
        #expect(numbers.count == 1)
        bridge.commandKept(numbers[0], at: .at(2))
        #expect(settle(&bridge) == [Self.answer(.choices(["Blue"]))])
        bridge.commandKept(numbers[0], at: .at(2))
        #expect(settle(&bridge) == [])
        #expect(outcome(2, bridge).0 == nil)
        bridge.agentSays(signal(.questionSettled(QuestionSettlement(id: QuestionID("q1"), .answered))), at: .at(3))
        #expect(bridge.turn(TurnID("int_2"))?.bubble.sentEnd?.text == "Answered: Blue")
        #expect(settle(&bridge, at: .at(3)) == [])
        #expect(bridge.openTurns == 1)
    }

    @Test("what came in the open in a sealed chat answers nothing")
    mutating func cameInTheOpen() {
        var bridge = questioning()
        var opening = Self.opening(2, "2")
        opening.sealing = .sealed(KeyName("k"))
        bridge.turnBegins(opening, at: .at(2))
        #expect(settle(&bridge, at: .at(2)) == [] && numbers.isEmpty)
        #expect(bridge.turn(TurnID("int_2"))?.phase == .waiting)
    }

    @Test("the answering message's own record is ordered before that of the answer")
    mutating func records() {
        var bridge = questioning()
        bridge.turnBegins(Self.opening(2, "2"), at: .at(2))
        let orders = bridge.takeOrders()
        let own = orders.firstIndex {
            if case .keep(let kept, .synced) = $0 { kept.record.id == TurnID("int_2") } else { false }
        }
        let command = orders.firstIndex { if case .commandToKeep = $0 { true } else { false } }
        #expect(own != nil && command != nil && own ?? 0 < command ?? 0)
    }

    @Test("an answer that does not fit says what is expected, and the question stays open")
    mutating func misfit() {
        var bridge = questioning()
        bridge.turnBegins(Self.opening(2, "7"), at: .at(2))
        let expected =
            "There is no option 7. The question is still open. Reply with the number of one option. /skip declines."
        #expect(outcome(2, bridge) == (.neverSent, expected))
        #expect(settle(&bridge) == [])
        #expect(bridge.turn(TurnID("int_1"))?.openQuestion != nil)
    }

    private static func withFile(_ number: Int, _ text: String) -> TurnOpening {
        var opening = opening(number, text)
        opening.message?.attachments = [Attachment(url: "https://u/1", name: "a.png")]
        return opening
    }

    private static let fetched: [Attachment] = {
        var attachment = Attachment(url: "https://u/1", name: "a.png")
        attachment.outcome = .file(MessageFile(name: "a.png", mimeType: "image/png", path: "/files/1", size: 7))
        return [attachment]
    }()

    private static let leftOut = "a.png was not passed on: the answer to a question is its text alone."

    @Test("an answer with a file is one when it comes; the file is named, and not fetched")
    mutating func answeredWithFile() {
        var bridge = questioning(isJournaled: false)
        bridge.turnBegins(Self.withFile(2, "2"), at: .at(2))
        #expect(bridge.turn(TurnID("int_2"))?.phase == .answering(QuestionID("q1"), of: TurnID("int_1")))
        #expect(bridge.turn(TurnID("int_2"))?.bubble.notice == Self.leftOut)
        let orders = bridge.takeOrders()
        #expect(!orders.contains { if case .fetch = $0 { true } else { false } })
        bridge.fetched(Self.fetched, for: TurnID("int_2"), at: .at(3))
        #expect(bridge.turn(TurnID("int_2"))?.bubble.notice == Self.leftOut)
    }

    @Test("a message that came before the question answers nothing, however long its files take")
    mutating func cameBefore() {
        var bridge = Bridge(isJournaled: false)
        bridge.turnBegins(Self.opening(1, "hello"), at: .at(1))
        _ = settle(&bridge)
        bridge.sendAnswered(.accepted(run: RunID("r1")), run: RunID("r1"), at: .at(1))
        bridge.turnBegins(Self.withFile(2, "also fix the footer"), at: .at(2))
        bridge.agentSays(signal(.asked(Make.question())), at: .at(3))
        _ = settle(&bridge, at: .at(3))
        bridge.fetched(Self.fetched, for: TurnID("int_2"), at: .at(4))
        #expect(bridge.turn(TurnID("int_2"))?.phase == .waiting)
        #expect(bridge.turn(TurnID("int_1"))?.openQuestion != nil)
        bridge.fetched(Self.fetched, for: TurnID("int_2"), at: .at(5))
        #expect(bridge.turn(TurnID("int_2"))?.phase == .waiting, "it waits for the run, and its files are there")
    }

    @Test("nor does it when its files are late")
    mutating func lateFiles() {
        var bridge = Bridge(isJournaled: false)
        bridge.turnBegins(Self.opening(1, "hello"), at: .at(1))
        _ = settle(&bridge)
        bridge.sendAnswered(.accepted(run: RunID("r1")), run: RunID("r1"), at: .at(1))
        bridge.turnBegins(Self.withFile(2, "also fix the footer"), at: .at(2))
        bridge.agentSays(signal(.asked(Make.question())), at: .at(3))
        _ = settle(&bridge, at: .at(3))
        bridge.timePassed(at: .at(662))
        #expect(bridge.turn(TurnID("int_2"))?.phase == .waiting)
    }

    @Test("files without words answer nothing: the question stays open, and they are named")
    mutating func filesAlone() {
        var bridge = questioning(isJournaled: false)
        bridge.turnBegins(Self.withFile(2, ""), at: .at(2))
        let (end, text) = outcome(2, bridge)
        #expect(end == .neverSent && text?.contains("An answer needs words.") == true)
        #expect(text?.contains(Self.leftOut) == true)
        #expect(settle(&bridge) == [])
        #expect(bridge.turn(TurnID("int_1"))?.openQuestion != nil)
    }

    @Test("several of one dialog are asked one after the other, each as soon as the machine has the answer before it")
    mutating func parts() {
        var bridge = questioning()
        bridge.agentSays(signal(.asked(Make.question("q2", "And then?"))), at: .at(1))
        for (number, question) in [(2, "q1"), (3, "q2")] {
            bridge.turnBegins(Self.opening(number, "2"), at: .at(Double(number)))
            _ = settle(&bridge, at: .at(Double(number)))
            bridge.commandKept(numbers[number - 2], at: .at(Double(number)))
            let sent = settle(&bridge, at: .at(Double(number)))
            #expect(sent.count == 1, "\(sent)")
            let taken = QuestionSettlement(id: QuestionID(question), .answered)
            bridge.agentSays(signal(.questionSettled(taken)), at: .at(Double(number)))
            _ = settle(&bridge, at: .at(Double(number) + 0.5))
        }
        #expect(bridge.openTurns == 1)
        #expect(
            bridge.turn(TurnID("int_1"))?.preview.streamed.hasSuffix(
                "And then?\n\n1. Red\n2. Blue\n\nReply with the number of one option. /skip declines.\n\nAnswered: Blue"
            ) == true)
    }

    @Test("answered twice: the second is too late")
    mutating func twice() {
        var bridge = questioning()
        bridge.turnBegins(Self.opening(2, "2"), at: .at(2))
        bridge.turnBegins(Self.opening(3, "1"), at: .at(2))
        #expect(outcome(3, bridge) == (.neverSent, Sentences.answerTooLate))
        _ = settle(&bridge)
        for number in numbers { bridge.commandKept(number, at: .at(2)) }
        #expect(settle(&bridge) == [Self.answer(.choices(["Blue"]))])
    }

    @Test(
        "a message that came before the chat showed the question's end was for the question; one that came later is none"
    )
    mutating func late() {
        var bridge = questioning()
        bridge.agentSays(signal(.questionSettled(QuestionSettlement(id: QuestionID("q1"), .expired))), at: .at(2))
        bridge.turnBegins(Self.opening(2, "2"), at: .at(2))
        #expect(outcome(2, bridge) == (.neverSent, Sentences.answerTooLate))
        _ = settle(&bridge, at: .at(3))
        bridge.turnBegins(Self.opening(3, "2"), at: .at(4))
        #expect(bridge.turn(TurnID("int_3"))?.phase == .waiting)
    }

    @Test("a message that was written before the question's end was shown is none to the agent, however late it comes")
    mutating func slow() {
        var bridge = questioning()
        bridge.agentSays(signal(.questionSettled(QuestionSettlement(id: QuestionID("q1"), .expired))), at: .at(5))
        _ = settle(&bridge, at: .at(5))
        bridge.turnBegins(Self.opening(2, "2", madeAt: 2, receivedAt: 90), at: .at(90))
        #expect(outcome(2, bridge) == (.neverSent, Sentences.answerTooLate))
    }

    @Test("a message of another chat, or from before the question was shown, is a message")
    mutating func others() {
        var bridge = questioning()
        bridge.turnBegins(Self.opening(2, "2", in: SessionID("ses_2")), at: .at(2))
        #expect(bridge.turn(TurnID("int_2"))?.phase == .handedOver)
        bridge.agentSays(signal(.questionSettled(QuestionSettlement(id: QuestionID("q1"), .cancelled))), at: .at(2))
        _ = settle(&bridge, at: .at(2))
        // The relay still has the call before it.
        bridge.agentSays(signal(.text(.append("More."))), at: .at(3))
        bridge.agentSays(signal(.asked(Make.question("q2"))), at: .at(3))
        bridge.turnBegins(Self.opening(3, "2"), at: .at(3))
        #expect(bridge.turn(TurnID("int_3"))?.phase == .waiting)
    }

    @Test("after a stop the chat's next message is one to the agent, but not one that was written before")
    mutating func afterStop() {
        var bridge = questioning()
        bridge.stopped(session: Self.chat, interaction: InteractionID("int_1"), at: .at(3))
        bridge.turnBegins(Self.opening(4, "something else"), at: .at(4))
        #expect(bridge.turn(TurnID("int_4"))?.phase == .waiting)
        bridge.turnBegins(Self.opening(2, "2", madeAt: 2, receivedAt: 4), at: .at(4))
        #expect(outcome(2, bridge) == (.neverSent, Sentences.answerTooLate))
    }

    @Test("a Stop counts from when it was pressed, however late it comes")
    mutating func lateStop() {
        var bridge = questioning()
        bridge.stopped(
            session: Self.chat, interaction: InteractionID("int_1"),
            made: RelayMoment(wallMilliseconds: 3_000, instant: .at(3)), at: .at(9))
        bridge.turnBegins(Self.opening(4, "something else", madeAt: 4, receivedAt: 9), at: .at(9))
        #expect(bridge.turn(TurnID("int_4"))?.phase == .waiting)
        bridge.turnBegins(Self.opening(2, "2", madeAt: 2, receivedAt: 9), at: .at(9))
        #expect(outcome(2, bridge) == (.neverSent, Sentences.answerTooLate))
    }

    @Test("a message whose window is shorter, or over, was not written before the question ended")
    mutating func shortWindow() {
        var bridge = questioning()
        bridge.turnBegins(Self.opening(2, "2"), at: .at(2))
        _ = settle(&bridge)
        bridge.commandKept(numbers[0], at: .at(2))
        bridge.agentSays(signal(.questionSettled(QuestionSettlement(id: QuestionID("q1"), .answered))), at: .at(3))
        _ = settle(&bridge, at: .at(10))
        // The bridge's clock is two minutes ahead, or the interaction already has its turn.
        for (number, windowEnds) in [(30, 30 + 1_680), (31, 31)] {
            var opening = Self.opening(number, "now deploy")
            opening.windowEnds = .at(Double(windowEnds))
            bridge.turnBegins(opening, at: .at(Double(number)))
            #expect(bridge.turn(TurnID("int_\(number)"))?.phase == .waiting)
        }
    }

    @Test("a stop withdraws an answer that waits for the disk, and none leaves after it")
    mutating func stopped() {
        var bridge = questioning()
        bridge.turnBegins(Self.opening(2, "2"), at: .at(2))
        _ = settle(&bridge)
        bridge.stopped(session: Self.chat, interaction: InteractionID("int_1"), at: .at(3))
        #expect(outcome(2, bridge) == (.neverSent, Sentences.answerStopped))
        bridge.commandKept(numbers[0], at: .at(3))
        let left = settle(&bridge, at: .at(3))
        #expect(left.contains(Self.answer(.declined)) && !left.contains(Self.answer(.choices(["Blue"]))))
    }

    @Test("a stop of the answering message alone takes the answer back, and the question is open again")
    mutating func takenBack() {
        var bridge = questioning()
        bridge.turnBegins(Self.opening(2, "2"), at: .at(2))
        _ = settle(&bridge)
        bridge.stopped(session: Self.chat, interaction: InteractionID("int_2"), at: .at(3))
        #expect(outcome(2, bridge) == (.aborted, Sentences.stopped))
        bridge.commandKept(numbers[0], at: .at(3))
        #expect(settle(&bridge, at: .at(3)) == [])
        bridge.turnBegins(Self.opening(3, "1"), at: .at(4))
        _ = settle(&bridge, at: .at(4))
        bridge.commandKept(numbers[1], at: .at(4))
        #expect(settle(&bridge, at: .at(4)) == [Self.answer(.choices(["Red"]))])
    }

    @Test("a stop of the answering message comes too late for an answer that has left")
    mutating func hasLeft() {
        var bridge = questioning()
        bridge.turnBegins(Self.opening(2, "2"), at: .at(2))
        _ = settle(&bridge)
        bridge.commandKept(numbers[0], at: .at(2))
        _ = settle(&bridge)
        bridge.stopped(session: Self.chat, interaction: InteractionID("int_2"), at: .at(3))
        bridge.agentSays(signal(.questionSettled(QuestionSettlement(id: QuestionID("q1"), .answered))), at: .at(3))
        #expect(outcome(2, bridge) == (.answered, "Answered: Blue"))
    }

    @Test("in a sealed chat the answer is read when its key comes")
    mutating func sealed() {
        var bridge = questioning()
        var opening = Self.opening(2, "")
        (opening.sealing, opening.sealedText) = (.sealed(nil), "ct")
        bridge.turnBegins(opening, at: .at(2))
        #expect(bridge.turn(TurnID("int_2"))?.phase == .awaitingKey)
        bridge.keyCame(KeyName("k1"), in: Self.chat, opened: [opening.id: .text("blue")], at: .at(3))
        #expect(bridge.turn(TurnID("int_2"))?.phase == .answering(QuestionID("q1"), of: TurnID("int_1")))
    }

    // MARK: Restarts

    private func record(_ number: Int, of bridge: borrowing Bridge) -> TurnRecord? {
        bridge.record(of: TurnID("int_\(number)")).map { $0.stored }
    }

    @Test("a question that is open goes on in the next process, and its answer waits for the agent")
    mutating func restored() throws {
        let first = questioning()
        let record = record(1, of: first)
        let kept = try #require(record)
        var bridge = Bridge(agentPresent: false, isJournaled: true)
        let streamed = first.turn(TurnID("int_1"))?.preview.streamed
        let text = try #require(streamed)
        let delta = StoredDelta(
            key: IdempotencyKey("d"), text: text, endOffset: text.utf8.count, isAnswered: true)
        bridge.restore(kept, deltas: [delta], at: .at(5))
        bridge.turnBegins(Self.opening(2, "2"), at: .at(5))
        _ = settle(&bridge, at: .at(5))
        #expect(numbers == [])
        bridge.agentBack(at: .at(6))
        _ = settle(&bridge, at: .at(6))
        let number = try #require(numbers.last)
        bridge.commandKept(number, at: .at(6))
        #expect(settle(&bridge, at: .at(6)).contains(Self.answer(.choices(["Blue"]))))
    }

    @Test("a message whose answer was not written down is read again; one whose question is gone says so")
    mutating func halves() throws {
        let before = questioning()
        let askingRecord = record(1, of: before)
        let asking = try #require(askingRecord)
        var first = questioning()
        first.turnBegins(Self.opening(2, "2"), at: .at(2))
        let answeringRecord = record(2, of: first)
        let answering = try #require(answeringRecord)
        numbers = []
        for isThere in [true, false] {
            var bridge = Bridge(agentPresent: false, isJournaled: true)
            if isThere { bridge.restore(asking, deltas: [], at: .at(5)) }
            bridge.restore(answering, deltas: [], at: .at(5))
            bridge.agentBack(at: .at(6))
            _ = settle(&bridge, at: .at(6))
            if isThere {
                #expect(bridge.turn(TurnID("int_1"))?.answer(of: TurnID("int_2"))?.words == "Blue")
            } else {
                #expect(bridge.openTurns == 0)
            }
        }
    }
}
