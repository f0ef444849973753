import Glibc

/// A counting semaphore. A wait has no timeout.
package final class Semaphore: @unchecked Sendable {
    // Unchecked: the functions of `sem_t` are thread-safe.
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
