import AgentKit
import JSONReading
import Vocabulary

// Ends of the second era that may not be final: after an attempt that only planned or took too
// long, the gateway begins another under the same name without a terminal frame
// (openclaw.md#order-of-frames-in-one-run). `agent.wait` tells whether the run has ended.
extension OpenClawSession {
    /// How long after its terminal frame an end stays in doubt.
    private static var doubtLimit: Duration { .seconds(60) }

    /// True if the end waits for the gateway's answer.
    mutating func doubts(_ end: RunEnd, of run: RunID, _ known: GatewayRuns.Run, at now: Instant) -> Bool {
        guard gateway?.isNew == false, gateway?.offers("sessions.messages.subscribe") == true, known.hasBegun,
            known.isFollowed, !known.isStopped, !known.hasMissed, end.text != nil, runs.adopted.answer(to: run) == nil,
            runs.verdicts.doubts(end, of: run, at: reading(now))
        else { return false }
        askLastWord(run, at: now)
        return true
    }

    private mutating func askLastWord(_ run: RunID, at now: Instant) {
        var params = JSONObjectWriter()
        params.string("runId", run.text)
        params.integer("timeoutMs", 1_000)
        ask(.lastWord(run), "agent.wait", params.finish(), at: now)
    }

    /// `payload`: the answer of `agent.wait`, or nil if none came. If another attempt began meanwhile, no end is in doubt.
    mutating func lastWordCame(_ run: RunID, _ payload: FrameNode?, at now: Instant) {
        guard let known = runs[run], let doubted = runs.verdicts.doubted(run) else { return }
        if payload?["status"]?.holds("timeout") == true, reading(now) - doubted.since < Self.doubtLimit {
            return askLastWord(run, at: now)
        }
        take([.signal(RunSignal(run: run, session: known.session, event: .finished(doubted.end)))], at: now)
    }
}
