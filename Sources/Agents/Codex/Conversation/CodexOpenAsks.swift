import AgentKit
import JSONReading
import Vocabulary

/// What the server has asked of a person in one thread and its sub-agents', and what was answered.
///
/// - One ask has one name, whatever number its request has on the connection of the moment; it is answered on the connection that
///   asked last, and where that is lost, when it asks again.
/// - An ask is the one that was shown only if all that is shown is the same (its fingerprint): no decision on one answers another, also
///   under the same item, and one of an earlier process whose record has no fingerprint allows nothing.
/// - A denial takes the place of an approval that is not confirmed, and nothing takes the place of a denial.
/// - What another client decided is seen by the call alone: one that was declined ends so at once, any other runs.
struct CodexOpenAsks {
    enum Said {
        case answer(JSONText, String)
        case event(RunEvent)
        case note(String)
    }

    private struct Open {
        /// Where it was asked: a sub-agent's outlives the end of the turn. Nil: decided in an earlier process, and not asked in this one.
        var thread: String?
        var matter: Matter
        /// The ask about a file change as this process first read it; a later patch is compared with it. Nil: another kind of ask, or an earlier process's.
        var change: CodexAsk?
        /// Where it was asked; nil: on a connection that is gone.
        var id: JSONText?
        /// Nil: decided in an earlier process, whose record does not say.
        var fingerprint: AskFingerprint?
        var decision: ApprovalDecision?
        /// No person made the denial.
        var isUnanswered = false
        var answers: [String: QuestionAnswer] = [:]
        /// Answered on this connection.
        var isSent = false
        /// Answered, if only on a connection that is gone.
        var wasSent = false
        /// The server has an answer, which is not ours.
        var isResolved = false

        var kind: CodexAsk.Kind? { if case .approval(let kind) = matter { kind } else { nil } }
        var isApproval: Bool { if case .approval = matter { true } else { false } }
        var questions: [CodexQuestion] { if case .questions(let questions, _) = matter { questions } else { [] } }
        var form: CodexForm { if case .questions(_, let form) = matter { form } else { .userInput } }
        /// The end of its call shows what was decided.
        var isOfCall: Bool {
            switch matter {
            case .approval(.command?), .approval(.fileChange?), .approval(nil): true
            case .approval, .questions: false
            }
        }
    }

    private enum Matter {
        /// Nil: of an earlier process.
        case approval(CodexAsk.Kind?)
        case questions([CodexQuestion], CodexForm)
    }

    private struct Name {
        /// Nil: the record of an earlier process does not say.
        var fingerprint: AskFingerprint?
        /// Not so: an earlier process has shown it, and it was not asked again yet.
        var isOver: Bool
    }

    private static let limit = 1_000

    private var open: [String: Open] = [:]
    /// Questions that an earlier process had shown.
    private var earlier: Set<QuestionID> = []
    /// Answers to those, which wait until they are asked again, with what was read.
    private var early: [QuestionID: (answer: QuestionAnswer, shown: AskFingerprint?)] = [:]
    /// Names that are not free for another ask, besides those of `open`.
    private var names: [String: Name] = [:]

    var isEmpty: Bool { open.isEmpty }
    /// None of them waits for a person: the server's word is due.
    var areAnswered: Bool { open.values.allSatisfy(\.isSent) }
    /// Some of an earlier process are neither asked again nor over.
    var hasEarlier: Bool { !earlier.isEmpty || open.values.contains { $0.thread == nil } }
    /// Some have no request on this connection.
    var hasUnasked: Bool { open.values.contains { $0.id == nil } }
    func holds(_ approval: ApprovalID) -> Bool { open[approval.text]?.isApproval == true }
    /// Of one that is open, or that an earlier process has shown.
    func fingerprint(of approval: ApprovalID) -> AskFingerprint? {
        open[approval.text].map(\.fingerprint) ?? names[approval.text]?.fingerprint
    }
    func knows(_ approval: ApprovalID) -> Bool { open[approval.text] != nil || names[approval.text]?.isOver == false }

