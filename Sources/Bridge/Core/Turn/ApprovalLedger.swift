import Vocabulary

/// The approvals of one turn: each decided once, forwarded once, and shown on one card after another (`CardLife`).
///
/// States of an approval:
/// - `open`: asked, undecided. Can transition to `decided` (a person on the phone, a stop, a refusal of ours, the end of the patience),
///   `settled` (decided elsewhere, expired, gone, or the turn has ended).
/// - `decided`: the decision was sent to the agent, or is owed to it while it is away. Can transition to `settled` when the
///   agent confirms or refuses it.
/// - `settled`: final. Later words about it are ignored.
///
/// Invariants:
/// - Nothing is approved except by a person's decision, and never more than the person allowed.
/// - A decision leaves once; one that was made while the agent was away leaves when it is back.
/// - After a stop nothing is approved: what was approved and not confirmed is denied.
/// - A decision holds for one fingerprint and its newest card. An ask that comes under a known id with another fingerprint is another ask:
///   it has a card of its own, and no decision of the earlier one reaches it.
/// - An unanswered card ends nothing.
struct ApprovalLedger: Sendable, Hashable {
    enum State: Hashable { case open, decided(ApprovalDecision), settled }

    struct Approval: Hashable {
        var cards: AskCards
        var subject: ApprovalRequest.Subject
        var expiresAt: Instant?
        var allowed: Set<ApprovalDecision>?
        var state: State { didSet { if state != .open { cards.parts = [] } } }
        /// The run ends without the decision, and a follow-up run comes (openclaw.md#approvals, shape 1).
        var detached = false
        var followUpBegan = false
        /// The decision was made while the agent was away, and has not left.
        var owed = false
        /// A person decided, here or elsewhere: a follow-up is due.
        var decidedByPerson = false
        /// The decision was a yes, and nothing contradicts it: its command may take long.
        var isAllowed = false
        /// The patience ended the ask; no person denied it.
        var isUnanswered = false
        /// The turn of the message that refused the ask.
        var refuser: TurnID?
        /// How far an `approveAlways` reaches.
        var scope = DecisionScope.unscoped
        /// Nil before the decision, or if a record of an earlier version does not say.
        var decidedAt: Instant?

        /// Not denied yet, or the denial has not reached the agent.
        var mayBeApproved: Bool {
            switch state {
            case .open: true
            case .decided(let decision): owed || decision != .deny
            case .settled: false
            }
        }
    }

    enum Asked: Hashable {
        case ask(ApprovalCard)
        /// The parts go first, once no other ask of the chat shows any.
        case askInParts
        case refuseSilently(ApprovalRequest.Subject)
        case refuseVisibly(ApprovalRequest.Subject)
        case known
    }

    enum Decided: Hashable {
        /// `shown`: the fingerprint that a yes holds for.
        case forward(ApprovalRequest.Subject, ApprovalGrant, shown: AskFingerprint?, detached: Bool)
        /// The agent is away: the decision is forwarded when it is back.
        case keep(ApprovalGrant, detached: Bool)
        case ignored
    }

    enum Settled: Hashable {
        /// The agent confirms our decision, which the card shows already.
        case confirmed
        /// The ask ended in another way, which the card does not show.
        case otherwise(ApprovalSettlement.Outcome, detached: Bool)
        case ignored
    }

    struct Decision: Hashable {
        var approval: ApprovalID
        var subject: ApprovalRequest.Subject
        var decision: ApprovalDecision
        var scope = DecisionScope.unscoped
        /// The time of the decision itself, not of its turn.
        var decidedAt: Instant?
        /// The moment at which the agent stops waiting, if it said so.
        var expiresAt: Instant?
        var fingerprint: AskFingerprint?
        /// The ask went unanswered; no person denied it.
        var isUnanswered = false
    }

    /// Asks of one turn beyond this limit are refused without a card.
    static let limit = 200

