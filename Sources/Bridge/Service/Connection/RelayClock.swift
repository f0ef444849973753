import Vocabulary

/// Estimate of the relay's clock, from the `Date` header of its answers (relay.md#headers).
///
/// - The offset is against the monotonic clock: a step of the wall clock, as at the first answer of a time server, changes no age.
/// - The median of the last `memory` answers counts, so that one page of a proxy does not.
/// - The estimate moves at most once in `pause`: the windows of messages that come together are judged by one clock.
struct RelayClock: Sendable {
    private static let memory = 5
    private static let pause = Duration.seconds(60)
    /// People are told from this difference on: cards and bubbles show it.
    private static let worthSaying: Int64 = 120_000
    /// A date farther away is ignored.
    private static let credible: Int64 = 10 * 366 * 86_400_000

    private static let unconfirmed: Int64 = 10 * 60_000

    /// Offsets of the relay's clock from the monotonic clock, in milliseconds, newest last.
    private var newest: [Int64] = []
    private var movedAt: Instant?
    /// Offset in use, or nil before an answer had a date.
    private var aheadOfOurs: Int64?

    /// `date` is in seconds since 1970.
    mutating func answered(_ date: Int64, at now: Instant, wall: Int64) {
        // The header cuts off fractions of a second, so assume half of one.
        let shown = date * 1_000 + 500
        guard (-Self.credible...Self.credible).contains(wall - shown) else { return }
        newest.append(shown - Self.milliseconds(now))
        if newest.count > Self.memory { newest.removeFirst() }
        if let movedAt, now - movedAt < Self.pause { return }
        movedAt = now
        aheadOfOurs = newest.sorted()[newest.count / 2]
    }

    private func time(at now: Instant) -> Int64? { aheadOfOurs.map { Self.milliseconds(now) + $0 } }

    private static func milliseconds(_ instant: Instant) -> Int64 { instant.nanoseconds / 1_000_000 }

    /// Age of an update that was made at `made`. Before the first dated answer only this machine's clock is known, and is believed up to
    /// `unconfirmed`: a message that waited for the bridge has less than its window left (relay.md#sessionmessage-the-user-wrote), but a
    /// clock that is far ahead must not take bubbles away.
    func age(of made: Int64, at now: Instant, wall: Int64) -> Duration {
        let time = time(at: now)
        let (age, overflow) = (time ?? wall).subtractingReportingOverflow(made)
        guard !overflow, age > 0 else { return .zero }
        return .milliseconds(time == nil ? min(age, Self.unconfirmed) : age)
    }

    /// How far this machine's wall clock is ahead, in milliseconds, negative if it is behind. Nil before an answer had a date.
    func ahead(at now: Instant, wall: Int64) -> Int64? { time(at: now).map { wall - $0 } }

    /// The same in seconds, or nil if the difference is too small to report.
    func remarkable(at now: Instant, wall: Int64) -> Int64? {
        ahead(at: now, wall: wall).flatMap { abs($0) < Self.worthSaying ? nil : $0 / 1_000 }
    }
}
