package import Vocabulary

/// Capacity and refill of a bucket.
package struct BucketFigures: Hashable, Sendable {
    package var capacity: Int
    /// Tokens a second.
    package var refill: Double

    package init(capacity: Int, refill: Double) {
        self.capacity = capacity
        self.refill = refill
    }

    /// The documented table (relay.md#buckets): in force until the relay's headers say something else.
    package static func ofSheet(_ bucket: RelayBucket) -> BucketFigures {
        switch bucket {
        case .msg, .default: BucketFigures(capacity: 30, refill: 10)
        case .delta: BucketFigures(capacity: 200, refill: 100)
        case .task: BucketFigures(capacity: 60, refill: 30)
        case .approval: BucketFigures(capacity: 10, refill: 2)
        }
    }
}

/// Our picture of one of the relay's token buckets, never fuller than the real one.
///
/// States:
/// - *lending* (after a start): the real bucket may be drained, so one call is lent at a time, until the relay first
///   answers one. Can become: counting.
/// - *counting*: a call takes a token, time gives them back. Can become: asleep.
/// - *asleep*: a 429 set the moment before which nothing is taken. Can become: the state before it.
///
/// Invariants, with the relay's real level S and the calls U that are under way, which it may not have counted yet: the level stays at
/// or below S - U as long as no other client draws from the bucket. So time fills it only to capacity less U (a full bucket gains
/// nothing while our call travels). If others draw from it too, a reading bounds the level: by the tokens that were left, less the
/// calls sent after the one that brought it. (Calls among those that were answered already brought a reading of their own.) A reading
/// only ever lowers the level, with one exception: answers that overtake one another make us count a call twice. When the last call
/// under way is answered and all of them brought a reading, the lowest of these is the level that the relay had after the last. A clock
/// that jumps back gives nothing, and one that jumps forward no more than capacity.
///
/// A call needs two milliseconds' refill besides its token, since the relay counts by a clock of its own. Levels are whole billionths of a
/// token, so that a computed wait is never a hair too short.
package struct TokenBucket: Sendable {
    private static let token: Int64 = 1_000_000_000
    private static let longestWaitNanoseconds = 86_400e9

    package private(set) var figures: BucketFigures
    private var billionths: Int64
    private var stamp: Instant?
    private var asleepUntil: Instant?
    private var isLending = true
    /// Number of calls ever sent; a call's number is its place in that order, from 1.
    private var sent: UInt64 = 0
    /// Numbers of the calls without an answer, in the order sent. At most as many as there are connections.
    private var underWay: [UInt64] = []
    /// The lowest level of the readings since no call was in flight, plus the refill since. Nil if a call in that time brought none.
    private var lowestTold: Int64? = .max / 2

    package init(_ figures: BucketFigures) {
        self.figures = figures
        billionths = Int64(figures.capacity) * Self.token
        underWay.reserveCapacity(64)
    }

    /// The tokens that may be taken now; below zero while calls are under way that the relay has yet to count.
    package mutating func level(at now: Instant) -> Double {
        settle(at: now)
        if isLending { return underWay.isEmpty ? 1 : 0 }
        return Double(billionths) / Double(Self.token)
    }

    /// Less than a fifth is left, and calls that may be left out must wait. A bucket that lends is unknown, and has one call.
    package mutating func isLow(at now: Instant) -> Bool {
        settle(at: now)
        if asleepUntil != nil { return true }
        if isLending { return !underWay.isEmpty }
        return billionths < max(Int64(figures.capacity) * Self.token / 5, price)
    }

    /// The moment at which a token can be taken, `now` or later. Nil if that needs the answer of a call first.
    package mutating func readyAt(_ now: Instant) -> Instant? {
        settle(at: now)
        if let asleepUntil { return asleepUntil }
        if isLending { return underWay.isEmpty ? now : nil }
        let price = price
        if billionths >= price { return now }
        guard ceiling >= price else { return nil }
        let wait = (Double(price - billionths) / figures.refill).rounded(.up)
        return now + .nanoseconds(Int64(min(wait, Self.longestWaitNanoseconds)))
    }

    /// Takes a token for a call that leaves now, and gives the call its number in the order of sending.
    package mutating func take(at now: Instant) -> UInt64 {
        settle(at: now)
        billionths -= Self.token
        sent += 1
        underWay.append(sent)
        return sent
    }

    /// A call of this bucket has ended. `responded`: the relay itself answered, whatever the answer. The reading is nil if there was
    /// none, or if it was of another bucket.
    package mutating func answered(_ call: UInt64, responded: Bool, reading: RateReading?, at now: Instant) {
        settle(at: now)
        // The newest calls are answered soonest, so search from the back.
        guard let place = underWay.lastIndex(of: call) else { return }
        underWay.remove(at: place)
        if isLending && responded {
            // Without a reading, the documented table holds.
            isLending = false
            billionths = ceiling
        }
        let wasTold = reading.map { heed($0, uncounted: Int64(underWay.count - place)) } ?? false
        if !wasTold { lowestTold = nil }
        guard underWay.isEmpty else { return }
        if let lowestTold { billionths = max(billionths, min(lowestTold, ceiling)) }
        lowestTold = .max / 2
    }

    /// A reading that a call of another bucket brought.
    package mutating func observe(_ reading: RateReading, at now: Instant) {
        settle(at: now)
        _ = heed(reading, uncounted: Int64(underWay.count))
    }

    /// Nothing may be taken until then: a 429 asked for it, so the tokens that we counted are not there.
    package mutating func sleep(until instant: Instant, at now: Instant) {
        settle(at: now)
        asleepUntil = max(instant, asleepUntil ?? instant)
        billionths = min(billionths, 0)
        lowestTold = nil
    }

    /// Another token, or another installation: the bucket is unknown again, and calls under way may draw from either.
    package mutating func renew(at now: Instant) {
        settle(at: now)
        isLending = true
        asleepUntil = nil
        billionths = ceiling
        lowestTold = nil
    }

    /// The level that a call needs to leave. A bucket of one token has no room for more.
    private var price: Int64 {
        min(Self.token + Int64(figures.refill * 2_000_000), Int64(figures.capacity) * Self.token)
    }

    /// The most that the real bucket can hold for us, while calls are under way.
    private var ceiling: Int64 { (Int64(figures.capacity) - Int64(underWay.count)) * Self.token }

    private mutating func settle(at now: Instant) {
        if let asleepUntil, now >= asleepUntil { self.asleepUntil = nil }
        guard let before = stamp, now > before else {
            stamp = now
            return
        }
        stamp = now
        // A billionth of a token in a nanosecond is a token in a second.
        let gained = min(Double(now.nanoseconds) - Double(before.nanoseconds), Self.longestWaitNanoseconds)
        let filled = min(gained * figures.refill, 1e15)
        billionths = min(billionths + Int64(filled), ceiling)
        lowestTold = lowestTold.map { min($0 + Int64(filled), .max / 2) }
    }

    /// False if the reading cannot be believed.
    private mutating func heed(_ reading: RateReading, uncounted: Int64) -> Bool {
        let limit = reading.limit ?? figures.capacity
        guard let remaining = reading.remaining, (1...100_000).contains(limit), (0...limit).contains(remaining) else {
            return false
        }
        figures.capacity = limit
        if let reset = reading.resetAfter { learnRefill(missing: limit - remaining, resetAfter: reset) }
        let left = exactly(remaining, limit: limit, resetAfter: reading.resetAfter)
        billionths = min(billionths, left - uncounted * Self.token, ceiling)
        lowestTold = lowestTold.map { min($0, left) }
        return true
    }

    /// `Remaining` is cut to whole tokens; the time until full gives the fraction.
    private func exactly(_ remaining: Int, limit: Int, resetAfter: Duration?) -> Int64 {
        let least = Int64(remaining) * Self.token
        guard let resetAfter, resetAfter > .zero, resetAfter < .seconds(86_400) else { return least }
        let missing = Int64(Double(resetAfter.nanoseconds) * figures.refill)
        return min(max(Int64(limit) * Self.token - missing, least), least + Self.token - 1)
    }

    /// The refill is the missing tokens over the time until full. `Remaining` is cut to whole tokens and the time may be rounded, so a
    /// reading only bounds the refill; ours moves to the nearer bound if it lies outside.
    private mutating func learnRefill(missing: Int, resetAfter: Duration) {
        let seconds = resetAfter.seconds
        guard missing > 0, seconds > 0, seconds < 86_400 else { return }
        let rounding = 0.05
        let least = Double(missing - 1) / (seconds + rounding)
        let most = seconds > rounding ? Double(missing) / (seconds - rounding) : .infinity
        figures.refill = min(max(min(max(figures.refill, least), most), 0.01), 100_000)
    }
}
