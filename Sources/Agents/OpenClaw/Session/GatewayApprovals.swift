import Vocabulary

/// Decisions on their way to the gateway, and the questions that they answer.
///
/// - A decision is kept until the gateway has answered it, its question is settled,
///   or the question has expired; a lost socket makes it due again.
/// - A yes applies only to the question that was shown. On each socket it waits until its
///   question was seen there, or until the lists of open questions arrived without it.
/// - Of two decisions about one question the later counts; the answer to the earlier one is dropped (`awaited(_:as:)`).
/// - A question that was open when this socket requested the list is kept while a run of its session is looked
///   up, even if it is settled meanwhile: the look-up's answer may be older than the settlement.
struct GatewayApprovals {
    struct Decision {
        let subject: ApprovalRequest.Subject
        let decision: ApprovalDecision
        let expiresAt: Instant
        /// The question's fingerprint, or nil for a denial of an unseen question, which applies to any question of that name.
        fileprivate(set) var fingerprint: AskFingerprint?
        /// The question was seen on this socket.
        fileprivate(set) var isSeen = false
        /// When the decision was first sent; the gateway may have it since then.
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

    /// A question that was open when this socket requested the list.
    private struct Listed {
        let session: AgentSession
        /// Settled while a run of its session was looked up.
        var isSettled: Bool
    }

    private static let decisionsLimit = 256
    private static let listedLimit = 256
    private static let askedLimit = 1_000
    /// How long a yes waits for the list before the list is requested again.
    static let listPause = Duration.seconds(15)
    /// Lifetime of an approval without an expiry: the gateway's longest default (openclaw.md#approvals).
    static let life = Duration.seconds(1_800)

    private var decisions: [ApprovalID: Decision] = [:]
    /// Decisions of yes whose question this socket has just shown.
    private var shown: [ApprovalID] = []
    private var questions: [ApprovalID: Asked] = [:]
    /// The lists of this socket arrived, and none of their questions was dropped since.
    private(set) var areListed = false
    /// A list that this socket requested did not arrive.
    var lacksList = false
    private var listing: [ApprovalID: Listed] = [:]
    /// Questions of the gateway's earlier process, which the list of this one may lack.
    private var doubtful: Set<ApprovalID> = []
    /// Questions that an earlier process of this bridge had open, each with a moment before it was raised.
    private var earlier: [ApprovalID: Instant] = [:]

    // MARK: Decisions

    subscript(approval: ApprovalID) -> Decision? { decisions[approval] }

    /// All kept decisions, sorted.
    var kept: [ApprovalID] { decisions.keys.sorted() }

    func due(at now: Instant) -> [ApprovalID] {
        kept.filter { decisions[$0]?.errand.resendAt.map { $0 <= now } == true }
    }

    /// Decisions past their deadline, without those that are in flight.
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

    /// Keeps a decision. False for a yes whose question differs from the one of that name, or whose question was never shown.
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

    /// Whether this is a yes whose question this socket has not shown yet.
    func waitsForList(_ approval: ApprovalID) -> Bool {
        guard let known = decisions[approval], known.decision != .deny else { return false }
        return !known.isSeen && !areListed
    }

    /// Takes each yes that waited for its question, which is now shown.
    mutating func takeShown() -> [ApprovalID] {
        defer { shown.removeAll() }
        return shown
    }

    /// All lists of this socket arrived. Returns each yes that waited for them.
    mutating func listsCame() -> [ApprovalID] {
        let waiting = kept.filter { waitsForList($0) }
        areListed = true
        return waiting
    }

    /// The decision, or nil if it was replaced or its question is settled.
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
        // The kept decision was about another question of the same name.
        if let known = decisions[request.id]?.fingerprint, known != fingerprint { decisions[request.id] = nil }
        if waitsForList(request.id), decisions[request.id]?.errand != .asked { shown.append(request.id) }
        decisions[request.id]?.isSeen = true
        if questions.count >= Self.askedLimit, questions[request.id] == nil {
            questions.removeAll()
            areListed = false
        }
        questions[request.id] = Asked(fingerprint: fingerprint, expiresAt: request.expiresAt)
    }

    /// The process that raised the open questions is gone.
    mutating func gatewayRestarted() { doubtful = Set(questions.keys) }

    mutating func wasOpen(_ approval: ApprovalID, since moment: Instant) {
        if earlier.count < Self.askedLimit { earlier[approval] = moment }
    }

    /// The gateway's process greets this process of the bridge for the first time.
    mutating func gatewayBegan(_ began: Instant?) {
        if let began { doubtful.formUnion(earlier.filter { $0.value < began }.keys) }
        earlier.removeAll()
    }

    /// Takes the questions that the new process does not know, once all lists are here.
    mutating func takeDead() -> [ApprovalID] {
        defer { doubtful.removeAll() }
        return doubtful.sorted()
    }

    /// The list of open questions that this socket requested has the question.
    mutating func listed(_ approval: ApprovalID, in session: AgentSession?) {
        guard listing.count < Self.listedLimit else { return }
        listing[approval] = session.map { Listed(session: $0, isSettled: listing[approval]?.isSettled ?? false) }
    }

    /// Exec questions that were open in the session when this socket requested the list.
    func listed(in session: AgentSession) -> [ApprovalID] {
        listing.filter { $0.value.session == session }.keys.sorted()
    }

    /// `isSessionAsked`: whether a run of the question's session is being looked up. A decision can overtake the
    /// look-up's answer, so the question is kept until then: a run held by an inline approval continues after the
    /// decision, and an answer sent before it would not report the run as over.
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

    /// The last look-up of the session has ended.
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
