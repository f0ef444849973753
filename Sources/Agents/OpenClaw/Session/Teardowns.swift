import Vocabulary

/// Sessions with a stopped run that the agent has not let go of (openclaw.md#chatabort).
///
/// A message sent meanwhile is queued and answered under another name (E2), or refused as if the gateway stopped (E3). It is
/// held until the run's last lifecycle frame, at most for `patience`: an agent that ignores the stop never lets go.
struct Teardowns {
    private struct Teardown {
        let run: RunID
        var until: Instant
    }

    private var torn: [AgentSession: Teardown] = [:]

    /// A newer gateway reports with a frame of its own that the agent let go; an older one sends the plain end at once.
    static func patience(isNew: Bool) -> Duration { isNew ? .seconds(3) : .seconds(1) }

    mutating func begins(_ run: RunID, in session: AgentSession, isNew: Bool, at now: Instant) {
        torn[session] = Teardown(run: run, until: now + Self.patience(isNew: isNew))
    }

    func holds(_ session: AgentSession) -> Bool { torn[session] != nil }

    /// Nil if the run is not awaited.
    mutating func ended(_ run: RunID) -> AgentSession? {
        guard let session = torn.first(where: { $0.value.run == run })?.key else { return nil }
        torn[session] = nil
        return session
    }

    /// Removes and returns sessions that waited long enough.
    mutating func due(at now: Instant) -> [(session: AgentSession, run: RunID)] {
        let due = torn.filter { $0.value.until <= now }.map { (session: $0.key, run: $0.value.run) }
        for (session, _) in due { torn[session] = nil }
        return due.sorted { $0.session < $1.session }
    }

    var nextDue: Instant? { torn.values.lazy.map(\.until).min() }

    /// A new socket begins long enough after the stop.
    mutating func socketLost() { torn.removeAll() }
}
