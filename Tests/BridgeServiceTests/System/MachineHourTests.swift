import BridgeService
import Glibc
import Testing
import Vocabulary
import Worlds

@Suite("The hour of the machine")
struct MachineHourTests {
    /// The moment as the machine itself writes it.
    private static func written(_ milliseconds: Int64) -> String {
        var moment = time_t(milliseconds / 1_000)
        var local = tm()
        localtime_r(&moment, &local)
        var text = [CChar](repeating: 0, count: 64)
        let length = strftime(&text, text.count, "%H:%M %Z", &local)
        return String(decoding: text.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    @Test("is that of its zone, at the moment that the clock shows", arguments: [1_770_000_000_000, 1_783_000_000_000])
    func hour(_ wall: Int64) throws {
        let clock = HandClock(now: Instant(nanoseconds: 77_000_000_000), wallMilliseconds: wall)
        let time = try #require(LocalTime(of: clock))
        #expect(time.hour(of: clock.now) == Self.written(wall))
        #expect(time.hour(of: clock.now + .seconds(60)) == Self.written(wall + 60_000))
    }

    @Test("the clocks of a running bridge know it, those of tests do not")
    func clocks() {
        #expect(SystemClock().localTime != nil)
        #expect(ScaledClock(scale: 60).localTime != nil)
        #expect(HandClock().localTime == nil)
    }
}
