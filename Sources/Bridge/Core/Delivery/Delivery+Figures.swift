package import Vocabulary

// Figures for status, metrics and the journal.
extension Delivery {
    package var callsUnderWay: Int { traffic.underWay }

    package var laneCount: Int { slots.count }

    /// The tokens that may be taken now.
    package mutating func level(of bucket: RelayBucket, at instant: Instant) -> Double {
        rates.level(of: bucket, at: time.read(instant))
    }

    /// Number of lanes that wait for a token of that bucket, or for the pace that all share.
    package func lanesWaiting(for bucket: RelayBucket) -> Int { lines.count(in: bucket) }

    /// Number of posts that wait for a try, and the moment from which the oldest waits.
    package var waitingPosts: (count: Int, oldest: Instant?) {
        var count = 0
        var oldest: Instant?
        for slot in lanes.indices {
            count += lanes[slot].waitingPosts
            guard let since = lanes[slot].waitingSince else { continue }
            oldest = min(oldest ?? since, since)
        }
        return (count, oldest.map { time.outside($0) })
    }

    /// Whether some lane has text that was never tried, and a bubble for it.
    package var hasWaitingText: Bool { lanes.contains { $0.queue.textBytes > 0 && $0.bubble != .awaited } }

    package var isIdle: Bool {
        traffic.underWay == 0 && lanes.allSatisfy { $0.frozen == nil && $0.queue.isEmpty }
    }

    /// The record that a restart would find for this lane now.
    package func record(of turn: TurnID) -> LaneRecord? { slots[turn].map { lanes[$0].record } }

    /// Bytes of the preview that were tried: the phone may have them.
    func streamed(of turn: TurnID) -> Int { slots[turn].map { lanes[$0].preview.streamed } ?? 0 }

    func isBetweenRecords(_ turn: TurnID) -> Bool { slots[turn].map { lanes[$0].isBetweenRecords } ?? false }
}
