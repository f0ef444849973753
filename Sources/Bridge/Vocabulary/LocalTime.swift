/// Wall clock and time zone of the bridge's machine at one moment, read at the edge: a card can name an hour.
package struct LocalTime: Hashable, Sendable {
    private let readAt: Instant
    private let wallSeconds: Int64
    private let secondsEast: Int64
    private let zone: String

    /// `zone` is the zone's abbreviation, such as CET; `wallSeconds` counts from 1970, in UTC.
    package init(wallSeconds: Int64, secondsEast: Int64, zone: String, at readAt: Instant) {
        self.wallSeconds = wallSeconds
        self.secondsEast = secondsEast
        self.zone = zone
        self.readAt = readAt
    }

    /// Hour in the form `14:05 CET`, with the date on any day but today. Nil beyond a year.
    package func hour(of moment: Instant) -> String? {
        let ahead = (moment - readAt).components.seconds
        guard abs(ahead) < 366 * 86_400 else { return nil }
        let (local, overflows) = wallSeconds.addingReportingOverflow(secondsEast)
        guard !overflows, abs(local) < 1 << 40 else { return nil }
        let then = local + ahead
        let days = Self.day(then) - Self.day(local)
        let minute = (then - Self.day(then) * 86_400) / 60
        let hour = Self.two(minute / 60) + ":" + Self.two(minute % 60) + (zone.isEmpty ? "" : " " + zone)
        return days == 0 ? hour : "\(Self.date(Self.day(then))), \(hour)"
    }

    /// Second of the zone's day, by the zone's offset at `readAt`. Nil beyond a year.
    package func secondOfDay(at moment: Instant) -> Int? {
        let ahead = (moment - readAt).components.seconds
        guard abs(ahead) < 366 * 86_400 else { return nil }
        let (local, overflows) = wallSeconds.addingReportingOverflow(secondsEast)
        guard !overflows, abs(local) < 1 << 40 else { return nil }
        let then = local + ahead
        return Int(then - Self.day(then) * 86_400)
    }

    /// Date of a day since 1970, such as `24 Nov`. Eras of 400 years begin in March: a leap day is the last of its year.
    private static func date(_ day: Int64) -> String {
        let shifted = day + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let year = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * year + year / 4 - year / 100)
        let month = (5 * dayOfYear + 2) / 153
        let names = ["Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec", "Jan", "Feb"]
        return "\(dayOfYear - (153 * month + 2) / 5 + 1) \(names[Int(month)])"
    }

    private static func day(_ seconds: Int64) -> Int64 {
        seconds >= 0 ? seconds / 86_400 : -((-seconds + 86_399) / 86_400)
    }
    private static func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
