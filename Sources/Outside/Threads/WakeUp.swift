import CPosix
import Glibc

/// Wakes a thread that polls. A wake-up before the poll is not lost.
package final class WakeUp: Sendable {
    /// -1 when the process has no descriptor left.
    package let descriptor: Int32

    package init() { descriptor = sb_eventfd_make() }

    deinit { if descriptor >= 0 { close(descriptor) } }

    package func raise() { sb_eventfd_raise(descriptor) }
    package func clear() { sb_eventfd_clear(descriptor) }
}
