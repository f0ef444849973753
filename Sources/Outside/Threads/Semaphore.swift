import Glibc

/// A count that threads raise and others wait for, without an end.
package final class Semaphore: @unchecked Sendable {
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
    package func wait() { while sem_wait(semaphore) != 0 {} }
}
