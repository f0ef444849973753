import CMicrohttpd
import Locking

/// A response body without an end, in the view of the library's thread.
protocol StreamSource: Wakeable {
    func attach(_ connection: Connection)
    /// Some bytes, or 0 after suspending the connection, or one of the library's two ends.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int
    func requestCompleted()
}

/// Makes the library close the connection in the middle of the body.
var streamEndsBroken: Int { cmicrohttpd_end_with_error() }

/// A response body for one reader, fed event by event. Any thread may push.
///
/// States: *open*; *finishing* (queued bytes still leave, then the body ends properly); *cut* (the reader was too slow or the
/// server stops: the queue is dropped and the connection is closed in the middle of the body); *gone* (the request has
/// completed). Can transition to: open to any other; finishing to cut and gone; cut to gone.
///
/// The queue holds at most `limit` bytes that the kernel has not taken. At the bound the stream cuts the reader instead
/// of delaying the producer: a reader of events can come back and continue after the last one.
package final class EventStream: StreamSource {
    private enum Phase { case open, finishing, cut, gone }

    private struct State {
        var phase = Phase.open
        var queue = ByteQueue()
        var latch = ConnectionLatch()
    }

    private let limit: Int
    private let state = Locked(State())
    private let whenEnded: @Sendable () -> Void

    /// The server's thread calls `whenEnded` once, after the request has completed; it must not block. After
    /// a cut that is a moment later, when the library has closed the connection.
    package init(limit: Int = 1 << 20, whenEnded: @escaping @Sendable () -> Void = {}) {
        precondition(limit > 0)
        self.limit = limit
        self.whenEnded = whenEnded
    }

    /// Queues bytes for the reader. False if no more bytes can reach it.
    @discardableResult
    package func push(_ bytes: [UInt8]) -> Bool {
        state.withLock { state in
            guard state.phase == .open else { return false }
            guard state.queue.count + bytes.count <= limit else {
                Self.cut(&state)
                return false
            }
            state.queue.append(bytes)
            state.latch.resume()
            return true
        }
    }

    /// Ends the body after the queued bytes.
    package func finish() {
        state.withLock { state in
            guard state.phase == .open else { return }
            state.phase = .finishing
            state.latch.resume()
        }
    }

    /// Ends the body in the middle, and drops the queued bytes.
    package func cut() {
        state.withLock { state in
            if state.phase == .open || state.phase == .finishing { Self.cut(&state) }
        }
    }

    private static func cut(_ state: inout State) {
        state.phase = .cut
        state.queue = ByteQueue()
        state.latch.resume()
        // A reader that does not read blocks writes to its connection: without this its loss would go unnoticed.
        state.latch.hangUp()
    }

    package var isOpen: Bool { state.withLock { $0.phase == .open } }

    // MARK: - On the library's thread

    func attach(_ connection: Connection) { state.withLock { $0.latch.attach(connection) } }

    /// The library requests bytes: some, or 0 after suspending the connection, or one of the library's two ends.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        state.withLock { state in
            if state.phase == .cut || state.phase == .gone { return streamEndsBroken }
            let count = state.queue.take(into: buffer)
            if count > 0 { return count }
            if state.phase == .finishing { return cmicrohttpd_end_of_stream() }
            state.latch.suspend()
            return 0
        }
    }

    func requestCompleted() {
        let isNew = state.withLock { state in
            defer {
                state.phase = .gone
                state.queue = ByteQueue()
                state.latch.detach()
            }
            return state.phase != .gone
        }
        if isNew { whenEnded() }
    }

    func serverStops() {
        state.withLock { state in
            guard state.phase != .gone else { return }
            state.phase = .cut
            state.latch.resume()
            state.latch.hangUp()
        }
    }
}

/// Bytes in the order of arrival. Taken bytes are freed when they are more than half of the buffer.
struct ByteQueue {
    private var bytes: [UInt8] = []
    private var start = 0

    var count: Int { bytes.count - start }

    mutating func append(_ more: [UInt8]) { bytes.append(contentsOf: more) }

    mutating func take(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let size = min(count, buffer.count)
        guard size > 0 else { return 0 }
        bytes.withUnsafeBytes { buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[start..<start + size])) }
        start += size
        if start == bytes.count {
            bytes.removeAll(keepingCapacity: bytes.capacity <= 65_536)
            start = 0
        } else if start > bytes.count / 2 {
            bytes.removeFirst(start)
            start = 0
        }
        return size
    }
}
