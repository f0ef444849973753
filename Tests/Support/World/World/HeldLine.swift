import Vocabulary

/// Frames in one direction, delivered in the order of sending whatever delays them.
final class HeldLine {
    private let time: VirtualTime
    private let heldUntil: () -> Instant
    private var waiting: [() -> Void] = []

    /// `heldUntil` is called again whenever a frame is due.
    init(_ time: VirtualTime, heldUntil: @escaping () -> Instant) {
        self.time = time
        self.heldUntil = heldUntil
    }

    func pass(_ arrival: @escaping () -> Void) {
        waiting.append(arrival)
        carryNext()
    }

    private func carryNext() {
        time.at(max(time.now + .milliseconds(1), heldUntil())) { [self] in
            if time.now < heldUntil() { return carryNext() }
            if !waiting.isEmpty { waiting.removeFirst()() }
        }
    }
}
