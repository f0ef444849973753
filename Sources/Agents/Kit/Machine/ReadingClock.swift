package import Vocabulary

/// The clock that stands while the host does not read its machine's channels (`Occasion.read`).
///
/// Channels that may pause do so together: one clock serves them all.
package struct ReadingClock: Sendable {
    private var standsSince: Instant?
    /// Sum of the finished pauses.
    private var stood = Duration.zero

    package init() {}

    package func time(at now: Instant) -> Instant { (standsSince ?? now) - stood }

    /// Host's time at which the clock shows `reading`, or nil while it stands.
    package func moment(of reading: Instant) -> Instant? { standsSince == nil ? reading + stood : nil }

    package mutating func stands(_ stands: Bool, at now: Instant) {
        if stands {
            standsSince = standsSince ?? now
        } else if let since = standsSince.take() {
            stood += now - since
        }
    }
}
