import Vocabulary

/// The approvals of one turn: each decided once, forwarded once, and shown on one card after another (`CardLife`).
///
/// States of an approval:
/// - `open`: asked, undecided. Can transition to `decided` (a person on the phone, a stop, a refusal of ours, the end of the patience),
///   `settled` (elsewhere, expired, gone, or the turn is over).
/// - `decided`: the decision was sent to the agent, or is owed to it while it is away. Can transition to `settled` when the
///   agent confirms or refuses it.
/// - `settled`: nothing more is done, whatever is said about it.
///
/// Invariants:
/// - Nothing is approved but by a person's decision, and never more than the person said.
/// - A decision leaves once; one that was made while the agent was away leaves when it is back.
/// - After a stop nothing is approved: what was approved and not confirmed is denied.
/// - A decision holds for one fingerprint and for the newest card of it. An ask that comes under a known id with another fingerprint is
///   another ask: it has a card of its own, and no decision of the earlier one reaches it.
/// - An unanswered card ends nothing.
struct ApprovalLedger: Sendable, Hashable {
    enum State: Hashable { case open, decided(ApprovalDecision), settled }

    struct Approval: Hashable {
        var cards: AskCards
        var subject: ApprovalRequest.Subject
        var expiresAt: Instant?
        var allowed: Set<ApprovalDecision>?
        var state: State { didSet { if state != .open { cards.parts = [] } } }
        /// The run ends without it and a follow-up run comes (openclaw.md#approvals, shape 1).
        var detached = false
        var followUpBegan = false
        /// Decided while the agent was away.
        var owed = false
        /// A person said so, here or elsewhere: something is to come of it.
        var decidedByPerson = false
        /// That was a yes, and nothing is known against it: its command may take long.
        var isAllowed = false
        /// No person denied it: the patience is over.
        var isUnanswered = false
        /// The turn of the message that refused it.
        var refuser: TurnID?
        /// How far an `approveAlways` reaches.
        var scope = DecisionScope.unscoped
        /// Nil: not yet, or a record of an earlier version does not say.
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
        /// Its parts go first, when no other ask of the chat has any.
        case askInParts
        case refuseSilently(ApprovalRequest.Subject)
        case refuseVisibly(ApprovalRequest.Subject)
        case known
    }

    enum Decided: Hashable {
        /// `shown`: of a yes.
        case forward(ApprovalRequest.Subject, ApprovalGrant, shown: AskFingerprint?, detached: Bool)
        /// The agent is away: the decision is forwarded when it is back.
        case keep(ApprovalGrant, detached: Bool)
        case ignored
    }

    enum Settled: Hashable {
        /// As decided here: the card shows it already.
        case confirmed
        /// Otherwise: the card does not show it.
        case otherwise(ApprovalSettlement.Outcome, detached: Bool)
        case ignored
    }

    struct Decision: Hashable {
        var approval: ApprovalID
        var subject: ApprovalRequest.Subject
        var decision: ApprovalDecision
        var scope = DecisionScope.unscoped
        /// A decision is as old as itself, not as its turn.
        var decidedAt: Instant?
        /// When the agent stops waiting, if it said so.
        var expiresAt: Instant?
        var fingerprint: AskFingerprint?
        /// No person denied it: it went unanswered.
        var isUnanswered = false
    }

    /// More than this in one turn are refused without a card.
    static let limit = 200

    var approvals: [ApprovalID: Approval] = [:]
    var order: [ApprovalID] = []
    /// A decision was narrowed, and the chat has had the line about it.
    var toldNarrowed = false
    /// Marked before they were asked: the tool's result can overtake the broadcast.
    var detachedEarly: Set<ApprovalID> = []
    /// Bytes of parts that were asked for.
    var partBytes = 0
    /// How long an ask waits for a person; nil: an unanswered card is a denial.
    var patience: Duration? = AskSettings().heldFor { didSet { reckonExpiry() } }
    /// The earliest moment at which something is due of those that are open.
    private(set) var nextExpiry: Instant?

    var detached: [ApprovalID] { order.filter { approvals[$0]?.detached == true } + detachedEarly.sorted() }
    /// A detached approval that is undecided.
    var hasDetachedOpen: Bool { approvals.values.contains { $0.detached && $0.state == .open } }
    /// Something is to come after the run: a decided one whose follow-up has not begun, or one of which only the pause is known.
    var awaitsFollowUp: Bool {
        !detachedEarly.isEmpty
            || approvals.values.contains { $0.detached && !$0.followUpBegan && $0.decidedByPerson }
    }

