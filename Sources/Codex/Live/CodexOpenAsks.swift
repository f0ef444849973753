import BridgeModel
import JSONReading

/// What the server has asked of a person in one thread and its sub-agents', and what was answered.
///
/// - One ask has one name, whatever number its request has on the connection of the moment; it is answered on the connection that
///   asked last, and where that is lost, when it asks again.
/// - A denial takes the place of an approval that is not confirmed, and nothing takes the place of a denial.
struct CodexOpenAsks {
    enum Said {
        case answer(JSONText, String)
        case event(RunEvent)
        case note(String)
    }

    private struct Open {
        /// Where it was asked: a sub-agent's outlives the end of the turn.
        let thread: String
        var kind: CodexAsk.Kind?
        var questions: [CodexQuestion] = []
        var form = CodexForm.userInput
        /// Where it was asked; nil: on a connection that is gone.
        var id: JSONText?
        var decision: ApprovalDecision?
        var answers: [String: QuestionAnswer] = [:]
        /// Answered on this connection.
        var isSent = false
    }

    private static let limit = 1_000

    private var open: [String: Open] = [:]
    /// Questions that an earlier process had shown.
    private var earlier: Set<QuestionID> = []
    /// How often each name was closed.
    private var closed: [String: Int] = [:]

    var isEmpty: Bool { open.isEmpty }
    /// None of them waits for a person: the server's word is due.
    var areAnswered: Bool { open.values.allSatisfy(\.isSent) }
    var hasEarlier: Bool { !earlier.isEmpty }
    func holds(_ approval: ApprovalID) -> Bool { open[approval.text]?.kind != nil }

    func timesClosed(_ name: String) -> Int { closed[name] ?? 0 }

    // MARK: The past

    mutating func adopt(_ questions: [QuestionID]) { earlier.formUnion(questions) }

    // MARK: From the server

    mutating func asked(_ ask: CodexAsk, as id: JSONText, isStopping: Bool) -> [Said] {
        let isNew = open[ask.name] == nil
        guard !isNew || open.count < Self.limit else { return [.note("Codex asks too much at once")] }
        switch ask.content {
        case .refused(let result, let why): return [.answer(id, result), .note(why)]
        case .approval(let request, let kind):
            open[ask.name, default: Open(thread: ask.thread)].kind = kind
            open[ask.name]?.id = id
            open[ask.name]?.isSent = false
            let shown: [Said] = isNew ? [.event(.approvalRequested(request))] : []
            return shown + answer(ask.name, isStopping: isStopping)
        case .questions(let questions, let form):
            open[ask.name, default: Open(thread: ask.thread)].questions = questions
            open[ask.name]?.form = form
            open[ask.name]?.id = id
            open[ask.name]?.isSent = false
            earlier.subtract(questions.map(\.question.id))
            let answers = open[ask.name]?.answers ?? [:]
            let missing = questions.filter { answers[$0.member] == nil }
            return missing.map { .event(.asked($0.question)) } + reply(ask.name)
        }
    }

    /// There is no one to ask.
    static func refusal(of ask: CodexAsk, as id: JSONText) -> [Said] {
        let result =
            switch ask.content {
            case .approval(_, let kind): CodexAsk.result(.deny, of: kind, isStopping: false)
            case .questions(_, let form): form.refusal
            case .refused(let result, _): result
            }
        return [.answer(id, result), .note("Codex asked for something when its turn was over; it is refused")]
    }

    /// `isOver`: no turn continues any more.
    mutating func resolved(_ id: JSONText, isOver: Bool) -> [Said] {
        guard let name = open.first(where: { $0.value.id == id })?.key else { return [] }
        return close(name, isAnswered: open[name]?.isSent == true, elsewhere: !isOver)
    }

    /// The turn is over, and with it what was asked in its thread. Sub-agents wait on for an answer that no one can give any more.
    mutating func closeAll(besides thread: String? = nil) -> [Said] {
        let names = open.keys.sorted()
        let refusals = names.compactMap { name -> Said? in
            guard let known = open[name], let thread, known.thread != thread, !known.isSent, let id = known.id else {
                return nil
            }
            return .answer(
                id, known.kind.map { CodexAsk.result(.deny, of: $0, isStopping: false) } ?? known.form.refusal)
        }
        let said = names.flatMap { close($0, isAnswered: open[$0]?.decision != nil, elsewhere: false) }
        closed = [:]
        return refusals + said + takeEarlier()
    }

    /// What the server did not ask again when the thread was resumed.
    mutating func closeUnasked() -> [Said] {
        let names = open.filter { $0.value.id == nil }.keys.sorted()
        return names.flatMap { close($0, isAnswered: open[$0]?.decision != nil, elsewhere: true) } + takeEarlier()
    }

