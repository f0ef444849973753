package import BridgeModel

/// Our view of one of the relay's token buckets, which we must never find empty (relay sheet, section 11).
///
/// Invariants:
/// - The level is never above what the server can have: `Remaining` of an answer less every call sent after that one whose
///   own answer has not been read, and the capacity less every call under way, which the server may not have taken yet. It
///   goes down at once, and up only by refill or when the last answer shows that calls were counted twice. (A later call whose answer was read bounds the level by that answer; counting
///   it again would lose a token each time two answers overtake one another.)
/// - Until the first answer one call is under way at most: the server's bucket may be drained by whoever ran before us.
/// - A clock that jumps mints nothing beyond the capacity, and a jump back mints nothing at all.
package struct TokenBucket: Sendable {
    /// Calls in the order they were sent; an answer names its ticket.
    package struct Ticket: Hashable, Sendable { fileprivate let number: Int }

    package private(set) var capacity: Double
    package private(set) var refillPerSecond: Double
    private var tokens: Double
    private var asOf: Instant?
    private var sent = 0
    private var underWay = 0
    /// Tickets after the newest one read whose answers have not been read, oldest first.
    private var unread: [Int] = []
    /// The lowest level that the answers told since nothing was unread, refilled since. When all are read it is the true
    /// one: the call that the server took last was told it. Until then overtaken answers make us count calls twice.
    private var lowestTold: Double?
    private var hasAnswer = false
    private var sleepsUntil: Instant?
    private let planted: PlantedFault?

    /// What a call needs: a token, and what two milliseconds bring, because the server counts in milliseconds by its own clock.
    private var price: Double { 1 + refillPerSecond * 0.002 }

    package init(capacity: Double, refillPerSecond: Double, planted: PlantedFault? = nil) {
        self.capacity = capacity
        self.refillPerSecond = refillPerSecond
        tokens = capacity
        self.planted = planted
    }

    package mutating func level(at now: Instant) -> Double {
        refill(to: now)
        return tokens
    }

    /// Nil: a call may go now. Otherwise the moment to look again, or nil inside when only an answer can help.
    package mutating func wait(at now: Instant) -> Wait? {
        refill(to: now)
        if let sleepsUntil, sleepsUntil > now { return .until(sleepsUntil) }
        if !hasAnswer, underWay > 0 { return .forAnswer }
        guard tokens < price else { return nil }
        // With the cap that calls under way put on it, the level may be unable to rise enough before an answer.
        if ceiling < price { return .forAnswer }
        let seconds = (price - tokens) / refillPerSecond
        return .until(now + .nanoseconds(Int64(seconds * 1e9) + 1))
    }

    package enum Wait: Hashable, Sendable { case until(Instant), forAnswer }

    package mutating func take(at now: Instant) -> Ticket {
        refill(to: now)
        precondition(tokens >= 1 || !hasAnswer, "a call was sent without a token")
        tokens = max(0, tokens - 1)
        sent += 1
        underWay += 1
        unread.append(sent)
        return Ticket(number: sent)
    }

    /// The call of this ticket is settled; `reading` is what its answer said, if it said anything.
    package mutating func answered(_ ticket: Ticket, reading: RateReading?, at now: Instant) {
        refill(to: now)
        underWay = max(0, underWay - 1)
        // Without a reading nobody knows when the server took it: it stays unread until a later one is read.
        guard let reading else { return }
        hasAnswer = true
        let after = read(ticket)
        if let limit = reading.limit, limit > 0, limit < 1_000_000 { capacity = Double(limit) }
        guard let remaining = reading.remaining, remaining >= 0 else {
            tokens = min(tokens, capacity)
            return
        }
        let exact = learn(remaining: Double(remaining), resetAfter: reading.resetAfter)
        if planted == .bucketTrustsRemaining {
            tokens = Double(remaining)
            return
        }
        tokens = max(0, min(tokens, exact - Double(after)))
        let lowest = min(lowestTold ?? exact, exact)
        lowestTold = unread.isEmpty ? nil : lowest
        if unread.isEmpty { tokens = max(tokens, min(lowest, ceiling)) }
    }

    /// An answer without any rate headers: the sheet's table holds.
    package mutating func answeredWithoutHeaders(_ ticket: Ticket, at now: Instant) {
        refill(to: now)
        underWay = max(0, underWay - 1)
        hasAnswer = true
        _ = read(ticket)
    }

    /// How many later calls are unread. Calls settled without a reading before this one are covered by it.
    private mutating func read(_ ticket: Ticket) -> Int {
        unread.removeAll { $0 == ticket.number || $0 < ticket.number - underWay - 64 }
        return unread.reduce(0) { $0 + ($1 > ticket.number ? 1 : 0) }
    }

    package mutating func sleep(until moment: Instant) {
        sleepsUntil = max(sleepsUntil ?? moment, moment)
    }

    private var ceiling: Double { max(0, capacity - Double(underWay)) }

    /// `Remaining` is rounded down; with `Reset-After` the fraction is known. The pair also tells the refill.
    private mutating func learn(remaining: Double, resetAfter: Duration?) -> Double {
        guard let seconds = resetAfter?.seconds, seconds > 0.001, seconds < 86_400 else { return remaining }
        // The true level lies in [remaining, remaining + 1), so the refill lies between these two.
        let least = max(0, capacity - remaining - 1) / seconds
        let most = (capacity - remaining) / seconds
        if most > 0, refillPerSecond > most * 1.02 { refillPerSecond = most }
        if least > 0, refillPerSecond < least * 0.98 { refillPerSecond = least }
        return min(remaining + 0.99, max(remaining, capacity - seconds * refillPerSecond))
    }

    private mutating func refill(to now: Instant) {
        defer { asOf = now }
        guard let asOf, now > asOf else { return }
        let gained = (now - asOf).seconds * refillPerSecond
        if tokens < ceiling { tokens = min(ceiling, tokens + gained) }
        lowestTold = lowestTold.map { min(capacity, $0 + gained) }
    }
}
