/// The pauses between the tries of one thing: those of `first` in order, then each `factor` times the one before, at
/// most `longest`. The bridge has no other formula; each waiting place has its own values.
///
/// - `jitter` is the least and the largest share of a pause. The caller's generator gives its random number.
/// - The pauses of a link (DESIGN.md#links-and-watchdogs) are `BackOff.link`.
package struct BackOff: Hashable, Sendable {
    private let first: [Duration]
    private let factor: Int
    private let longest: Duration
    private let jitter: ClosedRange<Double>
    /// Failures since the last success.
    package private(set) var failures = 0

    package init(
        first: Duration..., factor: Int = 2, longest: Duration, jitter: ClosedRange<Double> = 1...1
    ) {
        precondition(!first.isEmpty && factor > 1)
        (self.first, self.factor, self.longest, self.jitter) = (first, factor, longest, jitter)
    }

    /// Pause after so many failures in a row, without jitter.
    package func pause(after failures: Int) -> Duration { pause(after: failures, longest: longest) }

    /// Pause after so many failures in a row, with jitter.
    package func pause(after failures: Int, using random: inout some RandomNumberGenerator) -> Duration {
        pause(after: failures) * Double.random(in: jitter, using: &random)
    }

    /// Counts a failure, and returns the pause after it without jitter.
    package mutating func next() -> Duration {
        failures += 1
        return pause(after: failures)
    }

    /// Counts a failure, and returns the pause after it with jitter.
    package mutating func next(using random: inout some RandomNumberGenerator) -> Duration {
        failures += 1
        return pause(after: failures, using: &random)
    }

    package mutating func succeeded() { failures = 0 }

    private func pause(after failures: Int, longest: Duration) -> Duration {
        let index = max(failures, 1) - 1
        guard index >= first.count else { return min(first[index], longest) }
        var (pause, number) = (first[first.count - 1], first.count)
        while number <= index, pause < longest { (pause, number) = (pause * factor, number + 1) }
        return min(pause, longest)
    }
}

extension BackOff {
    /// 1 s, doubling to 30 s, each a quarter more or less.
    package static var link: Self { Self(first: .seconds(1), longest: .seconds(30), jitter: 0.75...1.25) }

    private static var longestForPerson: Duration { .seconds(300) }

    /// Pause before a try that only a person can make succeed: a link's pauses, which continue to grow up to 5 minutes.
    package mutating func nextForPerson(using random: inout some RandomNumberGenerator) -> Duration {
        failures += 1
        let pause = pause(after: failures, longest: Self.longestForPerson)
        return min(pause * Double.random(in: jitter, using: &random), Self.longestForPerson)
    }
}
