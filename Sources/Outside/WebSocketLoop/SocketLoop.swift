import Glibc
import OSThreads
package import Vocabulary
package import WebSocketCodec

/// The loop of one open connection's thread: takes orders, writes, reads, delivers events, polls.
///
/// - The thread waits only if the pipe has nothing to read, or while reading is paused. After a pause it reads first.
/// - A batch stays in one array, unchanged until the pipe has taken all of it.
/// - After a failed write the peer's earlier bytes are still read: its closing frame gives the reason.
package final class SocketLoop {
    package struct Settings: Sendable {
        package var role: WebSocketRole
        package var messageLimit: Int
        package var closeTimeout: Duration

        package init(role: WebSocketRole, messageLimit: Int, closeTimeout: Duration) {
            self.role = role
            self.messageLimit = messageLimit
            self.closeTimeout = closeTimeout
        }
    }

    private static let bufferSize = 65_536
    /// Reads in a row before orders and writes take their turn.
    private static let readsInARow = 16

    private let pipe: any BytePipe
    private let control: LinkControl
    private let closeTimeout: Duration
    private let handler: @Sendable (WebSocketEvent) -> Void
    private var session: WebSocketSession

    private var buffer: [UInt8]
    /// Part of the buffer that the session has not read.
    private var unread: Range<Int>
    /// The pipe may have buffered input that poll does not report.
    private var mayHaveMore = true
    private var readFailure: String?

    private var batch: OutgoingBatch?
    private var written = 0
    private var isBlocked = false
    private var writeFailure: String?

    private var deadline: Deadline?
    /// The connection broke while reading was paused. It is not polled before the resume, because `poll` would return at once.
    private var isBroken = false

    /// `early` are the bytes that came with the handshake.
    package init(
        pipe: any BytePipe, early: [UInt8], control: LinkControl, settings: Settings,
        handler: @escaping @Sendable (WebSocketEvent) -> Void
    ) {
        self.pipe = pipe
        self.control = control
        self.handler = handler
        closeTimeout = settings.closeTimeout
        var random = SystemRandomNumberGenerator()
        session = WebSocketSession(
            role: settings.role, messageLimit: settings.messageLimit,
            makeMask: settings.role == .client ? { random.next() } : nil)
        buffer = early + [UInt8](repeating: 0, count: max(0, Self.bufferSize - early.count))
        unread = 0..<early.count
    }

    /// Returns the last event, for the caller to deliver.
    package func run() -> WebSocketEvent {
        while true {
            obey()
            write()
            read()
            if let last = lastEvent() { return last }
            waitIfIdle()
        }
    }

    /// Drains the peer's input for up to a second after a fault. The peer may still be sending, and closing the socket
    /// over unread bytes would destroy the closing frame with the reason. No caller waits for this: the last event was
    /// delivered. Buffered input is drained even if the deadline passed before this thread ran.
    package func linger() {
        guard case .fault = session.ending, readFailure == nil, writeFailure == nil else { return }
        let end = Deadline(after: .seconds(1))
        var lateReads = 0
        while lateReads < Self.readsInARow {
            if end.hasPassed { lateReads += 1 }
            switch buffer.withUnsafeMutableBytes({ pipe.read(into: $0) }) {
            case .bytes: continue
            case .blocked: if end.hasPassed { return }
            case .ended, .failed: return
            }
            let ready = wait(for: pipe.descriptor, reading: true, writing: false, orders: control, until: end)
            if ready.isBroken { return }
        }
    }

    private func obey() {
        let orders = control.take()
        for message in orders.messages { session.send(message) }
        guard let close = orders.close, deadline == nil, session.ending == nil else { return }
        session.close(code: close.code, reason: close.reason)
        deadline = Deadline(after: closeTimeout)
    }

    // MARK: - Writing

    private func write() {
        while !isBlocked, writeFailure == nil {
            guard let batch = batch ?? session.nextBatch() else { return }
            self.batch = batch
            let result = batch.bytes.withUnsafeBytes { pipe.write(UnsafeRawBufferPointer(rebasing: $0[written...])) }
            switch result {
            case .taken(let count):
                written += count
                if written == batch.bytes.count { finishBatch(batch) }
            case .blocked:
                isBlocked = true
            case .failed(let reason):
                writeFailure = reason
                mayHaveMore = true
            }
        }
    }

    private func finishBatch(_ batch: OutgoingBatch) {
        control.wasSent(cost: batch.cost)
        self.batch = nil
        written = 0
    }

    private var hasOutgoing: Bool { writeFailure == nil && (batch != nil || session.hasOutgoing) }

    // MARK: - Reading

    private func read() {
        for _ in 0..<Self.readsInARow {
            guard tellUnread(), mayHaveMore, readFailure == nil, session.ending == nil else { return }
            isBroken = false
            switch buffer.withUnsafeMutableBytes({ pipe.read(into: $0) }) {
            case .bytes(let count): unread = 0..<count
            case .blocked: mayHaveMore = false
            case .ended: readFailure = "the peer ended it without a closing frame"
            case .failed(let reason): readFailure = reason
            }
        }
    }

    /// Delivers the buffered input. False if reading is paused, or the session has ended.
    private func tellUnread() -> Bool {
        while isReading {
            // An empty buffer is no reason to stop: the session's reader may itself hold whole frames.
            guard let input = receive() else { return session.ending == nil }
            switch input {
            case .text(let bytes): handler(.text(bytes))
            case .binary(let bytes): handler(.binary(bytes))
            case .ping: handler(.ping)
            case .pong(let bytes): handler(.pong(bytes))
            case .close: break
            }
        }
        return false
    }

    /// After a requested close, reading ignores a pause: input is dropped, and the closing frame is awaited.
    private var isReading: Bool { deadline != nil ? !control.isCut : control.mayRead }

    private func receive() -> WebSocketInput? {
        buffer.withUnsafeBytes { all in
            var rest = UnsafeRawBufferPointer(rebasing: all[unread])
            defer { unread = (unread.upperBound - rest.count)..<unread.upperBound }
            return session.receive(&rest)
        }
    }

    // MARK: - The end

    private func lastEvent() -> WebSocketEvent? {
        if control.isCut { return .closed(code: nil, reason: "", byPeer: false) }
        if let ending = session.ending {
            // The closing frame gets `closeTimeout` to leave; a failure to send it changes nothing.
            if hasOutgoing, !(deadline?.hasPassed ?? false) {
                deadline = deadline ?? Deadline(after: closeTimeout)
                return nil
            }
            return event(ending)
        }
        if control.isOverfull {
            return .failed(
                WebSocketFailure(
                    .tooMuchWaiting,
                    "more than \(control.limit) bytes wait to be sent: the peer does not read fast enough; connect again"
                ))
        }
        if deadline?.hasPassed ?? false { return .closed(code: nil, reason: "", byPeer: false) }
        if let reason = readFailure ?? (mayHaveMore || !isReading ? nil : writeFailure) {
            if deadline != nil { return .closed(code: nil, reason: "", byPeer: false) }
            return .failed(WebSocketFailure(.connectionLost, "the connection was lost: \(reason)"))
        }
        return nil
    }

    private func event(_ ending: WebSocketEnding) -> WebSocketEvent {
        switch ending {
        case .closed(let code, let reason, let byPeer):
            return .closed(code: code, reason: reason, byPeer: byPeer)
        case .fault(let fault):
            let code: WebSocketFailure.Code =
                switch fault.code {
                case .protocolError: .protocolError
                case .invalidText: .invalidText
                case .messageTooLarge: .messageTooLarge
                }
            return .failed(WebSocketFailure(code, "the peer broke the WebSocket protocol: \(fault.message)"))
        }
    }

    // MARK: - Waiting

    private func waitIfIdle() {
        let reads = isReading && session.ending == nil
        if reads, mayHaveMore { return }
        if hasOutgoing, !isBlocked { return }
        let isPolled = !isBroken || hasOutgoing
        let ready = wait(
            for: isPolled ? pipe.descriptor : -1, reading: reads, writing: hasOutgoing, orders: control, until: deadline
        )
        if ready.isReadable || ready.isBroken { mayHaveMore = true }
        // A TLS write may have waited for input.
        if ready.isReadable || ready.isWritable || ready.isBroken { isBlocked = false }
        if ready.isBroken, !reads { isBroken = true }
    }
}
