package import Vocabulary

/// How often one turn may send a delta.
///
/// The first text goes at once. Then the phone redraws no faster than every 33 ms; and because the relay keeps only 256
/// events for a phone that reconnects (relay.md#resume), a long turn spreads its deltas further: 66 ms from the
/// hundredth on, 120 ms from the two hundredth.
package struct LanePace: Hashable, Sendable {
    package private(set) var count: Int
    private var last: Instant?

    /// `count`: the deltas that the turn has sent already, before a restart.
    package init(count: Int = 0) { self.count = count }

    package func readyAt(_ now: Instant) -> Instant {
        guard let last else { return now }
        return max(now, Instant(nanoseconds: last.nanoseconds + interval))
    }

    package mutating func sent(at now: Instant) {
        count += 1
        last = now
    }

    /// Nanoseconds, since it is read with every text and `Duration` counts in 128 bits.
    private var interval: Int64 {
        if count < 100 { 33_000_000 } else if count < 200 { 66_000_000 } else { 120_000_000 }
    }
}

/// How often all turns of an installation together may send a delta: a generic cell rate. Their use stays under a share of the refill, and
/// the rest of the bucket is left to calls that must not wait.
///
/// Text slower than the share is never held back: up to `burst` deltas may come together.
package struct SharedPace: Hashable, Sendable {
    private let share: Double
    private let burst: Double
    /// The moment at which the deltas sent so far would end, had they been sent evenly.
    private var horizon: Instant?

    package init(share: Double = 0.8, burst: Int = 24) {
        self.share = share
        self.burst = Double(burst)
    }

    package func readyAt(_ now: Instant, refill: Double) -> Instant {
        guard let horizon else { return now }
        return max(now, horizon - .nanoseconds(Int64(burst * spacing(refill))))
    }

    package mutating func sent(at now: Instant, refill: Double) {
        horizon = max(now, horizon ?? now) + .nanoseconds(Int64(spacing(refill)))
    }

    /// Nanoseconds between two deltas.
    private func spacing(_ refill: Double) -> Double { (1e9 / (share * refill)).rounded(.up) }
}
