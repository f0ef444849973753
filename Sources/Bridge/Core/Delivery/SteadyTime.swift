import Vocabulary

/// Time that never goes back: when its clock jumps back, it continues from where it was.
struct SteadyTime: Hashable, Sendable {
    private var last: Instant?
    /// The last moment that was read.
    private(set) var latest = Instant.zero
    private var lead = Duration.zero

    /// The steady moment of a clock's reading.
    mutating func read(_ instant: Instant) -> Instant {
        if let last, instant < last { lead += last - instant }
        last = instant
        latest = instant + lead
        return latest
    }

    /// The steady moment of a time that is not now.
    func inside(_ instant: Instant) -> Instant { instant + lead }

    /// The clock's reading at a steady moment.
    func outside(_ steady: Instant) -> Instant { steady - lead }
}
