import BridgeModel
import Testing

@testable import BridgeCore

@Suite("Questions of a turn")
struct TurnQuestionsTests {
    @Test("a question that cannot be asked is declined, and the bubble says so")
    func impossible() {
        var turn = Make.running()
        let question = Question(id: QuestionID("q1"), title: "Which one?")
        let declined = TurnOrder.command(
            .answer(question: QuestionID("q1"), session: AgentSession("chat"), answer: .declined))
        #expect(turn.on(.asked(question)) == [declined])
        let line = Sentences.questionImpossible("Which one?")
        #expect(turn.on(.finished(RunEnd(text: "done"))) == [Make.end("done\n\n" + line, .stop), .agentFree])
    }

    @Test("a run that is being stopped asks nothing any more")
    func stopping() {
        var turn = Make.running()
        _ = turn.stopRequested(at: .at(1))
        let question = Question(id: QuestionID("q1"), title: "Which one?", options: [.init("a"), .init("b")])
        let declined = TurnOrder.command(
            .answer(question: QuestionID("q1"), session: AgentSession("chat"), answer: .declined))
        #expect(turn.on(.asked(question), at: 1) == [declined])
        #expect(turn.bubble.closingLines == [])
    }
}
