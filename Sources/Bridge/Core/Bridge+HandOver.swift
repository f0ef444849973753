import Vocabulary

// The next turn for the agent: one after another in each session, and no more at once than the agent is given.
extension Bridge {
    mutating func free(_ id: TurnID, at now: Instant) {
        guard let session = entries[id]?.turn.opening.agentSession else { return }
        agent.queues[session]?.left(id)
        if agent.queues[session]?.isEmpty == true { agent.queues[session] = nil }
        if let active = agent.queues[session]?.active { isAlone(active, at: now) }
        handOverNext(of: session, at: now)
        handOverWaiting(at: now)
    }

    /// The run before this turn has ended: the turn's own silence begins.
    private mutating func isAlone(_ id: TurnID, at now: Instant) {
        guard entries[id]?.turn.agent.isBesideRun == true else { return }
        entries[id]?.turn.agent.isBesideRun = false
        change(id, at: now) { $0.isHeard(at: now) }
    }

    /// A queue restored after a restart shows which turns wait beside a run.
    mutating func markBesideRuns() {
        for queue in agent.queues.values {
            for id in queue.runningTurns.dropFirst() { entries[id]?.turn.agent.isBesideRun = true }
        }
    }

    mutating func handOverNext(of session: AgentSession, at now: Instant) {
        beginNew(of: session, at: now)
        carryOutRefusals(of: session, at: now)
        while let id = nextToHandOver(of: session) {
            switch place(of: id) {
            case .folder(let folder):
                agent.served.insert(session)
                // Words that steer a run change nothing of its model.
                let isBesideRun = agent.queues[session]?.active != id
                entries[id]?.turn.agent.isBesideRun = isBesideRun
                let isSteered = entries[id]?.turn.agent.refusal != nil && isBesideRun
                let (choice, level, line) = isSteered ? (.unchanged, .unchanged, nil) : choice(of: id)
                change(id, at: now) { $0.handOver(in: folder, at: now, choice: choice, level: level, line: line) }
            case .missing(let line): change(id, at: now) { $0.hasNoPlace(line, at: now) }
            }
            beginNew(of: session, at: now)
        }
    }

    /// The process ends, and leaves waiting turns to the next one.
    package mutating func handsOverNoMore() { agent.isClosing = true }

    /// The agent's link was closed before the message could leave.
    mutating func neverLeft(_ id: TurnID, run: RunID, at now: Instant) {
        guard let turn = entries[id]?.turn else { return }
        guard !turn.agent.isStopping else { return sendAnswered(.noRun, run: run, at: now) }
        agent.isClosing = true
        agent.queues[turn.opening.agentSession]?.takenBack(id)
        change(id, at: now) { $0.neverLeft() }
        keepChanged(.synced)
    }

    mutating func nextToHandOver(of session: AgentSession) -> TurnID? {
        guard !agent.isClosing else { return nil }
        guard hasRoomForRun else {
            agent.isRunLimitReached = true
            return nil
        }
        // Messages are handed over in the order they came. An incomplete one holds up those behind it, and so does a word to the bridge.
        if let first = agent.queues[session]?.firstWaiting, let turn = entries[first]?.turn,
            isIncomplete(first) || turn.isToBridge || waitsForAsk(first)
        {
            return nil
        }
        return agent.queues[session]?.next(agentPresent: agent.isPresent)
    }

    /// Every turn with the agent is open, so counting is needed only if many are.
    private var hasRoomForRun: Bool {
        entries.count <= settings.runLimit || agent.queues.values.reduce(0) { $0 + $1.runningCount } < settings.runLimit
    }

    /// A run has ended while others waited for room: the sessions continue in the order of their messages.
    mutating func handOverWaiting(at now: Instant) {
        guard agent.isRunLimitReached, agent.isPresent, hasRoomForRun else { return }
        agent.isRunLimitReached = false
        for session in sessionsByAge {
            handOverNext(of: session, at: now)
            if agent.isRunLimitReached { return }
        }
    }

    var sessionsByAge: [AgentSession] {
        guard entries.count > settings.runLimit else { return agent.queues.keys.sorted() }
        let waiting = agent.queues.compactMap { session, queue in
            queue.firstWaiting.flatMap { entries[$0] }.map { ($0.turn.opening.receivedAt, session) }
        }
        return waiting.sorted { $0 < $1 }.map(\.1)
    }
}
