import Glibc
package import OSThreads

/// What carries the bytes of one connection: a socket, with TLS or without. Used by its connection's thread alone.
package protocol BytePipe: AnyObject {
    /// For waiting; nothing is read or written past the pipe.
    var descriptor: Int32 { get }
    func read(into buffer: UnsafeMutableRawBufferPointer) -> PipeRead
    /// After `.blocked` the same bytes come again, at the same address: TLS insists on it.
    func write(_ bytes: UnsafeRawBufferPointer) -> PipeWrite
}

package enum PipeRead: Hashable, Sendable {
    /// At least one byte.
    case bytes(Int)
    /// Nothing is there. Only after this may one wait: TLS buffers bytes that `poll` does not report.
    case blocked
    case ended
    case failed(String)
}

package enum PipeWrite: Hashable, Sendable {
    case taken(Int)
    case blocked
    case failed(String)
}

/// How a wait ended; several may be true, none when the time was up.
package struct Readiness: Sendable {
    package var isReadable = false
    package var isWritable = false
    /// The connection is broken. Reported whether or not the caller closed it.
    package var isBroken = false
}

/// Waits until the pipe is ready, an order comes, or the time is up.
package func wait(
    for descriptor: Int32, reading: Bool, writing: Bool, orders: LinkControl, until deadline: Deadline?
) -> Readiness {
    var polled = [
        pollfd(fd: descriptor, events: Int16((reading ? POLLIN : 0) | (writing ? POLLOUT : 0)), revents: 0),
        pollfd(fd: orders.wakeUp.descriptor, events: Int16(POLLIN), revents: 0),
    ]
    guard poll(&polled, 2, deadline?.millisecondsLeft ?? -1) > 0 else { return Readiness() }
    if polled[1].revents != 0 { orders.wakeUp.clear() }
    let seen = Int32(polled[0].revents)
    return Readiness(
        isReadable: seen & POLLIN != 0, isWritable: seen & POLLOUT != 0, isBroken: seen & (POLLERR | POLLHUP) != 0)
}
