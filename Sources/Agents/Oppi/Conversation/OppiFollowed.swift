/// The sessions that the main stream follows by their notifications: of chats at rest those that were busy last. A client follows
/// twenty of them (oppi.md#keepalive-pressure-timers).
struct OppiFollowed {
    static let limit = 20

    /// The newest last.
    private var sessions: [String] = []

    /// Gives the one that has to be left for it.
    mutating func add(_ session: String) -> String? {
        sessions.removeAll { $0 == session }
        sessions.append(session)
        return sessions.count > Self.limit ? sessions.removeFirst() : nil
    }
}
