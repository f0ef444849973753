/// How long to wait before the next try: 1 s, doubling to 30 s, each a quarter more or less (DESIGN.md#links-and-watchdogs). Where only a
/// person can mend it, doubling continues to 5 minutes.
package struct BackOff: Sendable {
    private static let longest = 30.0
    private static let longestForPerson = 300.0
    /// A link that held this long was a good one, and the next loss starts the back-off over.
    private static let goodLink = Duration.seconds(60)
    private var tries = 0

    package init() {}

    package mutating func next(
        needsPerson: Bool = false, using random: inout some RandomNumberGenerator
    ) -> Duration {
        let longest = needsPerson ? Self.longestForPerson : Self.longest
        let seconds = min(Double(1 << min(tries, 9)), longest)
        tries += 1
        let jittered = seconds * Double.random(in: 0.75...1.25, using: &random)
        return .seconds(min(jittered, Self.longestForPerson))
    }

    package mutating func linkHeld(for duration: Duration) {
        if duration >= Self.goodLink { tries = 0 }
    }
}
