import AgentKit
import Vocabulary

// Asks: shown to a person, decided or dropped.
extension ChildChat {
    /// Whether the bubble of a prompt can show the ask.
    private func isHeard(_ ask: Ask<D.Slip>) -> Bool {
        let isBetween = dialect.habits.asksBetweenRuns
        if let turn = prompts.turn, turn.isStopping {
            return isBetween && ask.run != turn.run
        }
        return isBetween || prompts.turn != nil || !prompts.held.isEmpty
    }

    mutating func asked(_ ask: Ask<D.Slip>, _ now: Occasion) -> [Order] {
        guard isHeard(ask), !asks.isFull, ask.content != .unshowable else {
            return say(.dropped, to: ask, now) + [.note("a dialog (\(ask.kind)) cannot be shown")]
        }
        // Work in the background asks beside all runs; its ask gets a run, and thus a bubble, of its own, and outlives them.
        let isBeside = dialect.habits.asksBetweenRuns && ask.run == nil
        let ownRun = isBeside ? RunID("\(runMark)ask-\(ask.name)") : nil
        let run = ownRun ?? ask.run
        var ask = ask
        ask.run = run
        asks.asked(ask, ownRun: ownRun, at: now.now)
        let begun = ownRun.map { [signal(.started, of: $0)] } ?? []
        switch ask.content {
        case .card(let request): return [.observed(begun + [signal(.approvalRequested(request), of: run)])]
        case .questions(let all): return [.observed(begun + all.map { signal(.asked($0), of: run) })]
        case .unshowable: return []
        }
    }

    /// Ends the ask's own run.
    func ends(_ asked: Asks<D.Slip>.Open) -> [Order] {
        guard let run = asked.ownRun else { return [] }
        return [.observed([signal(.finished(RunEnd(text: "This was asked by work in the background.")), of: run)])]
    }

    mutating func say(_ verdict: Verdict, to ask: Ask<D.Slip>, _ now: Occasion) -> [Order] {
        dialect.say(.settle(ask, verdict), &reading, here(now)).map { .write($0) }
    }

    mutating func resolve(
        _ approval: ApprovalID, _ decision: ApprovalDecision, _ scope: DecisionScope, isUnanswered: Bool,
        wordsFollow: Bool, shown: AskFingerprint?, _ now: Occasion
    ) -> [Order] {
        guard let (ask, request) = asks.card(approval) else { return [] }
        let leaving = ConversationRules.mayLeave(
            isYes: decision != .deny, shown: shown, asked: AskFingerprint(of: request), run: ask.run,
            turn: prompts.turn)
        let settlement: [Order] = [.observed([settled(approval, .decided(decision))])]
        if decision == .deny, wordsFollow, dialect.habits.deniesInWords {
            asks.deny(ask.name, at: now.now)
            return settlement
        }
        guard leaving != .meansAnother, let asked = asks.take(ask.name) else { return [] }
        if leaving == .stopped { return say(.dropped, to: ask, now) + settled(asked, .cancelled) }
        let verdict: Verdict =
            switch decision {
            case .approve: .allow
            case .approveAlways: .allowAlways(scope)
            case .deny: isUnanswered ? .unanswered : .deny(words: nil)
            }
        return say(verdict, to: ask, now) + settlement + ends(asked)
    }

    /// Sends the words of a refusal with the denial that waits for them; they are no prompt then. Nil if no denial waits.
    mutating func denyInWords(_ run: RunID, _ words: String, _ now: Occasion) -> [Order]? {
        guard let turn = prompts.turn, !turn.isStopping, let denied = asks.takeDenied() else { return nil }
        return say(.deny(words: words), to: denied.ask, now)
            + [.observed([.sendAnswered(asked: run, .accepted(run: denied.ask.run ?? turn.run))])]
    }

    /// An ask at its deadline: the agent dropped it, or a denial waited too long for its words.
    mutating func expired(_ asked: Asks<D.Slip>.Open, _ now: Occasion) -> [Order] {
        asked.isDenied ? say(.deny(words: nil), to: asked.ask, now) + ends(asked) : settled(asked, .expired)
    }

    mutating func answer(
        _ question: QuestionID, _ answer: QuestionAnswer, shown: AskFingerprint?, _ now: Occasion
    ) -> [Order] {
        guard let (ask, known) = asks.question(question) else { return [.observed([settled(question, .unknown)])] }
        // Declining a question is an answer to it as well.
        let leaving = ConversationRules.mayLeave(
            isYes: true, shown: shown, asked: AskFingerprint(of: known), run: ask.run, turn: prompts.turn)
        switch leaving {
        case .meansAnother: return []
        case .stopped:
            guard let asked = asks.take(ask.name) else { return [] }
            return say(.dropped, to: ask, now) + settled(asked, .cancelled)
        case .goes: break
        }
        let settlement: [Order] = [.observed([settled(question, .answered)])]
        guard let all = asks.answered(question, answer) else { return settlement }
        let taken = asks.take(ask.name)
        return say(.answers(all), to: ask, now) + settlement + (taken.map(ends) ?? [])
    }

    /// The bubble that showed the asks has ended: release the agent that waits for them.
    mutating func dropAsks(of run: RunID, _ now: Occasion) -> [Order] {
        let gone = dialect.habits.asksBetweenRuns ? asks.take(of: run, withSessions: false) : asks.takeAll()
        return gone.flatMap { say(.dropped, to: $0.ask, now) + settled($0, .cancelled) }
    }

    enum Outcome { case expired, cancelled }

    /// Settles an ask without a person's answer.
    func settled(_ asked: Asks<D.Slip>.Open, _ outcome: Outcome) -> [Order] {
        guard !asked.isDenied else { return ends(asked) }
        switch asked.ask.content {
        case .card(let request):
            return [.observed([settled(request.id, outcome == .expired ? .expired : .cancelled)])] + ends(asked)
        case .questions:
            let gone = asked.openQuestions.map { settled($0, outcome == .expired ? .expired : .cancelled) }
            return (gone.isEmpty ? [] : [.observed(gone)]) + ends(asked)
        case .unshowable: return []
        }
    }

    private func settled(_ question: QuestionID, _ reason: QuestionSettlement.Reason) -> Observation {
        signal(.questionSettled(QuestionSettlement(id: question, reason)), of: nil)
    }

    private func settled(_ approval: ApprovalID, _ outcome: ApprovalSettlement.Outcome) -> Observation {
        signal(.approvalSettled(ApprovalSettlement(id: approval, outcome: outcome)), of: nil)
    }
}
