import BridgeModel
import Testing

@testable import BridgeService

@Suite("The relay's clock, as its answers show it")
struct RelayClockTests {
    /// The wall clock is so many seconds ahead, and the answers come ten seconds apart.
    private static func clock(ahead: [Int64], apart: Int64 = 10) -> RelayClock {
        var clock = RelayClock()
        for (number, ahead) in ahead.enumerated() {
            let second = Int64(number) * apart
            let wall = (1_000_000 + second + ahead) * 1_000 + 500
            clock.answered(1_000_000 + second, at: .zero + .seconds(second), wall: wall)
        }
        return clock
    }

    private static let minute: Int64 = 60_000

    @Test("before any answer an update is as old as its receipt")
    func unknown() {
        let clock = RelayClock()
        #expect(clock.age(of: 0, wall: 3_600_000) == .zero)
        #expect(clock.remarkable == nil)
    }

    @Test(
        "an update's age is that of the relay's clock, whatever this machine's says", arguments: [-2_100, 0, 60, 2_100])
    func age(ahead: Int64) {
        let clock = Self.clock(ahead: [ahead])
        let wall = (1_000_000 + ahead) * 1_000
        #expect(clock.age(of: 1_000_000_000 - 5 * Self.minute, wall: wall) == .seconds(300))
        #expect(clock.age(of: 1_000_000_000 + 5 * Self.minute, wall: wall) == .zero, "not made yet")
    }

    @Test("the median of five answers counts: one page of another clock changes nothing")
    func median() {
        let clock = Self.clock(ahead: [10, 11, 3_600, 12, 13, -9_000, 12], apart: 61)
        #expect(clock.ahead == 12_000)
    }

    @Test("it moves once a minute")
    func pace() {
        #expect(Self.clock(ahead: [0, 600, 600, 600, 600, 600]).ahead == 0)
        #expect(Self.clock(ahead: [0, 600, 600, 600, 600, 600, 600]).ahead == 600_000)
    }

    @Test("people hear of it from two minutes on", arguments: [(119, nil), (-119, nil), (120, 120), (-2_100, -2_100)])
    func said(ahead: Int64, remarkable: Int64?) { #expect(Self.clock(ahead: [ahead]).remarkable == remarkable) }

    @Test("a date that no clock shows, and an update's time that cannot be, count for nothing")
    func incredible() {
        var clock = RelayClock()
        clock.answered(.max / 2_000, at: .zero, wall: 0)
        #expect(clock.ahead == nil)
        #expect(Self.clock(ahead: [0]).age(of: .min, wall: .max) == .zero)
    }
}
