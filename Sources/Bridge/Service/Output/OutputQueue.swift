package import Vocabulary

/// Entries to write to one place, such as a terminal or a pipe: bounded in bytes and in number, without any I/O.
///
/// At the bound the least important entries are dropped first, the older before the younger: log lines, then `turn_ended`, then other words for
/// people. Results are never dropped: their caller waits for room. A milestone is dropped only for a younger one of the same event, connection
/// and code in the queue, because links can flap while there is no reader; there are few different ones, so that the queue stays bounded. Every
/// drop is counted, and reported once the queue has come down to half its bound: a reader that is merely slow would otherwise get a count before
/// each entry.
package struct OutputQueue: Sendable {
    /// In the order of dropping.
    package enum Rank: Int, CaseIterable, Sendable { case log, turnEnded, words, milestone, result }

    package struct Entry: Hashable, Sendable {
        package var descriptor: Int32
        package var rank: Rank
        /// Milestones about the same thing have the same subject: the younger one makes the older one dispensable.
        package var subject: String
        package var bytes: [UInt8]

        package init(_ descriptor: Int32, _ rank: Rank, subject: String = "", _ text: String) {
            self.descriptor = descriptor
            self.rank = rank
            self.subject = subject
            bytes = Array(text.utf8)
        }
    }

    package struct Limits: Sendable {
        package var bytes = 128 << 10
        package var entries = 1_024

        package init() {}
    }

    /// Entries dropped since the last report.
    package struct Losses: Hashable, Sendable {
        package var logLines = 0
        package var turnsEnded = 0
        package var words = 0
        package var repeatedMilestones = 0

        package init() {}

        package var isEmpty: Bool { self == Losses() }
        package var total: Int { logLines + turnsEnded + words + repeatedMilestones }
    }

    package enum Next: Hashable, Sendable {
        case write(Entry)
        case tell(Losses)
    }

    private let limits: Limits
    private var lanes = [RankQueue](repeating: RankQueue(), count: Rank.allCases.count)
    private var lastNumber: UInt64 = 0
    package private(set) var byteCount = 0
    package private(set) var count = 0
    private var losses = Losses()
    /// Log lines dropped since the beginning.
    package private(set) var logLinesDropped = 0

    package init(_ limits: Limits = Limits()) { self.limits = limits }

    /// True if a result may be added.
    package var hasRoom: Bool { byteCount < limits.bytes && count < limits.entries }
    package var isEmpty: Bool { count == 0 && losses.isEmpty }

    package mutating func add(_ entry: Entry) {
        lastNumber += 1
        lanes[entry.rank.rawValue].append(Numbered(number: lastNumber, entry: entry))
        byteCount += entry.bytes.count
        count += 1
        while byteCount > limits.bytes || count > limits.entries, dropOne() {}
    }

    package mutating func next() -> Next? {
        if !losses.isEmpty, byteCount <= limits.bytes / 2, count <= limits.entries / 2 {
            defer { losses = Losses() }
            return .tell(losses)
        }
        let oldest = Rank.allCases.min { number(of: $0) < number(of: $1) }
        guard let oldest, let entry = takeFirst(of: oldest) else { return nil }
        return .write(entry)
    }

    /// Subject of a milestone: two errors of one connection with different codes are no repetition.
    package static func subject(of event: String, _ members: [(String, JSONText)]) -> String {
        ([event] + ["connection", "code"].map { name in members.first { $0.0 == name }?.1.text ?? "" })
            .joined(separator: " ")
    }

    /// Discards all entries of a place without a reader.
    package mutating func discardAll() {
        let dropped = logLinesDropped
        self = OutputQueue(limits)
        logLinesDropped = dropped
    }

    // MARK: The bound

    /// False if nothing is left that may be dropped.
    private mutating func dropOne() -> Bool {
        if takeFirst(of: .log) != nil {
            losses.logLines += 1
            logLinesDropped += 1
        } else if takeFirst(of: .turnEnded) != nil {
            losses.turnsEnded += 1
        } else if takeFirst(of: .words) != nil {
            losses.words += 1
        } else if let index = lanes[Rank.milestone.rawValue].firstRepeated {
            let dropped = lanes[Rank.milestone.rawValue].remove(at: index)
            byteCount -= dropped.bytes.count
            count -= 1
            losses.repeatedMilestones += 1
        } else {
            return false
        }
        return true
    }

    private func number(of rank: Rank) -> UInt64 { lanes[rank.rawValue].first?.number ?? .max }

    private mutating func takeFirst(of rank: Rank) -> Entry? {
        guard let entry = lanes[rank.rawValue].takeFirst() else { return nil }
        byteCount -= entry.bytes.count
        count -= 1
        return entry
    }
}

private struct Numbered: Sendable {
    var number: UInt64
    var entry: OutputQueue.Entry
}

/// The entries of one rank, oldest first.
private struct RankQueue: Sendable {
    private var items: [Numbered] = []
    /// Index of the first entry: removing each from the front of the array would move all others every time.
    private var start = 0

    var first: Numbered? { start < items.count ? items[start] : nil }

    mutating func append(_ item: Numbered) { items.append(item) }

    mutating func takeFirst() -> OutputQueue.Entry? {
        guard start < items.count else { return nil }
        let entry = items[start].entry
        items[start].entry.bytes = []
        start += 1
        if start == items.count || start >= 1_024 {
            items.removeFirst(start)
            start = 0
        }
        return entry
    }

    /// The oldest entry with a younger one of the same subject behind it.
    var firstRepeated: Int? {
        var seen: Set<String> = []
        var found: Int?
        for index in items.indices.dropFirst(start).reversed() where !seen.insert(items[index].entry.subject).inserted {
            found = index
        }
        return found
    }

    mutating func remove(at index: Int) -> OutputQueue.Entry { items.remove(at: index).entry }
}
