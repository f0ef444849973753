import AgentKit
import Vocabulary

// What a person answers to dialogs, and the tool `ask` beside what holds it back (oppi.md#extension-dialogs).
extension OppiChat {
    /// Of an earlier process.
    mutating func adopt(_ decision: EarlierTurn.Decision) {
        let isNo = decision.decision == .deny
        _ = dialogs.decidedEarlier(
            decision.approval, isNo && decision.isUnanswered ? .cancelled : .confirmed(!isNo),
            shown: isNo ? nil : decision.fingerprint, expiresAt: decision.expiresAt, mayHaveLeft: true)
    }

    /// A dialog is answered on the socket that follows its session, as soon as there is one.
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
        // The others of its dialog are asked when this one is taken.
        let isPart = dialogs.waitsForMore(behind: question)
        let taken = isPart ? aside([.questionSettled(QuestionSettlement(id: question, .answered))]) : []
        return taken + advance(at: now)
    }

    /// The server has shown again what was answered before.
    mutating func answerEarly(at now: Instant) -> [Order] {
        let known = dialogs
        return dialogs.takeEarly { known.asks($0) }
            .filter { known.shows($0.shown, as: $0.question) }
            .flatMap { answer($0.question, $0.answer, shown: $0.shown, at: now) }
    }

    // MARK: The tool that asks

    /// Its questions are shown before the tool runs. Without a yes it does not run, and they are over.
    mutating func permissionOfAskIsOver(
        _ id: ApprovalID, _ outcome: ApprovalSettlement.Outcome, at now: Instant
    ) -> [Order] {
        link.asksFirst.remove(id)
        switch outcome {
        case .decided(.deny), .expired, .cancelled: return aside(dialogs.takeAsks()) + advance(at: now)
        // By another device, which may have said yes: the end of the tool says if not.
        case .decided, .unknown, .inDoubt, .gone: return advance(at: now)
        }
    }

    /// The agent waits for both and would wait for ever.
    mutating func endOfTwoAsks(at now: Instant) -> [Order] {
        guard let turn, let place else { return [] }
        let id = requests.add(.stop(turn.run), for: Self.commandLimit, at: now)
        let failure = RunFailure(message: "it asked twice at once, which Oppi cannot answer; its session was stopped")
        return [.send(OppiFrames.stopSession(place.native, id))] + settle(.failed(failure), at: now) + advance(at: now)
    }
}
