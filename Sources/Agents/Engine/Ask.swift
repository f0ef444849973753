package import Vocabulary

/// A question of a child to a person. Its name is the child's own and the text of the card's `ApprovalID`; no other ask of any chat
/// or process has it. An agent that counts its asks anew in each process puts a prefix of its own before the number.
package struct Ask<Slip: Hashable & Sendable>: Hashable, Sendable {
    package enum Content: Hashable, Sendable {
        case card(ApprovalRequest)
        /// Questions asked one after the other and answered together.
        case questions([Question])
        /// No person can answer the ask.
        case unshowable
    }

    package var name: String
    /// The agent's word for this kind of ask, for the log.
    package var kind: String
    package var content: Content
    package var slip: Slip
    /// The run of the ask, or nil if the ask belongs to the session.
    package var run: RunID?
    /// When the agent stops waiting by itself.
    package var expiresAt: Instant?

    package init(
        _ name: String, kind: String, _ content: Content, slip: Slip, run: RunID?, expiresAt: Instant? = nil
    ) {
        self.name = name
        self.kind = kind
        self.content = content
        self.slip = slip
        self.run = run
        self.expiresAt = expiresAt
    }
}

package enum Verdict: Hashable, Sendable {
    case allow
    case allowAlways(DecisionScope)
    /// `words`: the person's wish instead.
    case deny(words: String?)
    /// The answers in the order of the questions.
    case answers([QuestionAnswer])
    /// No person answered.
    case unanswered
    /// No person will be asked: the run stops or has ended, or the ask cannot be shown.
    case dropped
}

/// The asks that one child waits for.
///
/// | state | means | leads to |
/// |---|---|---|
/// | open | a person is asked; of several questions some may have their answer | `denied`: the words of the refusal follow · its end: with a verdict, its time, its run, its child, or by the agent |
/// | denied | settled for the person; the denial leaves with the words | its end: with them, or without after ten seconds |
///
/// Nothing confirms a verdict: a written one counts as taken.
///
/// - An ask ends here a moment before the agent's own timeout, which brings no frame and whose timer started earlier. A later
///   answer would be reported as given, and ignored.
struct Asks<Slip: Hashable & Sendable> {
    struct Open {
        var ask: Ask<Slip>
        var askedAt: Instant
        var expiresAt: Instant?
        var answers: [QuestionID: QuestionAnswer] = [:]
        var isDenied = false
        /// Run of the ask's own, which ends with it.
        var ownRun: RunID?
    }

    /// Longest wait of a denial for its words.
    private static var wordsPatience: Duration { .seconds(10) }

    private static var limit: Int { 100 }
    private static var margin: Duration { .milliseconds(500) }

    private var open: [String: Open] = [:]
    /// The ask of each question.
    private var questions: [QuestionID: String] = [:]

    var isEmpty: Bool { open.isEmpty }
    // Closures, not key paths: the runtime builds the key path of a generic type anew at each call.
    var waitsSince: Instant? { open.values.lazy.filter { !$0.isDenied }.map { $0.askedAt }.min() }
    var nextExpiry: Instant? { open.values.lazy.compactMap { $0.expiresAt }.min() }
    var isFull: Bool { open.count >= Self.limit }

    func holds(_ approval: ApprovalID) -> Bool { card(approval) != nil }

    func card(_ approval: ApprovalID) -> (ask: Ask<Slip>, request: ApprovalRequest)? {
        guard let asked = open[approval.text], !asked.isDenied, case .card(let request) = asked.ask.content else {
            return nil
        }
        return (asked.ask, request)
    }

    mutating func deny(_ name: String, at now: Instant) {
        open[name]?.isDenied = true
        open[name]?.expiresAt = now + Self.wordsPatience
    }

    /// The ask whose denial waits for its words.
    mutating func takeDenied() -> Open? {
        let denied = open.filter { $0.value.isDenied }.min {
            ($0.value.expiresAt ?? .zero, $0.key) < ($1.value.expiresAt ?? .zero, $1.key)
        }
        return denied.flatMap { take($0.key) }
    }

    func question(_ id: QuestionID) -> (ask: Ask<Slip>, question: Question)? {
        guard let name = questions[id], let ask = open[name]?.ask, case .questions(let all) = ask.content,
            let question = all.first(where: { $0.id == id })
        else { return nil }
        return (ask, question)
    }

    mutating func asked(_ ask: Ask<Slip>, ownRun: RunID? = nil, at now: Instant) {
        open[ask.name] = Open(
            ask: ask, askedAt: now,
            expiresAt: ask.expiresAt.map { max($0 - Self.margin, now + ($0 - now) / 2) }, ownRun: ownRun)
        if case .questions(let all) = ask.content { for question in all { questions[question.id] = ask.name } }
    }

    /// All answers of the ask, once the last of them is there.
    mutating func answered(_ id: QuestionID, _ answer: QuestionAnswer) -> [QuestionAnswer]? {
        guard let name = questions[id], var asked = open[name], case .questions(let all) = asked.ask.content else {
            return nil
        }
        asked.answers[id] = answer
        open[name] = asked
        let answers = all.compactMap { asked.answers[$0.id] }
        return answers.count == all.count ? answers : nil
    }

    mutating func take(_ name: String) -> Open? {
        guard let taken = open.removeValue(forKey: name) else { return nil }
        if case .questions(let all) = taken.ask.content { for question in all { questions[question.id] = nil } }
        return taken
    }

    /// The agent settled a part of the ask by itself, as the dialect reported.
    mutating func forget(_ part: String) -> Open? {
        (questions[QuestionID(part)] ?? (open[part] == nil ? nil : part)).flatMap { take($0) }
    }

    mutating func takeExpired(at now: Instant) -> [Open] { take { $0.expiresAt.map { $0 <= now } ?? false } }
    mutating func takeAll() -> [Open] { take { _ in true } }
    /// Takes the asks of a run, and those of the session if no ask outlives a run.
    mutating func take(of run: RunID, withSessions: Bool) -> [Open] {
        take { $0.ask.run == run || withSessions && $0.ask.run == nil }
    }

    private mutating func take(_ isMeant: (Open) -> Bool) -> [Open] {
        open.filter { isMeant($0.value) }.keys.sorted().compactMap { take($0) }
    }
}

extension Asks.Open {
    /// Questions without an answer, which end with the ask; answered ones were settled before.
    var openQuestions: [QuestionID] {
        guard case .questions(let all) = ask.content else { return [] }
        return all.map(\.id).filter { answers[$0] == nil }
    }
}

extension RunEvent {
    /// Name of the approval or question that the event settles.
    var settledAsk: String? {
        switch self {
        case .approvalSettled(let settlement): settlement.id.text
        case .questionSettled(let settlement): settlement.id.text
        case .started, .text, .tool, .approvalRequested, .asked, .paused, .retrying, .finished, .failed, .alive: nil
        }
    }
}