    // MARK: The past

    mutating func adopt(_ questions: [QuestionID]) { earlier.formUnion(questions) }

    /// What was shown, and decisions that may have left.
    mutating func adopt(_ asks: [EarlierTurn.Ask], _ decisions: [EarlierTurn.Decision]) {
        for ask in asks.prefix(Self.limit) {
            names[ask.approval.text] = Name(fingerprint: ask.fingerprint, isOver: ask.isOver)
        }
        for decision in decisions {
            var known = Open(matter: .approval(nil))
            known.fingerprint = decision.fingerprint
            known.decision = decision.decision
            known.isUnanswered = decision.isUnanswered
            known.wasSent = true
            open[decision.approval.text] = known
        }
    }

    /// It was decided, but nothing says what was shown: if it is asked again, it is another one.
    mutating func forget(_ approval: ApprovalID) { names[approval.text]?.isOver = true }

    // MARK: From the server

    mutating func asked(_ asked: CodexAsk, as id: JSONText, isStopping: Bool) -> [Said] {
        if case .refused(let result, let why) = asked.content { return [.answer(id, result), .note(why)] }
        guard open.count < Self.limit, names.count < Self.limit, let ask = named(asked, as: id) else {
            return Self.refusal(of: asked, as: id, isStopping: isStopping, why: "Codex asks too much at once")
        }
        let replaced = open.filter { $0.value.id == id && $0.key != ask.name }.keys.sorted()
        return replaced.flatMap { close($0, as: open[$0]?.wasSent == true ? .inDoubt : .cancelled) }
            + take(ask, asked, as: id, isStopping: isStopping)
    }

    /// The patch of an item is another one now. An undecided ask about it is asked anew under the next name: Codex applies the newest patch.
    mutating func changed(
        _ change: CodexChange?, of item: String, in turn: String?, thread: String?, isStopping: Bool
    ) -> [Said] {
        let asks = open.values.compactMap { known -> (CodexAsk, JSONText)? in
            guard let id = known.id, known.decision == nil, !known.isResolved, let ask = known.change,
                ask.item == item, ask.thread == thread, ask.turn == turn, let now = ask.showing(change),
                now.fingerprint != known.fingerprint
            else { return nil }
            return (now, id)
        }
        return asks.sorted { $0.1.text < $1.1.text }.flatMap { asked($0, as: $1, isStopping: isStopping) }
    }

    /// The same ask under its name, and any other one under the next that is free.
    private func named(_ ask: CodexAsk, as id: JSONText) -> CodexAsk? {
        (1...Self.limit).lazy.map { ask.named($0) }.first { isFree($0, as: id) }
    }

    private func isFree(_ ask: CodexAsk, as id: JSONText) -> Bool {
        if let known = open[ask.name] {
            guard known.id == nil || known.id == id else { return false }
            // Without a fingerprint, a denial alone is of this item whatever it shows.
            return known.fingerprint.map { $0 == ask.fingerprint } ?? (known.decision == .deny)
        }
        guard let name = names[ask.name] else { return true }
        // Undecided: whether the card that the earlier process made shows this is judged where the cards are.
        return !name.isOver && (name.fingerprint == nil || name.fingerprint == ask.fingerprint)
    }

    private mutating func take(
        _ ask: CodexAsk, _ unnamed: CodexAsk, as id: JSONText, isStopping: Bool
    ) -> [Said] {
        let isNew = open[ask.name] == nil
        switch ask.content {
        case .refused: return []
        case .approval(let request, let kind):
            isAsked(ask, .approval(kind), as: id)
            if case .fileChange = kind { open[ask.name]?.change = unnamed }
            let shown: [Said] = isNew ? [.event(.approvalRequested(request))] : []
            return shown + answer(ask.name, isStopping: isStopping)
        case .questions(let questions, let form):
            isAsked(ask, .questions(questions, form), as: id)
            // An answer that was given before the Stop counts no more.
            if isStopping { for question in questions { open[ask.name]?.answers[question.member] = .declined } }
            let given = takeEarly(questions, of: ask.name)
            let answers = open[ask.name]?.answers ?? [:]
            let missing = questions.filter { answers[$0.member] == nil }
            return given + missing.map { .event(.asked($0.question)) } + reply(ask.name)
        }
    }

