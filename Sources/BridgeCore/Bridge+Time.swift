package import BridgeModel

// What is due.
extension Bridge {
    package mutating func timePassed(at now: Instant) {
        forgetObligations(at: now)
        let remedy = agent.remedy
        while let id = wakes.turns.popDue(at: now) {
            // One that does not wait for its files any more goes to the agent.
            let waiting = entries[id].flatMap { $0.turn.isIncomplete ? $0.turn.opening.agentSession : nil }
            change(id, at: now) { $0.deadlineHit(at: now, agentRemedy: remedy) }
            if let waiting { handOverNext(of: waiting, at: now) }
        }
        deliver(at: now)
        keepChanged()
    }
}
