import AgentKit
import Vocabulary

// A person's answers to dialogs, and the `ask` tool with the permission that holds it back (oppi.md#extension-dialogs).
extension OppiChat {
    /// Adopts a decision of an earlier process.
    mutating func adopt(_ decision: EarlierTurn.Decision) {
        let isNo = decision.decision == .deny
        _ = dialogs.decidedEarlier(
            decision.approval, isNo && decision.isUnanswered ? .cancelled : .confirmed(!isNo),
            shown: isNo ? nil : decision.fingerprint, expiresAt: decision.expiresAt, mayHaveLeft: true)
    }

    /// Keeps the decision for the next socket that follows the session; the dialog is answered there.
    mutating func resolve(
        _ approval: ApprovalID, _ answer: OppiFrames.DialogAnswer, shown: AskFingerprint?, at now: Instant
    ) -> [Order] {
        guard
            dialogs.decided(approval, answer, shown: shown) || dialogs.decidedEarlier(approval, answer, shown: shown)
        else {
            return aside([.approvalSettled(ApprovalSettlement(id: approval, outcome: .unknown))])
        }
        return advance(at: now)
    }

    mutating func answer(
        _ question: QuestionID, _ answer: QuestionAnswer, shown: AskFingerprint?, at now: Instant
    ) -> [Order] {
        guard dialogs.answered(question, answer, shown: shown) else {
            if turn?.isOut == true, dialogs.answeredEarlier(question, answer, shown: shown) {
                return advance(at: now)
            }
            if way != .live, turn?.isOut == true {
                dialogs.holdEarly(answer, to: question, shown: shown)
                return []
            }
            return aside([.questionSettled(QuestionSettlement(id: question, .unknown))])
        }
        if let words = dialogs.mistaken(question) {
            return aside([.questionSettled(QuestionSettlement(id: question, .mistaken(words)))]) + advance(at: now)
        }
        // A dialog is answered once all its questions are, so this one waits for the others.
        let isPart = dialogs.waitsForMore(behind: question)
        let taken = isPart ? aside([.questionSettled(QuestionSettlement(id: question, .answered))]) : []
        return taken + advance(at: now)
    }

    /// Applies early answers to dialogs that the server has shown again.
    mutating func answerEarly(at now: Instant) -> [Order] {
        let known = dialogs
        return dialogs.takeEarly { known.asks($0) }
            .filter { known.shows($0.shown, as: $0.question) }
            .flatMap { answer($0.question, $0.answer, shown: $0.shown, at: now) }
    }

    // MARK: The tool that asks

    /// The permission of an `ask`, whose questions are shown before the tool
    /// runs. Without a yes it does not run, and its questions end.
    mutating func permissionOfAskIsOver(
        _ id: ApprovalID, _ outcome: ApprovalSettlement.Outcome, at now: Instant
    ) -> [Order] {
        link.asksFirst.remove(id)
        switch outcome {
        case .decided(.deny), .expired, .cancelled: return aside(dialogs.takeAsks()) + advance(at: now)
        // Another device decided, and may have allowed it; otherwise `tool_end` follows.
        case .decided, .unknown, .inDoubt, .gone: return advance(at: now)
        }
    }

    /// Ends the session: with two `ask` calls at once the agent gets neither answer and would wait without limit.
    mutating func endOfTwoAsks(at now: Instant) -> [Order] {
        guard let turn, let place else { return [] }
        let id = requests.add(.stop(turn.run), for: Self.commandLimit, at: now)
        let failure = RunFailure(message: "it asked twice at once, which Oppi cannot answer; its session was stopped")
        return [.send(OppiFrames.stopSession(place.native, id))] + settle(.failed(failure), at: now) + advance(at: now)
    }
}
