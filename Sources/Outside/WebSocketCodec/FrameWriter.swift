import CWslay

/// Writes messages as frames, each into one buffer: after a header in a write of its own, the payload waits 44 ms.
package final class FrameWriter {
    package enum Kind: UInt8, Hashable, Sendable {
        case text = 1
        case binary = 2
        case close = 8
        case ping = 9
        case pong = 10
    }

    private let context: wslay_frame_context_ptr
    private let sink: UnsafeMutablePointer<sb_wslay_sink>
    private let makeMask: (() -> UInt32)?

    /// `makeMask` returns four unpredictable bytes for each frame of a client; nil for a server.
    package init(makeMask: (() -> UInt32)?) {
        self.makeMask = makeMask
        sink = .allocate(capacity: 1)
        sink.initialize(to: sb_wslay_sink())
        guard let context = sb_wslay_writer(sink) else { preconditionFailure("no memory for a WebSocket writer") }
        self.context = context
    }

    deinit {
        wslay_frame_context_free(context)
        sink.deallocate()
    }

    /// Appends a frame. `isLast` is false for a fragment with more to follow, `continues` is true for later fragments.
    package func append(
        _ kind: Kind, _ payload: [UInt8], isLast: Bool = true, continues: Bool = false, to frames: inout [UInt8]
    ) {
        let size =
            payload.count + (payload.count < 126 ? 2 : payload.count < 65_536 ? 4 : 10) + (makeMask == nil ? 0 : 4)
        if let makeMask {
            withUnsafeMutableBytes(of: &sink.pointee.mask) { $0.storeBytes(of: makeMask(), as: UInt32.self) }
        }
        var frame = wslay_frame_iocb()
        frame.fin = isLast ? 1 : 0
        frame.opcode = continues ? 0 : kind.rawValue
        frame.mask = makeMask == nil ? 0 : 1
        frame.payload_length = UInt64(payload.count)
        let whole = [UInt8](unsafeUninitializedCapacity: size) { room, count in
            sink.pointee.next = room.baseAddress
            sink.pointee.room = size
            write(&frame, payload)
            count = size - sink.pointee.room
        }
        precondition(whole.count == size, "a frame came out shorter than its header says")
        // A large message is mostly alone in its batch, and this saves a copy of it.
        if frames.isEmpty { frames = whole } else { frames += whole }
    }

    private func write(_ frame: inout wslay_frame_iocb, _ payload: [UInt8]) {
        payload.withUnsafeBufferPointer { payload in
            var sent = 0
            repeat {
                frame.data = payload.baseAddress.map { $0 + sent }
                frame.data_length = payload.count - sent
                let count = wslay_frame_send(context, &frame)
                precondition(count >= 0, "wslay refused a frame of ours: \(count)")
                sent += count
            } while sent < payload.count
        }
    }
}
