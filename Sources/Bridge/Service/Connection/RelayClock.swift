import Vocabulary

/// What the relay's clock shows, by the `Date` of its answers (relay.md#headers).
///
/// - It is known against the clock of ours that nobody sets: a step of the wall clock, as at the first answer of a time server, changes
///   no age.
/// - The median of the last `memory` answers, so that one page of a proxy does not count.
/// - It moves at most once in `pause`: the windows of messages that come together are judged by one clock.
struct RelayClock: Sendable {
    private static let memory = 5
    private static let pause = Duration.seconds(60)
    /// From here on people are told: cards and bubbles show it.
    private static let worthSaying: Int64 = 120_000
    /// A date that is further away is none.
    private static let credible: Int64 = 10 * 366 * 86_400_000

    private static let unconfirmed: Int64 = 10 * 60_000

    /// How far the relay's clock is ahead of ours, in milliseconds.
    private var newest: [Int64] = []
    private var movedAt: Instant?
    /// The one that counts; nil: no answer had a date.
    private var aheadOfOurs: Int64?

    /// `date`: in seconds since 1970.
    mutating func answered(_ date: Int64, at now: Instant, wall: Int64) {
        // Seconds are cut off.
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

    /// How old an update is that was made then. Before any answer this machine's clock is all there is, and is believed up to `unconfirmed`:
    /// a message that waited for the bridge has less than its window left (relay.md#sessionmessage-the-user-wrote), and a clock that is
    /// far ahead is not to take bubbles away.
    func age(of made: Int64, at now: Instant, wall: Int64) -> Duration {
        let time = time(at: now)
        let (age, overflow) = (time ?? wall).subtractingReportingOverflow(made)
        guard !overflow, age > 0 else { return .zero }
        return .milliseconds(time == nil ? min(age, Self.unconfirmed) : age)
    }

    /// How far this machine's wall clock is ahead now, in milliseconds, below zero where it is behind; nil: no answer had a date.
    func ahead(at now: Instant, wall: Int64) -> Int64? { time(at: now).map { wall - $0 } }

    /// Likewise in seconds; nil: too little to be said.
    func remarkable(at now: Instant, wall: Int64) -> Int64? {
        ahead(at: now, wall: wall).flatMap { abs($0) < Self.worthSaying ? nil : $0 / 1_000 }
    }
}
