import AgentKit
import JSONReading
import Vocabulary

// Ends and failures of loops (oppi.md#errors, oppi.md#stopping).
extension OppiDecoder {
    /// Head's words for a prompt that came during a run.
    private static let busy = "Agent is already processing"
    static let elsewhere = "it was stopped elsewhere, by another client or by Oppi itself"

    mutating func failed(_ root: FrameNode, _ id: AgentSession) -> [Observation] {
        let message = root["error"]?.string ?? ""
        // An error without a number is about a frame of ours, not about the agent (oppi.md#server--client-frames).
        guard root["seq"] != nil, let session = sessions[id] else { return [] }
        // A message that waits behind a run is never refused this way: then another
        // client's prompt was (oppi.md#turn-delivery-clientturnid-and-turn_ack).
        let isOfPrompt =
            session.prompted.map { !session.isRunning || message.hasPrefix(Self.busy) && !$0.waits } ?? false
        guard isOfPrompt, let prompted = session.prompted else {
            sessions[id]?.lastError = message
            sessions[id]?.failsNext = true
            return []
        }
        // Head refuses a prompt this way after reporting success: no run follows (oppi.md#errors).
        sessions[id]?.prompted = nil
        if !session.isRunning { sessions[id]?.run = prompted.run }
        let failure = RunEvent.failed(RunFailure(message: message))
        return [.signal(RunSignal(run: prompted.run, session: live?.session ?? id, event: failure))]
    }

    mutating func ended(_ id: AgentSession, at now: Instant) -> [Observation] {
        guard var session = sessions[id], session.isRunning else { return [] }
        let usage = session.accountAtStart.flatMap { session.account?.usage(since: $0) }
        // An error after a complete message, with no message after it, is an extension's (oppi.md#errors).
        let isBehind = session.failsNext && !session.hasFailed && !session.lastSaid.isEmpty
        if isBehind { session.lastError = nil }
        session.failsNext = false
        let failed = session.lastError != nil || (session.lastMessageWasEmpty && session.calls.isEmpty)
        // A run that the server stopped is never retried, however short its text. A stop that is
        // still on its way may arrive between two attempts and stop nothing.
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

    /// The end of a stopped run: a failure if the run is ours and this bridge
    /// requested no stop, since its reader sees it cut off.
    func stopped(_ id: AgentSession, _ usage: Usage? = nil) -> RunEvent {
        guard let session = sessions[id], session.isOurs, !session.stopsForUs else {
            return .finished(RunEnd(usage: usage, reason: .aborted))
        }
        return .failed(RunFailure(message: Self.elsewhere, usage: usage))
    }

    /// Whether the frame confirms a stop that found the session idle and stopped nothing:
    /// between two attempts, or before a run (oppi.md#stopping).
    func isOfNoRun(_ type: String, _ root: FrameNode, _ id: AgentSession) -> Bool {
        guard type == "stop_confirmed", Self.foundIdle(root), let session = sessions[id] else { return false }
        return !session.isRunning || session.isRetrying || session.held != nil
    }

    static func foundIdle(_ root: FrameNode) -> Bool { root["reason"]?.holds("Session already idle") == true }
}
