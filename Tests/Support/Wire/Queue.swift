import Locking

/// What happens on other threads, for a test to take in order, with a deadline.
package final class Queue<Element: Sendable>: Sendable {
    package struct TimedOut: Error {}

    private let elements = Locked<[Element]>([])
    private let arrivals = Signal()

    package init() {}

    package func put(_ element: Element) {
        elements.withLock { $0.append(element) }
        arrivals.raise()
    }

    /// Fails after `patience` seconds without any.
    package func next() throws -> Element {
        guard arrivals.wait() else { throw TimedOut() }
        return elements.withLock { $0.removeFirst() }
    }

    package var isEmpty: Bool { elements.withLock { $0.isEmpty } }
}
