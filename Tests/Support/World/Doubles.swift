import Locking
package import Vocabulary

/// Always draws the middle of the range, so a back-off has no jitter.
package struct NoJitter: RandomNumberGenerator {
    package init() {}
    package mutating func next() -> UInt64 { 1 << 63 }
}

/// Signs by reversing the text; a gateway reverses it again to check.
package struct MirrorSigner: Signer {
    package let publicKey = [UInt8](repeating: 7, count: 32)
    package init() {}
    package func sign(_ text: [UInt8]) -> [UInt8] { text.reversed() }
}

/// The same numbers for the same seed.
package final class SeededSource: RandomSource {
    private let generator: Locked<SeededGenerator>

    package init(_ seed: UInt64) { generator = Locked(SeededGenerator(seed: seed)) }

    package func next() -> UInt64 { generator.withLock { $0.next() } }
}

/// A clock that the test moves, monotonic and wall time together.
package final class HandClock: Clock {
    private struct State {
        var now: Instant
        var wall: Int64
        var alarms: [HandAlarm] = []
    }

    private let state: Locked<State>

    package init(now: Instant = .zero, wallMilliseconds: Int64 = 1_770_000_000_000) {
        state = Locked(State(now: now, wall: wallMilliseconds))
    }

    package var now: Instant { state.withLock { $0.now } }
    package var wallMilliseconds: Int64 { state.withLock { $0.wall } }

    /// Rings the alarms that are due by then.
    package func pass(_ duration: Duration) {
        let (now, alarms) = state.withLock { state in
            state.now = state.now + duration
            state.wall += duration.nanoseconds / 1_000_000
            return (state.now, state.alarms)
        }
        for alarm in alarms { alarm.ring(ifDueBy: now) }
    }

    /// The earliest moment that an alarm of this clock is set to.
    package var alarm: Instant? { state.withLock { $0.alarms }.compactMap(\.moment).min() }

    /// Makes an alarm that rings once this clock passes its moment.
    package func makeAlarm() -> HandAlarm {
        let alarm = HandAlarm()
        state.withLock { $0.alarms.append(alarm) }
        return alarm
    }
}

/// An alarm that rings when the test says so, or by its `HandClock`.
package final class HandAlarm: Alarm {
    private let setting = Locked<(moment: Instant, ring: @Sendable () -> Void)?>(nil)

    package init() {}

    package var moment: Instant? { setting.withLock { $0?.moment } }

    package func set(_ moment: Instant?, ring: @escaping @Sendable () -> Void) {
        setting.withLock { $0 = moment.map { ($0, ring) } }
    }
    package func stop() { setting.withLock { $0 = nil } }
    package func ring() { setting.withLock { $0 }?.ring() }

    func ring(ifDueBy now: Instant) {
        let due = setting.withLock { setting in
            guard let moment = setting?.moment, moment <= now else { return nil as (@Sendable () -> Void)? }
            return setting.take()?.ring
        }
        due?()
    }
}
