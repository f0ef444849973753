import FoundationEssentials

/// Milliseconds since 1970 as people read them, in UTC.
enum JournalTime {
    static func text(_ wall: Int64) -> String {
        Date(timeIntervalSince1970: Double(wall) / 1_000).formatted(
            Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
}