    var approvals: [ApprovalID: Approval] = [:]
    var order: [ApprovalID] = []
    /// The chat has had the line about a narrowed decision.
    var toldNarrowed = false
    /// Approvals that were marked before they were asked: the tool's result can overtake the broadcast.
    var detachedEarly: Set<ApprovalID> = []
    /// Bytes of the parts requested so far.
    var partBytes = 0
    /// How long an ask waits for a person, or nil if an unanswered card is a denial.
    var patience: Duration? = AskSettings().heldFor { didSet { reckonExpiry() } }
    /// The earliest deadline of an open ask.
    private(set) var nextExpiry: Instant?

    var detached: [ApprovalID] { order.filter { approvals[$0]?.detached == true } + detachedEarly.sorted() }
    /// An undecided detached approval exists.
    var hasDetachedOpen: Bool { approvals.values.contains { $0.detached && $0.state == .open } }
    /// A follow-up is due: that of a decided approval has not begun, or nothing but the pause is known.
    var awaitsFollowUp: Bool {
        !detachedEarly.isEmpty
            || approvals.values.contains { $0.detached && !$0.followUpBegan && $0.decidedByPerson }
    }

    /// The follow-up comes once the command has ended.
    var awaitsCommand: Bool {
        approvals.values.contains { $0.detached && !$0.followUpBegan && $0.decidedByPerson && $0.isAllowed }
    }

    /// A person decided while the agent was away, and the decision has not left.
    var hasOwed: Bool { approvals.values.contains { $0.owed && $0.decidedByPerson } }

    var open: [ApprovalID] { order.filter { approvals[$0]?.state == .open } }

    func knows(_ id: ApprovalID) -> Bool { approvals[id] != nil }
    var isEmpty: Bool { approvals.isEmpty }
    func isOpen(_ id: ApprovalID) -> Bool { approvals[id]?.state == .open }
    /// Bytes of cards in memory, which stay until they are settled.
    var heldBytes: Int {
        approvals.isEmpty
            ? 0
            : approvals.values.reduce(0) { sum, approval in
                guard approval.state != .settled else { return sum }
                let card = approval.cards.card.message.utf8.count + (approval.cards.card.command?.utf8.count ?? 0)
                return sum + card + approval.cards.parts.reduce(0) { $0 + $1.utf8.count }
            }
    }
    /// Nil if the ask is undecided or settled.
    func decision(on id: ApprovalID) -> ApprovalDecision? {
        if case .decided(let decision)? = approvals[id]?.state { decision } else { nil }
    }

    /// A person can still decide the ask, or has decided it. False if the relay would not show it, or if it expired.
    func isForPerson(_ id: ApprovalID) -> Bool {
        guard let approval = approvals[id] else { return false }
        return approval.state == .open || approval.decidedByPerson
    }

    // MARK: Runs that end for an approval

    mutating func markDetached(_ id: ApprovalID) {
        guard approvals[id] == nil else {
            approvals[id]?.detached = true
            return
        }
        if detachedEarly.count < Self.limit { detachedEarly.insert(id) }
    }

    /// The follow-up run of a detached approval has begun.
    mutating func followUpBegan(_ run: RunID) {
        for id in order where run.follows(id) { approvals[id]?.followUpBegan = true }
        detachedEarly = detachedEarly.filter { !run.follows($0) }
    }

    /// The follow-up ended without the outcome, which another run is to bring. False if `run` follows no approval.
    mutating func awaitsNext(behind run: RunID) -> Bool {
        let ids = order.filter { run.follows($0) }
        for id in ids { approvals[id]?.followUpBegan = false }
        return !ids.isEmpty
    }

    func expects(_ run: RunID) -> Bool {
        guard !approvals.isEmpty || !detachedEarly.isEmpty else { return false }
        return order.contains { run.follows($0) } || detachedEarly.contains { run.follows($0) }
    }

    // MARK: What is decided

