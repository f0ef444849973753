import Glibc

/// The limit of every wait for a far side, in seconds. Dozens of peers start at once on a busy machine, each an interpreter of its own.
package let patience = 60

/// A count that threads raise and a test waits for, with a deadline.
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

    /// False after `patience` seconds without it.
    package func wait(times: Int = 1) -> Bool {
        var deadline = timespec()
        clock_gettime(CLOCK_REALTIME, &deadline)
        deadline.tv_sec += patience
        for _ in 0..<times where sem_timedwait(semaphore, &deadline) != 0 { return false }
        return true
    }
}
