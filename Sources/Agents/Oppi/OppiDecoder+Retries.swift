import AgentKit
import JSONReading
import Vocabulary

// Loops that fail and begin again (oppi.md#retries-compaction-queue).
extension OppiDecoder.Session {
    /// The longest text of a run.
    private static let limit = 4_000_000

    /// An error directly before the message belongs to it.
    mutating func messageEnded() { (hasFailed, failsNext) = (failsNext, false) }

    mutating func remember(_ text: String) {
        lastWasGood()
        lastSaid = text
    }

    /// A frame follows the last message, which therefore did not fail.
    mutating func lastWasGood() {
        let text = lastSaid
        lastSaid = ""
        guard !text.isEmpty, said.utf8.count + text.utf8.count < Self.limit else { return }
        said += said.isEmpty ? text : "\n\n" + text
    }
}

/// The end of a loop that may be retried.
struct OppiHeld {
    let event: RunEvent
    /// The last message has words, and no error was reported.
    let looksWell: Bool
    /// When the end becomes final, or nil while the socket is lost.
    var until: Instant?
    /// The frames that announce a retry are never replayed, so this one may have been missed.
    var mayLackRetry: Bool

    /// In milliseconds.
    static let longestRetry = 3_600_000
    private static let limit = Duration.seconds(2)
    /// The server announces a retry in the same turn of its event loop.
    private static let limitOfWell = Duration.milliseconds(200)
    /// A retry begins after a delay, and its announcement may have been missed.
    static let limitUnheard = Duration.seconds(15)
    static let limitOfWellUnheard = Duration.seconds(3)

    init(_ event: RunEvent, looksWell: Bool, lacksRetry: Bool, at now: Instant) {
        self.event = event
        self.looksWell = looksWell
        mayLackRetry = lacksRetry
        until = now + (lacksRetry ? afterLoss : looksWell ? Self.limitOfWell : Self.limit)
    }

    private var afterLoss: Duration { looksWell ? Self.limitOfWellUnheard : Self.limitUnheard }

    mutating func socketLost() {
        until = nil
        mayLackRetry = true
    }

    /// A compaction that had begun takes its time, and its end may have been missed.
    mutating func socketBack(compactsUntil: Instant?, at now: Instant) {
        if mayLackRetry { until = max(now + afterLoss, compactsUntil ?? now) }
    }
}

extension OppiDecoder {
    typealias Held = OppiHeld

    /// A compaction asks a model, and reports its end.
    private static let compactionLimit = Duration.seconds(600)

    /// Allowance after the announced delay.
    private static let retryPatience = Duration.seconds(60)

    mutating func retries(_ id: AgentSession, _ reason: String, after delay: Duration, at now: Instant) -> [Observation]
    {
        sessions[id]?.held = nil
        sessions[id]?.isRetrying = true
        sessions[id]?.retryUntil = now + delay + Self.retryPatience
        return [signal(id, .retrying(reason: reason))]
    }

    /// The seed dialect reports the error of a run only here.
    mutating func retriesEnded(_ root: FrameNode, _ id: AgentSession) -> [Observation] {
        guard root["success"]?.flag == false, let session = sessions[id], session.isRetrying || session.held != nil
        else { return [] }
        sessions[id]?.held = nil
        sessions[id]?.isRetrying = false
        sessions[id]?.isRunning = false
        if session.stopsForUs { return [signal(id, .finished(RunEnd(reason: .aborted)))] }
        return [signal(id, .failed(RunFailure(message: root["finalError"]?.string ?? session.lastError ?? "")))]
    }

    /// A compaction of an overflowed context ends with a retry. Any other changes nothing.
    mutating func compacted(
        _ type: String, _ root: FrameNode, _ id: AgentSession, at now: Instant
    ) -> [Observation] {
        sessions[id]?.compactsUntil = type == "compaction_start" ? now + Self.compactionLimit : nil
        guard let held = sessions[id]?.held else {
            return alive(id, type == "compaction_start" ? .compacting : .working, at: now)
        }
        guard type == "compaction_end" else {
            if held.looksWell, root["reason"]?.holds("overflow") != true { return settle(id) }
            sessions[id]?.held?.until = now + Self.compactionLimit
            return []
        }
        guard root["willRetry"]?.flag == true else { return settle(id) }
        return retries(id, "the context overflowed", after: .zero, at: now)
    }
}
