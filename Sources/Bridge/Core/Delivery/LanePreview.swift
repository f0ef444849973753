import Vocabulary

/// The text that a turn shows while it runs: its length so far, its pace, and whether it continues.
///
/// Invariants: `streamed` only grows; an ended preview stays ended.
struct LanePreview: Hashable, Sendable {
    /// How long text may hold back the end behind it.
    var hold = LaneBounds.lastDeltaHold
    /// Bytes of text that were tried.
    private(set) var streamed: Int
    private(set) var isOver: Bool
    private var pace: LanePace

    init(deltas: Int = 0, streamed: Int = 0, isOver: Bool = false) {
        pace = LanePace(count: deltas)
        self.streamed = streamed
        self.isOver = isOver
    }

    /// Deltas that were tried.
    var deltas: Int { pace.count }

    func readyAt(_ now: Instant) -> Instant { pace.readyAt(now) }

    mutating func sent(_ text: String, at now: Instant) {
        streamed += text.utf8.count
        pace.sent(at: now)
    }

    /// A delta of an earlier life ends there.
    mutating func reached(_ endOffset: Int) { streamed = max(streamed, endOffset) }

    mutating func stop() { isOver = true }
}
