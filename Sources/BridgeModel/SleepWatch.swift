/// Tells that the machine slept: a timer that comes far too late, or a wall clock that moved on while ours stood still
/// (DESIGN, section 10). Whoever slept has a dead connection that does not know of it.
package struct SleepWatch: Sendable {
    private static let tooLate = Duration.seconds(10)
    private var last: (moment: Instant, wallMilliseconds: Int64)?

    package init() {}

    /// As it was told last.
    package var wallMilliseconds: Int64? { last?.wallMilliseconds }

    package mutating func saw(_ now: Instant, wallMilliseconds: Int64) { last = (now, wallMilliseconds) }

    /// `due`: when the caller had asked to be called.
    package func hasSlept(at now: Instant, wallMilliseconds: Int64, due: Instant?) -> Bool {
        if let due, now - due > Self.tooLate { return true }
        guard let last else { return false }
        let wall = Duration.milliseconds(wallMilliseconds - last.wallMilliseconds)
        return wall - (now - last.moment) > Self.tooLate
    }
}
