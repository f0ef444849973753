import Glibc
package import OSThreads

/// The byte stream of one connection: a socket, with TLS or without. Used by its connection's thread alone.
package protocol BytePipe: AnyObject {
    /// The descriptor to poll. All reads and writes use the pipe.
    var descriptor: Int32 { get }
    func read(into buffer: UnsafeMutableRawBufferPointer) -> PipeRead
    /// After `.blocked` the caller passes the same bytes at the same address: TLS requires it.
    func write(_ bytes: UnsafeRawBufferPointer) -> PipeWrite
}

package enum PipeRead: Hashable, Sendable {
    /// Number of bytes, at least one.
    case bytes(Int)
    /// No bytes are available. Poll only after this result: TLS buffers bytes that `poll` does not report.
    case blocked
    case ended
    case failed(String)
}

package enum PipeWrite: Hashable, Sendable {
    case taken(Int)
    case blocked
    case failed(String)
}

/// Result of a wait: several may be true, or none after a timeout.
package struct Readiness: Sendable {
    package var isReadable = false
    package var isWritable = false
    /// The connection is broken. `poll` reports this even for a descriptor that waits for neither reading nor writing.
    package var isBroken = false
}

/// Waits until the pipe is ready, an order comes or the deadline passes.
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
