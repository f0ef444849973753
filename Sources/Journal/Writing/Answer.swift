import BridgeModel
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

    /// False when the time was over first.
    func wait(atMost duration: Duration) -> Bool {
        var until = timespec()
        clock_gettime(CLOCK_REALTIME, &until)
        let nanoseconds = Int64(until.tv_nsec) + duration.nanoseconds
        until.tv_sec += Int(nanoseconds / 1_000_000_000)
        until.tv_nsec = Int(nanoseconds % 1_000_000_000)
        while sem_timedwait(semaphore, &until) != 0 { if errno == ETIMEDOUT { return false } }
        return true
    }
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
