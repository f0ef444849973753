import Testing
import Vocabulary

@testable import BridgeCore

@Suite("A run that the bridge did not begin")
struct MirroredTurnTests {
    private static func turn(hasOtherClients: Bool = true) -> Turn {
        var opening = Make.opening
        (opening.interaction, opening.message) = (nil, nil)
        var settings = TurnSettings()
        settings.hasOtherClients = hasOtherClients
        var turn = Turn(opening, settings: settings)
        _ = turn.begin(at: .zero)
        _ = turn.reported(.delivered(.open, message: MessageID("b1")), at: .zero)
        _ = turn.on(.started)
        _ = turn.on(.text(.append("Let me look.")))
        return turn
    }

    private static func asking(hasOtherClients: Bool = true) -> Turn {
        var turn = turn(hasOtherClients: hasOtherClients)
        _ = turn.on(.approvalRequested(Make.request()))
        return turn
    }

    @Test("a chat that is gone at the relay ends what is shown, and neither the run nor its approvals")
    func gone() {
        var mirrored = Self.asking()
        #expect(mirrored.reported(.destinationGone(.sessionDeleted), at: .zero) == [.abandonLane, .agentFree, .closed])
        var own = Make.asking(detached: false)
        #expect(
            own.reported(.destinationGone(.sessionDeleted), at: .zero)
                == [.abandonLane, Make.leave, Make.resolve(.deny), .agentFree, .closed])
    }

    @Test("the bridge's own end aborts a run that it began, and none of others, nor answers what that one asked")
    func bridgeStops() {
        let end = Make.end("Let me look.\n\n\(Sentences.bridgeStopped)")
        var mirrored = Self.asking()
        #expect(mirrored.bridgeStops(at: .zero) == [end, .agentFree])
        var own = Make.asking(detached: false)
        #expect(
            own.bridgeStops(at: .zero)
                == [Make.leave, Make.resolve(.deny), Make.taskEnded(.failed), end, .agentFree])
        // The agent put the message into a run of another client.
        var joined = Make.waiting()
        _ = joined.handOver(at: .zero)
        _ = joined.sendAnswered(.accepted(run: RunID("foreign")), at: .zero)
        _ = joined.on(.text(.append("Let me look.")), run: "foreign")
        _ = joined.on(.approvalRequested(Make.request()), run: "foreign")
        var refused = joined
        #expect(joined.bridgeStops(at: .zero) == [end, .agentFree])
        #expect(refused.reported(.destinationGone(.sessionDeleted), at: .zero) == [.abandonLane, .agentFree, .closed])
        // A follow-up is ours if the run that asked was.
        var followed = Make.holding()
        _ = followed.decided(ApprovalID("a1"), .approve, reason: nil, at: .zero)
        _ = followed.on(.started, run: "exec-approval-followup:a1")
        let abort = TurnOrder.command(
            .abort(session: AgentSession("chat"), run: RunID("exec-approval-followup:a1"), reach: .ownRuns))
        #expect(followed.bridgeStops(at: .zero).contains(abort))
    }

    @Test("so does a chat that the person deletes")
    func deleted() {
        var mirrored = Self.asking()
        #expect(mirrored.chatEnded(isDeleted: true, at: .zero) == [.abandonLane, .agentFree, .closed])
        #expect(mirrored.outcome == .gone)
    }

    @Test("in a chat that the person archives its bubble ends, and the run goes on")
    func archived() {
        var mirrored = Self.asking()
        let end = Make.end("Let me look.\n\n\(Sentences.archived)")
        #expect(mirrored.chatEnded(isDeleted: false, at: .zero) == [end, .agentFree])
        #expect(mirrored.on(.text(.append("More."))) == [.note(.eventAfterEnd)])
        #expect(mirrored.on(.finished(RunEnd(text: "All of it."))) == [.note(.eventAfterEnd)])
        #expect(mirrored.chatEnded(isDeleted: false, at: .zero) == [])
        #expect(mirrored.reported(.delivered(.end, message: nil), at: .zero).contains(.closed))
        #expect(mirrored.chatEnded(isDeleted: false, at: .zero) == [])
    }

    @Test("a run of our own is stopped, and nothing more is written into a chat that was deleted")
    func ownRun() {
        var archived = Make.asking(detached: false)
        let stopped = [.note(.stopRequested), Make.leave, Make.resolve(.deny)]
        #expect(archived.chatEnded(isDeleted: false, at: .zero) == stopped)
        var deleted = Make.asking(detached: false)
        let gone = [.abandonLane, Make.leave, Make.resolve(.deny), .agentFree, .closed]
        #expect(deleted.chatEnded(isDeleted: true, at: .zero) == gone)
        #expect(archived.chatEnded(isDeleted: true, at: .zero) == [.abandonLane, .agentFree, .closed])
    }

    @Test("an approval that the relay will not show is denied where there are no others")
    func unshownAlone() {
        var turn = Self.asking(hasOtherClients: false)
        #expect(turn.approvalNotShown(ApprovalID("a1"), at: .zero).contains(Make.resolve(.deny)))
        var closed = Self.asking(hasOtherClients: false)
        let orders = closed.decided(ApprovalID("a1"), .deny, reason: "policy", at: .zero)
        #expect(orders.contains { if case .command(.resolve) = $0 { true } else { false } }, "\(orders)")
        var stopped = Self.asking(hasOtherClients: false)
        #expect(stopped.bridgeStops(at: .zero).contains(Make.resolve(.deny)))
    }

    @Test("an approval that the relay will not show is left to others, and the bubble says so once")
    func unshown() {
        var turn = Self.asking()
        #expect(turn.approvalNotShown(ApprovalID("a1"), at: .zero) == [])
        #expect(turn.approvalNotShown(ApprovalID("a1"), at: .zero) == [])
        let end = turn.on(.finished(RunEnd(text: "Let me look.")))
        #expect(end == [Make.end("Let me look.\n\n\(Sentences.approvalLeftUnshown)", .stop), .agentFree])
    }

    @Test("an answer that the relay gives by itself is not passed on; a person's is")
    func automatic() {
        var turn = Self.asking()
        #expect(
            turn.decided(ApprovalID("a1"), .deny, reason: "revoked", at: .zero) == [.note(.decisionNotForwarded)])
        let line = Sentences.approvalLeft(reason: "revoked")
        #expect(
            turn.on(.finished(RunEnd(text: "Let me look.")))
                == [Make.end("Let me look.\n\n\(line)", .stop), .agentFree])
        var decided = Self.asking()
        #expect(decided.decided(ApprovalID("a1"), .approve, reason: nil, at: .zero) == [Make.resolve(.approve)])
    }

    @Test("a card that nobody answered comes back, and is left to others where nobody does for as long as it is held")
    func unanswered() {
        var turn = Self.asking()
        let closed = turn.decided(ApprovalID("a1"), .deny, reason: "timeout", at: .zero)
        #expect(closed.first == .note(.askUnanswered))
        #expect(turn.returnable(isAskedFor: false, at: .at(1)).count == 1)
        let over = turn.deadlineHit(at: .at(12 * 3_600))
        #expect(!over.contains(Make.resolve(.deny)))
        #expect(turn.openAsks.isEmpty)
    }

    @Test("a person's stop reaches it all the same")
    func stopped() {
        var turn = Self.turn()
        #expect(turn.stopRequested(at: .zero) == [.note(.stopRequested), Make.abort])
    }

    @Test("it is never explained as a message that was not delivered")
    func away() {
        var opening = Make.opening
        (opening.interaction, opening.message) = (nil, nil)
        var turn = Turn(opening)
        _ = turn.begin(at: .zero)
        _ = turn.agentLost(at: .zero)
        #expect(turn.deadlineHit(at: .at(300)) == [])
        #expect(turn.outcome == nil)
        _ = turn.agentBack(at: .at(301))
        #expect(turn.deadlineHit(at: .at(302)) == [Make.lookUp])
    }

    @Test("one that began before this process did is looked for")
    func unseen() {
        var opening = Make.opening
        (opening.interaction, opening.message) = (nil, nil)
        var turn = Turn(opening)
        _ = turn.begin(at: .zero)
        #expect(turn.beganUnseen(at: .zero) == [])
        #expect(turn.deadlineHit(at: .at(1)) == [Make.lookUp])
        #expect(
            turn.lookedUp(.ended(RunEnd(text: "Done.")), at: .at(1)) == [Make.end("Done.", .stop), .agentFree])
    }
}
