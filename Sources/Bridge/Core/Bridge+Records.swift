package import Vocabulary

// Records of turns, and their resumption in another process (DESIGN.md#lanes-buckets-pacing, DESIGN.md#journal-and-recovery).
extension Bridge {
    /// The record of a turn now. Nil if the turn is closed, or if a call of it could not be stored: then the record from before that
    /// call still says everything.
    package func record(of id: TurnID) -> TurnRecord? {
        guard let entry = entries[id], let lane = delivery.record(of: id), !delivery.isBetweenRecords(id) else {
            return nil
        }
        var parts = entry.parts
        parts.fit(entry.turn)
        return TurnRecord(turn: entry.turn, lane: lane, renamed: entry.renamed, parts: parts)
    }

    /// Resumes a turn of an earlier process from the journal. All are restored before anything else happens; then the agent is looked
    /// for again (`agentBack`). `keptAt`: when each of its calls was stored.
    package mutating func restore(
        _ record: TurnRecord, deltas: [StoredDelta], keptAt: [IdempotencyKey: Instant] = [:], at now: Instant
    ) {
        var record = record
        let opening = record.opening
        guard entries[opening.id] == nil else { return }
        if !record.turn.occupiesAgent { record.turn.opening = atHome(opening) }
        record.catchUp(with: deltas)
        record.lane.learn(keptAt)
        let streamed = Self.streamed(deltas, record.lane.waitingText)
        record.turn.resume(after: streamed, settings: settings.turn)
        record.turn.agent.questions.resume(
            with: record.lane, bubbleIsOver: record.turn.bubble.isOver, at: now)
        record.turn.agent.folder = folder(of: opening)
        let cards = record.turn.approvals.resume(with: record.lane, hasEnds: settings.turn.cardsHaveEnds, at: now)
        if !record.turn.agent.questions.all.isEmpty { chats.haveQuestions = true }
        delivery.restoreLane(record.lane, windowEnds: opening.windowEnds, mark: mark(of: opening), at: now)
        let claim = claim(of: record.turn, in: record.lane)
        entries[opening.id] = Entry(turn: record.turn, renamed: record.renamed, claim: claim, parts: record.parts)
        if let key = opening.sealing.key { takeKey(key, of: opening.id) }
        delivery.heldBeside += record.turn.heldBytes
        name(record)
        if !record.turn.agent.isFree, !record.turn.isClosed {
            let queue = SessionQueue(whenBusy: settings.whenBusy)
            agent.queues[record.opening.agentSession, default: queue].resumed(
                opening.id, isWithAgent: record.turn.occupiesAgent)
        }
        oweAgain(record.turn, at: now)
        for card in record.turn.approvals.returned { chats.asks.budget.restore(card) }
        if let sign = record.turn.missedSign { chats.asks.missed(sign) }
        change(opening.id, at: now) { _ in cards.map { .post(.approval($0)) } }
        change(opening.id, at: now) { $0.agentLost(at: now) }
        change(opening.id, at: now) { $0.fetchAgain(at: now) }
        change(opening.id, at: now) { $0.silenceResumes(at: now) }
    }

    /// Nil if a piece of the text is lost.
    private static func streamed(_ deltas: [StoredDelta], _ waiting: String) -> String? {
        var streamed = ""
        for delta in deltas {
            guard let text = delta.text else { return nil }
            streamed += text
        }
        return streamed + waiting
    }

    private mutating func name(_ record: TurnRecord) {
        for run in record.turn.runs.all { agent.turnOfRun[run] = agent.turnOfRun[run] ?? record.id }
        for task in record.turn.tools.tasks { tasksInUse.take(record.renamed[task] ?? task, by: record.id) }
    }

    /// A record that failed to write stays due until the next save.
    package mutating func wasNotKept(_ id: TurnID) {
        if entries[id] != nil { keeping.changed(id) }
    }

    /// A job with these parts of the turn was written.
    package mutating func partsWereKept(of id: TurnID, through number: Int) {
        entries[id]?.parts.kept(through: number)
    }

    /// Cards of turns that are closed, from the journal, the oldest first.
    package mutating func remember(tasks: [(task: TaskID, turn: TurnID)]) {
        for (task, turn) in tasks { tasksInUse.take(task, by: turn) }
    }

    // MARK: When

    /// Keeps the turn before the first try of a call that is stored, so that the two are stored together. Text has its own records.
    mutating func keepBefore(_ attempt: CallAttempt) {
        guard keeping.isJournaled, attempt.attempt == 1, let durability = attempt.durability else { return }
        if !attempt.name.isText || keeping.unkept.contains(attempt.turn) { keep(attempt.turn, durability) }
    }

    mutating func keepChanged(_ durability: Durability = .written) {
        keepObligations()
        keepHomes()
        guard !keeping.unkept.isEmpty else { return }
        for id in keeping.unkept.sorted() { keep(id, durability) }
    }

    /// Keeps the turn's current state. A call that gets its first try later in the same step is not stored yet.
    mutating func keep(_ id: TurnID, _ durability: Durability) {
        if let turn = entries[id]?.turn, record(of: id) != nil {
            entries[id]?.parts.take(turn, from: settings.partBytes)
        }
        guard let record = record(of: id) else { return }
        keeping.settled(id)
        orders.append(.keep(KeptRecord(record), durability))
    }
}

extension RunEvent {
    /// Text and running output: their calls hold what must outlive the process.
    var isTransient: Bool {
        switch self {
        case .text, .tool(.progress), .alive: true
        case .started, .tool(.started), .tool(.finished), .approvalRequested, .approvalSettled, .asked,
            .questionSettled, .paused, .retrying, .finished, .failed:
            false
        }
    }

    /// The event is kept at once, and not with the next call.
    var changesCourse: Bool {
        switch self {
        case .approvalRequested, .approvalSettled, .asked, .questionSettled, .paused, .retrying, .finished, .failed:
            true
        case .started, .text, .tool, .alive: false
        }
    }
}
