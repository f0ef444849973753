package import BridgeModel

/// A file that is offered to the phone (relay.md#notifytoolfile).
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

/// Announcements on their way to the relay, one call at a time: an agent that reads a thousand files must not empty the bucket that
/// they share with other calls.
///
/// - The relay knows a file by its chat and path, so that a call of unknown outcome may be made again, and a file that waits to be
///   announced is not announced twice.
/// - Beyond `limit` further announcements are dropped: no answer depends on them.
package struct FileAnnouncements: Sendable {
    package enum Outcome: Hashable, Sendable {
        case done, unknown
        case wait(Duration)
    }

    package static let limit = 200
    private static let gap = Duration.milliseconds(200)
    private static let tries = 3

    private var waiting: [FileAnnouncement] = []
    private var underWay: FileAnnouncement?
    private var failures = 0
    private var notBefore = Instant.zero

    package init() {}

    package mutating func add(_ announcement: FileAnnouncement) {
        if let index = waiting.firstIndex(where: {
            $0.session == announcement.session && $0.file.path == announcement.file.path
        }) {
            waiting[index] = announcement
        } else if waiting.count < Self.limit {
            waiting.append(announcement)
        }
    }

    package var nextDeadline: Instant? { underWay == nil && !waiting.isEmpty ? notBefore : nil }

    /// What to announce now.
    package mutating func next(at now: Instant) -> FileAnnouncement? {
        guard let due = nextDeadline, due <= now else { return nil }
        underWay = waiting.removeFirst()
        return underWay
    }

    package mutating func answered(_ outcome: Outcome, at now: Instant) {
        guard let announcement = underWay else { return }
        underWay = nil
        switch outcome {
        case .done:
            failures = 0
            notBefore = now + Self.gap
        case .wait(let pause):
            waiting.insert(announcement, at: 0)
            notBefore = now + pause
        case .unknown:
            failures += 1
            notBefore = now + .seconds(1 << min(failures, 6))
            if failures < Self.tries { waiting.insert(announcement, at: 0) } else { failures = 0 }
        }
    }
}
