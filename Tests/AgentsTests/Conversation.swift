import AgentKit
import Vocabulary

/// A decoder and its frames. `ObservationText` prints its answer to each, one line per event.
struct Conversation {
    private var decoder: any AgentDecoder
    private var now = Instant.zero

    init(_ agent: any AgentPlugin) { decoder = agent.decoder() }

    var unknown: UnknownTally { decoder.unknown }
    var nextDeadline: Int64? { decoder.nextDeadline.map(ObservationText.milliseconds) }

    mutating func receives(_ frame: String) -> [String] {
        let bytes = Array(frame.utf8)
        return bytes.withUnsafeBytes { decoder.received($0, capacity: $0.count, at: now) }.map(ObservationText.line)
    }

    mutating func sends(_ frame: String) -> [String] {
        let bytes = Array(frame.utf8)
        return bytes.withUnsafeBytes { decoder.sent($0, capacity: $0.count, at: now) }.map(ObservationText.line)
    }

    /// Advances time and fires deadlines on the way.
    mutating func waits(_ milliseconds: Int64) -> [String] {
        let end = now + .milliseconds(milliseconds)
        var lines: [String] = []
        while let deadline = decoder.nextDeadline, deadline <= end {
            lines += decoder.deadlineHit(at: deadline).map(ObservationText.line)
        }
        now = end
        return lines
    }
}
