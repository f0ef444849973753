import BridgeService
import Locking
import Testing
import Vocabulary
import Worlds

@Suite("The pulse of the bridge")
struct PulseTests {
    private final class SleepyClock: Clock {
        let clock = HandClock(now: .zero, wallMilliseconds: 0)
        let slept = Locked(Duration.zero)

        var now: Instant { clock.now }
        var wallMilliseconds: Int64 { clock.wallMilliseconds }
        var suspended: Duration { slept.withLock { $0 } }
    }

    @Test("it beats every two seconds, and takes the locks each time")
    func beats() {
        let clock = HandClock(now: .zero, wallMilliseconds: 0)
        let taken = Locked(0)
        let pulse = Pulse(clock: clock, alarm: clock.makeAlarm()) { taken.withLock { $0 += 1 } }
        for _ in 0..<30 { clock.pass(.seconds(2)) }
        #expect(taken.withLock { $0 } == 30)
        #expect(pulse.isBeating && pulse.silence == .zero)
    }

    @Test("a lock that is held for 30 seconds, or an alarm that never rings, ends it; later it beats again")
    func silence() {
        let clock = HandClock(now: .zero, wallMilliseconds: 0)
        let alarm = HandAlarm()
        let pulse = Pulse(clock: clock, alarm: alarm) {}
        clock.pass(.milliseconds(29_999))
        #expect(pulse.isBeating)
        clock.pass(.milliseconds(1))
        #expect(!pulse.isBeating && pulse.silence == .seconds(30))
        alarm.ring()
        #expect(pulse.isBeating)
    }

    @Test(
        "no sign of life is given behind a lock that was held for half a minute", arguments: [(0, 1), (29, 1), (30, 0)])
    func signs(takes: Int64, signs: Int) {
        let clock = HandClock(now: .zero, wallMilliseconds: 0)
        let alarm = HandAlarm()
        let given = Locked(0)
        let pulse = Pulse(
            clock: clock, alarm: alarm, beat: { given.withLock { $0 += 1 } }, takeLocks: { clock.pass(.seconds(takes)) }
        )
        alarm.ring()
        #expect(given.withLock { $0 } == signs)
        #expect(pulse.isBeating)
    }

    @Test("a sleep of the machine is no silence")
    func asleep() {
        let clock = SleepyClock()
        let pulse = Pulse(clock: clock, alarm: HandAlarm()) {}
        clock.clock.pass(.seconds(3_600))
        clock.slept.withLock { $0 = .seconds(3_599) }
        #expect(pulse.isBeating && pulse.silence == .seconds(1))
    }
}
