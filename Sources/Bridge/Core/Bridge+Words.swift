package import Vocabulary

// The bridge's own words, and their effects: which session of the agent answers in a chat, and in which workspace
// (DESIGN.md#the-bridges-own-words). No agent sees these words, and they answer no question.
extension Bridge {
    /// Restores a home of an earlier process.
    package mutating func restore(_ home: ChatHome, of chat: SessionID) { chats.homes.restore(home, of: chat) }

    /// A change that could not be written holds, and is written with the next chance.
    package mutating func homeWasNotKept(of chat: SessionID) { chats.homes.wasNotWritten(chat) }

    /// The chat was made for runs that no message began.
    package mutating func isOfRuns(_ chat: SessionID) { chats.homes.isOfRuns(chat) }

    /// Everything that an earlier process left is restored: work that needs no agent continues.
    package mutating func restored(at now: Instant) {
        for session in agent.queues.keys.sorted() { beginNew(of: session, at: now) }
        markBesideRuns()
        settleRefusals(at: now)
        for chat in Set(entries.values.map(\.turn.opening.session)).sorted() { tellInParts(in: chat, at: now) }
        deliver(at: now)
        keepChanged()
    }

    mutating func keepHomes() {
        guard keeping.isJournaled, chats.homes.hasUnwritten else { return }
        for (chat, home) in chats.homes.takeUnwritten() { orders.append(.keepHome(chat, home)) }
    }

    /// The opening with the session that answers in its chat now. A waiting turn is not with the agent yet, not even after a restart.
    func atHome(_ opening: TurnOpening) -> TurnOpening {
        guard opening.message != nil, !chats.homes.ofRuns.contains(opening.session),
            let home = chats.homes[opening.session], home.isNamed(opening.agentSession)
        else { return opening }
        var opening = opening
        opening.agentSession = home.session
        return opening
    }

    // MARK: Words

    /// A readable message is a word to the bridge, a Stop, an answer, a refusal, or a message to the agent: the first that fits.
    mutating func route(_ id: TurnID, answering: QuestionID? = nil, at now: Instant) {
        if obey(id, at: now) || stopsByWord(id, at: now) || routeAnswer(id, to: answering, at: now) { return }
        routeWords(id, at: now)
    }

    /// True if the message of this turn is a word to the bridge itself.
    mutating func obey(_ id: TurnID, at now: Instant) -> Bool {
        guard let turn = entries[id]?.turn, turn.phase == .waiting, let word = turn.opening.ownWord else {
            return false
        }
        let situation = situation(of: turn.opening, at: now)
        switch word {
        case .help(let unknown): answer(id, OwnWordAnswers.help(unknown: unknown), at: now)
        case .workspaces: answer(id, OwnWordAnswers.workspaces(settings.words, situation), at: now)
        case .status: answer(id, OwnWordAnswers.status(settings.words, situation), at: now)
        case .stop:
            let running = running(besides: turn)
            answer(id, running.isEmpty ? OwnWordAnswers.nothingToStop : OwnWordAnswers.stopped, at: now)
            stop(running, at: now)
        case .asks:
            let chat = turn.opening.session
            // The words go first, then the cards that they announce.
            answer(
                id,
                OwnWordAnswers.asks(
                    openAsks(), in: chat, clock: settings.turn.localTime, comeBack: agent.isPresent, at: now), at: now)
            personIsThere(in: chat, isAskedFor: true, at: now)
        case .no(let words):
            if let line = refuseNewest(by: id, words: words, at: now) { answer(id, line, at: now) }
        case .new(let workspace):
            // A word without an objection waits for its place in the queue of its chat.
            if let line = refusal(ofNew: workspace, in: turn.opening.session) { answer(id, line, at: now) }
        }
        return true
    }

    /// True if the message of this turn stops the runs of its chat.
    mutating func stopsByWord(_ id: TurnID, at now: Instant) -> Bool {
        guard let turn = entries[id]?.turn, turn.phase == .waiting, let word = turn.stopWord else { return false }
        let running = running(besides: turn)
        guard !running.isEmpty, word == .command || !running.contains(where: { openQuestion(of: $0) != nil }) else {
            return false
        }
        answer(id, OwnWordAnswers.stopped, at: now)
        stop(running, at: now)
        return true
    }

    /// Turns with a run in the chat of that turn.
    private func running(besides turn: Turn) -> [Turn] {
        (agent.queues[turn.opening.agentSession]?.runningTurns ?? []).compactMap { entries[$0]?.turn }
            .filter { $0.opening.session == turn.opening.session && $0.outcome == nil }
    }

    private mutating func stop(_ running: [Turn], at now: Instant) {
        for run in running { change(run.opening.id, at: now) { $0.stopRequested(at: now) } }
    }

    private mutating func answer(_ id: TurnID, _ line: String, at now: Instant) {
        change(id, at: now) { $0.isAnswered(by: line, at: now) }
    }

    private func situation(of opening: TurnOpening, at now: Instant) -> OwnWordSituation {
        let queue = agent.queues[opening.agentSession]
        let waiting = (queue?.turns ?? []).filter { $0 != opening.id && entries[$0]?.turn.phase == .waiting }
        return OwnWordSituation(
            isPresent: agent.isPresent, remedy: agent.remedy, isBusy: queue?.active != nil, waiting: waiting.count,
            workspace: chats.homes[opening.session]?.workspace, chats: standings(for: opening, at: now))
    }

