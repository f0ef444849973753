import AgentKit
import JSONReading
import Vocabulary

// Follow-ups that may never come, and those of the first era: heartbeats of random names,
// several of which may follow one decision (openclaw.md#approvals).
extension OpenClawSession {
    var isFirstEra: Bool { gateway?.offers("sessions.messages.subscribe") == false }

    /// The first era names no follow-up: the run that begins next after the
    /// decision counts as one. False if none is awaited there.
    mutating func beginsFollowUp(_ run: RunID, in session: AgentSession, at now: Instant) -> Bool {
        guard isFirstEra, runs.adopted.name(of: run) == nil,
            let name = runs.questions.nextFollowUp(in: session, at: now)
        else { return false }
        isAnswered(runs.adopted.adopt(run, for: name, in: session), at: now)
        return true
    }

    /// Whether the run has ended and its follow-up died with the process that should have run the command.
    func isFollowUpGone(of run: RunID, _ result: RunLookup) -> Bool {
        switch result {
        case .ended(let end) where end.includesFollowUp: return false
        case .ended, .unknown: break
        case .running, .waits, .failed: return false
        }
        guard runs[run] == nil, let decided = runs.questions.decidedAt(for: run) else { return false }
        return isYounger(than: decided)
    }

    static var isGone: RunLookup { .failed(RunFailure(kind: .agentGone, message: "its gateway was restarted")) }

    // MARK: Heartbeats

    /// Whether the heartbeat's end was reported, or waits for its prompt. A heartbeat without words, or about a
    /// command that still runs, precedes the one with the answer; the prompt tells them apart.
    mutating func isNotTheLast(_ end: RunEnd, of run: RunID, _ known: GatewayRuns.Run, at now: Instant) -> Bool {
        guard isFirstEra, run.isFollowUp, !known.isStopped, runs.adopted.answer(to: run) != nil,
            let pause = runs.questions.pause(behind: run)
        else { return false }
        guard runs.questions.isAllowed(behind: run) else {
            if end.text == nil { tell(end, of: run, in: known.session, nextWithin: pause, at: now) }
            return end.text == nil
        }
        guard heartbeats[run] == nil else { return true }
        heartbeats[run] = end
        var params = JSONObjectWriter()
        params.string("sessionKey", known.session.text)
        params.integer("limit", 50)
        ask(.prompt(run), "chat.history", params.finish(), limit: Self.historyLimit, at: now)
        return true
    }

    private static var completion: String { "An async command you ran earlier has completed" }

    /// `payload`: the history with the prompt, or nil if none came.
    mutating func promptCame(_ run: RunID, _ payload: FrameNode?, at now: Instant) {
        guard let end = heartbeats.removeValue(forKey: run), let known = runs[run] else { return }
        let prompt = OpenClawHistory.prompt(before: end.text, in: payload)
        let pause = runs.questions.pause(behind: run)
        let isCompletion = prompt?.contains(Self.completion) == true
        // Without a heartbeat's prompt, words count as the answer.
        let isHeartbeat = prompt.map { !runs.questions.isAsked($0) } ?? false
        let next = end.text == nil ? (isCompletion ? .zero : pause) : (isHeartbeat && !isCompletion ? pause : nil)
        tell(end, of: run, in: known.session, nextWithin: next, at: now)
    }

    private mutating func tell(
        _ end: RunEnd, of run: RunID, in session: AgentSession, nextWithin pause: Duration?, at now: Instant
    ) {
        var end = end
        end.nextWithin = pause
        observed([.signal(RunSignal(run: run, session: session, event: .finished(end)))])
        runs.questions.answered(run)
        ended(run, nextWithin: pause, at: now)
    }
}
