/// Signs of life of runs without anything to show, thinned out: a model may think in a hundred frames a second.
///
/// Invariant: two signs of one run are at least `interval` apart, unless more than `limit` runs take turns. The
/// interval is short against any silence that the bubble shows (DESIGN.md#silence).
package struct LifeSigns: Sendable {
    package static let interval = Duration.seconds(10)
    private static let limit = 1_000

    private var newest: (run: RunID, until: Instant)?
    private var earlier: [RunID: Instant] = [:]

    package init() {}

    /// False if the run gave a sign a moment ago. Consecutive frames of one run cost one comparison.
    package mutating func isDue(_ run: RunID, at now: Instant) -> Bool {
        if let newest, newest.run == run {
            guard now >= newest.until else { return false }
        } else {
            if let newest {
                if earlier.count >= Self.limit { earlier = [:] }
                earlier[newest.run] = newest.until
            }
            newest = earlier[run].map { (run, $0) }
            if let newest, now < newest.until { return false }
        }
        newest = (run, now + Self.interval)
        return true
    }
}
