package import Vocabulary

// Silent runs (DESIGN.md#silence): what ends a silence besides the run's own events, and its settings.
extension Bridge {
    /// The configuration changed, or is read for the first time.
    package mutating func use(quiet: Duration?, stuck: Duration?, at now: Instant) {
        settings.turn.quiet = quiet
        settings.turn.stuck = stuck
        let new = settings.turn
        for id in entries.keys.sorted() {
            change(id, at: now) { turn in
                turn.use(new)
                return turn.watchSilence(at: now)
            }
        }
        deliver(at: now)
        keepChanged()
    }

    /// False if the turn's status task has to be opened or closed, which takes the slow path.
    mutating func isAlive(_ id: TurnID, _ activity: RunActivity, at now: Instant) -> Bool {
        guard activity != .retrying, let entry = entries[id], !entry.turn.tellsStatus else { return false }
        entry.turn.isAlive(activity, at: now)
        return true
    }

    /// Work for the agent resets the silence; a look-up only asks.
    mutating func hears(_ command: AgentCommand, of id: TurnID, at now: Instant) {
        switch command {
        case .send, .resolve, .answer: change(id, at: now) { $0.isHeard(at: now) }
        case .abort, .lookUp, .release: break
        }
    }
}
