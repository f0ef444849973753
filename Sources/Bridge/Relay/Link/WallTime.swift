import FoundationEssentials
import JSONReading
import Vocabulary

/// Times of the relay: milliseconds or seconds since 1970, as a number or its digits, or ISO 8601
/// (relay.md#json-rules, relay.md#pairing-the-documented-form, relay.md#wrapper).
enum WallTime {
    /// A smaller number counts seconds (relay.md#pairing-the-documented-form).
    private static let leastMilliseconds = 1_000_000_000_000
    private static let longest = leastMilliseconds * 1_000 - 1

    static func milliseconds(_ node: FrameNode?) -> Int64? {
        guard let node else { return nil }
        if let number = node.integer(in: 1...longest) { return milliseconds(number) }
        guard let text = node.string, text.utf8.count <= 64 else { return nil }
        return Int(text).flatMap(milliseconds) ?? parse(text)
    }

    private static func milliseconds(_ number: Int) -> Int64? {
        guard (1...longest).contains(number) else { return nil }
        return Int64(number < leastMilliseconds ? number * 1_000 : number)
    }

    private static func parse(_ text: String) -> Int64? {
        let plain = Date.ISO8601FormatStyle()
        let fractional = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        guard let date = (try? fractional.parse(text)) ?? (try? plain.parse(text)) else { return nil }
        guard let milliseconds = OutsideNumber.rounded(date.timeIntervalSince1970 * 1_000) else { return nil }
        return (-Int64(longest)...Int64(longest)).contains(milliseconds) ? milliseconds : nil
    }
}
