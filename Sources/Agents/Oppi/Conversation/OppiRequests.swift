import AgentKit
import Vocabulary

/// Unanswered requests on one socket, each with its deadline: the seed
/// dialect never answers some (oppi.md#client--server-frames).
struct OppiRequests<Purpose: Hashable> {
    private let prefix: String
    private var open: [(id: String, purpose: Purpose, deadline: Instant)] = []
    private var count = 0

    init(_ prefix: String) { self.prefix = prefix }

    var nextDeadline: Instant? { open.map(\.deadline).min() }

    func isOpen(_ id: String, for purpose: Purpose) -> Bool { open.contains { $0.id == id && $0.purpose == purpose } }

    func holds(where isMeant: (Purpose) -> Bool) -> Bool { open.contains { isMeant($0.purpose) } }

    /// Registers a request and returns its id.
    mutating func add(_ purpose: Purpose, for limit: Duration, at now: Instant) -> String {
        count += 1
        let id = "\(prefix)\(count)"
        open.append((id, purpose, now + limit))
        return id
    }

    mutating func answered(_ id: String) -> Purpose? {
        guard let index = open.firstIndex(where: { $0.id == id }) else { return nil }
        return open.remove(at: index).purpose
    }

    mutating func forget(_ purpose: Purpose) { forget { $0 == purpose } }
    mutating func forget(where isMeant: (Purpose) -> Bool) { open.removeAll { isMeant($0.purpose) } }

    mutating func takeExpired(at now: Instant) -> [Purpose] {
        let expired = open.filter { $0.deadline <= now }.map(\.purpose)
        open.removeAll { $0.deadline <= now }
        return expired
    }

    /// The socket is lost, and no answer will come.
    mutating func forgetAll() { open = [] }
}
