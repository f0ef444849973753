import Glibc
import Locking
import Vocabulary

/// Wakes one waiting thread. Each `raise` ends one `wait`.
final class Wakeup: @unchecked Sendable {
    // Unchecked: `mutex` guards `count`, which the compiler cannot see. `Locked` does not serve here, because a
    // condition variable needs the bare mutex.
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let raised = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var count = 0

    init() {
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        // The monotonic clock: setting the wall clock would end a wait early, or hours late.
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(raised, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(raised)
        pthread_mutex_destroy(mutex)
        raised.deallocate()
        mutex.deallocate()
    }

    func raise() {
        pthread_mutex_lock(mutex)
        count += 1
        pthread_cond_signal(raised)
        pthread_mutex_unlock(mutex)
    }

    func wait() {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while count == 0 { pthread_cond_wait(raised, mutex) }
        count -= 1
    }

    /// False if the time ran out first.
    func wait(atMost duration: Duration) -> Bool {
        var until = timespec()
        clock_gettime(CLOCK_MONOTONIC, &until)
        let nanoseconds = Int64(until.tv_nsec) + duration.nanoseconds
        until.tv_sec += Int(nanoseconds / 1_000_000_000)
        until.tv_nsec = Int(nanoseconds % 1_000_000_000)
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while count == 0 {
            if pthread_cond_timedwait(raised, mutex, &until) == ETIMEDOUT, count == 0 { return false }
        }
        count -= 1
        return true
    }
}

/// A value that one thread gives to another, which waits for it.
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
