import Testing
import Vocabulary

@testable import BridgeCore

@Suite("Approvals and stops of a turn")
struct TurnApprovalsTests {
    private let id = ApprovalID("a1")
    private let followUp = "exec-approval-followup:a1:nonce:7"

    @Test("asked once, and the decision goes to the agent")
    func inline() {
        var turn = Make.running()
        let card = ApprovalCard(
            approval: id, action: "shell.exec", title: "Run a command", message: "Run ls?", severity: .medium,
            command: "ls", endsAfter: .seconds(1_800))
        #expect(turn.on(.approvalRequested(Make.request())) == [.post(.approval(card))])
        #expect(turn.on(.approvalRequested(Make.request())) == [])
        #expect(turn.decided(id, .approve, reason: nil, at: .at(1)) == [Make.resolve(.approve)])
        #expect(turn.decided(id, .deny, reason: nil, at: .at(2)) == [.note(.decisionNotForwarded)])
        #expect(turn.on(.approvalSettled(ApprovalSettlement(id: id, outcome: .decided(.approve)))) == [])
        #expect(turn.on(.finished(RunEnd(text: "done"))) == [Make.end("done", .stop), .agentFree])
    }

    @Test("a decision about an approval that is not this turn's is counted")
    func unknown() {
        var turn = Make.running()
        #expect(turn.decided(id, .approve, reason: nil, at: .zero) == [.note(.unknownApproval)])
    }

