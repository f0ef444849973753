import Locking
import OSThreads
package import Vocabulary

/// The sign that the process works, for whoever keeps it running: at a fixed pace a thread of its own takes each machine's lock once
/// and looks whether an alarm is late.
///
/// - A disk, a relay or an agent that does not answer is no reason for silence: machines wait for them outside their locks, and this
///   thread touches none of them.
/// - A lock that nobody gives back keeps the thread waiting, so that no beat comes until it is free.
package final class Heartbeat: Sendable {
    /// What one look at the machines may take, and what an alarm may be late.
    package static let patience = Duration.seconds(30)

    private let every: Duration
    private let clock: any Clock
    private let look: @Sendable () -> Duration
    private let beat: @Sendable () -> Void
    private let last: Locked<Instant>
    private let isStopped = Locked(false)
    private let pause = WakeUp()

    /// `look` takes the locks, and returns how late the latest alarm is. `beat` is called behind each look that went well, on the
    /// heartbeat's thread.
    package init(
        every: Duration, clock: any Clock, look: @escaping @Sendable () -> Duration,
        beat: @escaping @Sendable () -> Void = {}
    ) {
        self.every = every
        self.clock = clock
        self.look = look
        self.beat = beat
        last = Locked(clock.now)
    }

    /// False when the system has no thread left.
    package func start() -> Bool {
        startThread { [self] in
            while !isStopped.withLock({ $0 }) {
                round()
                pause.wait(atMost: every)
            }
        }
    }

    package func stop() {
        isStopped.withLock { $0 = true }
        pause.raise()
    }

    /// One look.
    package func round() {
        let began = clock.now
        guard look() < Self.patience, clock.now - began < Self.patience else { return }
        let now = clock.now
        last.withLock { $0 = now }
        beat()
    }

    /// A look went well within the time that two may take.
    package var isBeating: Bool { clock.now - last.withLock { $0 } < every + Self.patience }
}
