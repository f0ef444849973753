package import Vocabulary

/// The clock that stands while a host does not read the channels of its machine (`Occasion.read`).
///
/// Channels that may pause do so together, so one clock serves them all.
package struct ReadingClock: Sendable {
    private var standsSince: Instant?
    /// How long it stood, without the pause that lasts.
    private var stood = Duration.zero

    package init() {}

    package func time(at now: Instant) -> Instant { (standsSince ?? now) - stood }

    /// When the clock shows that moment; nil while it stands.
    package func moment(of reading: Instant) -> Instant? { standsSince == nil ? reading + stood : nil }

    package mutating func stands(_ stands: Bool, at now: Instant) {
        if stands {
            standsSince = standsSince ?? now
        } else if let since = standsSince.take() {
            stood += now - since
        }
    }
}
