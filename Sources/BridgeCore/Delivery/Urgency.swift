package import BridgeModel

/// How urgent the next call of a lane is, among those that draw from the same bucket.
package struct Urgency: Hashable, Sendable, Comparable {
    package enum Rank: Int, Hashable, Sendable, Comparable, CaseIterable {
        case approval, openOrEnd, taskEnd, taskStart, message, delta, progress

        package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    package var rank: Rank
    /// The moment it should be gone by; the earliest goes first.
    package var goneBy: Instant

    package init(rank: Rank, goneBy: Instant) {
        self.rank = rank
        self.goneBy = goneBy
    }

    /// A call takes the rank of the most urgent call behind it in its lane.
    package init(_ candidate: Candidate, in lane: Lane) {
        let own = Self.rank(of: candidate.name)
        rank = lane.queue.rank.map { min(own, $0) } ?? own
        goneBy = candidate.since + Self.tolerance(of: candidate.name)
    }

    package static func < (left: Self, right: Self) -> Bool {
        left.rank == right.rank ? left.goneBy < right.goneBy : left.rank < right.rank
    }

    private static func tolerance(of name: PostName) -> Duration {
        switch name {
        case .end: .seconds(4)
        case .open: .seconds(9)
        case .text, .taskStarted, .taskProgress, .taskEnded, .approval, .message: .zero
        }
    }

    private static func rank(of name: PostName) -> Rank {
        switch name {
        case .approval: .approval
        case .open, .end: .openOrEnd
        case .taskEnded: .taskEnd
        case .taskStarted: .taskStart
        case .message: .message
        case .text: .delta
        case .taskProgress: .progress
        }
    }

    static func rank(of post: Post) -> Rank {
        switch post {
        case .approval: .approval
        case .open, .end: .openOrEnd
        case .taskEnded: .taskEnd
        case .taskStarted: .taskStart
        case .message: .message
        case .text: .delta
        case .taskProgress: .progress
        }
    }
}

/// One look over all lanes: the best that can go now, else the moment to look again.
struct Search {
    let now: Instant
    private(set) var best: (turn: TurnID, urgency: Urgency)?
    private(set) var wake: Instant?
    private var waits: [RelayBucket: TokenBucket.Wait?] = [:]

    init(now: Instant) { self.now = now }

    mutating func wake(at moment: Instant) {
        wake = wake.map { min($0, moment) } ?? moment
    }

    mutating func take(_ turn: TurnID, _ urgency: Urgency, youngestFirst: Bool) {
        guard let known = best else {
            best = (turn, urgency)
            return
        }
        if youngestFirst, known.urgency.rank == urgency.rank {
            if urgency.goneBy > known.urgency.goneBy { best = (turn, urgency) }
            return
        }
        // The turn's name settles a tie, so that equal states always give equal orders.
        if urgency < known.urgency || (urgency == known.urgency && turn < known.turn) { best = (turn, urgency) }
    }

    /// Asked once a bucket and look.
    mutating func wait(of bucket: RelayBucket, in buckets: inout [RelayBucket: TokenBucket]) -> TokenBucket.Wait? {
        if let known = waits[bucket] { return known }
        let wait = buckets[bucket]?.wait(at: now)
        waits[bucket] = .some(wait)
        return wait
    }
}

/// What has been counted since the start, for the summary and the metrics.
package struct DeliveryTally: Sendable, Hashable {
    package var calls = 0
    package var deltas = 0
    package var delivered = 0
    package var joined = 0
    package var textsDropped = 0
    package var retries = 0
    package var refusals = 0
    package var conflicts = 0
    package var deadLetters = 0
    package var notTaken = 0

    mutating func sent(_ call: FrozenCall) {
        calls += 1
        if call.name.isText { deltas += 1 }
    }
}
