/// Numbers in text of a far side. The rooms that read outside input make no `Double` of it themselves: one that is not finite
/// or too large traps where it becomes an integer or a duration.
package enum OutsideNumber {
    /// Nil for anything that is no number from 0 to `limit` seconds.
    package static func seconds(_ text: String, atMost limit: Double = 1e9) -> Duration? {
        guard let value = Double(text), value >= 0, value <= min(limit, 1e9) else { return nil }
        return .nanoseconds(Int64(value * 1e9))
    }

    /// The nearest whole number; nil when 64 bits do not hold it.
    package static func rounded(_ value: Double) -> Int64? { Int64(exactly: value.rounded()) }
}