    private func refusal(ofNew workspace: String?, in chat: SessionID) -> String? {
        if chats.homes.ofRuns.contains(chat) { return OwnWordAnswers.ofRuns }
        guard let workspace else { return nil }
        guard let known = settings.words.workspaces else { return OwnWordAnswers.noWorkspaces(settings.words) }
        return known.named(workspace) == nil ? OwnWordAnswers.unknown(workspace, known) : nil
    }

    // MARK: A new conversation

    /// Carries out each `/bridge new` that has come to the head of its queue, with no run before it. The agent may be away.
    mutating func beginNew(of session: AgentSession, at now: Instant) {
        while let opening = headOfNew(of: session) {
            agent.queues[session]?.left(opening.id)
            guard case .new(let workspace) = opening.ownWord else { return }
            if let line = refusal(ofNew: workspace, in: opening.session) {
                // The configuration has changed since the word was taken.
                answer(opening.id, line, at: now)
            } else {
                beginNew(opening, workspace, at: now)
            }
        }
    }

    private func headOfNew(of session: AgentSession) -> TurnOpening? {
        guard let id = agent.queues[session]?.headOfIdle, let turn = entries[id]?.turn, turn.phase == .waiting else {
            return nil
        }
        return turn.opening.ownWord?.waits == true ? turn.opening : nil
    }

    private mutating func beginNew(_ opening: TurnOpening, _ written: String?, at now: Instant) {
        let workspace = written.flatMap { settings.words.workspaces?.named($0) } ?? settings.words.workspaces?.standard
        let home = home(of: opening).renewed(by: opening.id, in: workspace?.name)
        chats.homes.set(home, of: opening.session)
        keepHomes()
        move(chat: opening.session, from: opening.agentSession, to: home.session)
        answer(opening.id, OwnWordAnswers.new(settings.words, workspace), at: now)
        guard home.session != opening.agentSession else { return }
        leave(opening.agentSession, for: home)
        handOverNext(of: home.session, at: now)
    }

    /// Messages of the chat no longer go to that session. The first session has the plug-in's own name for the chat, and is forgotten
    /// with the chat; nothing else knows one in between.
    private mutating func leave(_ session: AgentSession, for home: ChatHome) {
        agent.served.remove(session)
        orders.append(.command(.release(session: session, isDeleted: session != home.base)))
    }

    private func home(of opening: TurnOpening) -> ChatHome {
        if let home = chats.homes[opening.session], home.isNamed(opening.agentSession) { return home }
        return ChatHome(base: opening.agentSession, session: opening.agentSession)
    }

    /// Messages behind the word are for the new session.
    private mutating func move(chat: SessionID, from old: AgentSession, to new: AgentSession) {
        let queue = SessionQueue(whenBusy: settings.whenBusy)
        for id in agent.queues[old]?.waitingTurns ?? [] {
            guard let opening = entries[id]?.turn.opening, opening.session == chat, opening.message != nil else {
                continue
            }
            agent.queues[old]?.left(id)
            entries[id]?.turn.opening.agentSession = new
            agent.queues[new, default: queue].arrived(id)
            keeping.changed(id)
        }
    }

    // MARK: Workspaces

    /// The place of this turn's message, decided before it leaves; the chat is bound to it from then on.
    enum Place {
        /// Nil if the agent has no use for a folder.
        case folder(String?)
        case missing(String)
    }

    /// The folder of a message that an earlier process handed over. Nil also if its workspace is no longer configured.
    package func folder(of opening: TurnOpening) -> String? {
        opening.message == nil ? nil : settings.words.workspaces?[home(of: opening).workspace]?.folder
    }

    mutating func place(of id: TurnID) -> Place {
        guard let workspaces = settings.words.workspaces, let opening = entries[id]?.turn.opening,
            opening.message != nil
        else { return .folder(nil) }
        var home = home(of: opening)
        guard let workspace = workspaces[home.workspace] else {
            return .missing(OwnWordAnswers.missing(home.workspace ?? ""))
        }
        // A chat stays in its workspace, even if another one becomes the default.
        if let name = workspace.name, home.workspace == nil {
            home.workspace = name
            chats.homes.set(home, of: opening.session)
            keepHomes()
        }
        return .folder(workspace.folder)
    }
}

extension TurnOpening {
    /// Nil if the message is for the agent, or cannot be read yet.
    var ownWord: OwnWord? { message.flatMap { OwnWord($0.text) } }
}

extension Turn {
    var stopWord: StopWord? { opening.message.flatMap { $0.attachments.isEmpty ? StopWord($0.text) : nil } }
}

extension Turn {
    /// The message was to the bridge itself.
    mutating func isAnswered(by line: String, at now: Instant) -> [TurnOrder] {
        guard phase == .waiting else { return [] }
        return conclude(.answered, line: line, at: now)
    }

    /// The folder for the message is not available.
    mutating func hasNoPlace(_ line: String, at now: Instant) -> [TurnOrder] {
        guard phase == .waiting else { return [] }
        return conclude(.neverSent, line: line, at: now)
    }
}
