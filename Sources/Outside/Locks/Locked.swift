#if canImport(Glibc)
    package import Glibc
#endif

/// A value that several threads share, each holding the lock while it looks or changes.
///
/// The one lock of the project, over a pthread mutex: `Synchronization.Mutex` under contention is reported by the
/// thread sanitizer as an access race although there is none. Nothing is awaited, and no foreign code is called, inside
/// `withLock`.
package final class Locked<Value: ~Copyable>: @unchecked Sendable {
    // Unchecked, because every access to `value` happens between lock and unlock of `mutex`, which the compiler cannot see.
    // Behind a pointer, because the run-time check for overlapping accesses has nothing left to find: one on the same thread
    // would wait for itself at the mutex first. The check cost more than the lock.
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

    /// Inlinable, so that each room has it for its own types.
    @inlinable
    package func withLock<Result, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value.pointee)
    }
}
