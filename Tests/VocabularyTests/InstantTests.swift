import Testing
import Vocabulary

@Suite("Instants")
struct InstantTests {
    @Test("a duration added and taken away again leads back")
    func roundTrip() {
        let start = Instant(nanoseconds: 5)
        #expect(start + .milliseconds(250) - .milliseconds(250) == start)
        #expect((start + .seconds(2)) - start == .seconds(2))
    }

    @Test("the difference to a later instant is negative")
    func negative() {
        #expect(Instant.zero - Instant(nanoseconds: 7) == .nanoseconds(-7))
    }

    @Test(
        "a duration is told in nanoseconds",
        arguments: [
            (Duration.zero, Int64(0)), (.milliseconds(1), 1_000_000), (.seconds(-1), -1_000_000_000),
            (.seconds(3600), 3_600_000_000_000),
            (.nanoseconds(-1), -1), (.milliseconds(9_223), 9_223_000_000), (.milliseconds(9_224), 9_224_000_000),
            (.milliseconds(-9_224), -9_224_000_000),
        ])
    func nanoseconds(duration: Duration, expected: Int64) {
        #expect(duration.nanoseconds == expected)
    }

    @Test("a duration of a thousand years saturates instead of trapping")
    func saturates() {
        #expect(Duration.seconds(Int64.max).nanoseconds == .max / 2)
        #expect(Duration.seconds(Int64.min).nanoseconds == .min / 2)
    }
}