    /// Its follow-up comes when the command has ended.
    var awaitsCommand: Bool {
        approvals.values.contains { $0.detached && !$0.followUpBegan && $0.decidedByPerson && $0.isAllowed }
    }

    /// A person decided while the agent was away.
    var hasOwed: Bool { approvals.values.contains { $0.owed && $0.decidedByPerson } }

    var open: [ApprovalID] { order.filter { approvals[$0]?.state == .open } }

    func knows(_ id: ApprovalID) -> Bool { approvals[id] != nil }
    var isEmpty: Bool { approvals.isEmpty }
    func isOpen(_ id: ApprovalID) -> Bool { approvals[id]?.state == .open }
    /// Bytes of cards that are kept until they are decided.
    var heldBytes: Int {
        approvals.isEmpty
            ? 0
            : approvals.values.reduce(0) { sum, approval in
                guard approval.state != .settled else { return sum }
                let card = approval.cards.card.message.utf8.count + (approval.cards.card.command?.utf8.count ?? 0)
                return sum + card + approval.cards.parts.reduce(0) { $0 + $1.utf8.count }
            }
    }
    /// Nil: undecided, or settled.
    func decision(on id: ApprovalID) -> ApprovalDecision? {
        if case .decided(let decision)? = approvals[id]?.state { decision } else { nil }
    }

    /// A person can decide it still, or has decided it. Not so when the relay would not show it, or when it has expired.
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

    /// The run that comes after a detached approval is there.
    mutating func followUpBegan(_ run: RunID) {
        for id in order where run.follows(id) { approvals[id]?.followUpBegan = true }
        detachedEarly = detachedEarly.filter { !run.follows($0) }
    }

    /// It did not say what it was awaited for. False: it follows none.
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

    /// True the first time.
    mutating func tellsOfNarrowing() -> Bool {
        defer { toldNarrowed = true }
        return !toldNarrowed
    }

    /// It is what was decided last, and the agent has not confirmed it.
    func stands(_ decision: ApprovalDecision, of id: ApprovalID, shown: AskFingerprint?) -> Bool {
        guard let approval = approvals[id] else { return false }
        return approval.state == .decided(decision) && !approval.owed && approval.cards.fingerprint == shown
    }

    /// Sent to the agent, or about to be, and not confirmed. A yes without a fingerprint is not said again: the agent may ask something
    /// else under its id by now.
    var forwarded: [Decision] {
        order.compactMap { id in
            guard let approval = approvals[id], !approval.owed, case .decided(let decision) = approval.state,
                decision == .deny || approval.cards.fingerprint != nil
            else { return nil }
            return Self.decision(decision, of: id, approval)
        }
    }

    /// All of them, for the next process.
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

    /// The agent is back: what was decided meanwhile.
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
        // A retried decision: the follow-up run has begun, so the agent had received the first try (openclaw.md#others).
        case (.decided, .unknown) where approval.followUpBegan, (.decided, .inDoubt) where approval.followUpBegan,
            (.decided, .gone) where approval.followUpBegan:
            return .confirmed
        case (_, .decided):
            approvals[settlement.id]?.decidedByPerson = true
            approvals[settlement.id]?.isAllowed = settlement.outcome.allows
            return .otherwise(settlement.outcome, detached: approval.detached)
        // Something may come of it.
        case (.decided, .inDoubt): return .otherwise(.inDoubt, detached: approval.detached)
        case (_, .expired), (_, .unknown), (_, .cancelled), (_, .inDoubt), (_, .gone):
            approvals[settlement.id]?.decidedByPerson = false
            approvals[settlement.id]?.isAllowed = false
            return .otherwise(settlement.outcome, detached: approval.detached)
        }
    }

    enum Due: Hashable {
        /// The agent waits no longer; it does not say so in older builds (openclaw.md#approvals).
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
        /// Nil: the agent is away, and receives it when it is back.
        var decision: Decision?
    }

    /// The relay refused the card: what to ask once more. Nil: that was done, or there is nothing left to decide.
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

    /// The card could not be shown, so that no person can say yes; or it stayed unanswered for as long as an ask is held.
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

    /// The turn is being stopped: all that the agent has not confirmed is denied, whatever was decided.
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

    /// The turn is over: nothing that is said about an approval changes anything.
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
