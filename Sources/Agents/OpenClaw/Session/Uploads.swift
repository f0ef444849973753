import AgentKit
import Vocabulary

/// Messages with files on one socket, sent one after another to limit the bytes in memory and in the send buffer.
///
/// - A request behind such a message waits for it: its time begins when the message has arrived.
/// - The queue belongs to one socket. On the next one each message is decided anew.
struct Uploads {
    enum Step: Hashable {
        /// The message's files are being read. Can transition to: leaving.
        case reading
        /// The message's frame was handed to the socket. An answer to a later request proves that it arrived.
        case leaving(request: Int, since: Instant)
    }

    private(set) var current: (run: RunID, step: Step)?
    private var waiting: [RunID] = []

    func holds(_ run: RunID) -> Bool { current?.run == run || waiting.contains(run) }

    func isReading(_ run: RunID) -> Bool { current.map { $0.run == run && $0.step == .reading } ?? false }

    /// Since when a long frame is being sent, or nil if none is.
    var leavingSince: Instant? {
        if case .leaving(_, let since)? = current?.step { since } else { nil }
    }

    mutating func queue(_ run: RunID) { if !holds(run) { waiting.append(run) } }

    /// Nil if another message is under way, or none waits.
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
