import Locking
package import OSThreads
package import Vocabulary
import WebSocketCodec

/// Orders from other threads to a connection's thread. All calls return at once; after the end they have no effect.
package final class LinkControl: Sendable {
    /// Orders since the last `take`.
    struct Orders {
        var messages: [OutgoingMessage] = []
        var close: (code: Int, reason: String)?
    }

    private struct State {
        var orders = Orders()
        var waitingBytes = 0
        var isPaused = false
        var isCut = false
        var isOverfull = false
        var isOver = false
        var isWoken = false
    }

    package let wakeUp = WakeUp()
    private let sendLimit: Int
    private let state = Locked(State())

    package init(sendLimit: Int) { self.sendLimit = sendLimit }

    /// False if the process had no file descriptor left; no connection can use this control then.
    package var isUsable: Bool { wakeUp.descriptor >= 0 }
    package static let noDescriptorSentence =
        "the process has no file descriptor left for a connection; raise its limit (`ulimit -n`, LimitNOFILE=)"

    /// Changes the state before the end, and wakes the thread once per `take`.
    private func ask(_ change: @Sendable (inout State) -> Void) {
        let wakes = state.withLock { state in
            guard !state.isOver else { return false }
            change(&state)
            defer { state.isWoken = true }
            return !state.isWoken
        }
        if wakes { wakeUp.raise() }
    }

    func send(_ message: OutgoingMessage) {
        let limit = sendLimit
        ask { state in
            guard !state.isOverfull, state.orders.close == nil else { return }
            guard state.waitingBytes + message.cost <= limit else {
                state.isOverfull = true
                return
            }
            state.waitingBytes += message.cost
            state.orders.messages.append(message)
        }
    }

    func close(code: Int, reason: String) {
        precondition(CloseFrame.isSendable(code), "close code \(code) may not be sent")
        ask { if $0.orders.close == nil { $0.orders.close = (code, reason) } }
    }

    package func cut() { ask { $0.isCut = true } }
    func pauseReading() { ask { $0.isPaused = true } }
    func resumeReading() { ask { $0.isPaused = false } }

    // MARK: - On the connection's thread

    package var isCut: Bool { state.withLock { $0.isCut } }
    var mayRead: Bool { state.withLock { !$0.isPaused && !$0.isCut } }
    var isOverfull: Bool { state.withLock { $0.isOverfull } }
    var limit: Int { sendLimit }

    func take() -> Orders {
        state.withLock { state in
            defer { state.orders.messages = [] }
            state.isWoken = false
            return state.orders
        }
    }

    func wasSent(cost: Int) { state.withLock { $0.waitingBytes -= cost } }

    /// Drops all later orders.
    package func finish() {
        state.withLock { state in
            state.isOver = true
            state.orders.messages = []
        }
    }
}

/// A link that forwards its orders to a control.
package protocol ControlledLink: WebSocketLink {
    var control: LinkControl { get }
}

extension ControlledLink {
    package func send(text: [UInt8]) { control.send(OutgoingMessage(.text, text)) }
    package func send(binary: [UInt8]) { control.send(OutgoingMessage(.binary, binary)) }
    package func ping() { control.send(OutgoingMessage(.ping, [])) }
    package func close(code: Int, reason: String) { control.close(code: code, reason: reason) }
    package func cut() { control.cut() }
    package func pauseReading() { control.pauseReading() }
    package func resumeReading() { control.resumeReading() }
}
