package import RelayRules
import Vocabulary

// The relay's own clock, cancellations, removals and refusals.
extension WorldSide {
    package var moment: Moment { Moment(milliseconds: relayWall) }

    private var relayWall: Int64 { time.wallMilliseconds - clockAhead.nanoseconds / 1_000_000 }

    /// The relay's time, in seconds.
    var dateHeader: HTTPHeader { HTTPHeader("Date", HeaderDate.text(relayWall)) }

    package func stops(_ text: String, reason: String? = nil, after: Duration) {
        time.after(after) { [self] in
            guard let message = sent.first(where: { $0.text == text }) else { return }
            relay.userStops(
                session: message.session, interaction: message.interaction, reason: reason ?? Self.pressed, at: moment)
            hasStopped = true
            if let reason { habits.note("relay: cancels a run of ours (\(reason))") }
            pump()
        }
    }

    private static let pressed = "user_aborted"

    /// Cancels each chat that was made for runs of others.
    func relayCancelsMirrored(_ reason: String) {
        let own = Set(chats.values)
        for chat in relay.sessions where !own.contains(chat.id) && !chat.isDeleted && !chat.isArchived {
            let isGoingOn = chat.messages.contains { $0.role == .agent && !$0.isFinal }
            relay.userStops(session: chat.id, interaction: nil, reason: reason, at: moment)
            if isGoingOn { habits.note("relay: cancels a run of others (\(reason))") }
        }
        pump()
    }

    /// The bridge hears that its installation is removed.
    func hearsOfRemoval(status: Int, _ body: [UInt8], by way: String) {
        guard (400..<500).contains(status), removedAt == nil, body.contains(Self.removal) else { return }
        removedAt = now
        habits.note("relay: removes the installation, heard by \(way)")
    }

    private static let removal = Array("\"installation_revoked\"".utf8)
}

/// Dates of headers (RFC 9110, 5.6.7), made by other code than the bridge's reader.
enum HeaderDate {
    private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = [
        ("Jan", 31), ("Feb", 28), ("Mar", 31), ("Apr", 30), ("May", 31), ("Jun", 30), ("Jul", 31), ("Aug", 31),
        ("Sep", 30), ("Oct", 31), ("Nov", 30), ("Dec", 31),
    ]

    /// `milliseconds` since the beginning of 1970.
    static func text(_ milliseconds: Int64) -> String {
        let seconds = Int(milliseconds / 1_000)
        var (day, year) = (seconds / 86_400, 1970)
        let weekday = days[day % 7]
        while day >= length(of: year) {
            day -= length(of: year)
            year += 1
        }
        var month = 0
        while day >= length(of: month, in: year) {
            day -= length(of: month, in: year)
            month += 1
        }
        let clock = [seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60].map(twoDigits).joined(separator: ":")
        return "\(weekday), \(twoDigits(day + 1)) \(months[month].0) \(year) \(clock) GMT"
    }

    private static func isLeap(_ year: Int) -> Bool {
        year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400))
    }
    private static func length(of year: Int) -> Int { isLeap(year) ? 366 : 365 }
    private static func length(of month: Int, in year: Int) -> Int {
        month == 1 && isLeap(year) ? 29 : months[month].1
    }
    private static func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
