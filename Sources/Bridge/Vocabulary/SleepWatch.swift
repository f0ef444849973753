/// Detects that the machine slept: a timer that fires far too late, or a wall clock that advanced while the monotonic one
/// stood still (DESIGN.md#links-and-watchdogs). After a sleep the connection is dead without an error.
package struct SleepWatch: Sendable {
    private static let tooLate = Duration.seconds(10)
    private var noticedAt: Instant?
    private var last: (moment: Instant, wallMilliseconds: Int64)?

    package init() {}

    /// Wall clock of the last reading.
    package var wallMilliseconds: Int64? { last?.wallMilliseconds }

    package mutating func saw(_ now: Instant, wallMilliseconds: Int64) { last = (now, wallMilliseconds) }

    /// Whether the clocks show a sleep. `due` is the time that the caller wanted to be called at.
    package func hasSlept(at now: Instant, wallMilliseconds: Int64, due: Instant?) -> Bool {
        if let due, now - due > Self.tooLate { return true }
        guard let last else { return false }
        let wall = Duration.milliseconds(wallMilliseconds - last.wallMilliseconds)
        return wall - (now - last.moment) > Self.tooLate
    }

    /// Whether the clocks show a sleep; notes the reading and the sleep. `due` as in `hasSlept`.
    package mutating func notices(at now: Instant, wallMilliseconds: Int64, due: Instant?) -> Bool {
        defer { saw(now, wallMilliseconds: wallMilliseconds) }
        guard hasSlept(at: now, wallMilliseconds: wallMilliseconds, due: due) else { return false }
        noticedAt = now
        return true
    }

    /// The host reports a sleep. False if the clocks probably showed the same sleep a moment ago.
    package mutating func hears(at now: Instant) -> Bool {
        if let noticedAt, now - noticedAt < Self.tooLate { return false }
        noticedAt = now
        return true
    }
}

/// Polled every few seconds, detects a sleep since the last poll, independently of deadlines: by the machine's
/// suspended time, or by a wall clock that advanced alone, as in a virtual machine that was paused.
package struct SuspendWatch: Sendable {
    /// No connection notices a shorter sleep.
    private static let worthKnowing = Duration.seconds(2)

    private var suspended: Duration?
    private var wall = SleepWatch()

    package init() {}

    package mutating func hasSlept(at now: Instant, wallMilliseconds: Int64, suspended: Duration) -> Bool {
        defer {
            self.suspended = suspended
            wall.saw(now, wallMilliseconds: wallMilliseconds)
        }
        if let last = self.suspended, suspended - last >= Self.worthKnowing { return true }
        return wall.hasSlept(at: now, wallMilliseconds: wallMilliseconds, due: nil)
    }
}
