import Vocabulary

/// The cards of one ask, one after another; a question's appearances in the chat likewise.
///
/// States:
/// - `queued`: another long ask of the chat is before it. Can transition to `telling`, `posted` (nothing of it is beyond the card).
/// - `telling`: the parts that the card cannot hold are on their way. Can transition to `posted` when the relay has all of them.
/// - `posted`: the card is in its lane. Can transition to `shown` (the relay took it), `closed`.
/// - `shown`: the phone may have it. Can transition to `closed` when the relay says that it expired, or when its longest life is over
///   and the relay said nothing.
/// - `closed`: the ask waits at the agent without a card. Can transition to `posted`, with the next number; where it is in parts to `queued`.
///
/// Invariants: at most one card is open; each has a number of its own; nothing here ends the ask.
struct CardLife: Hashable, Sendable {
    enum State: Hashable {
        case queued
        case telling(Set<WholeMessage.Part>)
        case posted
        case shown(until: Instant)
        case closed
    }

    /// How long the relay's bucket of approvals takes to fill (relay.md#buckets).
    static let refill = Duration.seconds(5)
    /// The longest life that the relay gives a card (relay.md#requestapproval).
    static let longest = Duration.seconds(30 * 60)
    /// How long the relay's word may take after that.
    private static let grace = Duration.seconds(60)
    /// After the end of the card before, for the first return by itself, the second and the third. Later ones come at a sign of life alone.
    private static let returns = [Duration.seconds(5 * 60), .seconds(15 * 60), .seconds(60 * 60)]
    /// A sign of life brings a card back at most so often.
    private static let pause = Duration.seconds(5 * 60)
    /// No card is worth showing for less.
    private static let shortest = Duration.seconds(30)

    var state = State.posted
    var number = 1
    /// The number of the ask's first card: an earlier ask under its id, or a name that the relay has something else under, is before it.
    var first = 1
    /// Timed returns whose card the relay took.
    var returned = 0
    /// Cards that the relay took.
    var shownCards = 0
    /// When the agent asked. Nil: a record of an earlier version does not say.
    var askedAt: Instant?
    /// When the newest card was made.
    var postedAt: Instant?
    /// The next timed return; of a posted card, the one that it is.
    var dueAt: Instant?
    /// When the relay's bucket has filled after its limit closed one.
    var refilledAt: Instant?
    /// The relay's limit closed one already.
    var wasLimited = false

    init(number: Int = 1, askedAt: Instant? = nil) {
        (self.number, first, self.askedAt, postedAt) = (number, number, askedAt, askedAt)
    }

    var isClosed: Bool { state == .closed }
    /// The newest card is not the first.
    var cameBack: Bool { number > first }
    var isOnPhone: Bool {
        switch state {
        case .posted, .shown: true
        case .queued, .telling, .closed: false
        }
    }
    /// When the relay took the newest card; nil: it is not there.
    var shownSince: Instant? {
        if case .shown(let until) = state { until - Self.longest - Self.grace } else { nil }
    }
    /// A sign of life can bring it back. `isAskedFor`: at the word of the person alone.
    func mayReturn(isAskedFor: Bool, agentWaitsUntil end: Instant?, at now: Instant) -> Bool {
        guard isClosed, Self.isWorthIt(until: end, at: now) else { return false }
        guard !isAskedFor, cameBack, let postedAt else { return true }
        return postedAt + Self.pause <= now
    }

    static func isWorthIt(until end: Instant?, at now: Instant) -> Bool {
        end.map { now + shortest <= $0 } ?? true
    }

    // MARK: Transitions

    mutating func taken(at now: Instant) {
        guard state == .posted else { return }
        shownCards += 1
        // An undelivered card spends no return.
        if dueAt != nil { returned += 1 }
        dueAt = nil
        state = .shown(until: now + Self.longest + Self.grace)
    }

    mutating func close(agentWaitsUntil end: Instant?, at now: Instant) {
        state = .closed
        refilledAt = nil
        let next = Self.returns.indices.contains(returned) ? now + Self.returns[returned] : nil
        dueAt = next.flatMap { Self.isWorthIt(until: end, at: $0) ? $0 : nil }
    }

    /// The relay has too many cards: once more, when its bucket has filled again.
    mutating func closeForLimit(_ refill: Duration, agentWaitsUntil end: Instant?, at now: Instant) {
        close(agentWaitsUntil: end, at: now)
        if !wasLimited { refilledAt = now + refill }
        wasLimited = true
    }

    /// Not now: there is no agent, or too many came back within the hour. One that was not to come by itself does not do so later.
    mutating func postpone(to moment: Instant) {
        if let due = dueAt { dueAt = max(due, moment) }
        if refilledAt != nil { refilledAt = moment }
    }

    mutating func reopen(inParts: Bool, at now: Instant) {
        state = inParts ? .queued : .posted
        number += 1
        postedAt = now
        dueAt = dueAt.flatMap { $0 <= now ? $0 : nil }
        refilledAt = nil
    }

    /// The relay has something else under the name of the newest card: the same card under the next one.
    mutating func rename() {
        if !cameBack { first += 1 }
        number += 1
    }

    // MARK: Time

    enum Due: Hashable { case cardIsOver, returns, givesUp }

    func due(patience: Duration?, at now: Instant) -> Due? {
        guard let moment = nextDue(patience: patience), moment <= now else { return nil }
        guard let patience else { return .givesUp }
        if let askedAt, askedAt + patience <= now { return .givesUp }
        if case .shown = state { return .cardIsOver }
        return .returns
    }

    /// `patience`: nil where asks are not held. Then an ask ends with its card, whether the relay says so or not.
    func nextDue(patience: Duration?) -> Instant? {
        let givesUp = patience.flatMap { patience in askedAt.map { $0 + patience } }
        let own: Instant? =
            switch state {
            case .shown(let end): end
            case .closed: patience == nil ? .zero : [dueAt, refilledAt].compactMap(\.self).min()
            case .queued, .telling, .posted: nil
            }
        return [givesUp, own].compactMap(\.self).min()
    }
}

/// How many cards came back within the last hour, of all asks of an installation.
struct ReturnBudget: Hashable, Sendable {
    static let limit = 20
    private static let span = Duration.seconds(3600)

    private var returns: [Instant] = []

    /// Nil: a card may come back now, and counts. Otherwise the moment from which on one may.
    mutating func take(at now: Instant) -> Instant? {
        returns.removeAll { $0 + Self.span <= now }
        if returns.count >= Self.limit, let oldest = returns.min() { return oldest + Self.span }
        returns.append(now)
        return nil
    }

    /// From an earlier process.
    mutating func restore(_ moment: Instant) { if returns.count < Self.limit { returns.append(moment) } }
}

/// What the relay says with a decision that no person made (relay.md#others). Its documents name no words, so these are read by what is in
/// them; where in doubt a second question is better than a denial that no person made.
enum CardEnd: Hashable {
    case unanswered, limited, denied

    init(_ reason: String) {
        let words = reason.lowercased()
        if words.contains("expired") || words.contains("timeout") {
            self = .unanswered
        } else {
            self = words.contains("limit") ? .limited : .denied
        }
    }
}
