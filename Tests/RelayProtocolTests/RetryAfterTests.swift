import RelayProtocol
import Testing

@Suite("Retry-After")
struct RetryAfterTests {
    @Test(
        "seconds, and a date that is told as the time until it",
        arguments: [
            ("0", Duration.zero), ("17", .seconds(17)), (" 3 ", .seconds(3)), ("3601", .seconds(3601)),
            ("99999999", .seconds(86_400)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", .seconds(37)), ("Sun, 06 Nov 1994 08:48:00 GMT", .zero),
            ("Sat, 29 Feb 2020 00:00:00 GMT", .seconds(86_400)),
        ])
    func parsed(text: String, expected: Duration) {
        // 1994-11-06T08:49:00Z
        #expect(RetryAfter.parse(text, nowWallMilliseconds: 784_111_740_000) == expected)
    }

    @Test(
        "anything else is nil",
        arguments: [
            "soon", "", "-1", "1.5", "Sun, 06 Nov 1994", "Sun, 06 Nov 1994 25:00:00 GMT",
            "Sun, 99 Nov 1994 08:49:37 GMT",
        ])
    func nonsense(text: String) {
        #expect(RetryAfter.parse(text, nowWallMilliseconds: 0) == nil)
    }
}
