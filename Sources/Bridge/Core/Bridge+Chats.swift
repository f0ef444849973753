package import Vocabulary

// Knowledge of a chat beyond its turns, and turns of runs that the bridge did not begin.
extension Bridge {
    /// A mirrored run began before this process did. Called after `turnBegins`.
    package mutating func beganUnseen(_ turn: TurnID, at now: Instant) {
        change(turn, at: now) { $0.beganUnseen(at: now) }
    }

    /// A person deleted or archived the chat. `coming`: names of its messages that have no turn yet. `agentSession`: the plug-in's name
    /// for the session that serves this chat alone; since `/bridge new` another one does, and ends with it. `made`: when the chat was
    /// archived; messages written since continue.
    package mutating func ended(
        session: SessionID, isDeleted: Bool, coming: [InteractionID] = [], releasing agentSession: AgentSession? = nil,
        made: RelayMoment? = nil, at now: Instant
    ) {
        for name in coming {
            chats.stops.add(
                name, isDeleted ? .chatDeleted : .pressed(.ownRuns), at: now, memory: settings.stopMemory)
        }
        let known = entries.values.map(\.turn.opening).filter {
            $0.session == session && (isDeleted || !$0.isNewer(than: made))
        }
        // The youngest first, so that stopping the active one does not hand a waiting one over.
        for opening in known.sorted(by: { $0.receivedAt > $1.receivedAt }) {
            change(opening.id, at: now) { $0.chatEnded(isDeleted: isDeleted, at: now) }
        }
        let served = agentSession.map { sessions(of: session, known, servedBy: $0) } ?? []
        if isDeleted {
            chats.homes.forget(session)
            chats.models.forget(session)
            keepModels()
        }
        // Released behind the aborts of its runs.
        for session in served {
            agent.served.remove(session)
            orders.append(.command(.release(session: session, isDeleted: isDeleted)))
        }
        deliver(at: now)
        keepChanged(.synced)
    }

    private func sessions(of chat: SessionID, _ open: [TurnOpening], servedBy base: AgentSession) -> [AgentSession] {
        var served = Set(open.filter { !$0.isMirrored }.map(\.agentSession)).union([base])
        // The home of another agent is none of this one's.
        if let home = chats.homes[chat], home.isNamed(base) { served.insert(home.session) }
        return served.sorted()
    }

    /// The installation is gone: nothing more can reach its chats, and no run continues for them.
    package mutating func installationRevoked(at now: Instant) {
        let open = Set(entries.values.map(\.turn.opening).filter { !$0.isMirrored }.map(\.agentSession))
        abandonsTurns(at: now)
        // Chats without an open turn have their sessions too.
        for session in agent.served.take().union(open).sorted() {
            orders.append(.command(.release(session: session, isDeleted: true)))
        }
    }

    /// A person or the relay ends one call of a tool, by the name of its card. No agent can end a tool alone, so its run is stopped.
    package mutating func taskStopped(_ task: TaskID, reason: String?, at now: Instant) {
        guard let (id, own) = openCall(of: task) else { return orders.append(.turnNote(TurnID(""), .unknownTask)) }
        change(id, at: now) { $0.taskStopped(own, reason: reason, at: now) }
        deliver(at: now)
        keepChanged(.synced)
    }

    private func openCall(of task: TaskID) -> (TurnID, TaskID)? {
        for (id, entry) in entries {
            if let own = ownName(of: task, in: entry), entry.turn.hasOpen(own) { return (id, own) }
        }
        return nil
    }

    /// Another installation has other chats. The caller deletes the journal's rows of these.
    package mutating func forgetsChats() -> (homes: [SessionID], models: [SessionID]) {
        (chats.homes.forgetAll().sorted(), chats.models.forgetAll().sorted())
    }

    // MARK: Models

    /// Restores a choice of an earlier process.
    package mutating func restore(_ chosen: ChosenModel, of session: SessionID) {
        chats.models.restore(chosen, of: session)
    }

    /// A choice that the journal could not take is written with the next message, or the next word of the relay.
    package mutating func modelWasNotKept(of session: SessionID) { chats.models.wasNotWritten(session) }

    /// The relay names the model of the chat. Messages name it too, so nothing changes before the next one.
    package mutating func modelSaid(_ model: String?, in session: SessionID, at now: Instant) {
        chats.models.said(model, in: session)
        keepModels()
    }

    /// The model for a message that names none.
    package func saidModel(of session: SessionID) -> String? { chats.models.saidModel(of: session) }

    /// The choices for the message that is handed over now.
    mutating func choice(of id: TurnID) -> (choice: ModelChoice, level: LevelChoice, line: String?) {
        guard let message = entries[id]?.turn.opening.message else { return (.unchanged, .unchanged, nil) }
        let isPossible = settings.choosesModels
        let (choice, line) = chats.models.choice(of: message.model, in: message.session, isPossible: isPossible)
        let level = chats.models.level(of: message.thoughtLevel, in: message.session, isPossible: isPossible)
        keepModels()
        return (choice, level, line)
    }

    package mutating func levelAnswered(_ choice: LevelChoice, _ answer: LevelAnswer, of run: RunID, at now: Instant) {
        guard let id = agent.turnOfRun[run], let session = entries[id]?.turn.opening.session else { return }
        let line = chats.models.answered(choice, answer, in: session)
        keepModels()
        if let line { change(id, at: now) { $0.modelNotSet(line) } }
        keepChanged()
    }

    package mutating func modelAnswered(_ choice: ModelChoice, _ answer: ModelAnswer, of run: RunID, at now: Instant) {
        guard let id = agent.turnOfRun[run], let session = entries[id]?.turn.opening.session else { return }
        let line = chats.models.answered(choice, answer, in: session)
        keepModels()
        if let line { change(id, at: now) { $0.modelNotSet(line) } }
        keepChanged()
    }

    package mutating func conversationLost(of run: RunID, at now: Instant) {
        guard let id = agent.turnOfRun[run] else { return }
        change(id, at: now) { $0.conversationLost() }
        keepChanged()
    }

    /// A line from the agent's side, for the bubble of this run.
    package mutating func told(_ line: String, of run: RunID, at now: Instant) {
        guard let id = agent.turnOfRun[run] else { return }
        change(id, at: now) { $0.told(line) }
        keepChanged()
    }

    package func hasTurn(in chat: SessionID) -> Bool { entries.values.contains { $0.turn.opening.session == chat } }

    private mutating func keepModels() {
        for (session, chosen) in chats.models.takeUnkept() where keeping.isJournaled {
            orders.append(.keepModel(session, chosen))
        }
    }
}
