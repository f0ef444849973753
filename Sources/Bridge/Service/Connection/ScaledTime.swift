package import Links
package import Vocabulary

/// A clock that runs faster than the machine's, for tests of what takes half an hour. Both times start at the machine's.
package struct ScaledClock: Clock {
    private let base = SystemClock()
    private let origin: Instant
    private let wallOrigin: Int64
    private let scale: Int64

    package init(scale: Int) {
        origin = base.now
        wallOrigin = base.wallMilliseconds
        self.scale = Int64(max(1, scale))
    }

    package var now: Instant {
        Instant(nanoseconds: origin.nanoseconds + (base.now - origin).nanoseconds * scale)
    }

    package var wallMilliseconds: Int64 { wallOrigin + (base.wallMilliseconds - wallOrigin) * scale }

    package var suspended: Duration { base.suspended * Int(scale) }

    package var localTime: LocalTime? { LocalTime(of: self) }

    /// Moment of the machine's clock at which this clock shows `moment`.
    func real(_ moment: Instant) -> Instant {
        Instant(nanoseconds: origin.nanoseconds + (moment - origin).nanoseconds / scale)
    }
}

package struct ScaledAlarm: Alarm {
    private let base: SystemAlarm
    private let clock: ScaledClock

    package init(_ clock: ScaledClock) throws(ThreadFault) {
        self.clock = clock
        base = try SystemAlarm()
    }

    package func set(_ moment: Instant?, ring: @escaping @Sendable () -> Void) {
        base.set(moment.map { clock.real($0) }, ring: ring)
    }

    package func stop() { base.stop() }
}
