/// The end of a session.
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

    /// Bytes that the message counts for in a queue: its payload and the longest header.
    package var cost: Int { payload.count + 14 }
}

/// Frames written together.
package struct OutgoingBatch: Sendable {
    package var bytes: [UInt8]
    /// Sum of the costs of the messages in the batch.
    package var cost: Int
}

/// One side of an open connection, client or server, without I/O: it takes bytes and orders, and returns messages and bytes.
///
/// - The session answers pings itself, ahead of queued messages. Of several unanswered pings only the last gets a pong,
///   as
///   RFC 6455 (5.5.3) allows, so that pings cannot pile up answers.
/// - After `close`, messages from the peer are dropped. After an end, everything queued is dropped but the closing
///   frame.
package struct WebSocketSession: ~Copyable {
    private enum Phase {
        /// Can transition to: closing (by `close`), ended (the peer closes or breaks the protocol).
        case open
        /// The session's own closing frame is queued or sent, and the peer's is awaited. Can transition to: ended.
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

    /// The next input, never `close`, or nil if `bytes` has none; then `ending` may be set.
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
        // There is one closing frame: after `close`, the session's own serves as the answer, sent or still queued.
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

    /// The next frames to write, at least one whole message, or nil if nothing waits.
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
