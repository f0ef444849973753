import Vocabulary

// What the bridge knows beside its turns and their delivery: each part is one concern.

/// The agent's side: whether it is there, and what of ours it is working on.
///
/// Invariant: a run belongs to one turn, the first that it was named for.
struct BridgeAgent: Sendable {
    var isPresent: Bool
    /// The process ends: nothing more is handed over.
    var isClosing = false
    /// What a person can do, so that it can be reached.
    var remedy: String?
    /// Some turn could not be handed over because it has `BridgeSettings.runLimit` runs.
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

/// Sessions of the agent that this process has handed a message to, and that were not released since.
struct ServedSessions: Sendable {
    static let limit = 2_000

    private var sessions: Set<AgentSession> = []

    /// Beyond the limit they end by the agent's own limits.
    mutating func insert(_ session: AgentSession) { if sessions.count < Self.limit { sessions.insert(session) } }
    mutating func remove(_ session: AgentSession) { sessions.remove(session) }

    mutating func take() -> Set<AgentSession> {
        defer { sessions = [] }
        return sessions
    }
}

/// When something is due: of a turn, or of the delivery.
struct BridgeWakes: Sendable {
    var turns = DeadlineHeap<TurnID>()
    var delivery: Instant?

    var next: Instant? {
        guard let turn = turns.earliest else { return delivery }
        return delivery.map { min($0, turn) } ?? turn
    }
}

/// What is remembered of chats.
struct BridgeChats: Sendable {
    var stops = RememberedStops()
    var homes = ChatHomes()
    var models = ModelBook()
    var asks = AskReturns()
    /// Nil: none was ever seen.
    var other: OtherBridge?

    /// Some turn of this process has asked, or had before.
    var haveQuestions = false
    /// When the last question of a chat was seen to be over.
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

/// What is still to be kept in the journal.
struct BridgeKeeping: Sendable {
    /// False: there is no journal, and nothing is ordered to be kept.
    let isJournaled: Bool
    /// Turns of which more than the text has changed since they were kept.
    private(set) var unkept: Set<TurnID> = []

    init(isJournaled: Bool) { self.isJournaled = isJournaled }

    mutating func changed(_ turn: TurnID) { if isJournaled { unkept.insert(turn) } }
    /// Kept, or gone.
    mutating func settled(_ turn: TurnID) { unkept.remove(turn) }
}
