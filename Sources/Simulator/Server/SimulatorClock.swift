import Dispatch
import Glibc
package import RelayRules

/// The time, and later calls: a port, because tests move both by hand.
package struct SimulatorClock: Sendable {
    package var now: @Sendable () -> Moment
    /// Calls the action once after so many milliseconds, on a thread of the clock's own.
    package var after: @Sendable (_ milliseconds: Int, _ action: @escaping @Sendable () -> Void) -> Void

    package init(
        now: @escaping @Sendable () -> Moment,
        after: @escaping @Sendable (_ milliseconds: Int, _ action: @escaping @Sendable () -> Void) -> Void
    ) {
        self.now = now
        self.after = after
    }

    /// The machine's own clock.
    package static var system: SimulatorClock {
        let queue = DispatchQueue(label: "simulator-clock")
        return SimulatorClock(
            now: {
                var time = timespec()
                clock_gettime(CLOCK_REALTIME, &time)
                return Moment(milliseconds: Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000)
            },
            after: { milliseconds, action in
                queue.asyncAfter(deadline: .now() + .milliseconds(milliseconds)) { action() }
            })
    }
}
