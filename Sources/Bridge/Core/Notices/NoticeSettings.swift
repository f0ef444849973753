import Vocabulary

/// What is worth a notice, and when.
package struct NoticeSettings: Hashable, Sendable {
    /// There is a recipient.
    package var isOn = false
    package var events = Set(NoticeEvent.allCases)
    /// How long something waits for a person before the notice.
    package var waiting = Duration.seconds(60)
    /// A shorter run ends without one.
    package var long = Duration.seconds(30)
    package var quiet: QuietHours?
    /// For so long after a person acted in a chat there is none about it.
    package var presence = Duration.seconds(60)
    /// The oldest beyond so many undelivered ones are dropped.
    package var limit = 200

    package init() {}

    /// The pauses behind a failed try. After the last one there is no other.
    package static let pauses: [Duration] = [.seconds(10), .seconds(60), .seconds(600)]
    static let longestPause = Duration.seconds(600)
}

/// From one minute of the day up to another, by the clock on the wall: over midnight where the second is the earlier one.
package struct QuietHours: Hashable, Sendable, CustomStringConvertible {
    private let from: Int
    private let to: Int

    /// Such as `22:00-07:00`. Nil: it is something else, or no time at all.
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

    /// The rest of the quiet hours after a second of the day; nil: that second is outside of them.
    package func left(atSecondOfDay second: Int) -> Duration? {
        let minute = second / 60
        let isWithin = from < to ? (from..<to).contains(minute) : minute >= from || minute < to
        guard isWithin else { return nil }
        let end = to * 60
        return .seconds(end > second ? end - second : end + 86_400 - second)
    }
}
