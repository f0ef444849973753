import Vocabulary

/// Estimate of the relay's clock, from its updates. Neither wall clock has to be right: the order at the relay decides what was written
/// before a Stop or a question's end, and the bridge's wall clock may be minutes away from it.
///
/// An update comes later than it was made, never earlier. So the fastest update tells best how far the relay's clock is ahead of the monotonic
/// clock here; every other update is older by its lag behind the fastest.
struct RelayTime: Sendable {
    /// Tolerated drift of the two clocks; beyond it a slower update counts as the fastest.
    private static let driftPerMillion: Int64 = 200
    /// A stamp farther from our wall clock is useless.
    private static let credible: Int64 = 24 * 3_600 * 1_000

    /// Delay of a prompt update by our wall clock, in milliseconds: if the fastest one's lies in it, the two wall clocks agree.
    private static let promptly: ClosedRange<Int64> = 0...100

    private struct Fastest {
        var ahead: Int64
        var at: Instant
        /// How long the update took.
        var lag: Duration

        init(ahead: Int64, at: Instant, age: Int64) {
            self.ahead = ahead
            self.at = at
            lag = promptly.contains(age) ? .milliseconds(age) : .zero
        }
    }

    /// Updates that waited for a process come within this time of its first one.
    private static let backlog = Duration.seconds(2)

    private var fastest: Fastest?
    private var firstAt: Instant?

    /// Moment at which an update that comes now was made, or nil without a credible stamp.
    mutating func made(_ stamp: Int64?, receivedAt now: Instant, wall: Int64) -> RelayMoment? {
        guard let stamp, let age = Self.difference(wall, stamp) else { return nil }
        let ahead = stamp - Self.milliseconds(now)
        guard let known = fastest else {
            fastest = Fastest(ahead: ahead, at: now, age: age)
            firstAt = now
            // The first update has nothing to compare with but the wall clock.
            return RelayMoment(wallMilliseconds: stamp, instant: now - .milliseconds(max(0, age)))
        }
        let isOfBacklog = firstAt.map { now - $0 <= Self.backlog } == true
        let waited = isOfBacklog ? Duration.milliseconds(max(0, age)) : nil
        let faded = known.ahead - Self.milliseconds(max(.zero, now - known.at)) * Self.driftPerMillion / 1_000_000
        guard ahead < faded else {
            let next = Fastest(ahead: ahead, at: now, age: age)
            fastest = next
            return RelayMoment(wallMilliseconds: stamp, instant: now - (waited ?? next.lag))
        }
        if let waited { return RelayMoment(wallMilliseconds: stamp, instant: now - waited) }
        return RelayMoment(wallMilliseconds: stamp, instant: now - known.lag - .milliseconds(faded - ahead))
    }

    private static func difference(_ wall: Int64, _ stamp: Int64) -> Int64? {
        let (age, overflow) = wall.subtractingReportingOverflow(stamp)
        return overflow || !(-credible...credible).contains(age) ? nil : age
    }

    private static func milliseconds(_ instant: Instant) -> Int64 { instant.nanoseconds / 1_000_000 }
    private static func milliseconds(_ duration: Duration) -> Int64 { duration.nanoseconds / 1_000_000 }
}
