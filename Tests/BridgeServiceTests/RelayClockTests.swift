import Testing
import Vocabulary

@testable import BridgeService

@Suite("The relay's clock, as its answers show it")
struct RelayClockTests {
    /// This machine's clock at 1,000,000 s of the relay's clock.
    private static let begun = Instant.zero + .seconds(77)

    /// The wall clock leads by these seconds. The answers come `apart` seconds after each other.
    private static func clock(ahead: [Int64], apart: Int64 = 10) -> RelayClock {
        var clock = RelayClock()
        for (number, ahead) in ahead.enumerated() {
            let second = Int64(number) * apart
            let date = 1_000_000 + second - ahead
            clock.answered(date, at: begun + .seconds(second), wall: (1_000_000 + second) * 1_000 + 500)
        }
        return clock
    }

    /// Lead by the wall clock of the beginning.
    private static func ahead(_ clock: RelayClock) -> Int64? { clock.ahead(at: begun, wall: 1_000_000_500) }

    private static let minute: Int64 = 60_000

    @Test("before any answer this machine's clock is believed, up to ten minutes")
    func unknown() {
        let clock = RelayClock()
        #expect(clock.age(of: 0, at: Self.begun, wall: 79_000) == .seconds(79))
        #expect(clock.age(of: 0, at: Self.begun, wall: 3_600_000) == .seconds(600))
        #expect(clock.age(of: 79_000, at: Self.begun, wall: 0) == .zero)
        #expect(clock.remarkable(at: Self.begun, wall: 0) == nil)
    }

    @Test(
        "an update's age is that of the relay's clock, whatever this machine's says", arguments: [-2_100, 0, 60, 2_100])
    func age(ahead: Int64) {
        let clock = Self.clock(ahead: [ahead])
        let shown = (1_000_000 - ahead) * 1_000 + 500
        #expect(clock.age(of: shown - 5 * Self.minute, at: Self.begun, wall: 1_000_000_500) == .seconds(300))
        #expect(
            clock.age(of: shown + 5 * Self.minute, at: Self.begun, wall: 1_000_000_500) == .zero, "not made yet")
        #expect(
            clock.age(of: shown, at: Self.begun + .seconds(9), wall: 1_000_000_500) == .seconds(9),
            "by the clock that nobody sets")
    }

    @Test("a step of the wall clock makes no message old", arguments: [-28_800, 28_800])
    func step(behind: Int64) {
        var clock = RelayClock()
        for second in 0..<5 as Range<Int64> {
            clock.answered(
                1_000_000 + second, at: Self.begun + .seconds(second), wall: (1_000_000 + second - behind) * 1_000)
        }
        let now = Self.begun + .seconds(20)
        let right: Int64 = 1_000_020_500
        let age = clock.age(of: right - 5_000, at: now, wall: right)
        #expect((.seconds(4)...(.seconds(6))).contains(age), "\(age)")
        #expect(clock.remarkable(at: now, wall: right) == nil)
        #expect(clock.remarkable(at: now, wall: right - behind * 1_000) == -behind)
    }

    @Test("the median of five answers counts: one page of another clock changes nothing")
    func median() {
        #expect(Self.ahead(Self.clock(ahead: [10, 11, 3_600, 12, 13, -9_000, 12], apart: 61)) == 12_000)
    }

    @Test("it moves once a minute")
    func pace() {
        #expect(Self.ahead(Self.clock(ahead: [0, 600, 600, 600, 600, 600])) == 0)
        #expect(Self.ahead(Self.clock(ahead: [0, 600, 600, 600, 600, 600, 600])) == 600_000)
    }

    @Test("people hear of it from two minutes on", arguments: [(119, nil), (-119, nil), (120, 120), (-2_100, -2_100)])
    func said(ahead: Int64, remarkable: Int64?) {
        #expect(Self.clock(ahead: [ahead]).remarkable(at: Self.begun, wall: 1_000_000_500) == remarkable)
    }

    @Test("a date that no clock shows, and an update's time that cannot be, count for nothing")
    func incredible() {
        var clock = RelayClock()
        clock.answered(.max / 2_000, at: .zero, wall: 0)
        #expect(Self.ahead(clock) == nil)
        #expect(Self.clock(ahead: [0]).age(of: .min, at: Self.begun, wall: .max) == .zero)
    }
}
