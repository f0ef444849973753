import BridgeModel
import Testing

@testable import BridgeCore

@Suite("What the relay says to a turn")
struct TurnReportsTests {
    private func replacedEnd(_ text: String, form: Int) -> TurnOrder {
        .replace(.end(EndOfTurn(text: text, form: form)))
    }

    private func ended(_ text: String) -> Turn {
        var turn = Make.running()
        _ = turn.on(.finished(RunEnd(text: text)))
        return turn
    }

    @Test(
        "an end that is too much for the relay is shortened, then a sentence, then a message: never nothing",
        arguments: [RelayErrorCode.invalidRequest, .payloadTooLarge, .permissionDenied])
    func endRefused(code: RelayErrorCode) {
        let text = String(repeating: "word ", count: 8_000)
        var turn = ended(text)
        #expect(
            turn.reported(.refused(.end, code), at: .zero) == [
                .note(.textCut), replacedEnd(TextCut.marked(text, atMost: 16_000), form: 2),
            ])
        #expect(turn.reported(.refused(.end, code), at: .zero) == [replacedEnd(Sentences.tooLong, form: 3)])
        #expect(
            turn.reported(.refused(.end, code), at: .zero) == [.replace(Make.whole(.line(1), Sentences.tooLong))])
        #expect(turn.reported(.refused(.message(.line(1)), code), at: .zero) == [.skip, .closed])
    }

    @Test("a short end is not shortened")
    func shortEndRefused() {
        var turn = ended("odd")
        #expect(turn.reported(.refused(.end, .invalidRequest), at: .zero) == [replacedEnd(Sentences.tooLong, form: 2)])
        #expect(turn.reported(.delivered(.end, message: nil), at: .zero) == [.closed])
    }

    @Test("an end that the content filter refuses becomes a notice")
    func blocked() {
        var turn = ended("bad words")
        #expect(turn.reported(.refused(.end, .contentBlocked), at: .zero) == [replacedEnd(Sentences.blocked, form: 2)])
        #expect(
            turn.reported(.refused(.end, .contentBlocked), at: .zero) == [
                .replace(Make.whole(.line(1), Sentences.blocked))
            ])
    }

    @Test("a bubble that somebody else ended gets our text as a fresh message")
    func finalized() {
        var turn = ended("answer")
        #expect(
            turn.reported(.refused(.end, .messageFinalized), at: .zero) == [.replace(Make.whole(.late, "answer"))])
        #expect(turn.reported(.delivered(.message(.late), message: nil), at: .zero) == [.closed])
    }

    @Test("one sentence takes the place of a refused message")
    func messageRefused() {
        var opening = Make.opening
        opening.windowEnds = .zero
        var turn = Turn(opening)
        _ = turn.begin(at: .zero)
        _ = turn.on(.finished(RunEnd(text: "answer")))
        #expect(
            turn.reported(.refused(.message(.late), .contentBlocked), at: .zero) == [
                .replace(Make.whole(.line(1), Sentences.blocked))
            ])
        #expect(turn.reported(.delivered(.message(.line(1)), message: nil), at: .zero) == [.closed])
    }

    @Test("without a bubble the answer comes as a message, and open questions are asked again")
    func openRefused() {
        var turn = Turn(Make.opening)
        _ = turn.begin(at: .zero)
        _ = turn.handOver(at: .zero)
        _ = turn.on(.text(.append("Hi")))
        let asked = turn.on(.approvalRequested(Make.request()))
        #expect(
            turn.reported(.refused(.open, .invalidRequest), at: .zero)
                == [.abandonLane, .closeWindow, .note(.windowClosed)] + asked)
        #expect(turn.on(.text(.append(" there"))) == [])
        #expect(
            turn.on(.finished(RunEnd(text: "Hi there"))) == [.post(Make.whole(.late, "Hi there")), .agentFree])
    }

    @Test("a run that ended before its bubble was refused is answered at once")
    func openRefusedAfterEnd() {
        var turn = Turn(Make.opening)
        _ = turn.begin(at: .zero)
        _ = turn.handOver(at: .zero)
        _ = turn.on(.finished(RunEnd(text: "Hi")))
        #expect(
            turn.reported(.refused(.open, .invalidRequest), at: .zero) == [
                .abandonLane, .closeWindow, .note(.windowClosed), .post(Make.whole(.late, "Hi")),
            ])
        #expect(turn.reported(.delivered(.message(.late), message: nil), at: .zero) == [.closed])
    }

    @Test("a window that closes at the relay loses no text of a run that goes on")
    func windowClosed() {
        var turn = Make.speaking("So far")
        #expect(turn.reported(.windowClosed, at: .at(60)) == [.closeWindow, .note(.windowClosed)])
        #expect(turn.nextDeadline == .at(60 + 24 * 3_600))
        #expect(
            turn.on(.finished(RunEnd(text: "So far, so good")), at: 70) == [
                .post(Make.whole(.late, "So far, so good")), .agentFree,
            ])
    }

    @Test("nor of an end that was on its way")
    func windowClosedOnEnd() {
        var turn = ended("answer")
        #expect(
            turn.reported(.windowClosed, at: .zero) == [
                .closeWindow, .note(.windowClosed), .post(Make.whole(.late, "answer")),
            ])
    }

    @Test("nor of the end at minute 29")
    func windowClosedOnEarlyEnd() {
        var turn = Make.speaking("So far")
        _ = turn.deadlineHit(at: .at(1_740))
        _ = turn.reported(.windowClosed, at: .at(1_741))
        #expect(
            turn.on(.finished(RunEnd(text: "So far")), at: 1_750) == [.post(Make.whole(.late, "So far")), .agentFree])
    }

    @Test("an end that has arrived is not repeated")
    func windowClosedAfterEnd() {
        var settings = TurnSettings()
        settings.bubbleLimit = 5
        var turn = Make.running(settings)
        _ = turn.on(.finished(RunEnd(text: "12345678")))
        _ = turn.reported(.delivered(.end, message: nil), at: .zero)
        #expect(turn.reported(.windowClosed, at: .zero) == [.closeWindow, .note(.windowClosed)])
        #expect(turn.reported(.delivered(.message(.more(1)), message: nil), at: .zero) == [.closed])
    }

    @Test("where the session is gone the run is stopped and nothing more is shown")
    func gone() {
        var turn = Make.asking(detached: false)
        #expect(
            turn.reported(.destinationGone(.sessionDeleted), at: .zero) == [
                .abandonLane, Make.abort, Make.resolve(.deny), .agentFree, .closed,
            ])
        #expect(turn.outcome == .gone)
        #expect(turn.on(.text(.append("x"))) == [.note(.eventAfterEnd)])
        #expect(turn.reported(.delivered(.end, message: nil), at: .zero) == [])
        #expect(turn.nextDeadline == nil)
    }

    @Test("a message that never reached the agent is not stopped there")
    func goneWhileWaiting() {
        var turn = Make.waiting()
        #expect(
            turn.reported(.destinationGone(.sessionNotFound), at: .zero) == [.abandonLane, .agentFree, .closed])
    }

    @Test("what was given up or dropped does not keep the turn open")
    func givenUp() {
        var turn = ended("answer")
        #expect(
            turn.reported(.dropped(.taskEnded(TaskID("c1")), .invalidRequest), at: .zero) == [.note(.taskDropped)])
        #expect(turn.reported(.deadLetter(.end), at: .zero) == [.closed])
    }
}
