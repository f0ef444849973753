import Vocabulary

/// Chats with something to do, and the places of all others: a resting chat costs no more than its thread's name.
struct CodexChats {
    private(set) var awake: [AgentSession: CodexChat] = [:]
    private var places: [AgentSession: CodexPlace] = [:]
    /// Chat of each thread, its own or a sub-agent's.
    private var owners: [String: AgentSession] = [:]
    /// Bytes held by all chats.
    private(set) var heldBytes = 0

    var nextDeadline: Instant? { awake.values.compactMap(\.nextDeadline).min() }
    var sorted: [AgentSession] { awake.keys.sorted() }
    var areIdle: Bool { awake.values.allSatisfy { !$0.isBusy && $0.errands.isEmpty } }

    /// A thread is not followed yet.
    var areJoining: Bool { awake.values.contains { $0.way != .open && ($0.isBusy || $0.way != .absent) } }

    func owner(of thread: String) -> AgentSession? { owners[thread] }
    func holder(of approval: ApprovalID) -> AgentSession? {
        sorted.first { awake[$0]?.asks.holds(approval) == true }
    }
    func due(at now: Instant) -> [AgentSession] {
        awake.filter { $0.value.nextDeadline.map { $0 <= now } ?? false }.keys.sorted()
    }

    func knows(_ session: AgentSession) -> Bool { awake[session] != nil || places[session] != nil }

    mutating func remember(_ place: CodexPlace, of session: AgentSession) { places[session] = place }

    mutating func change<Answer>(
        _ session: AgentSession, _ settings: CodexSettings, isUp: Bool, _ change: (inout CodexChat) -> Answer
    ) -> Answer {
        var chat = awake.removeValue(forKey: session) ?? wake(session, settings, isUp: isUp)
        heldBytes -= chat.heldBytes
        let (thread, subAgents) = (chat.place?.thread, chat.thread.subAgents)
        defer {
            if let thread, thread != chat.place?.thread { owners[thread] = nil }
            if subAgents != chat.thread.subAgents {
                for child in subAgents { owners[child] = nil }
                for child in chat.thread.subAgents { owners[child] = chat.session }
            }
            settle(chat)
        }
        return change(&chat)
    }

    private mutating func wake(_ session: AgentSession, _ settings: CodexSettings, isUp: Bool) -> CodexChat {
        var chat = CodexChat(session, places.removeValue(forKey: session), settings)
        chat.link.isUp = isUp
        return chat
    }

    private mutating func settle(_ chat: CodexChat) {
        heldBytes += chat.heldBytes
        if let place = chat.place { owners[place.thread] = chat.session }
        guard chat.isAtRest else {
            awake[chat.session] = chat
            return
        }
        for child in chat.thread.subAgents { owners[child] = nil }
        guard let place = chat.place else { return }
        owners[place.thread] = nil
        places[chat.session] = place
    }
}
