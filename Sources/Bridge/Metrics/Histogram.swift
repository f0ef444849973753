/// Counts of observed times by upper bounds that never change.
package struct Histogram: Sendable {
    /// Upper bounds in seconds, ascending; `+Inf` follows the last one.
    package let bounds: [Double]
    /// Observations of each bound alone, the last count those above all bounds.
    private var counts: [UInt64]
    private(set) var sum = 0.0

    package init(bounds: [Double]) {
        precondition(zip(bounds, bounds.dropFirst()).allSatisfy(<), "the bounds of a histogram ascend")
        self.bounds = bounds
        counts = Array(repeating: 0, count: bounds.count + 1)
    }

    package mutating func observe(_ duration: Duration) {
        let (whole, attoseconds) = duration.components
        // A clock that was set back must not count as a negative time.
        let seconds = max(0, Double(whole) + Double(attoseconds) * 1e-18)
        counts[bounds.firstIndex { seconds <= $0 } ?? bounds.count] += 1
        sum += seconds
    }

    /// Observations up to each bound, and last all of them.
    package var cumulative: [UInt64] {
        var total: UInt64 = 0
        return counts.map { count in
            total += count
            return total
        }
    }
}
