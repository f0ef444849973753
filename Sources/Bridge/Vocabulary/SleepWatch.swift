/// Detects that the machine slept: a timer that fires far too late, or a wall clock that moved on while ours stopped
/// (DESIGN.md#links-and-watchdogs). After a sleep the connection is dead without an error.
package struct SleepWatch: Sendable {
    private static let tooLate = Duration.seconds(10)
    private var noticedAt: Instant?
    private var last: (moment: Instant, wallMilliseconds: Int64)?

    package init() {}

    /// The last reading.
    package var wallMilliseconds: Int64? { last?.wallMilliseconds }

    package mutating func saw(_ now: Instant, wallMilliseconds: Int64) { last = (now, wallMilliseconds) }

    /// `due`: when the caller had asked to be called.
    package func hasSlept(at now: Instant, wallMilliseconds: Int64, due: Instant?) -> Bool {
        if let due, now - due > Self.tooLate { return true }
        guard let last else { return false }
        let wall = Duration.milliseconds(wallMilliseconds - last.wallMilliseconds)
        return wall - (now - last.moment) > Self.tooLate
    }

    /// Whether the machine slept, as the clocks show now. `due`: when the caller had asked to be called.
    package mutating func notices(at now: Instant, wallMilliseconds: Int64, due: Instant?) -> Bool {
        defer { saw(now, wallMilliseconds: wallMilliseconds) }
        guard hasSlept(at: now, wallMilliseconds: wallMilliseconds, due: due) else { return false }
        noticedAt = now
        return true
    }

    /// The host reports a sleep. False: the clocks have likely shown the same one a moment ago.
    package mutating func hears(at now: Instant) -> Bool {
        if let noticedAt, now - noticedAt < Self.tooLate { return false }
        noticedAt = now
        return true
    }
}

/// Polled every few seconds, detects that the machine slept since the last poll, whatever deadlines there are: by how long the
/// machine was suspended, or by a wall clock that moved on alone, as in a virtual machine that was paused.
package struct SuspendWatch: Sendable {
    /// What is shorter no connection notices.
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
