import AgentKit
import Vocabulary

/// Chats with something to do, and the session places of all others: a resting chat costs only its place, and no look at each
/// event.
struct ChildChats<D: Dialect> {
    private(set) var awake: [AgentSession: ChildChat<D>] = [:]
    private var places: [AgentSession: Place] = [:]
    /// Part of the names of runs without a prompt, which no other process of the bridge and no other life of a chat may use.
    private let mark: String
    private var wakings = 0
    /// The sum over all chats.
    private(set) var heldBytes = 0

    init(mark: String) { self.mark = mark }

    var nextDeadline: Instant? { awake.values.lazy.compactMap { $0.nextDeadline }.min() }

    mutating func remember(_ place: Place, of session: AgentSession) { places[session] = place }

    mutating func change<Answer>(
        _ session: AgentSession, _ dialect: D, _ change: (inout ChildChat<D>) -> Answer
    ) -> Answer {
        var chat = awake.removeValue(forKey: session) ?? wake(session, dialect)
        chat.dialect = dialect
        heldBytes -= chat.heldBytes
        defer {
            heldBytes += chat.heldBytes
            if chat.isAtRest {
                if chat.home.kept.native != nil { places[session] = chat.home.kept }
            } else {
                awake[session] = chat
            }
        }
        return change(&chat)
    }

    private mutating func wake(_ session: AgentSession, _ dialect: D) -> ChildChat<D> {
        wakings += 1
        let place = places.removeValue(forKey: session) ?? Place()
        return ChildChat(session, dialect, place: place, mark: "\(mark)-\(wakings)", life: wakings)
    }
}
