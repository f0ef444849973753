import Locking
import OSThreads

/// Orders from other threads to a child's thread. All calls return at once; after the end they have no effect.
final class ChildControl: Sendable {
    struct Message {
        var bytes: [UInt8]
        var telling: Int?
    }

    /// Orders since the last `take`.
    struct Orders {
        var messages: [Message] = []
        var closesInput = false
        var end: End?
        /// Opens the gate: true runs the program, false calls it off.
        var release: Bool?
    }

    enum End { case bySteps, atOnce }

    private struct State {
        var orders = Orders()
        var waitingBytes = 0
        var hears = true
        var isPaused = false
        var hasExited = false
        var isOver = false
        var isWoken = false
    }

    let wakeUp = WakeUp()
    private let sendLimit: Int
    private let state = Locked(State())

    init(sendLimit: Int) { self.sendLimit = sendLimit }

    private func ask(_ change: @Sendable (inout State) -> Void) {
        let wakes = state.withLock { state in
            guard !state.isOver else { return false }
            change(&state)
            defer { state.isWoken = true }
            return !state.isWoken
        }
        if wakes { wakeUp.raise() }
    }

    func send(_ bytes: [UInt8], telling: Int?) -> Bool {
        let (isTaken, wakes) = state.withLock { state in
            guard !state.isOver, state.hears, bytes.count <= sendLimit - state.waitingBytes else {
                return (false, false)
            }
            state.waitingBytes += bytes.count
            state.orders.messages.append(Message(bytes: bytes, telling: telling))
            defer { state.isWoken = true }
            return (true, !state.isWoken)
        }
        if wakes { wakeUp.raise() }
        return isTaken
    }

    func closeInput() {
        ask { state in
            state.hears = false
            state.orders.closesInput = true
        }
    }

    /// Ends the child, and ends a pause: the remaining output is read.
    func end(_ end: End) {
        ask { state in
            state.isPaused = false
            if case .atOnce? = state.orders.end { return }
            state.orders.end = end
        }
    }

    func release(_ mayRun: Bool) { ask { if $0.orders.release == nil { $0.orders.release = mayRun } } }
    func pauseReading() { ask { $0.isPaused = true } }
    func resumeReading() { ask { $0.isPaused = false } }

    // MARK: - On the child's threads

    func hasExited() { ask { $0.hasExited = true } }

    var mayRead: Bool { state.withLock { !$0.isPaused } }

    func take() -> (Orders, hasExited: Bool) {
        state.withLock { state in
            defer { state.orders = Orders() }
            state.isWoken = false
            return (state.orders, state.hasExited)
        }
    }

    func wasWritten(_ count: Int) { state.withLock { $0.waitingBytes -= count } }

    /// The child has closed its input; later messages are refused.
    func becameDeaf() { state.withLock { $0.hears = false } }

    func finish() {
        state.withLock { state in
            state.isOver = true
            state.orders = Orders()
        }
    }
}
