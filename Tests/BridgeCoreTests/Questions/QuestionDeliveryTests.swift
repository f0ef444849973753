import Testing
import Vocabulary
import Worlds

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

    @Test("a question that was over before its message left holds no message back")
    func overUnsent() {
        var turn = Make.speaking("Let me ask.")
        turn.preview.stop()
        _ = turn.on(.asked(Make.question()))
        _ = turn.on(.questionSettled(QuestionSettlement(id: QuestionID("q1"), .answeredElsewhere)))
        #expect(!turn.hasUnseenQuestionEnd, "nobody has read it")
        _ = turn.reported(.delivered(.message(.more(1)), message: nil), at: .zero)
        #expect(turn.hasUnseenQuestionEnd, "it is read, and its end is not")
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

    @Test("an outcome that the bubble's end alone shows is seen with that end")
    func outcomeInTheEnd() {
        var turn = Make.questioning()
        _ = turn.on(.questionSettled(QuestionSettlement(id: QuestionID("q1"), .answeredElsewhere)))
        _ = turn.deadlineHit(at: .at(1_740))
        #expect(turn.hasUnseenQuestionEnd, "its delta was never tried")
        _ = turn.reported(.delivered(.end, message: nil), at: .at(1_741))
        #expect(!turn.hasUnseenQuestionEnd)
    }

    @Test("a restart sees what the bubble's end alone showed, if the relay has that end", arguments: [true, false])
    func inTheEndOverRestart(isAnswered: Bool) {
        var lane = LaneRecord(address: LaneConversation.address, message: LaneConversation.bubble, epoch: 2)
        if !isAnswered { lane.unanswered = [LaneRecord.UnansweredCall(name: .end, key: IdempotencyKey("end"))] }
        var asking = Self.inTheEnd()
        asking.agent.questions.resume(with: lane, bubbleIsOver: asking.bubble.isOver, at: .at(1_800))
        #expect((asking.openQuestion(streamed: 0) != nil) == isAnswered)
        var ended = Make.questioning()
        _ = ended.on(.questionSettled(QuestionSettlement(id: QuestionID("q1"), .answeredElsewhere)))
        _ = ended.deadlineHit(at: .at(1_740))
        ended.agent.questions.resume(with: lane, bubbleIsOver: ended.bubble.isOver, at: .at(1_800))
        #expect(ended.hasUnseenQuestionEnd != isAnswered)
    }

    /// A turn whose question stands only in the window's end.
    private static func inTheEnd(_ opening: TurnOpening = Make.opening) -> Turn {
        var turn = Turn(opening)
        _ = turn.begin(at: .zero)
        _ = turn.handOver(at: .zero)
        _ = turn.sendAnswered(.accepted(run: RunID("r1")), at: .zero)
        _ = turn.on(.text(.append("Let me ask.")))
        _ = turn.on(.asked(Make.question()))
        _ = turn.deadlineHit(at: .at(1_740))
        return turn
    }

    @Test("a question goes out by itself where the relay takes another sentence in place of the end")
    func endBlocked() {
        var turn = Self.inTheEnd()
        let orders = turn.reported(.refused(.end, PostRefusal(.contentBlocked)), at: .at(1_741))
        #expect(orders.contains(.post(Make.whole(.more(1), Make.asked()))))
        _ = turn.reported(.delivered(.end, message: nil), at: .at(1_742))
        #expect(turn.openQuestion(streamed: 9_999) == nil, "the end does not show it")
        _ = turn.reported(.delivered(.message(.more(1)), message: nil), at: .at(1_743))
        #expect(turn.openQuestion(streamed: 0)?.id == QuestionID("q1"))
    }

    @Test("a question that is refused with the end and by itself is declined")
    func endAndQuestionBlocked() {
        var turn = Self.inTheEnd()
        _ = turn.reported(.refused(.end, PostRefusal(.contentBlocked)), at: .at(1_741))
        let orders = turn.reported(.refused(.message(.more(1)), PostRefusal(.contentBlocked)), at: .at(1_742))
        #expect(orders.contains(Make.answer(.declined)))
        #expect(turn.openQuestion(streamed: 9_999) == nil && !turn.hasUnseenQuestionEnd)
    }

    @Test("a question is seen with the message that holds the text of a refused end", arguments: [true, false])
    func endFollows(isShortened: Bool) {
        var turn = Self.inTheEnd()
        if isShortened { turn.bubble.sentEnd?.text = String(repeating: "word ", count: 400) + Make.asked() }
        let refusal =
            isShortened
            ? PostRefusal(.payloadTooLarge, concernsText: true) : PostRefusal(.invalidRequest)
        guard case .replace(_, let rest)? = turn.reported(.refused(.end, refusal), at: .at(1_741)).last,
            case .message(let last)? = rest.last
        else {
            Issue.record("nothing follows")
            return
        }
        _ = turn.reported(.delivered(.end, message: nil), at: .at(1_742))
        #expect(turn.openQuestion(streamed: 9_999) == nil, "the end does not show it")
        var refused = turn
        _ = turn.reported(.delivered(.message(last.part), message: nil), at: .at(1_743))
        #expect(turn.openQuestion(streamed: 0)?.id == QuestionID("q1"))
        let orders = refused.reported(.refused(.message(last.part), PostRefusal(.contentBlocked)), at: .at(1_743))
        #expect(orders.contains(Make.answer(.declined)))
    }

    @Test(
        "a question that no key can seal any more is declined, in the bubble and in a message",
        arguments: [true, false])
    func keyIsGone(inBubble: Bool) {
        var opening = Make.opening
        opening.sealing = .sealed(KeyName("k1"))
        var turn = Self.inTheEnd(opening)
        var gone = PostRefusal(.other("no_key"))
        gone.lacksKey = true
        if !inBubble { _ = turn.reported(.deadLetter(.end), at: .at(1_741)) }
        let orders = turn.reported(.refused(inBubble ? .end : .message(.more(1)), gone), at: .at(1_742))
        #expect(orders.contains(Make.answer(.declined)), "\(orders)")
        _ = turn.reported(.delivered(.end, message: nil), at: .at(1_743))
        #expect(turn.openQuestion(streamed: 9_999) == nil && !turn.hasUnseenQuestionEnd)
        #expect(turn.on(.asked(Make.question("q2", "Which shape?"))).contains(Make.answer(.declined, to: "q2")))
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
