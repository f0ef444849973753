import BridgeModel

/// The chats that have something to do, and the session files of all others: a chat that rests costs a path, and no look at each event.
struct PiChats {
    private(set) var awake: [AgentSession: PiChat] = [:]
    private var files: [AgentSession: String] = [:]
    /// In the names of runs that no prompt began: another process of the bridge must not give the same ones, nor another life of a chat.
    private let mark: String
    private var wakings = 0
    /// Of all chats.
    private(set) var heldBytes = 0

    init(mark: String) { self.mark = mark }

    var nextDeadline: Instant? { awake.values.compactMap(\.nextDeadline).min() }

    mutating func remember(_ file: String, of session: AgentSession) { files[session] = file }

    mutating func change<Answer>(_ session: AgentSession, _ change: (inout PiChat) -> Answer) -> Answer {
        var chat = awake.removeValue(forKey: session) ?? wake(session)
        heldBytes -= chat.heldBytes
        defer {
            heldBytes += chat.heldBytes
            if chat.isAtRest {
                files[session] = chat.file
            } else {
                awake[session] = chat
            }
        }
        return change(&chat)
    }

    private mutating func wake(_ session: AgentSession) -> PiChat {
        wakings += 1
        return PiChat(session, file: files.removeValue(forKey: session), mark: "\(mark)-\(wakings)")
    }
}
