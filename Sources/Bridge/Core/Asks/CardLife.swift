import Vocabulary

/// The cards of one ask, one after another; a question's appearances in the chat likewise.
///
/// States:
/// - `queued`: another long ask of the chat goes first. Can transition to `telling`, `posted` (the card holds all of it).
/// - `telling`: the parts that the card cannot hold are on their way. Can transition to `posted` when the relay has all of them.
/// - `posted`: the card is in its lane. Can transition to `shown` (the relay took it), `closed`.
/// - `shown`: the phone may have it. Can transition to `closed` when the relay says that it expired, or after its longest life without
///   a word from the relay.
/// - `closed`: the ask waits at the agent without a card. Can transition to `posted` under the next number, or to `queued` if it is
///   in parts.
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
    /// How long the relay's word about that end may take.
    private static let grace = Duration.seconds(60)
    /// Pauses between the end of a card and the first, second and third timed return. Later returns need a sign of life.
    private static let returns = [Duration.seconds(5 * 60), .seconds(15 * 60), .seconds(60 * 60)]
    /// Pause between two returns after signs of life.
    private static let pause = Duration.seconds(5 * 60)
    /// A card that could live for less is not shown.
    private static let shortest = Duration.seconds(30)

    var state = State.posted
    var number = 1
    /// The number of the ask's first card. Lower numbers went to an earlier ask under its id, or to names under which the relay has
    /// something else.
    var first = 1
    /// Timed returns whose card the relay took.
    var returned = 0
    /// Cards that the relay took.
    var shownCards = 0
    /// The moment at which the agent asked, or nil if a record of an earlier version does not say.
    var askedAt: Instant?
    /// The moment at which the newest card was made.
    var postedAt: Instant?
    /// The next timed return, or with a posted card the return that posted it.
    var dueAt: Instant?
    /// The moment at which the relay's bucket has filled again, after its limit closed a card.
    var refilledAt: Instant?
    /// The relay's limit has closed a card before.
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
    /// The moment at which the relay took the newest card, or nil if it does not have it.
    var shownSince: Instant? {
        if case .shown(let until) = state { until - Self.longest - Self.grace } else { nil }
    }
    /// Whether a sign of life can bring the card back. `isAskedFor`: the person asked for it, so that no pause applies.
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
        // An undelivered card uses up no return.
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

    /// The relay has too many cards. The first time, the card returns once the relay's bucket has filled again.
    mutating func closeForLimit(_ refill: Duration, agentWaitsUntil end: Instant?, at now: Instant) {
        close(agentWaitsUntil: end, at: now)
        if !wasLimited { refilledAt = now + refill }
        wasLimited = true
    }

    /// Delays the return: the agent is away, or too many cards came back within the hour. A card without a timed return gets none.
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

    /// The relay has something else under the newest card's name: the same card takes the next name.
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

    /// `patience` is nil if asks are not held: then an ask ends with its card, whether the relay says so or not.
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

/// The cards that came back within the last hour, over all asks of an installation.
struct ReturnBudget: Hashable, Sendable {
    static let limit = 20
    private static let span = Duration.seconds(3600)

    private var returns: [Instant] = []

    /// Nil if a card may come back now, and then counts. Otherwise the moment from which one may.
    mutating func take(at now: Instant) -> Instant? {
        returns.removeAll { $0 + Self.span <= now }
        if returns.count >= Self.limit, let oldest = returns.min() { return oldest + Self.span }
        returns.append(now)
        return nil
    }

    /// Counts a return of an earlier process.
    mutating func restore(_ moment: Instant) { if returns.count < Self.limit { returns.append(moment) } }
}

/// The relay's word with a decision that no person made (relay.md#others). Its documents list no words, so this looks for hints in them. In
/// doubt a second question is better than a denial that no person made.
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
