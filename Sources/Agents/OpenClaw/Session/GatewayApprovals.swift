import Vocabulary

/// Decisions on their way to the gateway, and what is known of the questions they answer.
///
/// - A decision is kept until the gateway has answered it, its question is settled, or the question has expired; a lost socket
///   makes it due again.
/// - A yes leaves for what was shown alone: on each socket it waits until its question has been seen there, or the lists of open ones
///   are here without it.
/// - Of two decisions about one question the later one counts; an answer to the earlier one is not its answer (`awaited(_:as:)`).
/// - A question that was open when this socket asked for the list is remembered for as long as it is asked what became of a run
///   of its session, also when it is settled meanwhile: the answer may be older than the settlement.
struct GatewayApprovals {
    struct Decision {
        let subject: ApprovalRequest.Subject
        let decision: ApprovalDecision
        let expiresAt: Instant
        /// Nil for a denial of an unseen question, which holds for whatever has its name.
        fileprivate(set) var fingerprint: AskFingerprint?
        /// The question was seen on this socket.
        fileprivate(set) var isSeen = false
        /// When it left first; it may have arrived then.
        fileprivate(set) var askedAt: Instant?
        fileprivate(set) var tries = 0
        fileprivate(set) var errand = Errand.due

        init(
            _ decision: ApprovalDecision, on subject: ApprovalRequest.Subject, expiresAt: Instant,
            fingerprint: AskFingerprint? = nil, askedAt: Instant? = nil, tries: Int = 0
        ) {
            self.fingerprint = fingerprint
            self.decision = decision
            self.subject = subject
            self.expiresAt = expiresAt
            self.askedAt = askedAt
            self.tries = tries
        }
    }

    private struct Asked {
        let fingerprint: AskFingerprint
        let expiresAt: Instant?
    }

    /// A question that was open when this socket asked.
    private struct Listed {
        let session: AgentSession
        /// While it was asked what became of its session's run.
        var isSettled: Bool
    }

    private static let decisionsLimit = 256
    private static let listedLimit = 256
    private static let askedLimit = 1_000
    /// How long a yes waits for a list that does not come, before that is asked for again.
    static let listPause = Duration.seconds(15)
    /// Where the gateway does not say when an approval expires: its longest life by default (openclaw.md#approvals).
    static let life = Duration.seconds(1_800)

    private var decisions: [ApprovalID: Decision] = [:]
    /// Each yes whose question this socket has just shown.
    private var shown: [ApprovalID] = []
    private var questions: [ApprovalID: Asked] = [:]
    /// This socket has answered with all open questions, and none of them was forgotten.
    private(set) var areListed = false
    /// One of the lists that this socket was asked for did not come.
    var lacksList = false
    private var listing: [ApprovalID: Listed] = [:]
    /// Questions of an earlier process of the gateway, which the list of this one may not have.
    private var doubtful: Set<ApprovalID> = []
    /// Questions that an earlier process of this bridge had open, each with a moment before it was asked.
    private var earlier: [ApprovalID: Instant] = [:]

    // MARK: Decisions

    subscript(approval: ApprovalID) -> Decision? { decisions[approval] }

    /// All that is kept, in an order that is the same everywhere.
    var kept: [ApprovalID] { decisions.keys.sorted() }

    func due(at now: Instant) -> [ApprovalID] {
        kept.filter { decisions[$0]?.errand.resendAt.map { $0 <= now } == true }
    }

    /// Those past their deadline. One that the core asked for is answered.
    func expired(at now: Instant) -> [ApprovalID] {
        kept.filter { decisions[$0].map { $0.errand != .asked && $0.expiresAt <= now } == true }
    }

    var nextResend: Instant? { decisions.values.lazy.compactMap(\.errand.resendAt).min() }

    var nextExpiry: Instant? { decisions.values.lazy.filter { $0.errand != .asked }.map(\.expiresAt).min() }

    func hasRoom(for approval: ApprovalID) -> Bool {
        decisions[approval] != nil || decisions.count < Self.decisionsLimit
    }

    func expiresAt(_ approval: ApprovalID, at now: Instant) -> Instant {
        questions[approval]?.expiresAt ?? now + Self.life
    }

    /// Refuses a yes (false) where another question has this name, or nothing says what was allowed.
    mutating func keep(_ decision: Decision, about approval: ApprovalID) -> Bool {
        let asked = questions[approval]?.fingerprint
        if decision.decision != .deny {
            guard let shown = decision.fingerprint ?? asked, asked == nil || asked == shown else { return false }
        }
        decisions[approval] = decision
        decisions[approval]?.fingerprint = asked ?? decision.fingerprint
        decisions[approval]?.isSeen = asked != nil
        return true
    }

