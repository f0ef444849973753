import Vocabulary

// Parts of the bridge besides its turns and their delivery, one concern each.

/// The agent's side: whether it is present, and its work on our turns.
///
/// Invariant: a run belongs to one turn, the first that it was named for.
struct BridgeAgent: Sendable {
    var isPresent: Bool
    /// The process ends: nothing more is handed over.
    var isClosing = false
    /// How a person can make an absent agent reachable.
    var remedy: String?
    /// Some turn could not be handed over, since the agent has `BridgeSettings.runLimit` runs.
    var isRunLimitReached = false
    var queues: [AgentSession: SessionQueue] = [:]
    var turnOfRun: [RunID: TurnID] = [:]
    var toolFiles = OpenToolFiles()
    var served = ServedSessions()

    mutating func forget(_ runs: Set<RunID>, of turn: TurnID) {
        for run in runs where turnOfRun[run] == turn { turnOfRun[run] = nil }
        toolFiles.closed(turn)
    }
}

/// Sessions of the agent that got a message from this process and were not released since.
struct ServedSessions: Sendable {
    static let limit = 2_000

    private var sessions: Set<AgentSession> = []

    /// Sessions beyond the limit end by the agent's own limits.
    mutating func insert(_ session: AgentSession) { if sessions.count < Self.limit { sessions.insert(session) } }
    mutating func remove(_ session: AgentSession) { sessions.remove(session) }

    mutating func take() -> Set<AgentSession> {
        defer { sessions = [] }
        return sessions
    }
}

/// Due moments of the turns and of the delivery.
struct BridgeWakes: Sendable {
    var turns = DeadlineHeap<TurnID>()
    var delivery: Instant?

    var next: Instant? {
        guard let turn = turns.earliest else { return delivery }
        return delivery.map { min($0, turn) } ?? turn
    }
}

/// Memory of chats.
struct BridgeChats: Sendable {
    var stops = RememberedStops()
    var homes = ChatHomes()
    var models = ModelBook()
    var asks = AskReturns()
    /// Nil if none was ever seen.
    var other: OtherBridge?

    /// Some turn of this process has asked, or had asked before.
    var haveQuestions = false
    /// The moment at which the end of a chat's last question was seen.
    private var questionEnds: [SessionID: Instant] = [:]

    mutating func questionEnded(in session: SessionID, at now: Instant) {
        if questionEnds.count >= 1_000, questionEnds[session] == nil { questionEnds = [:] }
        questionEnds[session] = now
    }

    /// A message that was written then may have been meant for a question that the chat still showed.
    func showedQuestion(in session: SessionID, at moment: Instant) -> Bool {
        questionEnds[session].map { moment < $0 } ?? false
    }
}

/// Changes that the journal does not have yet.
struct BridgeKeeping: Sendable {
    /// False if there is no journal: nothing is ordered to be kept then.
    let isJournaled: Bool
    /// Turns that have changed in more than their text since they were kept.
    private(set) var unkept: Set<TurnID> = []

    init(isJournaled: Bool) { self.isJournaled = isJournaled }

    mutating func changed(_ turn: TurnID) { if isJournaled { unkept.insert(turn) } }
    /// The turn was kept, or is gone.
    mutating func settled(_ turn: TurnID) { unkept.remove(turn) }
}
