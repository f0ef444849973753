import AgentKit
import Vocabulary

// The run of ours, as the decoder's observations have it.
extension PiChat {
    /// Passes on what the decoder saw, and follows our run by it.
    mutating func heard(_ observations: [Observation], at now: Instant) -> [Order] {
        guard !observations.isEmpty else { return [] }
        var orders: [Order] = [.observed(observations)]
        for observation in observations {
            switch observation {
            case .sendAnswered(let run, .accepted) where turn?.run == run && turn?.state == .prompted:
                turn?.state = .accepted
            case .sendAnswered(let run, .refused) where turn?.run == run: orders += closeTurn()
            case .sendAnswered(let run, .accepted) where words?.run == run:
                words = nil
                asked[run] = nil
            case .signal(let signal) where signal.run == turn?.run && turn != nil:
                switch signal.event {
                case .started: orders += begun(at: now)
                case .finished, .failed: orders += closeTurn()
                case .text, .tool, .approvalRequested, .approvalSettled, .asked, .questionSettled, .paused,
                    .retrying, .alive:
                    break
                }
            default: break
            }
        }
        return orders
    }

    /// A Stop before this moment has stopped nothing (pi.md#abort).
    private mutating func begun(at now: Instant) -> [Order] {
        guard turn?.isStopping == true, let run = turn?.run else {
            turn?.state = .going
            return []
        }
        return [.write(PiFrames.abort(requests.add(.abort(run), for: PiTurn.stopPatience, at: now)))]
    }

    mutating func closeTurn() -> [Order] {
        guard let turn else { return [] }
        self.turn = nil
        asked[turn.run] = nil
        if words != nil { leavesQueue = true }
        promptsWords()
        return (turn.isStopping ? [.observed([.abortAnswered(turn.run)])] : []) + closeDialogs()
    }

    /// Extensions may ask without waiting for the answer, and those that do wait are set free: the bubble that showed the
    /// dialog has ended.
    private mutating func closeDialogs() -> [Order] {
        dialogs.takeAll().flatMap { dialog -> [Order] in
            [.write(PiFrames.answer(.cancelled, to: dialog.name)), .observed([gone(dialog, isExpired: false)])]
        }
    }

    /// Its run ends without a word of pi's own.
    mutating func loseTurn(_ reason: String) -> [Order] {
        guard let turn else { return [] }
        let end: RunEvent =
            turn.isStopping
            ? .finished(RunEnd(reason: .aborted))
            : .failed(RunFailure(kind: .agentGone, message: reason))
        return [.observed([signal(end, of: turn.run)])] + closeTurn()
    }
}
