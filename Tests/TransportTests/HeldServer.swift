import Glibc

/// A server that takes one connection, reads, and never answers; it reports when a request has arrived and when the
/// peer has closed.
final class HeldServer: Sendable {
    enum Event { case hasRequest, hasEnded }
    /// A stream instead of a semaphore: a blocked thread could be the one of the pool that the exchange needs.
    private let events: AsyncStream<Event>
    private let tell: AsyncStream<Event>.Continuation
    private let listener: LoopbackListener

    init() {
        (events, tell) = AsyncStream.makeStream()
        listener = LoopbackListener(backlog: 1)
        LoopbackListener.inThread { self.serve() }
    }

    var port: UInt16 { listener.port }

    func next() async -> Event? {
        for await event in events { return event }
        return nil
    }

    private func serve() {
        guard let connection = listener.nextConnection() else { return }
        var buffer = [UInt8](repeating: 0, count: 4_096)
        guard recv(connection, &buffer, buffer.count, 0) > 0 else { return }
        tell.yield(.hasRequest)
        while recv(connection, &buffer, buffer.count, 0) > 0 {}
        tell.yield(.hasEnded)
        close(connection)
        listener.end()
    }
}
