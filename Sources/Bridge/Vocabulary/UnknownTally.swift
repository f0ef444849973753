/// Unknown frames and names that a decoder or a link met: counted by name, never fatal
/// (DESIGN.md#what-others-learned-the-hard-way: "count what is unknown").
package struct UnknownTally: Sendable, Hashable {
    private static let limit = 100
    package private(set) var counts: [String: Int] = [:]
    package private(set) var malformed = 0

    package init() {}

    package mutating func count(_ kind: StaticString, _ name: String) {
        let key = "\(kind) \(name.head(bytes: 60))"
        // Names come from outside: the tally keeps a bounded number of them.
        counts[counts[key] != nil || counts.count < Self.limit ? key : "\(kind) (other)", default: 0] += 1
    }

    package var total: Int { counts.values.reduce(malformed, +) }

    package mutating func countMalformed() { malformed += 1 }

    package mutating func add(_ other: UnknownTally) {
        counts.merge(other.counts) { $0 + $1 }
        malformed += other.malformed
    }
}

/// Reports unknown names at most once a minute, and only after a change.
package struct UnknownReport: Sendable {
    private static let interval = Duration.seconds(60)
    private var last = UnknownTally()
    private var due = Instant.zero

    package init() {}

    package mutating func news(_ tally: UnknownTally, at now: Instant) -> UnknownTally? {
        guard now >= due, tally != last else { return nil }
        last = tally
        due = now + Self.interval
        return tally
    }
}
