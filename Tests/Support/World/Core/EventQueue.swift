package import Vocabulary

/// A binary heap of events, earliest first; equal moments keep the order in which they were added.
/// A heap, because the largest plans add and take hundreds of thousands.
package struct EventQueue<Happening> {
    private struct Event {
        var at: Instant
        var order: Int
        var happening: Happening
    }

    private var events: [Event] = []
    private var order = 0

    package init() {}

    package var nextAt: Instant? { events.first?.at }

    package mutating func add(_ happening: Happening, at moment: Instant) {
        order += 1
        var child = events.count
        events.append(Event(at: moment, order: order, happening: happening))
        while child > 0, Self.isBefore(events[child], events[(child - 1) / 2]) {
            events.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    package mutating func takeNext() -> Happening? {
        guard !events.isEmpty else { return nil }
        events.swapAt(0, events.count - 1)
        let taken = events.removeLast()
        var parent = 0
        while true {
            var smallest = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < events.count {
                if Self.isBefore(events[child], events[smallest]) { smallest = child }
            }
            guard smallest != parent else { return taken.happening }
            events.swapAt(parent, smallest)
            parent = smallest
        }
    }

    private static func isBefore(_ left: Event, _ right: Event) -> Bool {
        left.at == right.at ? left.order < right.order : left.at < right.at
    }
}
