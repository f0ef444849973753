package import BridgeModel

extension Delivery {
    /// Posts that were never tried, by rank, and for how long the oldest of them waits.
    package mutating func backlog(at instant: Instant) -> (posts: [DeliveryRank: Int], oldest: Duration) {
        let now = time.read(instant)
        var posts: [DeliveryRank: Int] = [:]
        var oldest = Duration.zero
        for lane in lanes {
            guard let first = lane.queue.firstKind else { continue }
            oldest = max(oldest, now - first.since)
            for rank in DeliveryRank.allCases where lane.queue.waiting(rank) > 0 {
                posts[rank, default: 0] += lane.queue.waiting(rank)
            }
        }
        return (posts, oldest)
    }
}
