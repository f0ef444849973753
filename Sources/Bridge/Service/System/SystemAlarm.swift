import Glibc
package import Links
package import Vocabulary

/// An alarm on a thread of its own, which sleeps in `pthread_cond_timedwait` until the moment comes or is changed.
///
/// One thread serves every deadline of a machine, which sets its earliest one alone.
package final class SystemAlarm: Alarm, @unchecked Sendable {
    // Unchecked, because the compiler cannot see that all fields below are touched under `mutex` alone. A condition variable needs its bare
    // mutex, so `Locked` does not serve here.
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var moment: Instant?
    private var ring: (@Sendable () -> Void)?
    private var stopped = false

    package init() throws(ThreadFault) {
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        // The condition waits by MONOTONIC (BOOTTIME is refused here); a sleep of the machine shows on waking.
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(changed, &attributes)
        pthread_condattr_destroy(&attributes)
        try startThread()
    }

    package func set(_ moment: Instant?, ring: @escaping @Sendable () -> Void) {
        pthread_mutex_lock(mutex)
        let earlier = moment.map { new in self.moment.map { new < $0 } ?? true } ?? false
        self.moment = moment
        self.ring = ring
        pthread_mutex_unlock(mutex)
        // A later moment needs no waking: the thread looks again when the earlier one has passed.
        if earlier { pthread_cond_signal(changed) }
    }

    package func stop() {
        pthread_mutex_lock(mutex)
        stopped = true
        moment = nil
        ring = nil
        pthread_mutex_unlock(mutex)
        pthread_cond_signal(changed)
    }

    private func startThread() throws(ThreadFault) {
        var thread = pthread_t()
        let alarm = Unmanaged.passRetained(self)
        // The thread holds the alarm until it is stopped, so that the memory it waits on outlives it.
        let status = pthread_create(
            &thread, nil,
            { @Sendable pointer in
                guard let pointer else { return nil }
                Unmanaged<SystemAlarm>.fromOpaque(pointer).takeRetainedValue().wait()
                return nil
            }, alarm.toOpaque())
        guard status == 0 else {
            alarm.release()
            throw ThreadFault(purpose: "alarms", status: status)
        }
        pthread_detach(thread)
    }

    private func wait() {
        let clock = SystemClock()
        pthread_mutex_lock(mutex)
        while !stopped {
            guard let moment else {
                pthread_cond_wait(changed, mutex)
                continue
            }
            let left = moment - clock.now
            guard left <= .zero else {
                var until = Self.monotonic(after: left)
                pthread_cond_timedwait(changed, mutex, &until)
                continue
            }
            let due = ring
            self.moment = nil
            ring = nil
            pthread_mutex_unlock(mutex)
            due?()
            pthread_mutex_lock(mutex)
        }
        pthread_mutex_unlock(mutex)
    }

    private static func monotonic(after duration: Duration) -> timespec {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        // At most an hour at a time, which keeps the sum in range and rereads the clock after a long sleep.
        let nanoseconds = time.tv_nsec + Int(min(duration, .seconds(3600)).nanoseconds)
        return timespec(tv_sec: time.tv_sec + nanoseconds / 1_000_000_000, tv_nsec: nanoseconds % 1_000_000_000)
    }

    deinit {
        pthread_cond_destroy(changed)
        pthread_mutex_destroy(mutex)
        changed.deallocate()
        mutex.deallocate()
    }
}
