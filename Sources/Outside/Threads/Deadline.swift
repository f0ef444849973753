import Glibc

/// A time on the monotonic clock, in milliseconds.
package struct Deadline: Hashable, Sendable {
    private let milliseconds: Int64

    package init(after duration: Duration) {
        self = Self(milliseconds: Self.clock) + duration
    }

    private init(milliseconds: Int64) { self.milliseconds = milliseconds }

    package static var now: Self { Self(after: .zero) }

    package static func + (moment: Self, duration: Duration) -> Self {
        let (seconds, attoseconds) = duration.components
        return Self(milliseconds: moment.milliseconds + seconds * 1_000 + attoseconds / 1_000_000_000_000_000)
    }

    package func hasPassed(at now: Self) -> Bool { milliseconds <= now.milliseconds }

    private static var clock: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// Timeout for `poll`: 0 once the deadline has passed.
    package var millisecondsLeft: Int32 { Int32(clamping: max(0, milliseconds - Self.clock)) }
    package var hasPassed: Bool { millisecondsLeft == 0 }
}
