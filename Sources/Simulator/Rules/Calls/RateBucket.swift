/// One token bucket of an installation, exact to the millisecond (relay.md#headers-on-every-bridge-response).
struct RateBucket: Sendable {
    let name: String
    let shape: RelayOptions.BucketShape
    var tokens: Double
    var asOf: Moment?

    init(name: String, shape: RelayOptions.BucketShape) {
        self.name = name
        self.shape = shape
        tokens = shape.capacity
    }

    mutating func take(at now: Moment) -> Bool {
        refill(to: now)
        guard tokens >= 1 else { return false }
        tokens -= 1
        return true
    }

    func level(at now: Moment) -> Double {
        var copy = self
        copy.refill(to: now)
        return copy.tokens
    }

    /// Milliseconds until one token is available.
    func wait(at now: Moment) -> Int64 {
        let missing = 1 - level(at: now)
        return missing <= 0 ? 0 : Int64((missing / shape.refillPerSecond * 1_000).rounded(.up))
    }

    func headers(at now: Moment) -> [RawHeader] {
        let level = level(at: now)
        let millisecondsToFull = Int64(((shape.capacity - level) / shape.refillPerSecond * 1_000).rounded(.up))
        return [
            RawHeader("X-RateLimit-Limit", String(Int(shape.capacity))),
            RawHeader("X-RateLimit-Remaining", String(Int(level))),
            RawHeader("X-RateLimit-Reset", String((now.milliseconds + millisecondsToFull + 999) / 1_000)),
            RawHeader(
                "X-RateLimit-Reset-After",
                "\(millisecondsToFull / 1_000).\(Moment.padded(millisecondsToFull % 1_000, 3))"),
            RawHeader("X-RateLimit-Bucket", name), RawHeader("X-RateLimit-Scope", "installation"),
        ]
    }

    private mutating func refill(to now: Moment) {
        defer { asOf = now }
        guard let asOf, now > asOf else { return }
        let refilled = tokens + Double(now.milliseconds(since: asOf)) / 1_000 * shape.refillPerSecond
        // Round to the millionth: thousandths of a second must add up to whole tokens, which sums of binary fractions miss.
        tokens = min(shape.capacity, (refilled * 1_000_000).rounded() / 1_000_000)
    }
}
