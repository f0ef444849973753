import Testing
import Vocabulary

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

    @Test("an end that is too much for the relay is shortened, and the rest follows as messages")
    func endTooLong() {
        let text = String(repeating: "word ", count: 8_000)
        var turn = ended(text)
        let refusal = PostRefusal(.payloadTooLarge, concernsText: true)
        let orders = turn.reported(.refused(.end, refusal), at: .zero)
        guard orders.count == 2, case .replace(.end(let end), let rest) = orders[1] else {
            Issue.record("\(orders)")
            return
        }
        #expect(orders[0] == .note(.textCut))
        #expect(end.form == 2)
        let texts = [end.text] + rest.compactMap { if case .message(let message) = $0 { message.text } else { nil } }
        #expect(texts.joined() == text)
        #expect(texts.allSatisfy { $0.utf8.count <= 16_000 })
        #expect(turn.reported(.delivered(.end, message: nil), at: .zero) == [])
        #expect(turn.reported(.delivered(.message(.more(1)), message: nil), at: .zero) == [])
        #expect(turn.reported(.delivered(.message(.more(2)), message: nil), at: .zero) == [.closed])
    }

    @Test("a shortened end that is refused again gives its place to a sentence, and its part goes before the rest")
    func shortenedEndRefused() {
        let text = String(repeating: "word ", count: 8_000)
        var turn = ended(text)
        let refusal = PostRefusal(.payloadTooLarge, concernsText: true)
        _ = turn.reported(.refused(.end, refusal), at: .zero)
        guard case .replace(.end(let end), let rest)? = turn.reported(.refused(.end, refusal), at: .zero).first else {
            Issue.record("no replacement")
            return
        }
        #expect(end == EndOfTurn(text: Sentences.followsAsMessage, form: 3))
        #expect(rest == [Make.whole(.more(3), String(text.prefix(16_000)))])
        #expect(turn.reported(.refused(.end, refusal), at: .zero) == [.skip])
    }

    @Test(
        "another refusal puts a sentence in the bubble, and the whole text follows whatever becomes of it",
        arguments: [RelayErrorCode.invalidRequest, .permissionDenied, .other("new_rule")])
    func endRefused(code: RelayErrorCode) {
        var turn = ended("answer")
        #expect(
            turn.reported(.refused(.end, PostRefusal(code)), at: .zero) == [
                .replace(
                    .end(EndOfTurn(text: Sentences.followsAsMessage, form: 2)),
                    followedBy: [Make.whole(.more(1), "answer")])
            ])
        #expect(turn.reported(.refused(.end, PostRefusal(code)), at: .zero) == [.skip])
        #expect(turn.reported(.delivered(.message(.more(1)), message: nil), at: .zero) == [.closed])
    }

    @Test("where the messages are refused too the turn closes")
    func everythingRefused() {
        var turn = ended("answer")
        let no = PostRefusal(.permissionDenied)
        _ = turn.reported(.refused(.end, no), at: .zero)
        _ = turn.reported(.refused(.end, no), at: .zero)
        #expect(
            turn.reported(.refused(.message(.more(1)), no), at: .zero) == [
                .replace(Make.whole(.line(1), Sentences.tooLong))
            ])
        #expect(turn.reported(.refused(.message(.line(1)), no), at: .zero) == [.skip, .closed])
    }

    @Test("a message that is too long goes out in smaller pieces")
    func messageTooLong() {
        var turn = ended("answer")
        _ = turn.reported(.refused(.end, PostRefusal(.permissionDenied)), at: .zero)
        let text = String(repeating: "word ", count: 1_000)
        let refusal = PostRefusal(.payloadTooLarge, concernsText: true, text: text)
        guard
            case .replace(.message(let first), let rest)? =
                turn.reported(.refused(.message(.more(1)), refusal), at: .zero).first
        else {
            Issue.record("no replacement")
            return
        }
        let texts = [first.text] + rest.compactMap { if case .message(let message) = $0 { message.text } else { nil } }
        #expect(texts.joined() == text)
        #expect(texts.count == 2)
    }

    @Test("the end of a window that is refused has said what its message says, and nothing is said twice")
    func windowEndRefused() {
        var turn = Make.speaking("So far")
        _ = turn.deadlineHit(at: .at(1_740))
        _ = turn.reported(.refused(.end, PostRefusal(.permissionDenied)), at: .at(1_741))
        _ = turn.reported(.delivered(.end, message: nil), at: .at(1_742))
        #expect(
            turn.on(.finished(RunEnd(text: "So far, so good")), at: 1_750) == [
                .post(Make.whole(.late, ", so good")), .agentFree,
            ])
    }

    @Test("a card that cannot be made is not finished either")
    func taskRefused() {
        var turn = Make.running()
        _ = turn.on(.tool(.started(ToolStart(call: ToolCallID("c1"), name: "exec"))))
        _ = turn.on(.tool(.started(ToolStart(call: ToolCallID("c2"), name: "exec"))))
        #expect(
            turn.reported(.dropped(.taskStarted(TaskID("c1")), .invalidRequest), at: .zero) == [.note(.taskDropped)])
        #expect(
            turn.on(.tool(.finished(ToolResult(call: ToolCallID("c1"), channel: .call, status: .completed)))) == [])
        #expect(
            turn.on(.finished(RunEnd(text: "done"))) == [
                Make.taskEnded(.completed, task: "c2"), Make.end("done", .stop), .agentFree,
            ])
    }

    @Test("an end that the content filter refuses becomes a notice")
    func blocked() {
        var turn = ended("bad words")
        #expect(
            turn.reported(.refused(.end, PostRefusal(.contentBlocked)), at: .zero) == [
                replacedEnd(Sentences.blocked, form: 2)
            ])
        #expect(
            turn.reported(.refused(.end, PostRefusal(.contentBlocked)), at: .zero) == [
                .replace(Make.whole(.line(1), Sentences.blocked))
            ])
    }

    @Test("a bubble that somebody else ended gets our text as a fresh message")
    func finalized() {
        var turn = ended("answer")
        #expect(
            turn.reported(.refused(.end, PostRefusal(.messageFinalized)), at: .zero) == [
                .replace(Make.whole(.late, "answer"))
            ])
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
            turn.reported(.refused(.message(.late), PostRefusal(.contentBlocked)), at: .zero) == [
                .replace(Make.whole(.line(1), Sentences.blocked))
            ])
        #expect(turn.reported(.delivered(.message(.line(1)), message: nil), at: .zero) == [.closed])
    }

    @Test("without a bubble the answer comes as a message")
    func openRefused() {
        var turn = Turn(Make.opening)
        _ = turn.begin(at: .zero)
        _ = turn.handOver(at: .zero)
        _ = turn.on(.text(.append("Hi")))
        _ = turn.on(.approvalRequested(Make.request()))
        #expect(
            turn.reported(.refused(.open, PostRefusal(.invalidRequest)), at: .zero)
                == [.closeWindow, .note(.windowClosed), .skip])
        #expect(turn.on(.text(.append(" there"))) == [])
        #expect(
            turn.on(.finished(RunEnd(text: "Hi there"))) == [.post(Make.whole(.late, "Hi there")), .agentFree])
    }

    @Test("an end that waits behind a refused open takes its place, before the pieces behind it")
    func openRefusedAfterEnd() {
        var settings = TurnSettings()
        settings.bubbleLimit = 5
        var turn = Turn(Make.opening, settings: settings)
        _ = turn.begin(at: .zero)
        _ = turn.handOver(at: .zero)
        _ = turn.on(.finished(RunEnd(text: "12345678")))
        #expect(
            turn.reported(.refused(.open, PostRefusal(.invalidRequest)), at: .zero) == [
                .closeWindow, .note(.windowClosed), .replace(Make.whole(.more(2), "12345")),
            ])
        #expect(turn.reported(.delivered(.message(.more(2)), message: nil), at: .zero) == [])
        #expect(turn.reported(.delivered(.message(.more(1)), message: nil), at: .zero) == [.closed])
    }

    @Test("an empty answer without a bubble says so")
    func emptyWithoutBubble() {
        var turn = Turn(Make.opening)
        _ = turn.begin(at: .zero)
        _ = turn.handOver(at: .zero)
        _ = turn.reported(.refused(.open, PostRefusal(.invalidRequest)), at: .zero)
        _ = turn.stopRequested(at: .zero)
        #expect(
            turn.deadlineHit(at: .at(3)) == [.post(Make.whole(.late, Sentences.stopped)), .agentFree])
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
                .abandonLane, Make.leave, Make.resolve(.deny), .agentFree, .closed,
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
