import Testing
import Vocabulary

@testable import BridgeCore

/// Follow-ups of a decision about an approval that ended its run.
@Suite("Follow-ups of a turn")
struct TurnFollowUpTests {
    private let id = ApprovalID("a1")
    private let followUp = "exec-approval-followup:a1"

    private func allowed() -> Turn {
        var turn = Make.holding()
        _ = turn.decided(id, .approve, reason: nil, at: .at(10))
        _ = turn.on(.approvalSettled(ApprovalSettlement(id: id, outcome: .decided(.approve))), at: 11)
        return turn
    }

    @Test("a command that was allowed may run for half an hour; the history is asked each minute")
    func long() {
        var turn = allowed()
        for minute in 1...5 {
            #expect(turn.nextDeadline == .at(10 + Double(minute) * 60))
            #expect(turn.deadlineHit(at: .at(10 + Double(minute) * 60)) == [Make.lookUp])
            #expect(turn.lookedUp(.ended(RunEnd(text: "Let me look.")), at: .at(11 + Double(minute) * 60)) == [])
        }
        #expect(turn.on(.text(.append("Done.")), run: followUp, at: 400) == [.post(.text("\n\nDone."))])
    }

    @Test("behind the bubble's end what comes is a message, and that nothing came as well", arguments: [true, false])
    func late(_ comes: Bool) {
        var turn = allowed()
        let closed = turn.deadlineHit(at: .at(1_740))
        #expect(closed.contains(Make.end("Let me look.\n\n" + Sentences.windowClosed)))
        if comes {
            let said = turn.on(.finished(RunEnd(text: "Done.")), run: followUp, at: 1_800)
            return #expect(said == [.post(Make.whole(.late, "Done."))])
        }
        #expect(turn.deadlineHit(at: .at(1_870)) == [Make.lookUp])
        let said = turn.lookedUp(.ended(RunEnd(text: "Let me look.")), at: .at(1_871))
        #expect(said == [.post(Make.whole(.late, Sentences.followUpMissing))])
    }

    @Test("with the process that was to run the command its follow-up is gone")
    func gone() {
        var turn = allowed()
        _ = turn.agentLost(at: .at(12))
        _ = turn.agentBack(at: .at(15))
        #expect(turn.deadlineHit(at: .at(16)) == [Make.lookUp])
        let failure = RunFailure(kind: .agentGone, message: "its gateway was restarted")
        #expect(
            turn.lookedUp(.failed(failure), at: .at(16)) == [
                Make.end("Let me look.\n\n" + Sentences.failed(failure))
            ])
    }

    @Test("a follow-up that is not the last one keeps the bubble open", arguments: [nil, "Still running."])
    func notTheLast(_ text: String?) {
        var turn = allowed()
        var end = RunEnd(text: text)
        end.nextWithin = .seconds(600)
        _ = turn.on(.started, run: followUp, at: 20)
        #expect(turn.on(.finished(end), run: followUp, at: 21) == [])
        #expect(turn.outcome == nil)
        #expect(turn.expects(RunID(followUp + ":2")))
        let said = ["Let me look.", text, "Done."].compactMap(\.self).joined(separator: "\n\n")
        #expect(turn.on(.finished(RunEnd(text: "Done.")), run: followUp + ":2", at: 30) == [Make.end(said, .stop)])
    }

    @Test("where no other comes its time is over", arguments: [nil, "Still running."])
    func noOther(_ text: String?) {
        var turn = allowed()
        var end = RunEnd(text: text)
        end.nextWithin = .seconds(15)
        _ = turn.on(.finished(end), run: followUp, at: 21)
        #expect(turn.deadlineHit(at: .at(36)) == [Make.lookUp])
        let lines = ["Let me look.", text, Sentences.followUpMissing].compactMap(\.self).joined(separator: "\n\n")
        #expect(turn.lookedUp(.unknown, at: .at(36)) == [Make.end(lines)])
    }
}