    mutating func decided(
        _ id: ApprovalID, _ decision: ApprovalDecision, scope: DecisionScope = .unscoped,
        abilities: GrantAbilities = GrantAbilities(), agentAway: Bool, at now: Instant
    ) -> Decided {
        guard let approval = approvals[id], approval.state == .open else { return .ignored }
        let decision = approval.cards.canOnlyBeDenied ? .deny : decision
        let grant = ApprovalGrant.widest(decision, scope, abilities: abilities, allowed: approval.allowed)
        approvals[id]?.decidedByPerson = true
        approvals[id]?.isAllowed = grant.decision != .deny
        approvals[id]?.owed = agentAway
        approvals[id]?.scope = grant.scope
        approvals[id]?.decidedAt = now
        set(id, .decided(grant.decision))
        return agentAway
            ? .keep(grant, detached: approval.detached)
            : .forward(
                approval.subject, grant, shown: grant.decision == .deny ? nil : approval.cards.fingerprint,
                detached: approval.detached)
    }

    /// Whether the chat still lacks the line about a narrowed decision. False from the second call on.
    mutating func tellsOfNarrowing() -> Bool {
        defer { toldNarrowed = true }
        return !toldNarrowed
    }

    /// Whether the decision is the latest one, and the agent has not confirmed it.
    func stands(_ decision: ApprovalDecision, of id: ApprovalID, shown: AskFingerprint?) -> Bool {
        guard let approval = approvals[id] else { return false }
        return approval.state == .decided(decision) && !approval.owed && approval.cards.fingerprint == shown
    }

    /// Decisions that were sent or are about to leave, without a confirmation. A yes without a fingerprint is not repeated: the agent
    /// may ask something else under its id by now.
    var forwarded: [Decision] {
        order.compactMap { id in
            guard let approval = approvals[id], !approval.owed, case .decided(let decision) = approval.state,
                decision == .deny || approval.cards.fingerprint != nil
            else { return nil }
            return Self.decision(decision, of: id, approval)
        }
    }

    /// All asks, for the next process.
    var asks: [TurnRecord.Ask] {
        order.map { id in
            let approval = approvals[id]
            return TurnRecord.Ask(
                approval: id, fingerprint: approval?.cards.fingerprint, isOver: approval?.state == .settled)
        }
    }

    private static func decision(_ decision: ApprovalDecision, of id: ApprovalID, _ approval: Approval) -> Decision {
        Decision(
            approval: id, subject: approval.subject, decision: decision,
            scope: decision == .deny ? .unscoped : approval.scope, decidedAt: approval.decidedAt,
            expiresAt: approval.expiresAt, fingerprint: decision == .deny ? nil : approval.cards.fingerprint,
            isUnanswered: decision == .deny && approval.isUnanswered)
    }

    /// The agent is back, and gets the decisions that it missed.
    mutating func takeOwed() -> [Decision] {
        order.compactMap { id in
            guard let approval = approvals[id], approval.owed, case .decided(let decision) = approval.state else {
                return nil
            }
            approvals[id]?.owed = false
            return Self.decision(decision, of: id, approval)
        }
    }

    mutating func settled(_ settlement: ApprovalSettlement) -> Settled {
        guard let approval = approvals[settlement.id], approval.state != .settled else { return .ignored }
        set(settlement.id, .settled)
        approvals[settlement.id]?.owed = false
        switch (approval.state, settlement.outcome) {
        case (.decided(let ours), .decided(let theirs)) where (ours == .deny) == (theirs == .deny):
            return .confirmed
        // The follow-up run of a retried decision has begun, so the agent had received the first try (openclaw.md#others).
        case (.decided, .unknown) where approval.followUpBegan, (.decided, .inDoubt) where approval.followUpBegan,
            (.decided, .gone) where approval.followUpBegan:
            return .confirmed
        case (_, .decided):
            approvals[settlement.id]?.decidedByPerson = true
            approvals[settlement.id]?.isAllowed = settlement.outcome.allows
            return .otherwise(settlement.outcome, detached: approval.detached)
        // A follow-up may still come of it.
        case (.decided, .inDoubt): return .otherwise(.inDoubt, detached: approval.detached)
        case (_, .expired), (_, .unknown), (_, .cancelled), (_, .inDoubt), (_, .gone):
            approvals[settlement.id]?.decidedByPerson = false
            approvals[settlement.id]?.isAllowed = false
            return .otherwise(settlement.outcome, detached: approval.detached)
        }
    }