    /// A yes whose question this socket has not shown yet.
    func waitsForList(_ approval: ApprovalID) -> Bool {
        guard let known = decisions[approval], known.decision != .deny else { return false }
        return !known.isSeen && !areListed
    }

    /// Each yes that waited for its question, which was seen now.
    mutating func takeShown() -> [ApprovalID] {
        defer { shown.removeAll() }
        return shown
    }

    /// All lists of this socket are here. Those that waited for it.
    mutating func listsCame() -> [ApprovalID] {
        let waiting = kept.filter { waitsForList($0) }
        areListed = true
        return waiting
    }

    /// Nil: it was replaced, or its question is settled.
    func awaited(_ approval: ApprovalID, as decision: ApprovalDecision) -> Decision? {
        decisions[approval].flatMap { $0.decision == decision ? $0 : nil }
    }

    mutating func asked(_ approval: ApprovalID, at now: Instant) {
        guard let known = decisions[approval] else { return }
        decisions[approval]?.errand = .asked
        decisions[approval]?.askedAt = known.askedAt ?? now
        decisions[approval]?.tries += 1
    }

    mutating func putOff(_ approval: ApprovalID, until moment: Instant) {
        decisions[approval]?.errand = .putOff(until: moment)
    }

    // MARK: Questions

    mutating func requested(_ request: ApprovalRequest) {
        doubtful.remove(request.id)
        let fingerprint = AskFingerprint(of: request)
        // What was decided was not said of this: it is another one under the same name.
        if let known = decisions[request.id]?.fingerprint, known != fingerprint { decisions[request.id] = nil }
        if waitsForList(request.id), decisions[request.id]?.errand != .asked { shown.append(request.id) }
        decisions[request.id]?.isSeen = true
        if questions.count >= Self.askedLimit, questions[request.id] == nil {
            questions.removeAll()
            areListed = false
        }
        questions[request.id] = Asked(fingerprint: fingerprint, expiresAt: request.expiresAt)
    }

    /// The process that asked them is gone.
    mutating func gatewayRestarted() { doubtful = Set(questions.keys) }

    mutating func wasOpen(_ approval: ApprovalID, since moment: Instant) {
        if earlier.count < Self.askedLimit { earlier[approval] = moment }
    }

    /// A process of the gateway greets this one for the first time.
    mutating func gatewayBegan(_ began: Instant?) {
        if let began { doubtful.formUnion(earlier.filter { $0.value < began }.keys) }
        earlier.removeAll()
    }

    /// Those that the new process does not know: all lists are here.
    mutating func takeDead() -> [ApprovalID] {
        defer { doubtful.removeAll() }
        return doubtful.sorted()
    }

    /// It is in the list of open questions that this socket asked for.
    mutating func listed(_ approval: ApprovalID, in session: AgentSession?) {
        guard listing.count < Self.listedLimit else { return }
        listing[approval] = session.map { Listed(session: $0, isSettled: listing[approval]?.isSettled ?? false) }
    }

    /// The exec questions that were open in a session when this socket asked.
    func listed(in session: AgentSession) -> [ApprovalID] {
        listing.filter { $0.value.session == session }.keys.sorted()
    }

    /// `isSessionAsked`: whether it is being asked what became of a run of the question's session. A decision can overtake that
    /// answer: while it is awaited, its questions are remembered. A run that an inline approval held would go on after the
    /// decision, and not be over in an answer that was under way by then.
    mutating func settled(_ approval: ApprovalID, isSessionAsked: (AgentSession) -> Bool) {
        decisions[approval] = nil
        questions[approval] = nil
        doubtful.remove(approval)
        guard let session = listing[approval]?.session else { return }
        if isSessionAsked(session) {
            listing[approval]?.isSettled = true
        } else {
            listing[approval] = nil
        }
    }

    /// No run of the session is asked about any more.
    mutating func forgetSettled(in session: AgentSession) {
        guard listing.values.contains(where: { $0.isSettled && $0.session == session }) else { return }
        listing = listing.filter { !$0.value.isSettled || $0.value.session != session }
    }

    mutating func socketLost() {
        listing.removeAll()
        (areListed, lacksList) = (false, false)
        shown.removeAll()
        for approval in decisions.keys {
            decisions[approval]?.errand = .due
            decisions[approval]?.isSeen = false
        }
    }
}
