import Locking

/// Hands events of other threads to a test in their order, with a deadline.
package final class Queue<Element: Sendable>: Sendable {
    package struct TimedOut: Error {}

    private let elements = Locked<[Element]>([])
    private let arrivals = Signal()

    package init() {}

    package func put(_ element: Element) {
        elements.withLock { $0.append(element) }
        arrivals.raise()
    }

    /// Throws `TimedOut` if no element arrives within `patience` seconds.
    package func next() throws -> Element {
        guard arrivals.wait() else { throw TimedOut() }
        return elements.withLock { $0.removeFirst() }
    }

    package var isEmpty: Bool { elements.withLock { $0.isEmpty } }
}
