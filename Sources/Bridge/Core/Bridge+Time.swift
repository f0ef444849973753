package import Vocabulary

// Due moments.
extension Bridge {
    /// Wake-ups of one turn at one moment: more than it has asks.
    private static let wakeUpLimit = 1_000

    package mutating func timePassed(at now: Instant) {
        forgetObligations(at: now)
        let remedy = agent.remedy
        var wakeUps: [TurnID: Int] = [:]
        while let id = wakes.turns.popDue(at: now) {
            // Each reason switches itself off. A reason that does not must not hold up everything else.
            wakeUps[id, default: 0] += 1
            guard wakeUps[id, default: 0] <= Self.wakeUpLimit else {
                wakes.turns.set(now + .seconds(1), for: id)
                continue
            }
            // A turn whose files and open are complete is handed over.
            let waiting = isIncomplete(id) ? entries[id]?.turn.opening.agentSession : nil
            entries[id]?.claim.timePassed(at: now)
            change(id, at: now) { $0.deadlineHit(at: now, agentRemedy: remedy) }
            if let waiting { handOverNext(of: waiting, at: now) }
        }
        deliver(at: now)
        keepChanged()
    }
}
