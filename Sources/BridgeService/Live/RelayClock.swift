import BridgeModel

/// How far this machine's wall clock is ahead of the relay's, by the `Date` of its answers (relay.md#headers).
///
/// - The median of the last `memory` answers, so that one page of a proxy does not count.
/// - It moves at most once in `pause`: the windows of messages that come together are judged by one clock.
struct RelayClock: Sendable {
    private static let memory = 5
    private static let pause = Duration.seconds(60)
    /// From here on people are told: cards and bubbles show it.
    private static let worthSaying: Int64 = 120_000
    /// A date that is further away is none.
    private static let credible: Int64 = 10 * 366 * 86_400_000

    private var newest: [Int64] = []
    private var movedAt: Instant?
    /// In milliseconds, below zero where it is behind; nil: no answer had a date.
    private(set) var ahead: Int64?

    /// `date`: in seconds since 1970.
    mutating func answered(_ date: Int64, at now: Instant, wall: Int64) {
        // Seconds are cut off.
        let ahead = wall - (date * 1_000 + 500)
        guard (-Self.credible...Self.credible).contains(ahead) else { return }
        newest.append(ahead)
        if newest.count > Self.memory { newest.removeFirst() }
        if let movedAt, now - movedAt < Self.pause { return }
        movedAt = now
        self.ahead = newest.sorted()[newest.count / 2]
    }

    /// How old an update is that was made then. Before any answer that is not known, and counts as nothing: the relay refuses what comes
    /// too late (relay.md#sessionmessage-the-user-wrote), but this machine's clock alone would take bubbles away.
    func age(of made: Int64, wall: Int64) -> Duration {
        guard let ahead else { return .zero }
        let (age, overflow) = (wall - ahead).subtractingReportingOverflow(made)
        return overflow ? .zero : .milliseconds(max(0, age))
    }

    /// In seconds; nil: too little to be said.
    var remarkable: Int64? { ahead.flatMap { abs($0) < Self.worthSaying ? nil : $0 / 1_000 } }
}
