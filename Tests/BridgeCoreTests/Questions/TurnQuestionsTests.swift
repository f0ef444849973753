import Testing
import Vocabulary

@testable import BridgeCore

extension Make {
    static func question(
        _ id: String = "q1", _ title: String = "Which colour?", expiresAt: Instant? = nil
    ) -> Question {
        Question(
            id: QuestionID(id), title: title, options: [Question.Option("Red"), Question.Option("Blue")],
            expiresAt: expiresAt)
    }

    static func asked(_ title: String = "Which colour?") -> String {
        "\(title)\n\n1. Red\n2. Blue\n\nReply with the number of one option. /skip declines."
    }

    static func answer(_ answer: QuestionAnswer, to id: String = "q1") -> TurnOrder {
        .command(
            .answer(
                question: QuestionID(id), session: AgentSession("chat"), answer: answer,
                shown: shown(answer, of: id)))
    }

    static func shown(_ answer: QuestionAnswer, of id: String = "q1") -> AskFingerprint? {
        answer == .declined ? nil : AskFingerprint(of: question(id))
    }

    /// The turn has asked, and the phone shows the question.
    static func questioning(expiresAt: Instant? = nil) -> Turn {
        var turn = speaking("Let me ask.")
        _ = turn.on(.asked(question(expiresAt: expiresAt)))
        turn.seen()
        return turn
    }
}

extension Turn {
    /// The relay has all streamed text.
    mutating func seen() {
        _ = reported(.delivered(.text(endOffset: preview.streamed.utf8.count), message: nil), at: .zero)
    }

    /// The open question, as after a try of all streamed text.
    var openQuestion: Question? { openQuestion(streamed: preview.streamed.utf8.count) }

    mutating func answered(_ text: String, by turn: String = "int_2", to id: String = "q1") -> [TurnOrder] {
        guard let question = agent.questions[QuestionID(id)]?.question,
            case .answer(let answer, let words) = AnswerReading(text, to: question)
        else { return [] }
        return answered(question.id, by: TurnID(turn), answer, words: words)
    }
}

