import AgentKit
import Vocabulary

/// The chats that have something to do, and where the sessions of all others are: a chat that rests costs its place, and no look at each
/// event.
struct ChildChats<D: Dialect> {
    private(set) var awake: [AgentSession: ChildChat<D>] = [:]
    private var places: [AgentSession: Place] = [:]
    /// In the names of runs that no prompt began: another process of the bridge must not give the same ones, nor another life of a chat.
    private let mark: String
    private var wakings = 0
    /// The sum over all chats.
    private(set) var heldBytes = 0

    init(mark: String) { self.mark = mark }

    var nextDeadline: Instant? { awake.values.compactMap(\.nextDeadline).min() }

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
