#if canImport(Glibc)
    package import Glibc
#endif

/// A value shared by several threads, each of which holds the lock while it reads or changes it.
///
/// The project's only lock, over a pthread mutex: the thread sanitizer reports false races on a contended
/// `Synchronization.Mutex`. Inside `withLock` nothing is awaited, and no foreign code is called.
package final class Locked<Value: ~Copyable>: @unchecked Sendable {
    // Unchecked: every access to `value` holds `mutex`, which the compiler cannot see. The value is behind a pointer
    // because the run-time check for overlapping accesses finds nothing here: an overlap on one thread would deadlock
    // at the mutex first. The check cost more than the lock.
    @usableFromInline let value: UnsafeMutablePointer<Value>
    @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>

    package init(_ value: consuming sending Value) {
        self.value = .allocate(capacity: 1)
        self.value.initialize(to: value)
        mutex = .allocate(capacity: 1)
        let status = pthread_mutex_init(mutex, nil)
        precondition(status == 0, "pthread_mutex_init failed with \(status)")
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
        value.deinitialize(count: 1)
        value.deallocate()
    }

    /// Inlinable, so that each room gets a version for its own types.
    @inlinable
    package func withLock<Result, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value.pointee)
    }
}
