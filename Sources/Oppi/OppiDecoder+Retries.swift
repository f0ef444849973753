import AgentKit
import BridgeModel
import JSONReading

// Loops that fail and begin again (oppi.md#retries-compaction-queue).
extension OppiDecoder.Session {
    /// As much as the text of a run may have.
    private static let limit = 4_000_000

    mutating func remember(_ text: String) {
        guard !text.isEmpty, said.utf8.count + text.utf8.count < Self.limit else { return }
        said += said.isEmpty ? text : "\n\n" + text
    }
}

/// How a loop ended that may be tried again.
struct OppiHeld {
    let event: RunEvent
    /// Nil: while the socket is lost.
    var until: Instant?
    /// What says that it is tried again is never replayed.
    var mayLackRetry: Bool

    /// In milliseconds.
    static let longestRetry = 3_600_000
    private static let limit = Duration.seconds(2)
    /// Retries wait for a while before they begin.
    private static let limitAfterLoss = Duration.seconds(15)

    init(_ event: RunEvent, lacksRetry: Bool, at now: Instant) {
        self.event = event
        mayLackRetry = lacksRetry
        until = now + (lacksRetry ? Self.limitAfterLoss : Self.limit)
    }

    mutating func socketLost() {
        until = nil
        mayLackRetry = true
    }

    mutating func socketBack(at now: Instant) {
        if mayLackRetry { until = now + Self.limitAfterLoss }
    }
}

extension OppiDecoder {
    typealias Held = OppiHeld

    /// A compaction asks a model, and says when it has ended.
    private static let compactionLimit = Duration.seconds(600)

    /// It begins a while after the delay at the latest.
    private static let retryPatience = Duration.seconds(60)

    mutating func retries(_ id: AgentSession, _ reason: String, after delay: Duration, at now: Instant) -> [Observation]
    {
        sessions[id]?.held = nil
        sessions[id]?.isRetrying = true
        sessions[id]?.retryUntil = now + delay + Self.retryPatience
        return [signal(id, .retrying(reason: reason))]
    }

    /// The seed dialect names the error of a run here alone.
    mutating func retriesEnded(_ root: FrameNode, _ id: AgentSession) -> [Observation] {
        guard root["success"]?.flag == false, let session = sessions[id], session.isRetrying || session.held != nil
        else { return [] }
        sessions[id]?.held = nil
        sessions[id]?.isRetrying = false
        sessions[id]?.isRunning = false
        return [signal(id, .failed(RunFailure(message: root["finalError"]?.string ?? session.lastError ?? "")))]
    }

    /// Of a context that has overflowed: the loop begins again by itself. Any other compaction changes nothing.
    mutating func compacted(
        _ type: String, _ root: FrameNode, _ id: AgentSession, at now: Instant
    ) -> [Observation] {
        guard sessions[id]?.held != nil else { return [] }
        guard type == "compaction_end" else {
            sessions[id]?.held?.until = now + Self.compactionLimit
            return []
        }
        guard root["willRetry"]?.flag == true else { return settle(id) }
        return retries(id, "the context overflowed", after: .zero, at: now)
    }
}
