import Vocabulary

/// The lines in which lanes wait for a token, and the timers of those that wait for a moment.
///
/// A lane is in one queue at most: that of its next call.
struct DeliveryLines: Sendable {
    enum Line: Int, Hashable, Sendable, CaseIterable {
        case approval, opens, ends, task, delta
    }

    struct Key: Hashable, Sendable, Comparable {
        var rank: DeliveryRank
        /// The moment from which a lane waits; for opens and ends, the moment to be gone by.
        var time: Instant
        /// The lane's last turn, in the order of all turns.
        var served: UInt64

        static func < (left: Key, right: Key) -> Bool {
            if left.rank != right.rank { return left.rank < right.rank }
            if left.time != right.time { return left.time < right.time }
            return left.served < right.served
        }
    }

    private var approvals = SlotHeap<Key>()
    private var opens = SlotHeap<Key>()
    private var ends = SlotHeap<Key>()
    private var tasks = SlotHeap<Key>()
    private var deltas = SlotHeap<Key>()
    private var timers = SlotHeap<Instant>()
    private var places: [Line?] = []
    /// The end goes next when opens and ends are both late.
    private var endIsNext = true

    func line(of slot: Int) -> Line? { slot < places.count ? places[slot] : nil }

    var nextTimer: Instant? { timers.first?.key }

    mutating func stand(_ slot: Int, in line: Line, key: Key) {
        while places.count <= slot { places.append(nil) }
        if let before = places[slot], before != line { change(before) { $0.remove(slot) } }
        places[slot] = line
        change(line) { $0.set(slot, to: key) }
    }

    mutating func leave(_ slot: Int) {
        guard let line = line(of: slot) else { return }
        places[slot] = nil
        change(line) { $0.remove(slot) }
    }

    /// Sets the lane's timer, or removes it for nil.
    mutating func setTimer(_ slot: Int, to instant: Instant?) {
        if let instant { timers.set(slot, to: instant) } else { timers.remove(slot) }
    }

    /// Removes and returns a lane whose timer has come.
    mutating func removeTimer(dueAt now: Instant) -> Int? {
        guard let first = timers.first, first.key <= now else { return nil }
        timers.remove(first.slot)
        return first.slot
    }

    /// The first of a bucket's line.
    func first(in bucket: RelayBucket, at now: Instant) -> (key: Key, slot: Int)? {
        switch bucket {
        case .msg: firstBubble(at: now)
        case .delta: deltas.first
        case .task: tasks.first
        case .approval: approvals.first
        case .default: nil
        }
    }

    /// A lane's position in a bucket's queue, if it has one.
    func key(of slot: Int, in bucket: RelayBucket) -> Key? {
        switch (line(of: slot), bucket) {
        case (.approval, .approval): approvals.key(of: slot)
        case (.opens, .msg): opens.key(of: slot)
        case (.ends, .msg): ends.key(of: slot)
        case (.task, .task): tasks.key(of: slot)
        case (.delta, .delta): deltas.key(of: slot)
        default: nil
        }
    }

    func count(in bucket: RelayBucket) -> Int {
        switch bucket {
        case .msg: opens.count + ends.count
        case .delta: deltas.count
        case .task: tasks.count
        case .approval: approvals.count
        case .default: 0
        }
    }

    /// An open or an end has gone: the other kind is next when both are late.
    mutating func served(_ line: Line) {
        if line == .opens { endIsNext = true }
        if line == .ends { endIsNext = false }
    }

    private func firstBubble(at now: Instant) -> (key: Key, slot: Int)? {
        guard let open = opens.first else { return ends.first }
        guard let end = ends.first else { return open }
        if open.key.rank == end.key.rank && open.key.time <= now && end.key.time <= now {
            return endIsNext ? end : open
        }
        return end.key < open.key ? end : open
    }

    private mutating func change(_ line: Line, _ body: (inout SlotHeap<Key>) -> Void) {
        switch line {
        case .approval: body(&approvals)
        case .opens: body(&opens)
        case .ends: body(&ends)
        case .task: body(&tasks)
        case .delta: body(&deltas)
        }
    }
}

extension DeliveryLines.Line {
    init(_ kind: PostKind) {
        switch kind {
        case .open: self = .opens
        case .end, .message: self = .ends
        case .text: self = .delta
        case .taskStarted, .taskProgress, .taskEnded: self = .task
        case .approval: self = .approval
        }
    }
}
