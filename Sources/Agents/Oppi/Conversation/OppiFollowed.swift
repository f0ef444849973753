/// Sessions that the main stream follows by notifications: of the chats at rest, those that were
/// busy last. A client follows twenty at most (oppi.md#keepalive-pressure-timers).
struct OppiFollowed {
    static let limit = 20

    /// The newest last.
    private var sessions: [String] = []

    /// Adds a session. Returns the one that must be unsubscribed for it.
    mutating func add(_ session: String) -> String? {
        sessions.removeAll { $0 == session }
        sessions.append(session)
        return sessions.count > Self.limit ? sessions.removeFirst() : nil
    }
}
