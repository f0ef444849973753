import JSONReading
import Vocabulary

/// Unanswered requests of one connection, each with its deadline: Codex never answers some (codex.md#framing).
struct CodexRequests<Purpose: Hashable> {
    private struct Open {
        var purpose: Purpose
        let deadline: Instant
    }

    private var open: [Int: Open] = [:]
    private var count = 0

    var nextDeadline: Instant? { open.values.map(\.deadline).min() }

    func has(_ purpose: Purpose) -> Bool { open.values.contains { $0.purpose == purpose } }

    mutating func add(_ purpose: Purpose, for limit: Duration, at now: Instant) -> Int {
        count += 1
        open[count] = Open(purpose: purpose, deadline: now + limit)
        return count
    }

    mutating func answered(_ id: JSONText) -> Purpose? {
        Int(id.text).flatMap { open.removeValue(forKey: $0) }?.purpose
    }

    mutating func takeExpired(at now: Instant) -> [Purpose] {
        let expired = open.filter { $0.value.deadline <= now }.keys.sorted()
        return expired.compactMap { open.removeValue(forKey: $0)?.purpose }
    }

    /// Empties the table when the connection is lost.
    mutating func takeAll() -> [Purpose] {
        defer { open = [:] }
        return open.keys.sorted().compactMap { open[$0]?.purpose }
    }
}
