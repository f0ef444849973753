import AgentKit
import JSONReading
import Vocabulary

/// Unanswered requests of the process (claude-code.md#permissions).
///
/// A withdrawn request was stopped, or was decided elsewhere: then the result of its call carries the decision.
struct ClaudeOpenAsks {
    struct Open {
        let ask: ClaudeAsk
        let run: RunID?
        var isWithdrawn = false
    }

    struct Settled {
        let run: RunID?
        let events: [RunEvent]
    }

    private static let limit = 100
    private var open: [String: Open] = [:]

    var isEmpty: Bool { open.isEmpty }

    mutating func opened(_ ask: ClaudeAsk, of run: RunID?) {
        if case .refused = ask.content { return }
        if open.count < Self.limit { open[ask.slip.request] = Open(ask: ask, run: run) }
    }

    mutating func answered(_ request: String) -> Open? { open.removeValue(forKey: request) }

    /// Settles a withdrawn request. Nil if it is not open, or if the result of its call decides it.
    mutating func withdrawn(_ request: String, isStopped: Bool) -> Settled? {
        guard let known = open[request] else { return nil }
        guard isStopped || known.ask.call == nil else {
            open[request]?.isWithdrawn = true
            return nil
        }
        open[request] = nil
        return Self.settled(known, isAllowed: false)
    }

    /// Settles the asks of a call that has its result.
    mutating func ended(call: String, isAllowed: Bool) -> [Settled] {
        take { $0.ask.call == call }.map { Self.settled($0, isAllowed: isAllowed) }
    }

    /// Settles the asks of a turn that ended without the results of its calls.
    mutating func takeWithdrawn() -> [Settled] {
        take(\.isWithdrawn).map { Self.settled($0, isAllowed: false) }
    }

    private mutating func take(_ isMeant: (Open) -> Bool) -> [Open] {
        let names = open.filter { isMeant($0.value) }.keys.sorted()
        return names.compactMap { open.removeValue(forKey: $0) }
    }

    private static func settled(_ open: Open, isAllowed: Bool) -> Settled {
        let events: [RunEvent] =
            switch open.ask.content {
            case .approval(let request):
                [
                    .approvalSettled(
                        ApprovalSettlement(
                            id: request.id, outcome: isAllowed ? .decided(.approve) : .cancelled,
                            by: isAllowed ? "a hook" : nil))
                ]
            case .questions(let questions):
                questions.map {
                    .questionSettled(QuestionSettlement(id: $0.id, isAllowed ? .answeredElsewhere : .cancelled))
                }
            case .refused: []
            }
        return Settled(run: open.run, events: events)
    }
}

extension ClaudeOpenAsks.Open {
    /// The content of a recorded answer. `response`: the envelope.
    func sent(_ response: FrameNode, in session: AgentSession) -> [Observation] {
        let answer = response["response"]
        let isAllowed = answer?["behavior"]?.holds("allow") == true
        let message = answer?["message"]?.string ?? ""
        switch ask.content {
        case .refused: return []
        case .approval(let request):
            let always = answer?["updatedPermissions"]?.elements.isEmpty == false
            return [.decisionSent(request.id, isAllowed ? always ? .approveAlways : .approve : .deny)]
        case .questions(let questions):
            guard case .questions(let texts, _) = ask.slip.form else {
                return questions.map { .answerSent($0.id, session, Self.planAnswer(isAllowed, message)) }
            }
            let given = answer?["updatedInput"]?["answers"]
            return texts.map { question in
                let text = isAllowed ? given?.member(question.text)?.string : nil
                return .answerSent(question.id, session, Self.answer(text, to: question))
            }
        }
    }

    private static func planAnswer(_ isAllowed: Bool, _ message: String) -> QuestionAnswer {
        if isAllowed { return .choices([ClaudeQuestions.approve]) }
        return message == ClaudeVerdict.kept ? .choices([ClaudeQuestions.keepPlanning]) : .text(message)
    }

    private static func answer(_ text: String?, to question: ClaudeQuestion) -> QuestionAnswer {
        guard let text else { return .declined }
        if question.labels.contains(text) { return .choices([text]) }
        let chosen = question.labels.filter { text.contains($0) }
        return !chosen.isEmpty && chosen.joined(separator: ", ") == text ? .choices(chosen) : .text(text)
    }
}