    private mutating func isAsked(_ ask: CodexAsk, _ matter: Matter, as id: JSONText) {
        open[ask.name, default: Open(matter: matter)].matter = matter
        open[ask.name]?.fingerprint = ask.fingerprint
        open[ask.name]?.thread = ask.thread
        open[ask.name]?.id = id
        open[ask.name]?.isSent = false
    }

    private mutating func takeEarly(_ questions: [CodexQuestion], of name: String) -> [Said] {
        earlier.subtract(questions.map(\.question.id))
        return questions.compactMap { known in
            guard let given = early.removeValue(forKey: known.question.id),
                given.shown.map({ $0 == AskFingerprint(of: known.question) }) ?? true
            else { return nil }
            if open[name]?.answers[known.member] == nil { open[name]?.answers[known.member] = given.answer }
            return Self.settled(known.question.id, .answered)
        }
    }

    /// There is no one to ask.
    static func refusal(
        of ask: CodexAsk, as id: JSONText, isStopping: Bool,
        why: String = "Codex asked for something when its turn was over; it is refused"
    ) -> [Said] {
        let result =
            switch ask.content {
            case .approval(_, let kind): CodexAsk.result(.deny, of: kind, isStopping: isStopping)
            case .questions(_, let form): form.refusal
            case .refused(let result, _): result
            }
        return [.answer(id, result), .note(why)]
    }

    /// `isOver`: no turn continues any more. Otherwise, what another client decided shows in the call.
    mutating func resolved(_ id: JSONText, isOver: Bool) -> [Said] {
        guard let name = open.first(where: { $0.value.id == id })?.key, let known = open[name] else { return [] }
        if known.isSent, let decision = known.decision { return close(name, as: .decided(decision)) }
        guard known.isOfCall, !isOver else {
            return close(name, as: isOver ? .cancelled : .unknown, elsewhere: !isOver)
        }
        open[name]?.id = nil
        open[name]?.isResolved = true
        return []
    }

    /// A call has ended, and with it what was asked about it.
    mutating func ended(_ item: FrameNode, in turn: String?, thread: String?) -> [Said] {
        guard !open.isEmpty, let turn = turn ?? thread, let id = item["id"]?.string,
            item["status"]?.holds("inProgress") == false
        else {
            return []
        }
        let isDeclined = item["status"]?.holds("declined") == true
        // A refusal in the form of an error fails the call as well.
        let isUnclear = item["status"]?.holds("failed") == true && item["exitCode"]?.isNumber != true
        let names = open.filter { name, known in
            known.isOfCall && (known.thread == nil || known.thread == thread)
                && CodexAsk.isNamed(name, of: id, in: turn)
        }.keys.sorted()
        return names.flatMap { name in
            let unclear: ApprovalSettlement.Outcome = open[name]?.wasSent == true ? .inDoubt : .unknown
            return close(name, as: isUnclear ? unclear : .decided(isDeclined ? .deny : .approve))
        }
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
        let said = names.flatMap { name -> [Said] in
            guard let known = open[name] else { return [] }
            let isUndecided = known.decision == nil && !known.isResolved
            return close(name, as: known.wasSent ? .inDoubt : isUndecided ? .cancelled : .unknown)
        }
        self.names = [:]
        return refusals + said + takeEarlier()
    }

    /// The turn was to stop and continues: nothing that it waits for is given.
    mutating func refuseAll() -> [Said] {
        let refusals = open.keys.sorted().compactMap { name -> Said? in
            guard let known = open[name], !known.isSent, let id = known.id else { return nil }
            return .answer(
                id, known.kind.map { CodexAsk.result(.deny, of: $0, isStopping: true) } ?? known.form.refusal)
        }
        return refusals + closeAll()
    }

