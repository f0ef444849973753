import Glibc

/// Takes one connection, reads, and never answers; tells when a request has come and when the other side has gone.
final class HeldServer: Sendable {
    let port: UInt16
    enum Event { case hasRequest, hasEnded }
    /// Not to be waited for by a blocked thread: the pool has few, and the exchange needs one.
    private let events: AsyncStream<Event>
    private let tell: AsyncStream<Event>.Continuation
    private let listening: Int32

    init() {
        (events, tell) = AsyncStream.makeStream()
        listening = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listening = listening
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                _ = bind(listening, pointer, length)
                _ = listen(listening, 1)
                getsockname(listening, pointer, &length)
            }
        }
        port = UInt16(bigEndian: address.sin_port)
        var thread = pthread_t()
        pthread_create(
            &thread, nil,
            { @Sendable pointer in
                if let pointer { Unmanaged<HeldServer>.fromOpaque(pointer).takeRetainedValue().serve() }
                return nil
            }, Unmanaged.passRetained(self).toOpaque())
        pthread_detach(thread)
    }

    func next() async -> Event? {
        for await event in events { return event }
        return nil
    }

    private func serve() {
        let connection = accept(listening, nil, nil)
        var buffer = [UInt8](repeating: 0, count: 4_096)
        guard recv(connection, &buffer, buffer.count, 0) > 0 else { return }
        tell.yield(.hasRequest)
        while recv(connection, &buffer, buffer.count, 0) > 0 {}
        tell.yield(.hasEnded)
        close(connection)
        close(listening)
    }
}
