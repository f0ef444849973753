/// Detects two calls of one (session, interaction) in flight at once, which
/// relay.md#serialisation forbids: a fast delta could overtake the placeholder.
///
/// A call is in flight from its arrival until its answer leaves. Overlaps are visible only if answers take time: with an answer delay,
/// or the slow fault. The same key again is no overlap but a client that gave up waiting and tries again.
struct LaneWatch {
    struct Lane: Hashable {
        var session: String
        var interaction: String
    }

    private struct Call {
        var lane: Lane
        var key: String?
    }

    private var inFlight: [Int: Call] = [:]
    private var lastNumber = 0

    var isIdle: Bool { inFlight.isEmpty }

    func overlaps(_ lane: Lane, key: String?) -> Bool {
        inFlight.values.contains { $0.lane == lane && ($0.key != key || key == nil) }
    }

    /// Returns the number for `end`.
    mutating func begin(_ lane: Lane, key: String?) -> Int {
        lastNumber += 1
        inFlight[lastNumber] = Call(lane: lane, key: key)
        return lastNumber
    }

    mutating func end(_ number: Int) { inFlight[number] = nil }
}
