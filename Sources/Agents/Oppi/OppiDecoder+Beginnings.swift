import AgentKit
import JSONReading
import Vocabulary

// Beginnings of loops, and the runs that they belong to (oppi.md#retries-compaction-queue).
extension OppiDecoder {
    enum Beginning {
        case prompted(Prompted)
        /// A loop of the same run, which keeps its text.
        case retry
        case other
    }

    private static let typesOfLoop: Set = [
        "agent_start", "agent_end", "message_end", "text_delta", "thinking_delta", "tool_start", "tool_output",
        "tool_end", "stop_confirmed", "session_ended",
    ]

    /// Whether the frame is part of a loop. All other types, known and unknown, reveal nothing of one.
    static func isOfLoop(_ type: String, _ root: FrameNode) -> Bool {
        typesOfLoop.contains(type) || type == "error" && root["seq"] != nil
    }

    mutating func loopBegan(_ id: AgentSession) -> [Observation] {
        guard let session = sessions[id] else { return [] }
        if session.isRetrying { return begun(id, .retry) }
        // A stop applies to one loop, whichever messages that takes up.
        if session.held?.mayLackRetry != true {
            sessions[id]?.stopping = false
            sessions[id]?.stopsForUs = false
        }
        if session.held == nil {
            guard let prompted = session.prompted else { return begun(id, .other) }
            if prompted.isCommand { return begun(id, .prompted(prompted)) }
        }
        sessions[id]?.isOpening = true
        sessions[id]?.mayBeWithin = false
        return []
    }

    /// The first frame of a loop: a user's message, whose words identify the run. A retry has none.
    mutating func opened(_ type: String, _ root: FrameNode, _ id: AgentSession, at now: Instant) -> [Observation] {
        guard let session = sessions[id], Self.isOfLoop(type, root) else { return [] }
        sessions[id]?.isOpening = false
        guard type == "message_end", root["role"]?.holds("user") == true else {
            // The session has ended, and with it the loop.
            if type == "session_ended" { return settle(id) }
            guard session.held != nil else { return begun(id, .other) }
            return retries(id, session.lastError ?? "", after: .zero, at: now) + begun(id, .retry)
        }
        let prompted = session.prompted?.said(by: root["content"]?.string ?? "")
        return settle(id) + begun(id, prompted.map { .prompted($0) } ?? .other)
    }

    mutating func begun(_ id: AgentSession, _ beginning: Beginning) -> [Observation] {
        var said = ""
        switch beginning {
        case .prompted(let prompted):
            sessions[id]?.run = prompted.run
            sessions[id]?.prompted = nil
            sessions[id]?.isOurs = true
            sessions[id]?.ours = prompted.isCommand ? nil : [prompted]
        case .retry: said = sessions[id]?.said ?? ""
        case .other:
            let next = nextRun(of: id)
            sessions[id]?.run = next
            sessions[id]?.isOurs = false
            sessions[id]?.ours = nil
        }
        sessions[id]?.isOpening = false
        sessions[id]?.mayBeWithin = false
        sessions[id]?.isRetrying = false
        sessions[id]?.isRunning = true
        sessions[id]?.lacksBeginning = false
        sessions[id]?.lastError = nil
        sessions[id]?.failsNext = false
        sessions[id]?.compactsUntil = nil
        sessions[id]?.lastMessageWasEmpty = false
        sessions[id]?.calls = OppiCalls()
        sessions[id]?.said = said
        sessions[id]?.lastSaid = ""
        sessions[id]?.hasSpoken = false
        let account = sessions[id]?.account
        sessions[id]?.accountAtStart = account
        return [signal(id, .started)] + (said.isEmpty ? [] : [signal(id, .text(.segmentEnded(said)))])
    }

    /// Joins a running loop whose beginning was missed. It counts as another client's until a trace names it as ours.
    mutating func joins(_ id: AgentSession, status: String) {
        sessions[id]?.mayBeWithin = false
        guard let session = sessions[id], status == "busy", !session.isRunning, !session.isOpening else { return }
        _ = begun(id, .other)
        sessions[id]?.lacksBeginning = true
    }
}
