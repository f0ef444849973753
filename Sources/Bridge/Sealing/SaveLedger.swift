import Vocabulary

/// Which state of the ring the files have, and which updates wait for that. One save is under way at a time.
struct SaveLedger: Sendable {
    /// Between a save that failed and the next, and until what is of little weight is saved by itself.
    private static let patience = Duration.seconds(5)

    private(set) var revision = 0
    private var saved = 0
    private var underWay: Int?
    private var waiting: [(revision: Int, update: UpdateID)] = []
    private(set) var retryAt: Instant?

    var isSettled: Bool { saved == revision }

    func has(_ revision: Int) -> Bool { revision <= saved }

    mutating func changed() { revision += 1 }

    /// No save is wanted before that, for the change that was just reported.
    mutating func later(at now: Instant) {
        if underWay == nil, retryAt == nil { retryAt = now + Self.patience }
    }

    mutating func wait(_ update: UpdateID) { waiting.append((revision, update)) }

    /// What is to be saved now; nil when nothing is, or one is under way.
    mutating func next(at now: Instant) -> Int? {
        guard underWay == nil, !isSettled else { return nil }
        underWay = revision
        retryAt = nil
        return revision
    }

    func isDue(at now: Instant) -> Bool { retryAt.map { $0 <= now } ?? false }

    /// The updates that nothing is missing of any more.
    mutating func saved(_ revision: Int) -> [UpdateID] {
        saved = max(saved, revision)
        underWay = nil
        let done = waiting.filter { $0.revision <= saved }.map(\.update)
        waiting.removeAll { $0.revision <= saved }
        return done
    }

    /// The updates that wait: the relay will send them again.
    mutating func failed(at now: Instant) -> [UpdateID] {
        underWay = nil
        retryAt = now + Self.patience
        defer { waiting = [] }
        return waiting.map(\.update)
    }
}
