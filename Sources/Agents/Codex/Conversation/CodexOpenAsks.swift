import AgentKit
import JSONReading
import Vocabulary

/// Open asks of one thread and its sub-agents' threads, and their answers.
///
/// - One ask has one name, whatever number its request has on the current connection. The answer goes to the connection that asked
///   last; after a loss it waits for the repeated request.
/// - The fingerprint of all that is shown identifies an ask: a decision on one answers no other, not even about the same item. A
///   yes of an earlier process whose record has no fingerprint allows nothing.
/// - A denial replaces an unconfirmed approval, and nothing replaces a denial.
/// - The call alone shows what another client decided: a declined one ends so at once, any other runs.
struct CodexOpenAsks {
    enum Said {
        case answer(JSONText, String)
        case event(RunEvent)
        case note(String)
        /// A line for the bubble.
        case told(String)
    }

    private struct Open {
        /// Thread of the ask, or nil if an earlier process decided it and this one was not asked. A sub-agent's ask outlives the
        /// turn's end.
        var thread: String?
        var matter: Matter
        /// The ask as this process first read it, for comparing later patches. Nil unless it asks about a file change.
        var change: CodexAsk?
        /// Number of the request, or nil while no request of this connection asks.
        var id: JSONText?
        /// Nil if an earlier process decided and its record lacks it.
        var fingerprint: AskFingerprint?
        var decision: ApprovalDecision?
        /// No person made the denial.
        var isUnanswered = false
        var answers: [String: QuestionAnswer] = [:]
        /// The answer went out on this connection.
        var isSent = false
        /// The answer went out, on this connection or a lost one.
        var wasSent = false
        /// Another client has answered.
        var isResolved = false

        var kind: CodexAsk.Kind? { if case .approval(let kind) = matter { kind } else { nil } }
        var isApproval: Bool { if case .approval = matter { true } else { false } }
        var questions: [CodexQuestion] { if case .questions(let questions, _) = matter { questions } else { [] } }
        var form: CodexForm { if case .questions(_, let form) = matter { form } else { .userInput } }
        /// The end of the call shows the decision.
        var isOfCall: Bool {
            switch matter {
            case .approval(.command?), .approval(.fileChange?), .approval(nil): true
            case .approval, .questions: false
            }
        }
    }

    private enum Matter {
        /// Nil if an earlier process asked.
        case approval(CodexAsk.Kind?)
        case questions([CodexQuestion], CodexForm)
    }

    private struct Name {
        /// Nil if the record of an earlier process lacks it.
        var fingerprint: AskFingerprint?
        /// True once the ask has ended; false for one that an earlier process showed and the server has not repeated.
        var isOver: Bool
    }

    private static let limit = 1_000

    private var open: [String: Open] = [:]
    /// Questions that an earlier process showed.
    private var earlier: Set<QuestionID> = []
    /// Answers to these questions, with the fingerprint of the text that was read, until the server repeats them.
    private var early: [QuestionID: (answer: QuestionAnswer, shown: AskFingerprint?)] = [:]
    /// Taken names that are not in `open`.
    private var names: [String: Name] = [:]

    var isEmpty: Bool { open.isEmpty }
    /// No ask waits for a person: the server's confirmation is due.
    var areAnswered: Bool { open.values.allSatisfy(\.isSent) }
    /// An earlier process's ask is neither repeated nor settled.
    var hasEarlier: Bool { !earlier.isEmpty || open.values.contains { $0.thread == nil } }
    /// An ask has no request on this connection.
    var hasUnasked: Bool { open.values.contains { $0.id == nil } }
    func holds(_ approval: ApprovalID) -> Bool { open[approval.text]?.isApproval == true }
    /// Fingerprint of an open ask, or of one that an earlier process showed.
    func fingerprint(of approval: ApprovalID) -> AskFingerprint? {
        open[approval.text].map(\.fingerprint) ?? names[approval.text]?.fingerprint
    }
    func knows(_ approval: ApprovalID) -> Bool { open[approval.text] != nil || names[approval.text]?.isOver == false }

    // MARK: The past

    mutating func adopt(_ questions: [QuestionID]) { earlier.formUnion(questions) }

    /// Adopts the shown asks, and decisions that may have left.
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

    /// The record of this yes has no fingerprint: if the server asks again, that is a new ask.
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

    /// An item has a new patch. Undecided asks about it are asked anew under the next name, because Codex applies the newest patch.
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

    /// Reuses the name of the same ask; another ask gets the next free one.
    private func named(_ ask: CodexAsk, as id: JSONText) -> CodexAsk? {
        (1...Self.limit).lazy.map { ask.named($0) }.first { isFree($0, as: id) }
    }

    private func isFree(_ ask: CodexAsk, as id: JSONText) -> Bool {
        if let known = open[ask.name] {
            guard known.id == nil || known.id == id else { return false }
            // Without a fingerprint only a denial applies to whatever the item shows.
            return known.fingerprint.map { $0 == ask.fingerprint } ?? (known.decision == .deny)
        }
        guard let name = names[ask.name] else { return true }
        // Undecided: the core compares the card of the earlier process with this ask.
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
            // A Stop overrides answers given before it.
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
        return questions.flatMap { known -> [Said] in
            guard let given = early.removeValue(forKey: known.question.id),
                given.shown.map({ $0 == AskFingerprint(of: known.question) }) ?? true
            else { return [] }
            guard open[name]?.answers[known.member] == nil else {
                return [Self.settled(known.question.id, .answered)]
            }
            return fill(known, of: name, with: given.answer)
        }
    }

    /// An answer that does not fit declines the form.
    private mutating func fill(_ asked: CodexQuestion, of name: String, with answer: QuestionAnswer) -> [Said] {
        let fits = open[name]?.form.takes(answer, to: asked) ?? true
        open[name]?.answers[asked.member] = fits ? answer : .declined
        return [Self.settled(asked.question.id, .answered)] + (fits ? [] : [.told(CodexForm.misfit)])
    }

    /// Refuses a request that no bubble can show.
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

    /// `isOver`: no turn continues. Otherwise the call shows what another client decided.
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

    /// The end of a call settles the asks about it.
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

    /// The end of the turn settles the asks of its thread. Asks of sub-agents are refused, because their bubble has closed.
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

    /// The turn ignored its interrupt: deny every open ask.
    mutating func refuseAll() -> [Said] {
        let refusals = open.keys.sorted().compactMap { name -> Said? in
            guard let known = open[name], !known.isSent, let id = known.id else { return nil }
            return .answer(
                id, known.kind.map { CodexAsk.result(.deny, of: $0, isStopping: true) } ?? known.form.refusal)
        }
        return refusals + closeAll()
    }

    /// Settles asks that were not repeated after the resume, and those that another client resolved. A declined call would have
    /// ended by now, as far as its frames were read.
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

    /// `elsewhere`: another client answered the questions.
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
        // The server drops a late denial once the approval has arrived.
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
            return fill(asked, of: name, with: answer) + reply(name)
        }
        guard earlier.contains(question) else { return [Self.settled(question, .unknown)] }
        early[question] = (answer, shown)
        return []
    }

    /// Replies once all questions are answered or one is declined.
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