@Suite("Questions of a turn")
struct TurnQuestionsTests {
    @Test("another question under a known id is another question, and no answer to the first reaches it")
    func another() {
        var turn = Make.questioning()
        let other = Make.question("q1", "Delete everything?")
        let orders = turn.on(.asked(other))
        let said = orders.map { if case .post(.text(let text)) = $0 { text } else { "" } }.joined()
        #expect(said.contains("was withdrawn by the agent") && said.contains("Delete everything?"), "\(orders)")
        #expect(turn.openQuestion == nil, "what is written now may be meant for the first")
        #expect(turn.hasUnseenQuestionEnd)
        turn.seen()
        #expect(turn.openQuestion == other)
        #expect(turn.on(.asked(other)) == [], "it is known")
        let orders2 = turn.answered("2")
        #expect(
            orders2 == [
                .command(
                    .answer(
                        question: QuestionID("q1"), session: AgentSession("chat"), answer: .choices(["Blue"]),
                        shown: AskFingerprint(of: other)))
            ])
    }

    @Test("an answer that is on its way does not count for another question under its id")
    func anotherAnswered() {
        var turn = Make.questioning()
        let sent = turn.answered("2")
        guard case .command(let command)? = sent.first else { return #expect(Bool(false), "\(sent)") }
        #expect(turn.maySend(command))
        let orders = turn.on(.asked(Make.question("q1", "Delete everything?")))
        #expect(orders.contains(.answerEnded(TurnID("int_2"), .tooLate)))
        #expect(!turn.maySend(command))
        turn.seen()
        _ = turn.answered("2", by: "int_3")
        #expect(!turn.maySend(command))
    }

    @Test("a question that is over is asked anew where it asks something else, and not where the record does not say")
    func anotherAfterItsEnd() {
        var turn = Make.questioning()
        _ = turn.on(settled(.expired))
        var old = turn
        old.agent.questions.all[0].fingerprint = nil
        #expect(turn.on(.asked(Make.question())) == [])
        #expect(turn.on(.asked(Make.question("q1", "Delete everything?"))) != [])
        #expect(old.on(.asked(Make.question("q1", "Delete everything?"))) == [])
    }

    private func settled(_ reason: QuestionSettlement.Reason, _ id: String = "q1") -> RunEvent {
        .questionSettled(QuestionSettlement(id: QuestionID(id), reason))
    }

    @Test("the bubble asks, the answer goes to the agent, and the end holds both between the agent's words")
    func asked() {
        var turn = Make.speaking("Let me ask.")
        #expect(turn.on(.asked(Make.question())) == [.post(.text("\n\n" + Make.asked()))])
        #expect(turn.on(.asked(Make.question())) == [])
        #expect(turn.answered("2") == [Make.answer(.choices(["Blue"]))])
        #expect(turn.answered("1") == [])
        #expect(
            turn.on(settled(.answered)) == [
                .answerEnded(TurnID("int_2"), .taken("Blue")), .post(.text("\n\nAnswered: Blue")),
            ])
        #expect(turn.on(settled(.expired)) == [])
        #expect(turn.on(.text(.append(" Thanks."))) == [.post(.text("\n\n Thanks."))])
        let end = "Let me ask.\n\n\(Make.asked())\n\nAnswered: Blue\n\nThanks."
        #expect(turn.on(.finished(RunEnd(text: "Let me ask.\n\nThanks."))) == [Make.end(end, .stop), .agentFree])
    }

    @Test("an answer that the agent would take for another option is not called given, and its words are said")
    func mistaken() {
        var turn = Make.questioning()
        _ = turn.answered("2")
        let lines = turn.on(settled(.mistaken("Blue")))
        #expect(lines.contains(.answerEnded(TurnID("int_2"), .mistaken("Blue"))), "\(lines)")
        #expect("\(lines)".contains("“Blue” was not passed on"), "\(lines)")
        #expect(turn.on(settled(.answered)) == [], "it is over")
    }

    @Test("a message counts as the answer once the phone may have the question")
    func seen() {
        var turn = Make.speaking("Let me ask.")
        _ = turn.on(.asked(Make.question()))
        #expect(turn.openQuestion(streamed: 11) == nil)
        #expect(turn.openQuestion == Make.question())
        turn.seen()
        #expect(turn.openQuestion(streamed: 11) == Make.question())
    }

    @Test("a message is too late from the answer on, until the relay has the end of the question")
    func unseenEnd() {
        var turn = Make.questioning()
        _ = turn.answered("2")
        #expect(turn.openQuestion == nil && turn.hasUnseenQuestionEnd)
        _ = turn.on(.asked(Make.question("q2")))
        _ = turn.on(settled(.answered))
        // The next question left together with the end of the first, and a person may have read neither.
        #expect(turn.openQuestion == nil && turn.hasUnseenQuestionEnd)
        turn.seen()
        #expect(turn.openQuestion?.id == QuestionID("q2") && !turn.hasUnseenQuestionEnd)
    }

    @Test("several are asked one after the other")
    func several() {
        var turn = Make.questioning()
        #expect(turn.on(.asked(Make.question("q2", "And then?"))) == [])
        #expect(turn.on(.asked(Make.question("q3", "And last?"))) == [])
        #expect(
            turn.on(settled(.cancelled, "q3")) == [
                .post(.text("\n\nThe question “And last?” was withdrawn by the agent."))
            ])
        _ = turn.answered("1")
        #expect(turn.openQuestion == nil)
        #expect(
            turn.on(settled(.answered)) == [
                .answerEnded(TurnID("int_2"), .taken("Red")), .post(.text("\n\nAnswered: Red")),
                .post(.text("\n\n" + Make.asked("And then?"))),
            ])
        turn.seen()
        #expect(turn.openQuestion?.id == QuestionID("q2"))
    }

    @Test(
        "an outcome that the person did not choose becomes a line",
        arguments: [
            (QuestionSettlement.Reason.expired, "The question was not answered in time."),
            (.cancelled, "The question was withdrawn by the agent."),
            (.answeredElsewhere, "The question was answered elsewhere."),
            (.answered, "The question was answered elsewhere."),
        ])
    func over(reason: QuestionSettlement.Reason, line: String) {
        var turn = Make.questioning()
        #expect(turn.on(settled(reason)) == [.post(.text("\n\n" + line))])
        #expect(turn.answered("1") == [])
    }

    @Test("its time is watched here too")
    func expiry() {
        var turn = Make.questioning(expiresAt: .at(60))
        #expect(turn.nextDeadline == .at(60))
        #expect(turn.deadlineHit(at: .at(60)) == [.post(.text("\n\nThe question was not answered in time."))])
        #expect(turn.nextDeadline == .at(1_740))
    }

    @Test("an answer that the agent does not take is not called given")
    func notTaken() {
        var turn = Make.questioning()
        _ = turn.answered("2")
        #expect(
            turn.on(settled(.unknown)) == [
                .answerEnded(TurnID("int_2"), .tooLate),
                .post(.text("\n\nThe agent no longer waited for this answer.")),
            ])
    }

    @Test("a question that cannot be asked is declined, and the bubble says so")
    func impossible() {
        var turn = Make.running()
        let options = (1...101).map { Question.Option("\($0)") }
        #expect(
            turn.on(.asked(Question(id: QuestionID("q1"), title: "Which one?", options: options)))
                == [Make.answer(.declined), .note(.questionRefused)])
        let line = Sentences.questionImpossible("Which one?")
        #expect(turn.on(.finished(RunEnd(text: "done"))) == [Make.end("done\n\n" + line, .stop), .agentFree])
    }

    // MARK: Stops and ends

    @Test("a run that is being stopped asks nothing any more")
    func stopping() {
        var turn = Make.running()
        _ = turn.stopRequested(at: .at(1))
        #expect(turn.on(.asked(Make.question()), at: 1) == [Make.answer(.declined)])
        #expect(turn.bubble.closingLines == [])
    }

    @Test("a stop declines what is open, and no answer leaves after it")
    func stopped() {
        var turn = Make.questioning()
        _ = turn.on(.asked(Make.question("q2")))
        _ = turn.answered("2")
        let command = AgentCommand.answer(
            question: QuestionID("q1"), session: AgentSession("chat"), answer: .choices(["Blue"]),
            shown: AskFingerprint(of: Make.question()))
        #expect(turn.maySend(command))
        #expect(
            turn.stopRequested(at: .at(1)) == [
                .note(.stopRequested), Make.abort, Make.answer(.declined), .answerEnded(TurnID("int_2"), .stopped),
                Make.answer(.declined, to: "q2"),
            ])
        #expect(!turn.maySend(command))
        #expect(turn.openQuestion == nil)
    }

    @Test("the run's end ends its question with a line")
    func runEnds() {
        var turn = Make.questioning()
        _ = turn.answered("2")
        let end = "Let me ask.\n\n\(Make.asked())\n\n\(Sentences.questionEnded)"
        #expect(
            turn.on(.finished(RunEnd(text: "Let me ask."))) == [
                .answerEnded(TurnID("int_2"), .tooLate), Make.end(end, .stop), .agentFree,
            ])
        // The chat shows the question as open until the relay has the end.
        #expect(turn.hasUnseenQuestionEnd)
    }

    @Test("a new attempt comes behind what was asked and answered")
    func retried() {
        var turn = Make.questioning()
        _ = turn.answered("2")
        _ = turn.on(settled(.answered))
        _ = turn.on(.retrying(reason: "x"))
        _ = turn.on(.started)
        _ = turn.on(.text(.append("Once more.")))
        let end = "\(Make.asked())\n\nAnswered: Blue\n\nOnce more."
        #expect(turn.on(.finished(RunEnd(text: "Once more."))) == [Make.end(end, .stop), .agentFree])
    }

    // MARK: The agent's link

    @Test("an answer waits for an agent that is away, and leaves once")
    func away() {
        var turn = Make.questioning()
        _ = turn.agentLost(at: .at(1))
        #expect(turn.answered("2") == [])
        #expect(turn.agentBack(at: .at(9)) == [Make.answer(.choices(["Blue"]))])
        _ = turn.agentLost(at: .at(10))
        #expect(turn.agentBack(at: .at(11)) == [])
    }

    @Test("an answer that was lost with the link leaves again when the agent asks again, and only then")
    func again() {
        var turn = Make.questioning()
        _ = turn.answered("2")
        #expect(turn.on(.asked(Make.question())) == [])
        _ = turn.agentLost(at: .at(1))
        #expect(turn.agentBack(at: .at(2)) == [])
        #expect(turn.on(.asked(Make.question())) == [Make.answer(.choices(["Blue"]))])
        #expect(turn.on(.asked(Make.question())) == [])
    }

    @Test("an answer that the machine took and lost with its process leaves again when the agent asks again")
    func takenAndLost() {
        var turn = Make.questioning()
        _ = turn.answered("2")
        _ = turn.on(settled(.answered))
        #expect(turn.on(.asked(Make.question())) == [])
        _ = turn.agentLost(at: .at(1))
        _ = turn.agentBack(at: .at(2))
        let again = turn.on(.asked(Make.question()))
        #expect(again == [Make.answer(.choices(["Blue"]))])
        for case .command(let command) in again { #expect(turn.maySend(command)) }
        #expect(turn.on(settled(.answered)) == [])
    }

    @Test("an answer whose arrival is not known is not called given, nor late")
    func inDoubt() {
        var turn = Make.questioning()
        _ = turn.answered("2")
        _ = turn.agentLost(at: .at(1))
        _ = turn.agentBack(at: .at(2))
        #expect(turn.on(settled(.cancelled)).first == .answerEnded(TurnID("int_2"), .inDoubt))
    }

    // MARK: Without a bubble

    @Test("a question that no preview can take is a message of its own")
    func message() {
        var settings = TurnSettings()
        settings.bubbleLimit = 40
        var turn = Make.running(settings)
        _ = turn.on(.text(.append("Let me ask.")))
        #expect(turn.on(.asked(Make.question())) == [.post(Make.whole(.more(1), Make.asked()))])
        #expect(turn.openQuestion == nil)
        _ = turn.reported(.delivered(.message(.more(1)), message: MessageID("b2")), at: .zero)
        #expect(turn.openQuestion?.id == QuestionID("q1"))
        _ = turn.answered("1")
        #expect(turn.on(settled(.answered)).last == .post(.text("\n\nAnswered: Red")))
    }

    @Test("a question whose text the relay refused is asked in a message")
    func textLost() {
        var turn = Make.speaking("Let me ask.")
        _ = turn.on(.asked(Make.question()))
        #expect(
            turn.reported(.dropped(.text(endOffset: 20), .invalidRequest), at: .zero)
                == [.note(.taskDropped), .post(Make.whole(.more(1), Make.asked()))])
        _ = turn.reported(.delivered(.message(.more(1)), message: MessageID("b2")), at: .zero)
        #expect(turn.openQuestion?.id == QuestionID("q1"))
    }

    @Test("a question that the relay will not show is declined")
    func notShown() {
        var turn = Make.speaking("Let me ask.")
        turn.preview.stop()
        _ = turn.on(.asked(Make.question()))
        let orders = turn.reported(.deadLetter(.message(.more(1))), at: .zero)
        #expect(orders.contains(Make.answer(.declined)))
        #expect(turn.bubble.closingLines == [Sentences.questionImpossible("Which colour?")])
    }

    @Test("a question outlives its bubble: its answer still counts, and its end is a message")
    func afterWindow() {
        var turn = Make.questioning()
        _ = turn.deadlineHit(at: .at(1_740))
        #expect(turn.openQuestion?.id == QuestionID("q1"))
        #expect(turn.answered("1") == [Make.answer(.choices(["Red"]))])
        #expect(turn.on(settled(.answered), at: 1_750).last == .post(Make.whole(.more(1), "Answered: Red")))
    }

    // MARK: The turn of the answer

    @Test(
        "the bubble of the answer says what became of it",
        arguments: [
            (AnswerEnd.taken("Blue"), "Answered: Blue", TurnOutcome.answered),
            (.taken(""), "The question was declined.", .answered),
            (.tooLate, Sentences.answerTooLate, .neverSent), (.inDoubt, Sentences.answerInDoubt, .lost),
            (.stopped, Sentences.answerStopped, .neverSent),
        ])
    func ends(end: AnswerEnd, line: String, outcome: TurnOutcome) {
        var turn = Make.waiting()
        _ = turn.answers(QuestionID("q1"), of: TurnID("int_0"))
        #expect(turn.answerEnded(end, at: .at(1)) == [Make.end(line)])
        #expect(turn.outcome == outcome)
        #expect(turn.answerEnded(end, at: .at(2)) == [])
    }

    @Test("an answer that waits past its window says so, and its outcome follows as a message")
    func waits() {
        var turn = Make.waiting()
        _ = turn.answers(QuestionID("q1"), of: TurnID("int_0"))
        #expect(turn.deadlineHit(at: .at(1_740)).contains(Make.end(Sentences.windowClosedWhileAway)))
        #expect(turn.answerEnded(.taken("Blue"), at: .at(1_800)) == [.post(Make.whole(.late, "Answered: Blue"))])
    }
}
