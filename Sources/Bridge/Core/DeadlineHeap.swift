package import Vocabulary

/// Wake-ups by owner, earliest first.
///
/// A binary heap in which each owner has at most one live moment. An earlier moment leaves the old entry behind, which is skipped when it
/// comes to the top. A later one is not entered, so that an owner that moves its deadline with every event costs nothing until the old
/// moment is reached.
package struct DeadlineHeap<Owner: Hashable & Sendable>: Sendable {
    private struct Entry: Sendable {
        var moment: Instant
        var owner: Owner
    }

    private var entries: [Entry] = []
    /// The earliest moment in `entries` of each owner that counts.
    private var scheduled: [Owner: Instant] = [:]

    package init() {}

    package var earliest: Instant? { entries.first?.moment }

    /// The owner wants a wake-up at `moment`, or none. A moment later than the one scheduled is not entered: the owner
    /// is woken early and asks again.
    package mutating func set(_ moment: Instant?, for owner: Owner) {
        guard let moment else { return }
        if let known = scheduled[owner], known <= moment { return }
        scheduled[owner] = moment
        push(Entry(moment: moment, owner: owner))
    }

    package mutating func forget(_ owner: Owner) {
        scheduled[owner] = nil
    }

    /// An owner whose moment has come, or nil.
    package mutating func popDue(at now: Instant) -> Owner? {
        while let first = entries.first, first.moment <= now {
            removeFirst()
            guard scheduled[first.owner] == first.moment else { continue }
            scheduled[first.owner] = nil
            return first.owner
        }
        return nil
    }

    private mutating func push(_ entry: Entry) {
        entries.append(entry)
        var child = entries.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard entries[child].moment < entries[parent].moment else { return }
            entries.swapAt(child, parent)
            child = parent
        }
    }

    private mutating func removeFirst() {
        entries.swapAt(0, entries.count - 1)
        entries.removeLast()
        var parent = 0
        while true {
            var smallest = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < entries.count {
                if entries[child].moment < entries[smallest].moment { smallest = child }
            }
            guard smallest != parent else { return }
            entries.swapAt(parent, smallest)
            parent = smallest
        }
    }
}