    @Test(
        "an outcome that the card cannot show becomes a line",
        arguments: [
            (ApprovalSettlement.Outcome.decided(.approve), Sentences.decidedElsewhere(.approve)),
            (.decided(.deny), Sentences.decidedElsewhere(.deny)), (.expired, Sentences.approvalExpired),
            (.unknown, Sentences.approvalUnknown), (.cancelled, Sentences.approvalCancelled),
        ])
    func elsewhere(outcome: ApprovalSettlement.Outcome, line: String) {
        var turn = Make.asking(detached: false)
        #expect(turn.on(.approvalSettled(ApprovalSettlement(id: id, outcome: outcome))) == [])
        #expect(turn.decided(id, .approve, reason: nil, at: .at(1)) == [.note(.decisionNotForwarded)])
        #expect(
            turn.on(.finished(RunEnd(text: "Let me look."))) == [
                Make.taskEnded(.completed), Make.end("Let me look.\n\n" + line, .stop), .agentFree,
            ])
    }

    @Test("a decision that the agent did not confirm may not have arrived, and is called neither given nor denied")
    func inDoubt() {
        var turn = Make.asking(detached: false)
        _ = turn.decided(id, .approve, reason: nil, at: .zero)
        #expect(turn.on(.approvalSettled(ApprovalSettlement(id: id, outcome: .inDoubt))) == [])
        #expect(
            turn.on(.finished(RunEnd(text: "Let me look."))) == [
                Make.taskEnded(.completed), Make.end("Let me look.\n\n" + Sentences.decisionInDoubt, .stop), .agentFree,
            ])
    }

    @Test("its time is watched here, because older agents do not say that it is over")
    func expiry() {
        var turn = Make.asking(detached: false, expiresAt: .at(120))
        #expect(turn.nextDeadline == .at(120))
        #expect(turn.deadlineHit(at: .at(120)) == [])
        #expect(turn.bubble.closingLines == [Sentences.approvalExpired])
        #expect(turn.nextDeadline == .at(1_740))
        #expect(turn.on(.approvalSettled(ApprovalSettlement(id: id, outcome: .expired))) == [])
    }

    @Test("the relay's own deny says why", arguments: ["session_deleted", "installation_revoked", "nobody knows"])
    func reason(word: String) {
        var turn = Make.asking(detached: false)
        #expect(turn.decided(id, .deny, reason: word, at: .at(1)) == [Make.resolve(.deny)])
        #expect(turn.bubble.closingLines == [Sentences.approvalDenied(reason: word)])
    }

    @Test("what nobody could approve is refused visibly")
    func impossible() {
        var turn = Make.running()
        #expect(
            turn.on(.approvalRequested(Make.request(allowed: [.deny]))) == [
                Make.resolve(.deny), .note(.approvalRefused),
            ])
        #expect(turn.bubble.closingLines == [Sentences.approvalImpossible])
    }

    @Test("a decision that the agent does not take is a visible refusal")
    func notAllowed() {
        var turn = Make.asking(detached: false, allowed: [.approveAlways, .deny])
        #expect(turn.decided(id, .approve, reason: nil, at: .at(1)) == [Make.resolve(.deny)])
        #expect(turn.bubble.closingLines == [Sentences.decisionNotAllowed])
    }

    @Test("a card that the relay refused is asked once more with the least that a request must have")
    func askedWithLeast() throws {
        var turn = Make.asking(detached: false)
        _ = turn.reported(.refused(.approval(id), PostRefusal(.invalidRequest)), at: .at(1))
        let orders = turn.reported(.refused(.approval(id), PostRefusal(.invalidRequest)), at: .at(1))
        guard case .replace(.approval(let card), []) = try #require(orders.first) else {
            Issue.record("\(orders)")
            return
        }
        #expect(card.approval == id)
        #expect(card.message.contains("ls"), "the command is still told")
        #expect(card.command == nil)
        #expect(card.host == nil)
        #expect(card.slug == nil)
        #expect(card.toolCall == nil)
        #expect(turn.bubble.closingLines == [])
        #expect(turn.decided(id, .approve, reason: nil, at: .at(2)) == [Make.resolve(.approve)])
    }

    @Test("refused again it is told in the bubble with what was asked, and only then denied")
    func refusedTwice() {
        var turn = Make.asking(detached: false)
        _ = turn.reported(.refused(.approval(id), PostRefusal(.invalidRequest)), at: .at(1))
        _ = turn.reported(.refused(.approval(id), PostRefusal(.invalidRequest)), at: .at(1))
        #expect(
            turn.reported(.refused(.approval(id), PostRefusal(.invalidRequest)), at: .at(2)) == [
                .skip, .note(.approvalRefused), Make.resolve(.deny),
            ])
        #expect(turn.bubble.closingLines.count == 1)
        #expect(turn.bubble.closingLines.first?.contains("ls") == true)
        #expect(turn.decided(id, .approve, reason: nil, at: .at(3)) == [.note(.decisionNotForwarded)])
    }

    @Test("a card that the relay does not take is told and denied at once")
    func neverShown() {
        var turn = Make.asking(detached: false)
        #expect(
            turn.reported(.dropped(.approval(id), .permissionDenied), at: .at(1)) == [
                .note(.approvalRefused), Make.resolve(.deny),
            ])
        #expect(turn.bubble.closingLines.first?.contains("ls") == true)
    }

    @Test("after the bubble the words come as a message, before the denial")
    func neverShownLate() {
        var turn = Make.asking(detached: false)
        _ = turn.deadlineHit(at: .at(1_740))
        let orders = turn.reported(.dropped(.approval(id), .permissionDenied), at: .at(1_741))
        guard case .post(.message(let said))? = orders.first else {
            Issue.record("\(orders)")
            return
        }
        #expect(said.text.contains("ls"))
        #expect(Array(orders.dropFirst()) == [.note(.approvalRefused), Make.resolve(.deny)])
    }

    @Test("an agent that is away hears the denial when it is back")
    func neverShownWhileAway() {
        var turn = Make.asking(detached: false)
        _ = turn.agentLost(at: .at(1))
        #expect(turn.reported(.dropped(.approval(id), .permissionDenied), at: .at(2)) == [.note(.approvalRefused)])
        #expect(turn.agentBack(at: .at(3)) == [Make.resolve(.deny)])
    }

    @Test("a run that ended for a question which cannot be shown does not wait for ever for what follows")
    func neverShownWhileHolding() {
        var turn = Make.holding()
        _ = turn.reported(.dropped(.approval(id), .permissionDenied), at: .at(1))
        #expect(turn.nextDeadline.map { $0 <= .at(62) } == true)
    }

    @Test("a refusal that comes after the turn is over holds nothing up")
    func refusedAfterTheEnd() {
        var turn = Make.asking(detached: false)
        _ = turn.on(.finished(RunEnd(text: "done")))
        #expect(turn.reported(.refused(.approval(id), PostRefusal(.invalidRequest)), at: .at(1)) == [.skip])
    }

    @Test("a decision made while the agent is away goes to it when it is back")
    func away() {
        var turn = Make.asking(detached: false)
        _ = turn.agentLost(at: .at(1))
        #expect(turn.decided(id, .approve, reason: nil, at: .at(2)) == [])
        #expect(turn.agentBack(at: .at(3)) == [Make.resolve(.approve)])
        _ = turn.agentLost(at: .at(4))
        #expect(turn.agentBack(at: .at(5)) == [])
    }

    // MARK: Detached

    @Test("the bubble stays open, and the follow-up's text comes after a blank line")
    func detached() {
        var turn = Make.asking(detached: true)
        #expect(turn.on(.tool(.finished(ToolResult(call: ToolCallID("c1"), channel: .item, status: .completed)))) == [])
        #expect(turn.on(.finished(RunEnd(text: "Let me look."))) == [.agentFree])
        #expect(
            turn.decided(id, .approve, reason: nil, at: .at(50)) == [
                Make.resolve(.approve), Make.taskEnded(.completed),
            ])
        #expect(turn.nextDeadline == .at(110))
        #expect(turn.expects(RunID(followUp)))
        #expect(turn.on(.started, run: followUp, at: 60) == [])
        #expect(turn.nextDeadline == .at(1_740))
        #expect(turn.on(.text(.append("Done.")), run: followUp, at: 61) == [.post(.text("\n\nDone."))])
        #expect(turn.on(.finished(RunEnd(text: "Let me look."))) == [.note(.eventAfterEnd)])
        #expect(
            turn.on(.finished(RunEnd(text: "Done.")), run: followUp, at: 62) == [
                Make.end("Let me look.\n\nDone.", .stop)
            ])
    }

    @Test("usage is that of both runs")
    func usage() {
        var turn = Make.asking(detached: true)
        _ = turn.on(.finished(RunEnd(text: "a", usage: Usage(inputTokens: 1, outputTokens: 2, estimatedCostUSD: 0.5))))
        _ = turn.decided(id, .approve, reason: nil, at: .at(1))
        let end = RunEnd(text: "b", usage: Usage(inputTokens: 10, outputTokens: 20, model: "m"))
        #expect(
            turn.on(.finished(end), run: followUp) == [
                Make.end(
                    "a\n\nb", .stop, usage: Usage(inputTokens: 11, outputTokens: 22, estimatedCostUSD: 0.5, model: "m"))
            ])
    }

    @Test("what the ended run repeats is not said twice")
    func repeated() {
        var turn = Make.holding()
        #expect(turn.on(.text(.snapshot("Let me look."))) == [.note(.eventAfterEnd)])
        #expect(turn.on(.finished(RunEnd(text: "Let me look."))) == [.note(.eventAfterEnd)])
        #expect(turn.text.whole == "Let me look.")
    }

    @Test("a decision that comes before the run's end still brings a follow-up")
    func decidedEarly() {
        var turn = Make.asking(detached: true)
        _ = turn.decided(id, .approve, reason: nil, at: .at(1))
        #expect(turn.on(.finished(RunEnd(text: "Let me look.")), at: 90) == [.agentFree])
        #expect(turn.nextDeadline == .at(150))
    }

    @Test("a follow-up that does not begin within 60 s of a denial: the history is asked, then a line")
    func followUpMissing() {
        var turn = Make.holding()
        _ = turn.decided(id, .deny, reason: nil, at: .at(10))
        #expect(turn.deadlineHit(at: .at(70)) == [Make.lookUp])
        #expect(
            turn.lookedUp(.ended(RunEnd(text: "Let me look.")), at: .at(71)) == [
                Make.end("Let me look.\n\n" + Sentences.followUpMissing)
            ])
    }

    @Test("a history that does not answer ends it as well")
    func followUpUnanswered() {
        var turn = Make.holding()
        _ = turn.decided(id, .deny, reason: nil, at: .at(10))
        _ = turn.deadlineHit(at: .at(70))
        #expect(turn.deadlineHit(at: .at(75)) == [Make.end("Let me look.\n\n" + Sentences.followUpMissing)])
    }

    @Test("a follow-up that only the history has is taken from there")
    func followUpInHistory() {
        var turn = Make.holding()
        _ = turn.decided(id, .approve, reason: nil, at: .at(10))
        _ = turn.deadlineHit(at: .at(70))
        let end = RunEnd(text: "Let me look.\n\nDone.", includesFollowUp: true)
        #expect(turn.lookedUp(.ended(end), at: .at(71)) == [Make.end("Let me look.\n\nDone.", .stop)])
    }

    @Test("a history that has no more than white space after the first run has no follow-up")
    func followUpIsNoSpace() {
        var turn = Make.holding()
        _ = turn.decided(id, .approve, reason: nil, at: .at(10))
        #expect(turn.lookedUp(.ended(RunEnd(text: "Let me look. \n")), at: .at(11)) == [])
        #expect(turn.outcome == nil)
    }

    @Test("while the agent is away a follow-up is not missed")
    func followUpAway() {
        var turn = Make.holding()
        _ = turn.decided(id, .approve, reason: nil, at: .at(10))
        _ = turn.agentLost(at: .at(20))
        #expect(turn.deadlineHit(at: .at(70)) == [])
        #expect(turn.outcome == nil)
        _ = turn.agentBack(at: .at(80))
        #expect(turn.deadlineHit(at: .at(81)) == [Make.lookUp])
    }

    @Test("one that nobody decided ends with a line about that")
    func detachedExpired() {
        var turn = Make.holding()
        #expect(
            turn.on(.approvalSettled(ApprovalSettlement(id: id, outcome: .expired)), at: 100) == [
                Make.taskEnded(.cancelled, label: "denied")
            ])
        #expect(turn.deadlineHit(at: .at(160)) == [Make.lookUp])
        #expect(turn.deadlineHit(at: .at(165)) == [Make.end("Let me look.\n\n" + Sentences.approvalExpired)])
    }

    @Test("one that was withdrawn ends with the answer of the history")
    func detachedWithdrawn() {
        var turn = Make.holding()
        #expect(
            turn.on(.approvalSettled(ApprovalSettlement(id: id, outcome: .cancelled)), at: 100) == [
                Make.taskEnded(.cancelled, label: "denied"), Make.lookUp,
            ])
        #expect(
            turn.lookedUp(.ended(RunEnd(text: "Let me look.")), at: .at(101)) == [
                Make.end("Let me look.\n\n" + Sentences.approvalCancelled)
            ])
    }

    @Test("one whose yes had left for a process that is gone ends at once, in doubt")
    func detachedGone() {
        var turn = Make.holding()
        _ = turn.decided(id, .approve, reason: nil, at: .at(10))
        #expect(turn.on(.approvalSettled(ApprovalSettlement(id: id, outcome: .gone)), at: 12).last == Make.lookUp)
        #expect(
            turn.lookedUp(.ended(RunEnd(text: "Let me look.")), at: .at(13)) == [
                Make.end("Let me look.\n\n" + Sentences.decisionInDoubt)
            ])
    }

    @Test("a pause of which the question never comes does not hang")
    func pauseAlone() {
        var turn = Make.speaking("Wait.")
        _ = turn.on(.paused(PausedCall(call: nil, approval: id)))
        #expect(turn.on(.finished(RunEnd(text: "Wait.")), at: 1) == [.agentFree])
        #expect(turn.deadlineHit(at: .at(61)) == [Make.lookUp])
        #expect(turn.lookedUp(.unknown, at: .at(62)) == [Make.end("Wait.\n\n" + Sentences.followUpMissing)])
    }

    // MARK: Stop

    @Test("before it was handed over: never handed over")
    func stopWaiting() {
        var turn = Make.waiting()
        let end = Make.end(Sentences.stoppedWaiting)
        #expect(turn.stopRequested(at: .zero) == [.note(.stopRequested), end, .agentFree])
        #expect(turn.handOver(at: .zero) == [])
        #expect(turn.outcome == .aborted)
    }

    @Test("while it runs: the agent is told, its last words awaited for 3 s, open cards cancelled")
    func stopRunning() {
        var turn = Make.asking(detached: false)
        #expect(turn.stopRequested(at: .at(10)) == [.note(.stopRequested), Make.abort, Make.resolve(.deny)])
        #expect(turn.stopRequested(at: .at(10)) == [])
        #expect(turn.decided(id, .approve, reason: nil, at: .at(10)) == [.note(.decisionNotForwarded)])
        #expect(turn.on(.approvalSettled(ApprovalSettlement(id: id, outcome: .cancelled)), at: 10) == [])
        #expect(turn.on(.text(.append(" And")), at: 11) == [.post(.text(" And"))])
        #expect(turn.nextDeadline == .at(13))
        #expect(
            turn.deadlineHit(at: .at(13)) == [Make.taskEnded(.cancelled), Make.end("Let me look. And"), .agentFree])
    }

    @Test("an approval that is asked after a stop is denied without a word")
    func askedAfterStop() {
        var turn = Make.running()
        _ = turn.stopRequested(at: .zero)
        #expect(turn.on(.approvalRequested(Make.request())) == [Make.resolve(.deny)])
    }

    @Test(
        "whatever ends the run first, the stop is what ended the turn",
        arguments: [
            RunEvent.finished(RunEnd(text: "partial", reason: .aborted)), .finished(RunEnd(text: "partial")),
            .failed(RunFailure(message: "aborted", text: "partial")),
        ])
    func stopAndEnd(event: RunEvent) {
        var turn = Make.speaking("part")
        _ = turn.stopRequested(at: .zero)
        #expect(turn.on(event, at: 1) == [Make.end("partial"), .agentFree])
        #expect(turn.outcome == .aborted)
    }

    @Test("while an approval holds it")
    func stopHolding() {
        var turn = Make.holding()
        #expect(
            turn.stopRequested(at: .at(5)) == [
                .note(.stopRequested), Make.resolve(.deny), Make.taskEnded(.cancelled), Make.end("Let me look."),
            ])
    }

    @Test("before the answer to the message: the run that the agent names is stopped")
    func stopBeforeAnswer() {
        var turn = Make.waiting()
        _ = turn.handOver(at: .zero)
        #expect(turn.stopRequested(at: .zero) == [.note(.stopRequested), Make.abort])
        #expect(
            turn.sendAnswered(.accepted(run: RunID("r9")), at: .at(1)) == [
                .note(.foreignRunAdopted), .command(.abort(session: AgentSession("chat"), run: RunID("r9"))),
            ])
    }

    @Test("after the end: nothing")
    func stopAfterEnd() {
        var turn = Make.speaking("Hi")
        _ = turn.on(.finished(RunEnd(text: "Hi")))
        #expect(turn.stopRequested(at: .zero) == [])
    }
}
