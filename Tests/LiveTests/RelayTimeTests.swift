import Testing
import Vocabulary

@testable import BridgeService

@Suite("The relay's clock, as its updates show it")
struct RelayTimeTests {
    /// `skew`: seconds that the bridge's wall clock is ahead. Both clocks begin at zero.
    private static func made(
        _ time: inout RelayTime, at seconds: Int64, receivedAt: Int64, skew: Int64 = 0
    ) -> Int64? {
        let now = Instant(nanoseconds: receivedAt * 1_000_000_000)
        let moment = time.made(
            seconds * 1_000, receivedAt: now, wall: (receivedAt + skew) * 1_000)
        #expect(moment.map { $0.wallMilliseconds == seconds * 1_000 } ?? true)
        return moment.map { $0.instant.nanoseconds / 1_000_000 }
    }

    @Test("once an update came promptly, a late one is known by it, however wrong the bridge's wall clock is")
    func skew() {
        for skew in [Int64(-7_200), -1, 0, 120, 7_200] {
            var time = RelayTime()
            _ = Self.made(&time, at: 10, receivedAt: 10, skew: skew)
            #expect(Self.made(&time, at: 20, receivedAt: 20, skew: skew) == 20_000)
            // An update that travelled for nine seconds.
            let late = Self.made(&time, at: 21, receivedAt: 30, skew: skew) ?? 0
            #expect(abs(late - 21_000) < 10, "\(late)")
        }
    }

    @Test("those that waited for the process are judged by the bridge's wall clock: there is nothing else")
    func first() {
        var time = RelayTime()
        #expect(Self.made(&time, at: 10, receivedAt: 40) == 10_000)
        #expect(Self.made(&time, at: 39, receivedAt: 40) == 39_000)
        #expect((Self.made(&time, at: 20, receivedAt: 41) ?? 0) < 21_100)
        // Every update came late so far, so the newest of them counts as now.
        #expect(Self.made(&time, at: 44, receivedAt: 45) == 45_000)
    }

    @Test("clocks that drift apart are followed")
    func drift() {
        var time = RelayTime()
        _ = Self.made(&time, at: 1_000, receivedAt: 1_000)
        // The relay's clock loses a second every three hours.
        for hour in 1...48 {
            let now = Int64(1_000 + hour * 10_800)
            #expect(Self.made(&time, at: now - Int64(hour), receivedAt: now) == now * 1_000)
        }
    }

    @Test("a stamp that is missing or absurd says nothing", arguments: [nil, 0, Int64.max, Int64.min, -1] as [Int64?])
    func absurd(stamp: Int64?) {
        var time = RelayTime()
        let wall: Int64 = 1_700_000_000_000
        #expect(time.made(stamp, receivedAt: .zero, wall: wall) == nil)
        #expect(time.made(wall, receivedAt: .zero, wall: wall)?.instant == .zero)
    }
}
