import Locking
package import Vocabulary

/// Whether the decisions still turn: every two seconds an alarm's thread takes each machine's lock once, and notes the time.
///
/// A lock that is never left, and an alarm that never rings, make the silence grow. Disk, relay and agents do not: nothing of them is
/// waited for under a lock.
package final class Pulse: Sendable {
    private static let interval = Duration.seconds(2)
    /// A longer silence is a fault.
    package static let patience = Duration.seconds(30)

    private let clock: any Clock
    private let alarm: any Alarm
    private let takeLocks: @Sendable () -> Void
    /// The time of the last turn, by the clock that stands while the machine sleeps.
    private let last: Locked<Instant>

    /// `takeLocks` takes and leaves each machine's lock. It may block.
    package init(clock: any Clock, alarm: any Alarm, takeLocks: @escaping @Sendable () -> Void) {
        self.clock = clock
        self.alarm = alarm
        self.takeLocks = takeLocks
        last = Locked(clock.awake)
        plan()
    }

    /// How long ago the last turn was.
    package var silence: Duration { clock.awake - last.withLock { $0 } }

    package var isBeating: Bool { silence < Self.patience }

    package func stop() { alarm.stop() }

    private func plan() {
        alarm.set(clock.now + Self.interval) { [weak self] in
            guard let self else { return }
            takeLocks()
            let now = clock.awake
            last.withLock { $0 = now }
            plan()
        }
    }
}

extension Clock {
    /// Stands while the machine sleeps, since nothing can turn then.
    fileprivate var awake: Instant { now - suspended }
}
