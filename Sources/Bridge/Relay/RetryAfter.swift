/// `Retry-After` in both its forms: seconds, and an HTTP date (RFC 9110, 10.2.3 and 5.6.7).
package enum RetryAfter {
    /// Life of an idempotency key (relay.md#rules). Longer waits are cut to it.
    package static let longest = Duration.seconds(86_400)

    /// Nil if the text has neither form, such as `soon`: the caller has its own back-off.
    package static func parse(_ text: String, nowWallMilliseconds: Int64) -> Duration? {
        let text = text.filter { $0 != " " || text.contains(",") }
        if let seconds = Int64(text) { return seconds < 0 ? nil : min(.seconds(min(seconds, 1 << 40)), longest) }
        guard let moment = HTTPDate.seconds(text) else { return nil }
        let wait = moment * 1_000 - nowWallMilliseconds
        return min(max(.milliseconds(wait), .zero), longest)
    }
}
