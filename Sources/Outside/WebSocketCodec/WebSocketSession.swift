/// How a session ended.
package enum WebSocketEnding: Hashable, Sendable {
    case closed(code: Int?, reason: String, byPeer: Bool)
    case fault(WebSocketFault)
}

package struct OutgoingMessage: Sendable {
    package var kind: FrameWriter.Kind
    package var payload: [UInt8]

    package init(_ kind: FrameWriter.Kind, _ payload: [UInt8]) {
        self.kind = kind
        self.payload = payload
    }

    /// What it counts for in a queue: its payload and the longest header.
    package var cost: Int { payload.count + 14 }
}

/// Frames that go out together.
package struct OutgoingBatch: Sendable {
    package var bytes: [UInt8]
    /// The sum of the costs of the messages that were given to `send`.
    package var cost: Int
}

/// One side of an open connection, either role, without I/O: bytes and orders in, messages and bytes out.
///
/// - A ping is answered by itself, ahead of queued messages; of several unanswered ones only the last gets a pong, as
///   RFC 6455 (5.5.3) allows, so that pings cannot pile up answers.
/// - After `close` messages of the peer are dropped; after an end everything that still waited is, but for the closing
///   frame.
package struct WebSocketSession: ~Copyable {
    private enum Phase {
        /// Can transition to: closing (by `close`), ended (the peer closes or breaks the protocol).
        case open
        /// Our closing frame is queued or sent, the peer's is awaited. Can transition to: ended.
        case closing
        case ended(WebSocketEnding)
    }

    private static let batchSize = 65_536

    private let reader: MessageReader
    private let writer: FrameWriter
    private var phase = Phase.open
    private var messages: [OutgoingMessage] = []
    private var firstMessage = 0
    private var pong: [UInt8]?
    private var closeFrame: [UInt8]?

    package init(role: WebSocketRole, messageLimit: Int, makeMask: (() -> UInt32)?) {
        precondition((role == .client) == (makeMask != nil), "clients mask, servers do not")
        reader = MessageReader(role: role, messageLimit: messageLimit)
        writer = FrameWriter(makeMask: makeMask)
    }

    package var ending: WebSocketEnding? {
        if case .ended(let ending) = phase { return ending }
        return nil
    }

    /// The next event, or nil when there is none in `bytes`; `ending` may be set then. Never `close`.
    package mutating func receive(_ bytes: inout UnsafeRawBufferPointer) -> WebSocketInput? {
        while ending == nil {
            do throws(WebSocketFault) {
                guard let input = try reader.next(from: &bytes) else { return nil }
                if let told = take(input) { return told }
            } catch {
                end(.fault(error), answer: CloseFrame.payload(code: error.code.rawValue, reason: error.message))
            }
        }
        return nil
    }

    private mutating func take(_ input: WebSocketInput) -> WebSocketInput? {
        switch input {
        case .text, .binary:
            if case .closing = phase { return nil }
            return input
        case .ping(let payload):
            if case .open = phase { pong = payload }
            return input
        case .pong:
            return input
        case .close(let code, let reason):
            if case .closing = phase {
                end(.closed(code: code, reason: reason, byPeer: false), answer: [])
            } else {
                end(
                    .closed(code: code, reason: reason, byPeer: true),
                    answer: CloseFrame.payload(code: code, reason: reason))
            }
            return nil
        }
    }

    private mutating func end(_ ending: WebSocketEnding, answer: [UInt8]) {
        // One closing frame only: ours, if it was asked for, serves as the answer, whether it has left or still waits.
        if case .open = phase { closeFrame = answer }
        phase = .ended(ending)
        messages = []
        firstMessage = 0
        pong = nil
    }

    package mutating func send(_ message: OutgoingMessage) {
        guard case .open = phase else { return }
        messages.append(message)
    }

    package mutating func close(code: Int, reason: String) {
        guard case .open = phase else { return }
        phase = .closing
        closeFrame = CloseFrame.payload(code: code, reason: reason)
    }

    package var hasOutgoing: Bool { firstMessage < messages.count || pong != nil || closeFrame != nil }

    /// The next frames to write, at least one message whole; nil when nothing waits.
    package mutating func nextBatch() -> OutgoingBatch? {
        guard hasOutgoing else { return nil }
        var batch = OutgoingBatch(bytes: [], cost: 0)
        if let payload = pong {
            writer.append(.pong, payload, to: &batch.bytes)
            pong = nil
        }
        while firstMessage < messages.count, batch.bytes.count < Self.batchSize {
            let message = messages[firstMessage]
            messages[firstMessage].payload = []
            firstMessage += 1
            writer.append(message.kind, message.payload, to: &batch.bytes)
            batch.cost += message.cost
        }
        guard firstMessage == messages.count else { return batch }
        messages = []
        firstMessage = 0
        if let payload = closeFrame {
            writer.append(.close, payload, to: &batch.bytes)
            closeFrame = nil
        }
        return batch
    }
}
