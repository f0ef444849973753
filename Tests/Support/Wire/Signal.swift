import Glibc

/// Limit of every wait for a far side, in seconds. Dozens of Python peers may start at once on a busy machine, hence
/// so long.
package let patience = 60

/// Counting semaphore that threads raise and a test waits for, with a deadline.
package final class Signal: @unchecked Sendable {
    // Unchecked, because a semaphore is made for several threads.
    private let semaphore: UnsafeMutablePointer<sem_t>

    package init() {
        semaphore = .allocate(capacity: 1)
        sem_init(semaphore, 0, 0)
    }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    package func raise() { sem_post(semaphore) }

    /// False if `patience` seconds pass first.
    package func wait(times: Int = 1) -> Bool {
        var deadline = timespec()
        clock_gettime(CLOCK_REALTIME, &deadline)
        deadline.tv_sec += patience
        for _ in 0..<times where sem_timedwait(semaphore, &deadline) != 0 { return false }
        return true
    }
}
