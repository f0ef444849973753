import AgentKit
import Vocabulary

/// The message of each run and the approvals that its turn raised, kept after the run's end for later histories.
///
/// - A run that an approval ended is followed by another run, which is awaited until it ends or is given up.
struct RunQuestions {
    struct Asked {
        var question: OpenClawHistory.Question
        var at: Instant
        /// The history has the question's row and an answer. A stopped run does not count: its row may be missing.
        var isAnswered = false
    }

    /// The follow-up of an approval that ended its run.
    private struct Awaited {
        let session: AgentSession
        /// Some follow-ups are lost (openclaw.md#approvals), so each has a deadline.
        var until: Instant
        var isDecided = false
        /// The command runs, and its answer may take as long as it does.
        var isAllowed = false
        var decidedAt: Instant?
        /// Follow-ups that have begun, where the gateway names none.
        var begun = 0
    }

    private static let limit = 512
    private static let awaitedLimit = 256
    /// From the decision to the follow-up's end.
    private static let followUpPatience = Duration.seconds(600)
    /// The same for an allowed command: the gateway gives it half an hour.
    private static let commandPatience = Duration.seconds(1_860)

    private var questions: [RunID: Asked] = [:]
    private var awaited: [ApprovalID: Awaited] = [:]

    subscript(run: RunID) -> Asked? { questions[run] }

    mutating func asked(_ question: OpenClawHistory.Question, at now: Instant) {
        questions[question.run] = Asked(question: question, at: now)
    }

    mutating func answered(_ run: RunID) { questions[run]?.isAnswered = true }

    /// The message left again: the process that has it is the one of this moment.
    mutating func left(_ run: RunID, at now: Instant) { questions[run]?.at = now }

    /// Drops ended runs if there is no room.
    mutating func makeRoom(keeping isOpen: (RunID) -> Bool) {
        if questions.count >= Self.limit { questions = questions.filter { isOpen($0.key) } }
    }

    /// The question, with the approvals of all other runs, so that it claims none of their follow-ups.
    func question(about run: RunID) -> OpenClawHistory.Question {
        var question = questions[run]?.question ?? .init(run: run)
        for (other, asked) in questions where other != run {
            question.otherApprovals.formUnion(asked.question.approvals)
        }
        question.otherApprovals.subtract(question.approvals)
        question.earlier = questions.values.count { $0.isAnswered && isEarlier($0.question, than: question) }
        return question
    }

    private func isEarlier(_ other: OpenClawHistory.Question, than question: OpenClawHistory.Question) -> Bool {
        guard other.run != question.run, other.session == question.session, let text = question.text,
            other.text?.trimmed == text.trimmed, let sent = question.sentAtMilliseconds,
            let before = other.sentAtMilliseconds
        else { return false }
        return before <= sent && before >= sent - OpenClawHistory.clockTolerance
    }

    // MARK: Follow-ups

    mutating func expectFollowUp(
        of approval: ApprovalID, after run: RunID?, in session: AgentSession?, at now: Instant
    ) {
        if let run { questions[origin(of: run)]?.question.approvals.insert(approval) }
        guard let session else { return }
        if awaited.count >= Self.awaitedLimit { awaited.removeAll() }
        awaited[approval] = Awaited(session: session, until: now + GatewayApprovals.life + Self.followUpPatience)
    }

    /// The approval's own expiry may be later than the default.
    mutating func mayBeAnswered(_ approval: ApprovalID, until end: Instant?) {
        guard let end, let known = awaited[approval] else { return }
        awaited[approval]?.until = max(known.until, end + Self.followUpPatience)
    }

    mutating func decided(_ approval: ApprovalID, allows: Bool, at now: Instant) {
        guard let known = awaited[approval], !known.isDecided else { return }
        awaited[approval]?.isDecided = true
        awaited[approval]?.isAllowed = allows
        awaited[approval]?.decidedAt = now
        awaited[approval]?.until =
            allows ? now + Self.commandPatience : min(known.until, now + Self.followUpPatience)
    }

    /// A name for the next follow-up in the session, or nil if none is awaited.
    mutating func nextFollowUp(in session: AgentSession, at now: Instant) -> RunID? {
        guard let approval = decided(in: session, at: now), let begun = awaited[approval]?.begun else { return nil }
        awaited[approval]?.begun += 1
        let first = RunID(followUpOf: approval)
        return begun == 0 ? first : RunID("\(first.text):\(begun + 1)")
    }

    /// When an approval of the run was decided whose follow-up is awaited.
    func decidedAt(for run: RunID) -> Instant? {
        guard let approvals = questions[run]?.question.approvals, !approvals.isEmpty else { return nil }
        return awaited.filter { approvals.contains($0.key) }.compactMap(\.value.decidedAt).max()
    }

    /// How long to await another follow-up after this one, or nil if none may come.
    func pause(behind run: RunID) -> Duration? {
        awaited.first { run.follows($0.key) }.map { $0.value.isAllowed ? Self.followUpPatience : .seconds(15) }
    }

    func isAllowed(behind run: RunID) -> Bool { awaited.contains { run.follows($0.key) && $0.value.isAllowed } }

    /// Whether the row is a message of ours.
    func isAsked(_ row: String) -> Bool {
        questions.values.contains { $0.question.text.map { AskedPrompt.holds(row, $0) } == true }
    }

    mutating func awaitsNext(behind run: RunID, until moment: Instant) {
        for approval in awaited.keys where run.follows(approval) { awaited[approval]?.until = moment }
    }

    /// A decided approval of this session whose follow-up may still begin.
    func decided(in session: AgentSession, at now: Instant) -> ApprovalID? {
        awaited.filter { $0.value.session == session && $0.value.isDecided && $0.value.until > now }.keys.min()
    }

    /// Whether the session awaits a follow-up of another run.
    func awaitsAnothers(than run: RunID, in session: AgentSession?, at now: Instant) -> Bool {
        let ours = questions[run]?.question.approvals ?? []
        return awaited.contains { approval, followUp in
            followUp.session == session && followUp.until > now && !ours.contains(approval)
        }
    }

    /// The run that a follow-up belongs to: approvals of the follow-up count as that run's.
    private func origin(of run: RunID) -> RunID {
        guard run.isFollowUp else { return run }
        let asked = questions.filter {
            $0.value.question.approvals.contains { run.follows($0) }
        }
        return asked.keys.min() ?? run
    }

    mutating func ended(_ run: RunID) {
        guard run.isFollowUp else { return }
        awaited = awaited.filter { !run.follows($0.key) }
    }
}
