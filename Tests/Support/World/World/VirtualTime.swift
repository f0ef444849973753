package import Vocabulary

/// Time that moves from one appointment to the next. Single-threaded, so nothing here needs a lock.
package final class VirtualTime: Clock, @unchecked Sendable {
    package private(set) var now = Instant.zero
    private var appointments = EventQueue<() -> Void>()
    /// Number of past appointments.
    package private(set) var steps = 0

    /// Time that the machine has slept.
    package var suspended = Duration.zero

    package init() {}

    package var wallMilliseconds: Int64 { 1_770_000_000_000 + (now - Instant.zero).nanoseconds / 1_000_000 }

    package func after(_ duration: Duration, _ action: @escaping () -> Void) {
        at(now + max(.zero, duration), action)
    }

    package func at(_ moment: Instant, _ action: @escaping () -> Void) {
        appointments.add(action, at: max(moment, now))
    }

    /// False if nothing remains before that moment.
    package func step(until end: Instant) -> Bool {
        guard let next = appointments.nextAt, next <= end, let action = appointments.takeNext() else { return false }
        now = max(now, next)
        steps += 1
        action()
        return true
    }

    /// Drops the remaining appointments and everything they retain.
    package func end() { appointments = EventQueue() }
}

/// Rings on virtual time while its process lives.
final class VirtualAlarm: Alarm, @unchecked Sendable {
    private let time: VirtualTime
    private let isAlive: () -> Bool
    private var setting = 0

    init(_ time: VirtualTime, isAlive: @escaping () -> Bool) {
        self.time = time
        self.isAlive = isAlive
    }

    func set(_ moment: Instant?, ring: @escaping @Sendable () -> Void) {
        setting += 1
        guard let moment else { return }
        let mine = setting
        time.at(moment) { [self] in if mine == setting, isAlive() { ring() } }
    }

    func stop() { setting += 1 }
}
