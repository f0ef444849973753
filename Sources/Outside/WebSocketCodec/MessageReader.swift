import CWslay

/// The bridge's side of a connection. A client masks its frames, a server does not.
package enum WebSocketRole: Hashable, Sendable { case client, server }

/// A complete message or control frame from the peer.
package enum WebSocketInput: Hashable, Sendable {
    case text([UInt8]), binary([UInt8]), ping([UInt8]), pong([UInt8])
    case close(code: Int?, reason: String)
}

/// Parses bytes into whole messages.
///
/// wslay parses frames, and refuses lengths that are not minimal and control frames that are long or fragmented.
/// `judge` checks the rest once per frame, when its first byte of payload is there and before anything is allocated:
/// reserved bits, opcodes, masks, the order of fragments, and the length, which may be up to 2^63-1. Text is checked to
/// be UTF-8 once its message is whole. After a closing frame or a fault the reader reads no more.
package final class MessageReader {
    private enum State {
        case reading
        case closed
        case failed(WebSocketFault)
    }

    /// Spare capacity behind a message, so that a JSON parser need not copy it.
    package static let spareBytes = 64

    private let role: WebSocketRole
    private let limit: Int
    private let context: wslay_frame_context_ptr
    private let source: UnsafeMutablePointer<sb_wslay_source>
    private var state = State.reading
    /// Missing bytes of the current frame, or nil between frames.
    private var frameLeft: UInt64?
    /// Opcode of the current message, or nil between messages.
    private var messageOpcode: UInt8?
    private var message: [UInt8] = []
    private var control: [UInt8] = []

    package init(role: WebSocketRole, messageLimit: Int) {
        self.role = role
        limit = messageLimit
        source = .allocate(capacity: 1)
        source.initialize(to: sb_wslay_source())
        guard let context = sb_wslay_reader(source) else { preconditionFailure("no memory for a WebSocket reader") }
        self.context = context
    }

    deinit {
        wslay_frame_context_free(context)
        source.deallocate()
    }

    /// The next input, or nil if `bytes` is used up before one is complete. `bytes` moves past the consumed part. The
    /// reader may keep up to 4 KB, so a call with empty `bytes` can return an input too.
    package func next(from bytes: inout UnsafeRawBufferPointer) throws(WebSocketFault) -> WebSocketInput? {
        switch state {
        case .reading: break
        case .closed:
            bytes = UnsafeRawBufferPointer(start: nil, count: 0)
            return nil
        case .failed(let fault): throw fault
        }
        do {
            return try read(&bytes)
        } catch {
            state = .failed(error)
            message = []
            throw error
        }
    }

    private func read(_ bytes: inout UnsafeRawBufferPointer) throws(WebSocketFault) -> WebSocketInput? {
        source.pointee = sb_wslay_source(
            next: bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), left: bytes.count, is_dry: 0)
        defer { bytes = UnsafeRawBufferPointer(start: source.pointee.next, count: source.pointee.left) }
        while true {
            var frame = wslay_frame_iocb()
            let count = wslay_frame_recv(context, &frame)
            if count == Int(WSLAY_ERR_WANT_READ.rawValue) {
                // wslay reads at most once per call, so the source has ended only if it was dry.
                if source.pointee.is_dry != 0 { return nil }
                continue
            }
            guard count >= 0 else {
                throw WebSocketFault(
                    .protocolError, "a frame has a length or a control frame a form that is not allowed")
            }
            if let input = try take(frame, count) { return input }
        }
    }

    /// Takes a part of a frame, at most 4 KB.
    private func take(_ frame: wslay_frame_iocb, _ count: Int) throws(WebSocketFault) -> WebSocketInput? {
        let isControl = frame.opcode & 8 != 0
        if frameLeft == nil {
            try judge(frame, isControl: isControl)
            if !isControl { begin(frame) }
        }
        let part = UnsafeBufferPointer(start: frame.data, count: count)
        if isControl { control.append(contentsOf: part) } else { message.append(contentsOf: part) }
        let left = (frameLeft ?? frame.payload_length) - UInt64(count)
        frameLeft = left == 0 ? nil : left
        guard left == 0 else { return nil }
        if isControl { return try finishControl(frame.opcode) }
        return frame.fin == 1 ? try finishMessage() : nil
    }

    private func judge(_ frame: wslay_frame_iocb, isControl: Bool) throws(WebSocketFault) {
        guard frame.rsv == 0 else {
            throw WebSocketFault(.protocolError, "a frame uses an extension that was not agreed on (reserved bits)")
        }
        guard (frame.mask == 1) == (role == .server) else {
            throw WebSocketFault(
                .protocolError, role == .server ? "a client's frame is not masked" : "a server's frame is masked")
        }
        switch frame.opcode {
        case 0:
            guard messageOpcode != nil else {
                throw WebSocketFault(.protocolError, "a continuation comes without a message that it continues")
            }
        case 1, 2:
            guard messageOpcode == nil else {
                throw WebSocketFault(.protocolError, "a message begins before the last one has ended")
            }
        case 8, 9, 10: break
        default:
            throw WebSocketFault(.protocolError, "a frame has the unknown opcode \(frame.opcode)")
        }
        guard isControl || frame.payload_length <= UInt64(max(0, limit - message.count)) else {
            throw WebSocketFault(.messageTooLarge, "a message is longer than \(limit) bytes")
        }
    }

    private func begin(_ frame: wslay_frame_iocb) {
        if messageOpcode == nil { messageOpcode = frame.opcode }
        let needed = message.count + Int(frame.payload_length) + Self.spareBytes
        // Capacity doubles from the second fragment on: an exact one would copy the message for each fragment.
        if message.capacity < needed { message.reserveCapacity(max(needed, message.capacity * 2)) }
    }

    private func finishMessage() throws(WebSocketFault) -> WebSocketInput {
        let whole = message
        message = []
        defer { messageOpcode = nil }
        guard messageOpcode == 1 else { return .binary(whole) }
        guard isUTF8(whole) else { throw WebSocketFault(.invalidText, "a text message is no UTF-8") }
        return .text(whole)
    }

    private func finishControl(_ opcode: UInt8) throws(WebSocketFault) -> WebSocketInput {
        let payload = control
        control = []
        if opcode == 9 { return .ping(payload) }
        if opcode == 10 { return .pong(payload) }
        let (code, reason) = try CloseFrame.parse(payload)
        state = .closed
        return .close(code: code, reason: reason)
    }
}
