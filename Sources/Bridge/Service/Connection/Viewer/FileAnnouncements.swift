package import Vocabulary

/// Offer of a file to the phone (relay.md#notifytoolfile).
package struct FileAnnouncement: Hashable, Sendable {
    package var session: SessionID
    package var sealing: TurnSealing
    package var use: ToolFile.Use
    package var file: SeenFile

    package init(session: SessionID, sealing: TurnSealing, use: ToolFile.Use, file: SeenFile) {
        self.session = session
        self.sealing = sealing
        self.use = use
        self.file = file
    }
}

/// Announcements on their way to the relay, one call at a time: an agent that reads a thousand files must not empty the bucket that they
/// share with other calls.
///
/// - The relay knows a file by its chat and path, so that a call of unknown outcome may be repeated, and a waiting file is announced once.
/// - While outcomes are unknown the pauses grow up to a minute, and each file has `patience`, so that an outage loses none.
/// - Beyond `limit` further announcements are dropped: no answer depends on them.
package struct FileAnnouncements: Sendable {
    package enum Outcome: Hashable, Sendable {
        case done, unknown
        case wait(Duration)
        case refused(RelayErrorCode)
    }

    private struct Waiting {
        var announcement: FileAnnouncement
        /// Moment of the first try of unknown outcome.
        var since: Instant?
        /// The chat is gone: the try under way is the last.
        var isLast = false

        func isOf(_ other: FileAnnouncement) -> Bool {
            announcement.session == other.session && announcement.file.path == other.file.path
        }
    }

    package static let limit = 200
    private static let gap = Duration.milliseconds(200)
    private static let patience = Duration.seconds(600)

    private var waiting: [Waiting] = []
    private var underWay: Waiting?
    private var backOff = BackOff(first: .seconds(2), longest: .seconds(60))
    private var notBefore = Instant.zero

    package init() {}

    package mutating func add(_ announcement: FileAnnouncement) {
        if let index = waiting.firstIndex(where: { $0.isOf(announcement) }) {
            waiting[index].announcement = announcement
        } else if waiting.count < Self.limit {
            waiting.append(Waiting(announcement: announcement))
        }
    }

    /// Drops the announcements of a chat that is gone.
    package mutating func forget(_ session: SessionID) {
        waiting.removeAll { $0.announcement.session == session }
        if underWay?.announcement.session == session { underWay?.isLast = true }
    }

    package var nextDeadline: Instant? { underWay == nil && !waiting.isEmpty ? notBefore : nil }

    /// The announcement to send now.
    package mutating func next(at now: Instant) -> FileAnnouncement? {
        guard let due = nextDeadline, due <= now else { return nil }
        underWay = waiting.removeFirst()
        return underWay?.announcement
    }

    package mutating func answered(_ outcome: Outcome, at now: Instant) {
        guard var tried = underWay.take() else { return }
        switch outcome {
        case .done, .refused:
            backOff.succeeded()
            notBefore = now + Self.gap
        case .wait(let pause):
            putBack(tried, first: true)
            notBefore = now + pause
        case .unknown:
            notBefore = now + backOff.next()
            let since = tried.since ?? now
            tried.since = since
            // Put it behind the others: it may be the only one that the relay cannot take.
            if now - since < Self.patience { putBack(tried, first: false) }
        }
    }

    /// A file that was touched again meanwhile waits already, in its newer form.
    private mutating func putBack(_ tried: Waiting, first: Bool) {
        if tried.isLast { return }
        if let index = waiting.firstIndex(where: { $0.isOf(tried.announcement) }) {
            waiting[index].since = tried.since
        } else {
            waiting.insert(tried, at: first ? 0 : waiting.count)
        }
    }
}
