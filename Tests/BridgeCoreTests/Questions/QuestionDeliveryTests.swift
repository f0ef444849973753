import BridgeModel
import Testing

@testable import BridgeCore

@Suite("What the relay does with a question")
struct QuestionDeliveryTests {
    @Test("a question that the relay never took holds back neither the next one nor a later message")
    func notShownThenAnother() {
        var turn = Make.speaking("Let me ask.")
        turn.preview.stop()
        _ = turn.on(.asked(Make.question()))
        _ = turn.reported(.deadLetter(.message(.more(1))), at: .zero)
        #expect(!turn.hasUnseenQuestionEnd)
        _ = turn.on(.asked(Make.question("q2", "Which shape?")))
        _ = turn.reported(.delivered(.message(.more(2)), message: nil), at: .zero)
        #expect(turn.openQuestion?.id == QuestionID("q2"))
    }

    @Test("an outcome that the relay never took holds back no later message")
    func endNotShown() {
        var turn = Make.questioning()
        turn.preview.stop()
        _ = turn.answered("1")
        #expect(
            turn.on(.questionSettled(QuestionSettlement(id: QuestionID("q1"), .answered))).last
                == .post(Make.whole(.more(1), "Answered: Red")))
        _ = turn.reported(.deadLetter(.message(.more(1))), at: .zero)
        #expect(!turn.hasUnseenQuestionEnd)
        _ = turn.on(.asked(Make.question("q2", "Which shape?")))
        _ = turn.reported(.delivered(.message(.more(2)), message: nil), at: .zero)
        #expect(turn.openQuestion?.id == QuestionID("q2"))
    }

    @Test("a question in pieces stays open, and is seen with the last of them")
    func inPieces() {
        var turn = Make.speaking("Let me ask.")
        turn.preview.stop()
        guard case .post(.message(let whole))? = turn.on(.asked(Make.question())).last else {
            Issue.record("no message")
            return
        }
        let orders = turn.reported(
            .refused(
                .message(whole.part),
                PostRefusal(.payloadTooLarge, concernsText: true, text: String(repeating: "word ", count: 400))),
            at: .zero)
        #expect(!orders.contains(Make.answer(.declined)))
        guard case .replace(_, let rest)? = orders.first, case .message(let last)? = rest.last else {
            Issue.record("no pieces")
            return
        }
        #expect(turn.openQuestion == nil)
        _ = turn.reported(.delivered(.message(last.part), message: nil), at: .zero)
        #expect(turn.openQuestion?.id == QuestionID("q1"))
    }

    @Test("a question that the bubble's end alone shows is seen with that end")
    func inTheEnd() {
        var turn = Make.speaking("Let me ask.")
        _ = turn.on(.asked(Make.question()))
        _ = turn.deadlineHit(at: .at(1_740))
        #expect(turn.openQuestion(streamed: 0) == nil)
        _ = turn.reported(.delivered(.end, message: nil), at: .at(1_741))
        #expect(turn.openQuestion(streamed: 0)?.id == QuestionID("q1"))
    }

    @Test("a question goes out by itself where the bubble's end is lost")
    func endLost() {
        var turn = Make.speaking("Let me ask.")
        _ = turn.on(.asked(Make.question()))
        _ = turn.deadlineHit(at: .at(1_740))
        let orders = turn.reported(.deadLetter(.end), at: .at(1_741))
        #expect(orders.contains(.post(Make.whole(.more(1), Make.asked()))))
    }
}
