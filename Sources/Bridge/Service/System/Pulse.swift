import Locking
package import Vocabulary

/// Whether the machines still run: with each beat an alarm's thread takes each machine's lock once, and notes the time.
///
/// The silence grows if a lock is never released or an alarm never rings. Disk, relay and agents do not make it grow: no thread waits for them
/// under a lock.
package final class Pulse: Sendable {
    package static let pace = Duration.seconds(2)
    /// A longer silence is a fault.
    package static let patience = Duration.seconds(30)

    private let interval: Duration
    private let clock: any Clock
    private let alarm: any Alarm
    private let beat: @Sendable () -> Void
    private let takeLocks: @Sendable () -> Void
    /// Time of the last beat, by a clock that stops while the machine sleeps.
    private let last: Locked<Instant>

    /// `takeLocks` acquires and releases each machine's lock, and may block. `beat` is called after it, unless it exceeded `patience`.
    package init(
        every interval: Duration = Pulse.pace, clock: any Clock, alarm: any Alarm,
        beat: @escaping @Sendable () -> Void = {}, takeLocks: @escaping @Sendable () -> Void
    ) {
        self.interval = interval
        self.clock = clock
        self.alarm = alarm
        self.beat = beat
        self.takeLocks = takeLocks
        last = Locked(clock.awake)
        plan()
    }

    /// Time since the last beat.
    package var silence: Duration { clock.awake - last.withLock { $0 } }

    package var isBeating: Bool { silence < Self.patience }

    package func stop() { alarm.stop() }

    private func plan() {
        alarm.set(clock.now + interval) { [weak self] in
            guard let self else { return }
            let began = clock.awake
            takeLocks()
            let now = clock.awake
            last.withLock { $0 = now }
            if now - began < Self.patience { beat() }
            plan()
        }
    }
}

extension Clock {
    /// A clock that stops while the machine sleeps, since no lock can be taken then.
    fileprivate var awake: Instant { now - suspended }
}
