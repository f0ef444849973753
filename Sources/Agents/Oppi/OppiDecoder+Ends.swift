import AgentKit
import JSONReading
import Vocabulary

// How loops end, and how they fail (oppi.md#errors, oppi.md#stopping).
extension OppiDecoder {
    /// Head's words for a prompt that came while a run was going.
    private static let busy = "Agent is already processing"
    static let elsewhere = "it was stopped elsewhere, by another client or by Oppi itself"

    mutating func failed(_ root: FrameNode, _ id: AgentSession) -> [Observation] {
        let message = root["error"]?.string ?? ""
        // Without a number it is about a frame of ours, not about the agent (oppi.md#server--client-frames).
        guard root["seq"] != nil, let session = sessions[id] else { return [] }
        // What waits behind a run is never refused so: then it is another client's prompt (oppi.md#turn-delivery-clientturnid-and-turn_ack).
        let isOfPrompt =
            session.prompted.map { !session.isRunning || message.hasPrefix(Self.busy) && !$0.waits } ?? false
        guard isOfPrompt, let prompted = session.prompted else {
            sessions[id]?.lastError = message
            sessions[id]?.failsNext = true
            return []
        }
        // Head refuses a prompt so, after it said success: no run follows (oppi.md#errors).
        sessions[id]?.prompted = nil
        if !session.isRunning { sessions[id]?.run = prompted.run }
        let failure = RunEvent.failed(RunFailure(message: message))
        return [.signal(RunSignal(run: prompted.run, session: live?.session ?? id, event: failure))]
    }

    mutating func ended(_ id: AgentSession, at now: Instant) -> [Observation] {
        guard var session = sessions[id], session.isRunning else { return [] }
        let usage = session.accountAtStart.flatMap { session.account?.usage(since: $0) }
        // An error that no message follows, behind one that ended well, is an extension's (oppi.md#errors).
        let isBehind = session.failsNext && !session.hasFailed && !session.lastSaid.isEmpty
        if isBehind { session.lastError = nil }
        session.failsNext = false
        let failed = session.lastError != nil || (session.lastMessageWasEmpty && session.calls.isEmpty)
        // A run that the server itself has stopped is never retried, however little it had said. A stop that is still on its way may
        // reach it between two attempts, and stop nothing.
        if !session.stopping, failed || isBehind || !isHead {
            let event: RunEvent =
                session.lastError.map { .failed(RunFailure(message: $0, usage: usage)) }
                ?? .finished(RunEnd(usage: usage))
            session.held = Held(event, looksWell: !failed, lacksRetry: live?.isReplay == true, at: now)
            sessions[id] = session
            return []
        }
        session.isRunning = false
        sessions[id] = session
        return [signal(id, session.stopping ? stopped(id, usage) : .finished(RunEnd(usage: usage)))]
    }

    /// A run of ours that this bridge did not ask to stop was cut off for its reader.
    func stopped(_ id: AgentSession, _ usage: Usage? = nil) -> RunEvent {
        guard let session = sessions[id], session.isOurs, !session.stopsForUs else {
            return .finished(RunEnd(usage: usage, reason: .aborted))
        }
        return .failed(RunFailure(message: Self.elsewhere, usage: usage))
    }

    /// A stop that found the session idle has stopped nothing: between two attempts, and before a run, it is (oppi.md#stopping).
    func isOfNoRun(_ type: String, _ root: FrameNode, _ id: AgentSession) -> Bool {
        guard type == "stop_confirmed", Self.foundIdle(root), let session = sessions[id] else { return false }
        return !session.isRunning || session.isRetrying || session.held != nil
    }

    static func foundIdle(_ root: FrameNode) -> Bool { root["reason"]?.holds("Session already idle") == true }
}
