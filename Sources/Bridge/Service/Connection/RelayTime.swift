import Vocabulary

/// The relay's clock, as its updates show it. Neither clock has to be right: what was written before a Stop or a question's end is
/// decided by the order at the relay, and the bridge's wall clock may be minutes away from it.
///
/// An update comes later than it was made, never earlier. So the one that came fastest says best how far the relay's clock is ahead of
/// our monotonic one; all others are older by what they lag behind it.
struct RelayTime: Sendable {
    /// Two clocks may drift apart by that much; then a slower update counts as the fastest.
    private static let driftPerMillion: Int64 = 200
    /// A stamp that is further from our wall clock says nothing of use.
    private static let credible: Int64 = 24 * 3_600 * 1_000

    /// By our wall clock an update took so long that came promptly: where the fastest one did, the two wall clocks agree.
    private static let promptly: ClosedRange<Int64> = 0...100

    private struct Fastest {
        var ahead: Int64
        var at: Instant
        /// How long it took.
        var lag: Duration

        init(ahead: Int64, at: Instant, age: Int64) {
            self.ahead = ahead
            self.at = at
            lag = promptly.contains(age) ? .milliseconds(age) : .zero
        }
    }

    /// The updates that waited for a process come within this time of its first one.
    private static let backlog = Duration.seconds(2)

    private var fastest: Fastest?
    private var firstAt: Instant?

    /// When the update that came now was made; nil: it does not say.
    mutating func made(_ stamp: Int64?, receivedAt now: Instant, wall: Int64) -> RelayMoment? {
        guard let stamp, let age = Self.difference(wall, stamp) else { return nil }
        let ahead = stamp - Self.milliseconds(now)
        guard let known = fastest else {
            fastest = Fastest(ahead: ahead, at: now, age: age)
            firstAt = now
            // There is nothing else to go by.
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
