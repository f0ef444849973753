/// A wall-clock moment in milliseconds since 1970, passed by the caller: the relay has no clock of its own.
///
/// Wall clocks jump in both directions. A jump back must never remove tokens nor expire
/// anything; a jump forward must never give more than a full bucket.
package struct Moment: Hashable, Sendable, Comparable {
    package let milliseconds: Int64

    package init(milliseconds: Int64) { self.milliseconds = milliseconds }

    package static func < (left: Moment, right: Moment) -> Bool { left.milliseconds < right.milliseconds }

    package func advanced(byMilliseconds distance: Int64) -> Moment {
        let (sum, overflow) = milliseconds.addingReportingOverflow(distance)
        return Moment(milliseconds: overflow ? (distance < 0 ? .min : .max) : sum)
    }

    /// Milliseconds from an earlier moment to this one, never negative.
    func milliseconds(since earlier: Moment) -> Int64 {
        let (difference, overflow) = milliseconds.subtractingReportingOverflow(earlier.milliseconds)
        return overflow ? (self < earlier ? 0 : .max) : max(0, difference)
    }

    /// ISO 8601 in UTC with milliseconds; `created_at` of an update is a string (relay.md#wrapper).
    var iso8601: String {
        let millisecondsOfDay = ((milliseconds % 86_400_000) + 86_400_000) % 86_400_000
        let days = (milliseconds - millisecondsOfDay) / 86_400_000
        let (year, month, day) = Self.civilDate(daysSince1970: days)
        let seconds = millisecondsOfDay / 1000
        return Self.padded(year, 4) + "-" + Self.padded(month, 2) + "-" + Self.padded(day, 2) + "T"
            + Self.padded(seconds / 3600, 2) + ":" + Self.padded(seconds / 60 % 60, 2) + ":"
            + Self.padded(seconds % 60, 2) + "." + Self.padded(millisecondsOfDay % 1000, 3) + "Z"
    }

    /// The proleptic Gregorian date, counted in eras of 400 years that begin on 1 March.
    private static func civilDate(daysSince1970: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = daysSince1970 + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
    }

    static func padded(_ number: Int64, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
}
