import CMicrohttpd
import Dispatch
import Glibc
import Locking
import OSThreads
package import Vocabulary
import WebSocketCodec
import WebSocketLoop

/// A handler's answer that makes a request a WebSocket connection.
package struct WebSocketAcceptance: Sendable {
    /// Headers of the answer besides those of the upgrade.
    package var headers: [LocalHeader] = []
    package var messageLimit = 64 << 20
    package var sendLimit = 64 << 20
    package var closeTimeout = Duration.seconds(5)
    /// Called once when the connection is open, with its link; releasing the link's last reference cuts the connection. Returns the event
    /// handler, which a thread of the connection's own calls: `opened` never comes, `closed` or `failed` comes once and last.
    package var session: @Sendable (any WebSocketLink) -> @Sendable (WebSocketEvent) -> Void

    package init(session: @escaping @Sendable (any WebSocketLink) -> @Sendable (WebSocketEvent) -> Void) {
        self.session = session
    }
}

/// The server's end of a WebSocket connection. Releasing it cuts the connection.
private final class ServedSocket: ControlledLink {
    let control: LinkControl

    init(control: LinkControl) { self.control = control }

    deinit { control.cut() }
}

/// The upgraded sockets of one server. The library must not stop while one is open: each is counted from the upgrade until the library has it back.
final class ServedSockets: Sendable {
    private let open = DispatchGroup()

    func enter() { open.enter() }
    func leave() { open.leave() }
    func waitUntilAllAreClosed() { open.wait() }
}

/// A connection that the library has handed over.
private struct Handover: @unchecked Sendable {
    // Unchecked: one thread after the other uses the pointer, the library's, then the connection's.
    let pointer: OpaquePointer

    func giveBack() { _ = cmicrohttpd_close_upgraded(pointer) }
}

/// An upgrade between the answer 101 and the library's call that hands the socket over.
final class PendingUpgrade {
    private let acceptance: WebSocketAcceptance
    private let engine: ServerEngine

    init(_ acceptance: WebSocketAcceptance, _ engine: ServerEngine) {
        self.acceptance = acceptance
        self.engine = engine
    }

    /// On the library's thread. `early` has frames that came with the request: the socket does not deliver them again.
    func begin(_ descriptor: Int32, early: [UInt8], handle: OpaquePointer) {
        cmicrohttpd_send_at_once(descriptor)
        let control = LinkControl(sendLimit: acceptance.sendLimit)
        let served = ServedConnection(control: control)
        let (acceptance, engine, handover) = (acceptance, engine, Handover(pointer: handle))
        engine.sockets.enter()
        // While the server stops, the library must have the socket back before this call returns. Without a
        // descriptor to wake its thread, the connection is closed again: the client may try later.
        guard engine.remember(served), control.isUsable else { return Self.end(served, handover, engine) }
        let started = startThread {
            let socket = ServedSocket(control: control)
            let handler = acceptance.session(socket)
            let loop = SocketLoop(
                pipe: SocketPipe(descriptor), early: early, control: control,
                settings: SocketLoop.Settings(
                    role: .server, messageLimit: acceptance.messageLimit, closeTimeout: acceptance.closeTimeout),
                handler: handler)
            // If the session did not keep the link, the connection ends here.
            _ = consume socket
            let last = loop.run()
            control.finish()
            handler(last)
            loop.linger()
            Self.end(served, handover, engine)
        }
        if !started { Self.end(served, handover, engine) }
    }

    private static func end(_ served: ServedConnection, _ handover: Handover, _ engine: ServerEngine) {
        engine.forget(served)
        handover.giveBack()
        engine.sockets.leave()
    }
}

/// The handle by which a stopping server cuts the connection.
private final class ServedConnection: Wakeable {
    private let control: LinkControl

    init(control: LinkControl) { self.control = control }

    func serverStops() { control.cut() }
}

/// The bare socket; the library closes it.
private final class SocketPipe: BytePipe {
    let descriptor: Int32

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> PipeRead {
        while true {
            let count = recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
            if count > 0 { return .bytes(count) }
            if count == 0 { return .ended }
            if errno == EINTR { continue }
            return errno == EAGAIN ? .blocked : .failed(String(cString: strerror(errno)))
        }
    }

    func write(_ bytes: UnsafeRawBufferPointer) -> PipeWrite {
        while true {
            let flags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)
            let count = send(descriptor, bytes.baseAddress, bytes.count, flags)
            if count >= 0 { return .taken(count) }
            if errno == EINTR { continue }
            return errno == EAGAIN ? .blocked : .failed(String(cString: strerror(errno)))
        }
    }
}
