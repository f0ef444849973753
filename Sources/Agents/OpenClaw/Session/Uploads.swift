import AgentKit
import Vocabulary

/// Messages with files on their way through one socket, one after another, so that few of their bytes are in memory and wait to be sent.
///
/// - What is asked behind one waits for it: its time begins when that has arrived.
/// - All of it is of one socket. Another one decides again for each message.
struct Uploads {
    enum Step: Hashable {
        /// Its files are being read. Can transition to: leaving.
        case reading
        /// Its frame was handed to the socket. An answer to a later request shows that it has arrived.
        case leaving(request: Int, since: Instant)
    }

    private(set) var current: (run: RunID, step: Step)?
    private var waiting: [RunID] = []

    func holds(_ run: RunID) -> Bool { current?.run == run || waiting.contains(run) }

    func isReading(_ run: RunID) -> Bool { current.map { $0.run == run && $0.step == .reading } ?? false }

    /// Since when a frame leaves, if one does.
    var leavingSince: Instant? {
        if case .leaving(_, let since)? = current?.step { since } else { nil }
    }

    mutating func queue(_ run: RunID) { if !holds(run) { waiting.append(run) } }

    /// Nil: another is under way, or none waits.
    mutating func beginNext() -> RunID? {
        guard current == nil, !waiting.isEmpty else { return nil }
        let run = waiting.removeFirst()
        current = (run, .reading)
        return run
    }

    mutating func leaves(_ run: RunID, as request: Int, at now: Instant) {
        if isReading(run) { current?.step = .leaving(request: request, since: now) }
    }

    mutating func isOver() { current = nil }

    mutating func remove(_ run: RunID) { waiting.removeAll { $0 == run } }

    mutating func socketLost() { (current, waiting) = (nil, []) }
}
