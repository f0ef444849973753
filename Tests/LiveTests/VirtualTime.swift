import BridgeModel

/// Time that moves from one appointment to the next. One thread, so that nothing here needs a lock.
final class VirtualTime: Clock, @unchecked Sendable {
    private struct Appointment {
        var at: Instant
        var order: Int
        var action: () -> Void
    }

    private(set) var now = Instant.zero
    private var appointments: [Appointment] = []
    private var order = 0
    /// How many appointments have passed.
    private(set) var steps = 0

    var wallMilliseconds: Int64 { 1_770_000_000_000 + (now - Instant.zero).nanoseconds / 1_000_000 }

    func after(_ duration: Duration, _ action: @escaping () -> Void) { at(now + max(.zero, duration), action) }

    func at(_ moment: Instant, _ action: @escaping () -> Void) {
        order += 1
        let new = Appointment(at: max(moment, now), order: order, action: action)
        let index = appointments.firstIndex { $0.at > new.at } ?? appointments.endIndex
        appointments.insert(new, at: index)
    }

    /// False: nothing is left before that moment.
    func step(until end: Instant) -> Bool {
        guard let first = appointments.first, first.at <= end else { return false }
        appointments.removeFirst()
        now = max(now, first.at)
        steps += 1
        first.action()
        return true
    }
}

/// Rings on virtual time, for as long as its process lives.
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
