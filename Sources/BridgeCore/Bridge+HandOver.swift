import BridgeModel

// Which turn goes to the agent next: one after another in each session, and no more than the agent is given at once.
extension Bridge {
    mutating func free(_ id: TurnID, at now: Instant) {
        guard let session = entries[id]?.turn.opening.agentSession else { return }
        queues[session]?.left(id)
        if queues[session]?.isEmpty == true { queues[session] = nil }
        handOverNext(of: session, at: now)
        handOverWaiting(at: now)
    }

    mutating func handOverNext(of session: AgentSession, at now: Instant) {
        while let id = nextToHandOver(of: session) {
            let tellsModel = tellsModel(of: id)
            change(id, at: now) { $0.handOver(at: now, tellsModel: tellsModel) }
        }
    }

    mutating func nextToHandOver(of session: AgentSession) -> TurnID? {
        guard hasRoomForRun else {
            isRunLimitReached = true
            return nil
        }
        // Messages are handed over in the order they came: one that cannot be read yet is waited for.
        if let first = queues[session]?.firstWaiting, entries[first]?.turn.phase == .awaitingKey { return nil }
        return queues[session]?.next(agentPresent: agentPresent)
    }

    /// No turn is with the agent that is not open, so the count is needed only where many are.
    private var hasRoomForRun: Bool {
        entries.count <= settings.runLimit || queues.values.reduce(0) { $0 + $1.runningCount } < settings.runLimit
    }

    /// A run has ended while others waited for room: the sessions go on in the order in which their messages came.
    mutating func handOverWaiting(at now: Instant) {
        guard isRunLimitReached, agentPresent, hasRoomForRun else { return }
        isRunLimitReached = false
        for session in sessionsByAge {
            handOverNext(of: session, at: now)
            if isRunLimitReached { return }
        }
    }

    var sessionsByAge: [AgentSession] {
        guard entries.count > settings.runLimit else { return queues.keys.sorted() }
        let waiting = queues.compactMap { session, queue in
            queue.firstWaiting.flatMap { entries[$0] }.map { ($0.turn.opening.receivedAt, session) }
        }
        return waiting.sorted { $0 < $1 }.map(\.1)
    }
}