    enum Due: Hashable {
        /// The agent no longer waits; older builds do not say so (openclaw.md#approvals).
        case expired
        case card(CardLife.Due)
    }

    func due(at now: Instant) -> [(id: ApprovalID, due: Due)] {
        guard let nextExpiry, nextExpiry <= now else { return [] }
        return open.compactMap { id in
            guard let approval = approvals[id] else { return nil }
            if let end = approval.expiresAt, end <= now { return (id, .expired) }
            return approval.cards.life.due(patience: patience, at: now).map { (id, .card($0)) }
        }
    }

    struct Refused: Hashable {
        var card: ApprovalCard
        var isDetached: Bool
        /// Nil if the agent is away, and receives it once it is back.
        var decision: Decision?
    }

    /// The card to retry after a refusal. Nil if it was retried already, or nothing is left to decide.
    mutating func askWithLeast(_ id: ApprovalID, isTooLarge: Bool) -> ApprovalCard? {
        guard let approval = approvals[id], approval.state == .open, !approval.cards.askedWithLeast else { return nil }
        approvals[id]?.cards.askedWithLeast = true
        var card = approval.cards.card.least(atMost: CardText.fieldLimit)
        let limit = isTooLarge ? 4_000 : 16_000
        if card.message.utf8.count > limit {
            approvals[id]?.cards.isTooLong()
            card = approvals[id]?.cards.card.least(atMost: limit) ?? card
        }
        // Later cards are made from the whole one.
        return card
    }

    /// Denies an ask that could not be shown, so that no person can say yes, or that stayed unanswered for as long as an ask is held.
    mutating func refuse(
        _ id: ApprovalID, isUnanswered: Bool = false, agentAway: Bool, at now: Instant
    ) -> Refused? {
        guard let approval = approvals[id], approval.state == .open else { return nil }
        approvals[id]?.owed = agentAway
        approvals[id]?.isUnanswered = isUnanswered
        approvals[id]?.decidedAt = now
        set(id, .decided(.deny))
        let decision = approvals[id].map { Self.decision(.deny, of: id, $0) }
        return Refused(
            card: approval.cards.card, isDetached: approval.detached, decision: agentAway ? nil : decision)
    }

    /// The turn is being stopped: deny all that the agent has not confirmed, whatever was decided.
    mutating func denyOpen(at now: Instant) -> [Decision] {
        order.compactMap { id in
            guard let approval = approvals[id], approval.mayBeApproved else { return nil }
            approvals[id]?.owed = false
            approvals[id]?.isAllowed = false
            approvals[id]?.decidedAt = now
            set(id, .decided(.deny))
            return approvals[id].map { Self.decision(.deny, of: id, $0) }
        }
    }

    /// The turn has ended: later words about its approvals change nothing.
    mutating func close() {
        for id in order { approvals[id]?.state = .settled }
        detachedEarly = []
        nextExpiry = nil
    }

    private mutating func set(_ id: ApprovalID, _ state: State) {
        approvals[id]?.state = state
        reckonExpiry()
    }

    mutating func reckonExpiry() {
        nextExpiry = approvals.values.compactMap { approval in
            guard approval.state == .open else { return nil }
            return [approval.expiresAt, approval.cards.life.nextDue(patience: patience)].compactMap(\.self).min()
        }.min()
    }
}
