/// The signs of life of runs that have nothing to show, thinned out: a model may think in a hundred frames a second.
///
/// Invariant: two signs of one run are at least `interval` apart, which is short against any silence that the bubble shows
/// (DESIGN.md#silence).
package struct LifeSigns: Sendable {
    package static let interval = Duration.seconds(10)
    private static let limit = 1_000

    private var newest: (run: RunID, until: Instant)?
    private var earlier: [RunID: Instant] = [:]

    package init() {}

    /// False: the run had one a moment ago. Frames of one run that follow each other cost a comparison.
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
