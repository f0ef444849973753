import Glibc

/// A moment on the monotonic clock, in milliseconds.
package struct Deadline: Hashable, Sendable {
    private let milliseconds: Int64

    package init(after duration: Duration) {
        let (seconds, attoseconds) = duration.components
        milliseconds = Self.now + seconds * 1_000 + attoseconds / 1_000_000_000_000_000
    }

    private static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// For `poll`; 0 when it has passed.
    package var millisecondsLeft: Int32 { Int32(clamping: max(0, milliseconds - Self.now)) }
    package var hasPassed: Bool { millisecondsLeft == 0 }
}
