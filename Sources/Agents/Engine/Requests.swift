import Vocabulary

/// Requests that one child has not answered, each with its deadline.
struct Requests {
    enum Purpose: Hashable {
        case prompt(RunID)
        case steer(RunID)
        case stop(RunID)
        case probe
        /// Takes a prompt back out of the agent's queue.
        case takeBack
        /// A step of the open walk.
        case walk
    }

    private var open: [(name: String, purpose: Purpose, limit: Duration, deadline: Instant)] = []
    private var count = 0

    var nextDeadline: Instant? { open.map(\.deadline).min() }
    var isProbing: Bool { open.contains { $0.purpose == .probe } }
    /// The walk waits for an answer.
    var isWalking: Bool { open.contains { $0.purpose == .walk } }
    /// Name of the next request.
    var next: String { "sb-\(count + 1)" }

    /// Adds the written request under the name `next`.
    mutating func add(_ purpose: Purpose, for limit: Duration, at now: Instant) {
        open.append((next, purpose, limit, now + limit))
        count += 1
    }

    mutating func answered(_ name: String) -> Purpose? {
        guard let index = open.firstIndex(where: { $0.name == name }) else { return nil }
        return open.remove(at: index).purpose
    }

    /// An answer without a name belongs to the only open request that is no prompt.
    mutating func answeredWithoutName() -> Purpose? {
        let candidates = open.indices.filter { if case .prompt = open[$0].purpose { false } else { true } }
        guard candidates.count == 1, let index = candidates.first else { return nil }
        return open.remove(at: index).purpose
    }

    mutating func forget(_ purpose: Purpose) { open.removeAll { $0.purpose == purpose } }

    /// Gives each request its whole time again.
    mutating func slept(at now: Instant) {
        for index in open.indices { open[index].deadline = now + open[index].limit }
    }

    mutating func takeExpired(at now: Instant) -> [Purpose] {
        let expired = open.filter { $0.deadline <= now }.map(\.purpose)
        open.removeAll { $0.deadline <= now }
        return expired
    }

    /// Forgets the requests of a dead child.
    mutating func forgetAll() { open = [] }
}
