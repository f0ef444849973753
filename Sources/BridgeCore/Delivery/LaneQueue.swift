/// The posts of a lane that were never tried, first in, first out. Everything that the delivery asks of each lane at each step
/// is known without looking through them.
package struct LaneQueue: Sendable {
    private var items: [Lane.Item] = []
    private var head = 0
    private var ranks = [Int](repeating: 0, count: Urgency.Rank.allCases.count)
    /// The end that waits, and since when.
    package private(set) var end: Lane.Item?
    package private(set) var texts = 0
    package private(set) var progresses = 0

    package var count: Int { items.count - head }
    package var isEmpty: Bool { count == 0 }
    package var first: Lane.Item? { isEmpty ? nil : items[head] }
    package var second: Lane.Item? { count < 2 ? nil : items[head + 1] }
    package var last: Lane.Item? { isEmpty ? nil : items.last }

    /// The most urgent rank among them.
    package var rank: Urgency.Rank? { Urgency.Rank.allCases.first { ranks[$0.rawValue] > 0 } }

    package mutating func append(_ item: Lane.Item) {
        count(item, by: 1)
        items.append(item)
    }

    package mutating func insertFirst(_ item: Lane.Item) {
        count(item, by: 1)
        if head > 0 {
            head -= 1
            items[head] = item
        } else {
            items.insert(item, at: 0)
        }
    }

    package mutating func removeFirst() -> Lane.Item? {
        guard let item = first else { return nil }
        count(item, by: -1)
        // The place keeps nothing alive, and the room before the head is given back from time to time.
        items[head].post = .open
        head += 1
        if head > 64, head * 2 > items.count {
            items.removeFirst(head)
            head = 0
        }
        return item
    }

    /// Only for a planted fault, which takes what is not its turn.
    package mutating func remove(at index: Int) -> Lane.Item? {
        guard index < count else { return nil }
        let item = items.remove(at: head + index)
        count(item, by: -1)
        return item
    }

    package func firstIndex(where matches: (Post) -> Bool) -> Int? {
        items[head...].firstIndex { matches($0.post) }.map { $0 - head }
    }

    package mutating func replaceLast(_ post: Post) { replace(count - 1, post) }

    package mutating func replace(_ index: Int, _ post: Post) { items[head + index].post = post }

    package subscript(index: Int) -> Lane.Item { items[head + index] }

    package mutating func removeAll(where matches: (Post) -> Bool) {
        let kept = items[head...].filter { !matches($0.post) }
        self = LaneQueue()
        for item in kept { append(item) }
    }

    private mutating func count(_ item: Lane.Item, by change: Int) {
        ranks[Urgency.rank(of: item.post).rawValue] += change
        switch item.post {
        case .end: end = change > 0 ? item : nil
        case .text: texts += change
        case .taskProgress: progresses += change
        case .open, .taskStarted, .taskEnded, .approval, .message: break
        }
    }
}
