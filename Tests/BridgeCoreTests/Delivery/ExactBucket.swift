import Vocabulary

/// The relay's token bucket, written from relay.md#rate-limits alone, without any code of ours.
struct ExactBucket {
    let capacity: Double
    let refill: Double
    private(set) var level: Double
    private var asOf = 0.0

    init(capacity: Double, refill: Double) {
        self.capacity = capacity
        self.refill = refill
        level = capacity
    }

    static func ofSheet(_ bucket: RelayBucket) -> ExactBucket {
        switch bucket {
        case .msg, .default: ExactBucket(capacity: 30, refill: 10)
        case .delta: ExactBucket(capacity: 200, refill: 100)
        case .task: ExactBucket(capacity: 60, refill: 30)
        case .approval: ExactBucket(capacity: 10, refill: 2)
        }
    }

    /// Takes that many tokens, or returns false.
    mutating func take(_ tokens: Double = 1, at instant: Instant) -> Bool {
        let now = Double(instant.nanoseconds) / 1e9
        level = min(capacity, level + max(0, now - asOf) * refill)
        asOf = max(asOf, now)
        // Rounding to binary fractions is no breach.
        guard level >= tokens - 1e-6 else { return false }
        level -= tokens
        return true
    }

    mutating func drain() { level = 0 }

    var reading: (limit: Int, remaining: Int, resetAfter: Duration) {
        (Int(capacity), Int(max(0, level)), .nanoseconds(Int64((capacity - level) / refill * 1e9)))
    }
}