    private mutating func takeEarlier() -> [Said] {
        defer { earlier = [] }
        return earlier.sorted().map { .event(.questionSettled(QuestionSettlement(id: $0, .cancelled))) }
    }

    private mutating func close(_ name: String, isAnswered: Bool, elsewhere: Bool) -> [Said] {
        guard let known = open.removeValue(forKey: name) else { return [] }
        if closed.count < Self.limit { closed[name, default: 0] += 1 }
        guard known.kind != nil else {
            let reason: QuestionSettlement.Reason = elsewhere ? .answeredElsewhere : .cancelled
            return known.questions.filter { known.answers[$0.member] == nil }.map {
                .event(.questionSettled(QuestionSettlement(id: $0.question.id, reason)))
            }
        }
        let outcome: ApprovalSettlement.Outcome =
            if isAnswered, let decision = known.decision { .decided(decision) } else { .cancelled }
        return [.event(.approvalSettled(ApprovalSettlement(id: ApprovalID(name), outcome: outcome)))]
    }

    mutating func linkLost() {
        for name in open.keys {
            open[name]?.id = nil
            open[name]?.isSent = false
        }
    }

    // MARK: From the person

    mutating func decide(_ approval: ApprovalID, _ decision: ApprovalDecision, isStopping: Bool) -> [Said] {
        guard let known = open[approval.text] else { return [] }
        // A late denial is dropped by the server where the approval has arrived.
        if known.decision == .deny || known.decision == decision { return [] }
        if known.decision != nil, decision != .deny { return [] }
        open[approval.text]?.decision = decision
        if known.isSent { open[approval.text]?.isSent = false }
        return answer(approval.text, isStopping: isStopping)
    }

    private mutating func answer(_ name: String, isStopping: Bool) -> [Said] {
        guard let known = open[name], let id = known.id, let kind = known.kind, let decision = known.decision,
            !known.isSent
        else { return [] }
        open[name]?.isSent = true
        return [.answer(id, CodexAsk.result(decision, of: kind, isStopping: isStopping))]
    }

    mutating func answer(_ question: QuestionID, _ answer: QuestionAnswer) -> [Said] {
        func settled(_ reason: QuestionSettlement.Reason) -> [Said] {
            [.event(.questionSettled(QuestionSettlement(id: question, reason)))]
        }
        for (name, known) in open {
            guard let asked = known.questions.first(where: { $0.question.id == question }) else { continue }
            guard known.answers[asked.member] == nil else { return [] }
            open[name]?.answers[asked.member] = answer
            return settled(.answered) + reply(name)
        }
        return settled(.unknown)
    }

    /// When all of them are answered, or one is declined.
    private mutating func reply(_ name: String) -> [Said] {
        guard let known = open[name], let id = known.id, !known.isSent else { return [] }
        let isDeclined = known.answers.values.contains(.declined)
        guard isDeclined || known.questions.allSatisfy({ known.answers[$0.member] != nil }) else { return [] }
        open[name]?.isSent = true
        let missing = known.questions.filter { known.answers[$0.member] == nil }
        for question in missing { open[name]?.answers[question.member] = .declined }
        let given = known.questions.map { ($0, known.answers[$0.member] ?? .declined) }
        let result = isDeclined ? known.form.refusal : known.form.result(given)
        return [.answer(id, result)]
            + missing.map { .event(.questionSettled(QuestionSettlement(id: $0.question.id, .cancelled))) }
    }
}

/// Decisions on asks that are not there: after a loss the server asks again once their thread is resumed.
struct CodexHeldDecisions {
    /// How long a decision waits for its ask while all threads are followed.
    static let patience = Duration.seconds(10)
    private static let limit = 1_000

    private var held: [ApprovalID: (decision: ApprovalDecision, since: Instant)] = [:]

    var nextDeadline: Instant? { held.values.map { $0.since + Self.patience }.min() }
    var approvals: [ApprovalID] { held.keys.sorted() }

    mutating func hold(_ decision: ApprovalDecision, on approval: ApprovalID, at now: Instant) {
        guard held[approval]?.decision != .deny, held.count < Self.limit else { return }
        held[approval] = (decision, now)
    }

    mutating func take(_ approval: ApprovalID) -> ApprovalDecision? { held.removeValue(forKey: approval)?.decision }

    /// While some thread is not followed, waiting proves nothing.
    mutating func waitAgain(at now: Instant) { for approval in held.keys { held[approval]?.since = now } }

    mutating func takeOverdue(at now: Instant) -> [ApprovalID] {
        let overdue = held.filter { $0.value.since + Self.patience <= now }.keys.sorted()
        for approval in overdue { held[approval] = nil }
        return overdue
    }
}
