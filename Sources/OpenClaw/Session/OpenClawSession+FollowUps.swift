import AgentKit
import BridgeModel

// Follow-ups of the first era: heartbeats of random names, of which several may come behind one decision (openclaw.md#approvals).
extension OpenClawSession {
    var isFirstEra: Bool { gateway?.offers("sessions.messages.subscribe") == false }

    /// The first era names no follow-up: what begins next after the decision is it. False: none is awaited there.
    mutating func beginsFollowUp(_ run: RunID, in session: AgentSession, at now: Instant) -> Bool {
        guard isFirstEra, runs.adopted.name(of: run) == nil,
            let name = runs.questions.nextFollowUp(in: session, at: now)
        else { return false }
        isAnswered(runs.adopted.adopt(run, for: name, in: session), at: now)
        return true
    }

    /// A heartbeat without a word may come before the one that has the answer. True: the end is told with that.
    mutating func isNotTheLast(_ end: RunEnd, of run: RunID, _ known: GatewayRuns.Run, at now: Instant) -> Bool {
        guard isFirstEra, end.nextWithin == nil, end.text == nil, run.isFollowUp, !known.isStopped,
            runs.adopted.answer(to: run) != nil, let pause = runs.questions.pause(behind: run)
        else { return false }
        var end = end
        end.nextWithin = pause
        take([.signal(RunSignal(run: run, session: known.session, event: .finished(end)))], at: now)
        return true
    }
}
