import Glibc

/// A socket that listens on a free port of loopback, and the thread that serves it. Children of other tests do not
/// inherit its descriptors, so a connection closed here is closed.
struct LoopbackListener {
    let port: UInt16
    private let descriptor: Int32

    init(backlog: Int32) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                _ = bind(descriptor, pointer, length)
                _ = listen(descriptor, backlog)
                getsockname(descriptor, pointer, &length)
            }
        }
        port = UInt16(bigEndian: address.sin_port)
        self.descriptor = descriptor
    }

    /// Nil if the listener has closed.
    func nextConnection() -> Int32? {
        let connection = accept(descriptor, nil, nil)
        guard connection >= 0 else { return nil }
        _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
        return connection
    }

    func end() { close(descriptor) }

    /// Runs `body` on a thread of its own, since it blocks and the tests' pool has few threads.
    static func inThread(_ body: @escaping @Sendable () -> Void) {
        final class Box: Sendable {
            let body: @Sendable () -> Void
            init(_ body: @escaping @Sendable () -> Void) { self.body = body }
        }
        var thread = pthread_t()
        pthread_create(
            &thread, nil,
            { @Sendable pointer in
                if let pointer { Unmanaged<Box>.fromOpaque(pointer).takeRetainedValue().body() }
                return nil
            }, Unmanaged.passRetained(Box(body)).toOpaque())
        pthread_detach(thread)
    }
}
