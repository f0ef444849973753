import Vocabulary

/// The events that are worth a notice, and when.
package struct NoticeSettings: Hashable, Sendable {
    /// A recipient is configured.
    package var isOn = false
    package var events = Set(NoticeEvent.allCases)
    /// How long an ask or a question waits for a person before its notice.
    package var waiting = Duration.seconds(60)
    /// A shorter run ends without a notice.
    package var long = Duration.seconds(30)
    package var quiet: QuietHours?
    /// How long after a person acted in a chat no notice goes out about it.
    package var presence = Duration.seconds(60)
    /// Undelivered notices beyond this number are dropped, oldest first.
    package var limit = 200

    package init() {}

    /// Pauses behind failed tries. The try after the last pause is the last.
    package static let pauses: [Duration] = [.seconds(10), .seconds(60), .seconds(600)]
    static let longestPause = Duration.seconds(600)
}

/// A span from one minute of the day to another, by the clock on the wall. It crosses midnight if the second minute is the earlier one.
package struct QuietHours: Hashable, Sendable, CustomStringConvertible {
    private let from: Int
    private let to: Int

    /// Reads a text such as `22:00-07:00`. Nil if it is something else, or spans no time.
    package init?(_ text: String) {
        let ends = text.split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let from = Self.minute(ends[0]), let to = Self.minute(ends[1]), from != to else {
            return nil
        }
        (self.from, self.to) = (from, to)
    }

    private static func minute(_ text: Substring) -> Int? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ $0.utf8.count == 2 && $0.utf8.allSatisfy { 48...57 ~= $0 } }),
            let hour = Int(parts[0]), let minute = Int(parts[1]), hour < 24, minute < 60
        else { return nil }
        return hour * 60 + minute
    }

    package var description: String { "\(Self.text(from))-\(Self.text(to))" }

    private static func text(_ minute: Int) -> String {
        [minute / 60, minute % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
    }

    /// The rest of the quiet hours after a second of the day, or nil if that second is outside of them.
    package func left(atSecondOfDay second: Int) -> Duration? {
        let minute = second / 60
        let isWithin = from < to ? (from..<to).contains(minute) : minute >= from || minute < to
        guard isWithin else { return nil }
        let end = to * 60
        return .seconds(end > second ? end - second : end + 86_400 - second)
    }
}
