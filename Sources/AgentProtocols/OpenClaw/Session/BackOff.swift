/// How long to wait before the next try: 1 s, doubling to 30 s, each a quarter more or less (DESIGN, section 10).
struct BackOff {
    private static let longest = 30.0
    /// A link that held this long was a good one, and the next loss begins anew.
    private static let goodLink = Duration.seconds(60)
    private var tries = 0

    mutating func next(using random: inout some RandomNumberGenerator) -> Duration {
        let seconds = min(Double(1 << min(tries, 5)), Self.longest)
        tries += 1
        return .seconds(seconds * Double.random(in: 0.75...1.25, using: &random))
    }

    mutating func linkHeld(for duration: Duration) {
        if duration >= Self.goodLink { tries = 0 }
    }
}

/// When to try again.
enum Retry: Hashable {
    case atOnce
    case byBackOff
    /// As the gateway said; that it starts or restarts is no failure of ours, so the back-off does not grow.
    case after(Duration)
}
