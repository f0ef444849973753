import Vocabulary

/// The state of the ring that the files contain, and the updates that wait for a newer one. One save is under way at a time.
struct SaveLedger: Sendable {
    /// Pause between a failed save and the next, and before a save of minor changes alone.
    private static let patience = Duration.seconds(5)

    private(set) var revision = 0
    private var saved = 0
    private var underWay: Int?
    private var waiting: [(revision: Int, update: UpdateID)] = []
    private(set) var retryAt: Instant?

    var isSettled: Bool { saved == revision }

    func has(_ revision: Int) -> Bool { revision <= saved }

    mutating func changed() { revision += 1 }

    /// Debounce: save the change that was just reported after `patience` at the earliest.
    mutating func later(at now: Instant) {
        if underWay == nil, retryAt == nil { retryAt = now + Self.patience }
    }

    mutating func wait(_ update: UpdateID) { waiting.append((revision, update)) }

    /// Revision to save now, or nil if all is saved or a save is under way.
    mutating func next(at now: Instant) -> Int? {
        guard underWay == nil, !isSettled else { return nil }
        underWay = revision
        retryAt = nil
        return revision
    }

    func isDue(at now: Instant) -> Bool { retryAt.map { $0 <= now } ?? false }

    /// Updates whose changes are saved completely.
    mutating func saved(_ revision: Int) -> [UpdateID] {
        saved = max(saved, revision)
        underWay = nil
        let done = waiting.filter { $0.revision <= saved }.map(\.update)
        waiting.removeAll { $0.revision <= saved }
        return done
    }

    /// Updates that waited for the save: the relay will send them again.
    mutating func failed(at now: Instant) -> [UpdateID] {
        underWay = nil
        retryAt = now + Self.patience
        defer { waiting = [] }
        return waiting.map(\.update)
    }
}
