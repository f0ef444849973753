/// Numbers in text of a far side. Rooms that read outside input make no `Double` of it themselves: one that
/// is not finite or too large traps on its conversion to an integer or a duration.
package enum OutsideNumber {
    /// Nil unless `text` is a number from 0 to `limit` seconds.
    package static func seconds(_ text: String, atMost limit: Double = 1e9) -> Duration? {
        guard let value = Double(text), value >= 0, value <= min(limit, 1e9) else { return nil }
        return .nanoseconds(Int64(value * 1e9))
    }

    /// The nearest whole number, or nil if 64 bits cannot hold it.
    package static func rounded(_ value: Double) -> Int64? { Int64(exactly: value.rounded()) }
}
