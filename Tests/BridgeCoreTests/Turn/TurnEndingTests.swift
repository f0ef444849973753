import Testing
import Vocabulary

@testable import BridgeCore

@Suite("The end of a turn")
struct TurnEndingTests {
    @Test(
        "the reason is said, except where the run did not end by itself",
        arguments: [
            (RunEnd.Reason.stop, EndOfTurn.FinishReason.stop), (.length, .length),
            (.contentFilter, .contentFilter), (.toolCall, .toolCall), (.aborted, nil),
        ] as [(RunEnd.Reason, EndOfTurn.FinishReason?)])
    func reasons(reason: RunEnd.Reason, said: EndOfTurn.FinishReason?) {
        var turn = Make.running()
        #expect(turn.on(.finished(RunEnd(text: "x", reason: reason))) == [Make.end("x", said), .agentFree])
    }

    @Test("a failed run ends with a sentence, after what was streamed")
    func failures() {
        let usage = Usage(inputTokens: 1, outputTokens: 2)
        let failure = RunFailure(kind: .contextLength, message: "too many tokens", usage: usage)
        var turn = Make.running()
        #expect(turn.on(.failed(failure)) == [Make.end(Sentences.failed(failure), usage: usage), .agentFree])
        turn = Make.speaking("So far")
        #expect(
            turn.on(.failed(failure)) == [
                Make.end("So far\n\n" + Sentences.failed(failure), usage: usage), .agentFree,
            ])
    }

    @Test("open cards are finished before the end, as the run ended")
    func cards() {
        func turn() -> Turn {
            var turn = Make.speaking("x")
            _ = turn.on(.tool(.started(ToolStart(call: ToolCallID("c1"), name: "exec"))))
            return turn
        }
        var failed = turn()
        #expect(failed.on(.failed(RunFailure(message: "x"))).first == Make.taskEnded(.failed))
        var aborted = turn()
        #expect(aborted.on(.finished(RunEnd(reason: .aborted))).first == Make.taskEnded(.cancelled))
        var answered = turn()
        #expect(answered.on(.finished(RunEnd())).first == Make.taskEnded(.completed))
    }

    @Test(
        "an answer of which the history hands out no more than was shown says that it is a part",
        arguments: [nil, "The"])
    func cutShort(_ found: String?) {
        var turn = Make.speaking("The beginning")
        _ = turn.agentLost(at: .at(1))
        _ = turn.agentBack(at: .at(2))
        #expect(
            turn.lookedUp(.ended(RunEnd(text: found, truncated: true)), at: .at(3)) == [
                Make.end("The beginning\n\n" + Sentences.cutShort, .stop), .agentFree,
            ])
    }

    @Test("an answer that is cut is asked about no more, and says so even where nothing of it can be had")
    func cutToNothing() {
        var turn = Make.running()
        #expect(
            turn.on(.finished(RunEnd(truncated: true)), at: 1) == [Make.end(Sentences.cutShort, .stop), .agentFree])
    }

    @Test("an answer that is cut says so behind its follow-up as well")
    func cutBeforeFollowUp() {
        var turn = Make.asking(detached: true)
        #expect(turn.on(.finished(RunEnd(text: "Let me look.", truncated: true)), at: 1) == [.agentFree])
        _ = turn.on(.approvalSettled(ApprovalSettlement(id: ApprovalID("a1"), outcome: .cancelled)), at: 2)
        #expect(
            turn.lookedUp(.ended(RunEnd(text: "Let me look.")), at: .at(3)) == [
                Make.end(
                    [
                        "Let me look.", Sentences.cutShort, Sentences.approvalCancelled,
                    ].joined(separator: "\n\n"))
            ])
    }

    @Test("an abort without a word says so")
    func abortedEmpty() {
        var turn = Make.running()
        #expect(turn.on(.finished(RunEnd(reason: .aborted))) == [Make.end(Sentences.stopped), .agentFree])
    }

    @Test("what the bubble cannot hold follows in order, and the end begins with what was streamed")
    func long() {
        var settings = TurnSettings()
        settings.bubbleLimit = 10
        var turn = Make.running(settings)
        #expect(turn.on(.text(.append("12345678\n\nabcdefgh\nijklm"))).first == .post(.text("12345678\n\n")))
        let usage = Usage(inputTokens: 1, outputTokens: 2)
        #expect(
            turn.on(.finished(RunEnd(usage: usage))) == [
                Make.end("12345678\n\n", .stop, usage: usage), .post(Make.whole(.more(1), "abcdefgh\n")),
                .post(Make.whole(.more(2), "ijklm")), .agentFree,
            ])
        #expect(turn.reported(.delivered(.end, message: nil), at: .zero) == [])
        #expect(turn.reported(.delivered(.message(.more(1)), message: nil), at: .zero) == [])
        #expect(turn.reported(.delivered(.message(.more(2)), message: nil), at: .zero) == [.closed])
    }

    // MARK: The window

    @Test("at minute 29 the bubble ends, and what comes later follows as a message")
    func window() {
        var turn = Make.speaking("So far")
        _ = turn.on(.tool(.started(ToolStart(call: ToolCallID("c1"), name: "exec"))))
        #expect(
            turn.deadlineHit(at: .at(1_740)) == [
                .note(.windowClosed), Make.taskEnded(.completed, label: "continues"),
                Make.end("So far\n\n" + Sentences.windowClosed), .closeWindow,
            ])
        #expect(turn.reported(.delivered(.end, message: nil), at: .at(1_741)) == [])
        #expect(turn.on(.text(.append("\n\nAnd more")), at: 1_750) == [])
        #expect(
            turn.on(.tool(.started(ToolStart(call: ToolCallID("c2"), name: "exec"))), at: 1_751) == [
                .note(.eventAfterEnd)
            ])
        #expect(turn.on(.approvalRequested(Make.request()), at: 1_752).count == 1)
        #expect(turn.decided(ApprovalID("a1"), .approve, reason: nil, at: .at(1_753)) == [Make.resolve(.approve)])
        let usage = Usage(inputTokens: 1, outputTokens: 2)
        #expect(
            turn.on(.finished(RunEnd(text: "So far\n\nAnd more", usage: usage)), at: 2_000) == [
                .post(Make.whole(.late, "And more", usage: usage)), .agentFree,
            ])
        #expect(turn.reported(.delivered(.message(.late), message: nil), at: .at(2_001)) == [.closed])
    }

    @Test(
        "nothing new is no message; a text that has changed is said as a whole",
        arguments: [("So far", nil), ("So", nil), ("Other", "Other")] as [(String, String?)])
    func late(final: String, message: String?) {
        var turn = Make.speaking("So far")
        _ = turn.deadlineHit(at: .at(1_740))
        _ = turn.reported(.delivered(.end, message: nil), at: .at(1_741))
        let orders = turn.on(.finished(RunEnd(text: final)), at: 2_000)
        #expect(orders == (message.map { [.post(Make.whole(.late, $0)), .agentFree] } ?? [.agentFree, .closed]))
    }

    @Test("a stop works after the window")
    func stopLate() {
        var turn = Make.speaking("So far")
        _ = turn.deadlineHit(at: .at(1_740))
        #expect(turn.stopRequested(at: .at(1_800)) == [.note(.stopRequested), Make.abort])
        #expect(
            turn.on(.finished(RunEnd(text: "So far and on", reason: .aborted)), at: 1_801) == [
                .post(Make.whole(.late, " and on")), .agentFree,
            ])
    }

    @Test("a message that still waits is answered later all the same")
    func windowWhileWaiting() {
        var turn = Make.waiting()
        #expect(
            turn.deadlineHit(at: .at(1_740)) == [
                .note(.windowClosed), Make.end(Sentences.windowClosedWhileWaiting), .closeWindow,
            ])
        #expect(turn.handOver(at: .at(1_900)).count == 1)
        #expect(
            turn.on(.finished(RunEnd(text: "Hi")), at: 1_901) == [.post(Make.whole(.late, "Hi")), .agentFree])
    }

    @Test("a run whose agent is away may still bring its answer")
    func windowWhileAway() {
        var turn = Make.speaking("So far")
        _ = turn.agentLost(at: .at(100))
        #expect(turn.deadlineHit(at: .at(1_740))[1] == Make.end("So far\n\n" + Sentences.windowClosedWhileAway))
        _ = turn.agentBack(at: .at(3_000))
        #expect(turn.deadlineHit(at: .at(3_001)) == [Make.lookUp])
        #expect(
            turn.lookedUp(.ended(RunEnd(text: "So far, so good")), at: .at(3_001)) == [
                .post(Make.whole(.late, ", so good")), .agentFree,
            ])
    }

    @Test("an approval outlives the bubble, and its follow-up comes as a message")
    func windowWhileHolding() {
        var turn = Make.holding()
        #expect(
            turn.deadlineHit(at: .at(1_740)) == [
                .note(.windowClosed), Make.taskEnded(.completed, label: "continues"),
                Make.end("Let me look.\n\n" + Sentences.windowClosedWhileHolding), .closeWindow,
            ])
        #expect(turn.decided(ApprovalID("a1"), .approve, reason: nil, at: .at(1_750)) == [Make.resolve(.approve)])
        #expect(
            turn.on(.finished(RunEnd(text: "Done.")), run: "exec-approval-followup:a1", at: 1_760) == [
                .post(Make.whole(.late, "Done."))
            ])
    }

    @Test("a run that never ends is given up after a day")
    func abandoned() {
        var turn = Make.speaking("So far")
        _ = turn.deadlineHit(at: .at(1_740))
        #expect(turn.nextDeadline == .at(1_740 + 24 * 3_600))
        #expect(
            turn.deadlineHit(at: .at(100_000)) == [.post(Make.whole(.late, Sentences.agentLost)), .agentFree])
    }

    @Test("late text that is too long follows under names that were not used before")
    func longLate() {
        var settings = TurnSettings()
        settings.bubbleLimit = 100
        var turn = Make.running(settings)
        _ = turn.on(.text(.append(String(repeating: "a", count: 150))))
        let atWindow = turn.deadlineHit(at: .at(1_740))
        let later = turn.on(
            .finished(RunEnd(text: String(repeating: "a", count: 150) + String(repeating: "b", count: 150))))
        let parts = (atWindow + later).compactMap { order -> WholeMessage.Part? in
            if case .post(.message(let message)) = order { message.part } else { nil }
        }
        #expect(parts == [.more(1), .more(2), .late, .more(3)])
    }
}
