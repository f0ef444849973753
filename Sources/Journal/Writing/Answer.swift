import Glibc
import Locking

/// Wakes one thread that has nothing to do.
final class Wakeup: @unchecked Sendable {
    // Unchecked, because a semaphore is made for several threads.
    private let semaphore: UnsafeMutablePointer<sem_t>

    init() {
        semaphore = .allocate(capacity: 1)
        sem_init(semaphore, 0, 0)
    }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    func raise() { sem_post(semaphore) }
    func wait() { while sem_wait(semaphore) != 0 {} }
}

/// What another thread will say, for a thread that waits for it.
final class Answer<Value: Sendable>: Sendable {
    private let value = Locked<Value?>(nil)
    private let arrival = Wakeup()

    func give(_ value: Value) {
        self.value.withLock { $0 = value }
        arrival.raise()
    }

    func wait() -> Value {
        while true {
            arrival.wait()
            if let value = value.withLock({ $0 }) { return value }
        }
    }
}
