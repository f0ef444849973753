import CPosix
import Glibc

/// Wakes a thread that polls. A `raise` before the poll is not lost.
package final class WakeUp: Sendable {
    /// -1 if the process has no descriptor left.
    package let descriptor: Int32

    package init() { descriptor = sb_eventfd_make() }

    deinit { if descriptor >= 0 { close(descriptor) } }

    package func raise() { sb_eventfd_raise(descriptor) }
    package func clear() { sb_eventfd_clear(descriptor) }

    /// Blocks until `raise` or the timeout, and clears the event.
    package func wait(atMost limit: Duration) {
        let (seconds, attoseconds) = limit.components
        var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        _ = poll(&waiting, 1, Int32(clamping: seconds * 1_000 + attoseconds / 1_000_000_000_000_000))
        clear()
    }
}