    /// What was not asked again when the thread was resumed, and what was called resolved: a call that was declined would have ended
    /// meanwhile, as far as its frames were read.
    mutating func closeUnasked() -> [Said] {
        let names = open.filter { $0.value.id == nil }.keys.sorted()
        let said = names.flatMap { name -> [Said] in
            guard let known = open[name] else { return [] }
            let unclear: ApprovalSettlement.Outcome = known.wasSent ? .inDoubt : .unknown
            return close(name, as: known.isResolved ? .decided(.approve) : unclear, elsewhere: true)
        }
        return said + takeEarlier()
    }

    private mutating func takeEarlier() -> [Said] {
        defer { (earlier, early) = ([], [:]) }
        return earlier.sorted().map { Self.settled($0, early[$0] == nil ? .cancelled : .unknown) }
    }

    private static func settled(_ question: QuestionID, _ reason: QuestionSettlement.Reason) -> Said {
        .event(.questionSettled(QuestionSettlement(id: question, reason)))
    }

    /// `elsewhere`: another client answered its questions.
    private mutating func close(
        _ name: String, as outcome: ApprovalSettlement.Outcome, elsewhere: Bool = false
    ) -> [Said] {
        guard let known = open.removeValue(forKey: name) else { return [] }
        names[name] = Name(fingerprint: known.fingerprint, isOver: true)
        guard known.isApproval else {
            return known.questions.filter { known.answers[$0.member] == nil }.map {
                Self.settled($0.question.id, elsewhere ? .answeredElsewhere : .cancelled)
            }
        }
        return [.event(.approvalSettled(ApprovalSettlement(id: ApprovalID(name), outcome: outcome)))]
    }

    mutating func linkLost() {
        for name in open.keys {
            open[name]?.id = nil
            open[name]?.isSent = false
            open[name]?.isResolved = false
        }
    }

    // MARK: From the person

    mutating func decide(
        _ approval: ApprovalID, _ decision: ApprovalDecision, isUnanswered: Bool = false,
        shown: AskFingerprint? = nil, isStopping: Bool
    ) -> [Said] {
        guard let known = open[approval.text] else { return [] }
        if decision != .deny, let shown, let asked = known.fingerprint, shown != asked { return [] }
        // A late denial is dropped by the server where the approval has arrived.
        if known.decision == .deny || known.decision == decision { return [] }
        if known.decision != nil, decision != .deny { return [] }
        open[approval.text]?.decision = decision
        open[approval.text]?.isUnanswered = isUnanswered
        if known.isSent { open[approval.text]?.isSent = false }
        return answer(approval.text, isStopping: isStopping)
    }

    private mutating func answer(_ name: String, isStopping: Bool) -> [Said] {
        guard let known = open[name], let id = known.id, let kind = known.kind, let decision = known.decision,
            !known.isSent
        else { return [] }
        open[name]?.isSent = true
        open[name]?.wasSent = true
        let isUnanswered = known.isUnanswered
        return [.answer(id, CodexAsk.result(decision, of: kind, isStopping: isStopping, isUnanswered: isUnanswered))]
    }

    mutating func answer(_ question: QuestionID, _ answer: QuestionAnswer, shown: AskFingerprint? = nil) -> [Said] {
        for (name, known) in open {
            guard let asked = known.questions.first(where: { $0.question.id == question }) else { continue }
            if let shown, shown != AskFingerprint(of: asked.question) { return [] }
            guard known.answers[asked.member] == nil else { return [] }
            open[name]?.answers[asked.member] = answer
            return [Self.settled(question, .answered)] + reply(name)
        }
        guard earlier.contains(question) else { return [Self.settled(question, .unknown)] }
        early[question] = (answer, shown)
        return []
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
            + missing.map { Self.settled($0.question.id, .cancelled) }
    }
}
