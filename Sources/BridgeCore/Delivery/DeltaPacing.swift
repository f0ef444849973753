package import BridgeModel

/// How often one lane sends a delta: as often as the phone redraws, and less after a while, because the relay keeps only 256
/// events for a phone that reconnects (DESIGN, section 8).
package struct LanePace: Sendable, Hashable {
    private var last: Instant?
    private var count = 0

    package init() {}

    /// The moment from which a delta may go; nil: at once.
    package var earliest: Instant? { last.map { $0 + interval } }

    private var interval: Duration {
        switch count {
        case ..<100: .milliseconds(33)
        case ..<200: .milliseconds(66)
        default: .milliseconds(120)
        }
    }

    package mutating func sent(at now: Instant) {
        last = now
        count += 1
    }
}

/// The pace that all lanes share, so that deltas use at most 80 % of the refill: a virtual schedule that moves on by one
/// interval a delta and may be run ahead of by a quarter of the bucket. Text slower than that is never held back.
package struct SharedPace: Sendable, Hashable {
    private static let share = 0.8
    private var scheduled: Instant?

    package init() {}

    package func earliest(capacity: Double, refillPerSecond: Double) -> Instant? {
        scheduled.map { $0 - .nanoseconds(Int64(capacity / 4 / (refillPerSecond * Self.share) * 1e9)) }
    }

    package mutating func sent(at now: Instant, refillPerSecond: Double) {
        let interval = Duration.nanoseconds(Int64(1e9 / (refillPerSecond * Self.share)))
        scheduled = max(scheduled ?? now, now) + interval
    }
}
