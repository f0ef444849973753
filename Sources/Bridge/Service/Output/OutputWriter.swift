import Glibc
import Links
import Vocabulary

/// Writes the entries of an `OutputQueue` on a thread of its own: no other thread blocks on a terminal, a pipe or a disk.
///
/// One writer serves one place. Standard output and standard error have one each if they lead to different places, so that a stalled reader of
/// one does not hold the other, and share one if they lead to the same place, so that their lines keep their order. The descriptor's flags stay
/// as they were: other programs may share it, and would get `O_NONBLOCK` too. If another program has set that, the thread polls.
package final class OutputWriter: @unchecked Sendable {
    // Unchecked, because the compiler cannot see that all fields below `changed` are touched under `mutex` alone.

    package enum Failure: Hashable, Sendable {
        /// The place has lost its reader.
        case closed
        /// The system's error number, such as that of a full disk.
        case unwritable(Int32)
    }

    private static let retryMilliseconds: Int32 = 1_000
    private static let stackBytes = 256 << 10

    private let notice: @Sendable (OutputQueue.Losses) -> OutputQueue.Entry?
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var queue: OutputQueue
    private var hasThread = false
    private var isWriting = false
    private var failed: Failure?
    private var isEnduring = false
    /// True if there was no reader at the last try.
    private var isClosed = false
    private var whenFailed: (@Sendable () -> Void)?

    /// `notice` makes the entry that reports losses; it is called on the writer's thread.
    package init(
        limits: OutputQueue.Limits = OutputQueue.Limits(),
        notice: @escaping @Sendable (OutputQueue.Losses) -> OutputQueue.Entry?
    ) {
        self.notice = notice
        queue = OutputQueue(limits)
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(changed, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    /// Retries every second a place that cannot be written or has no reader (a named pipe may get another one). Without this call either is a
    /// failure, which ends the writing.
    package func endure() { locked { isEnduring = true } }

    /// Called once, on the writer's thread, or at once if the writer has failed already.
    package func onFailure(_ action: @escaping @Sendable () -> Void) {
        let hasFailed = locked {
            whenFailed = action
            return failed != nil
        }
        if hasFailed { action() }
    }

    /// Why the writer has stopped, or nil while it writes.
    package var failure: Failure? { locked { failed } }

    package var logLinesDropped: Int { locked { queue.logLinesDropped } }

    /// Returns at once, whether or not the entry will be written.
    package func put(_ entry: OutputQueue.Entry) {
        locked {
            guard failed == nil else { return }
            queue.add(entry)
            wake()
        }
    }

    /// Waits until there is room: for an entry that must not be dropped, and whose reader sets the pace.
    package func putWhenThereIsRoom(_ entry: OutputQueue.Entry) {
        locked {
            while failed == nil, !queue.hasRoom { pthread_cond_wait(changed, mutex) }
            guard failed == nil else { return }
            queue.add(entry)
            wake()
        }
    }

    /// Waits until everything is written, or the place has no reader; without a limit as long as it takes. False if the time ran out first.
    @discardableResult
    package func flush(atMost limit: Duration?) -> Bool {
        let end = limit.map { Self.now + $0 }
        return locked {
            while failed == nil, !isClosed, isWriting || !queue.isEmpty {
                guard let end else {
                    pthread_cond_wait(changed, mutex)
                    continue
                }
                guard Self.now < end else { return false }
                var until = timespec(
                    tv_sec: Int(end.nanoseconds / 1_000_000_000), tv_nsec: Int(end.nanoseconds % 1_000_000_000))
                pthread_cond_timedwait(changed, mutex, &until)
            }
            return true
        }
    }

    // MARK: The thread

    private func locked<Result>(_ body: () -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body()
    }

    private func wake() {
        if hasThread {
            _ = pthread_cond_broadcast(changed)
            return
        }
        hasThread = true
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setstacksize(&attributes, Self.stackBytes)
        var thread = pthread_t()
        let status = pthread_create(
            &thread, &attributes,
            { @Sendable pointer in
                guard let pointer else { return nil }
                Unmanaged<OutputWriter>.fromOpaque(pointer).takeRetainedValue().serve()
                return nil
            }, Unmanaged.passRetained(self).toOpaque())
        guard status == 0 else {
            // No output can be written without its thread, so these are the last words.
            let words = Array("sophon-bridge: \(ThreadFault(purpose: "the output", status: status))\n".utf8)
            _ = Glibc.write(STDERR_FILENO, words, words.count)
            _exit(ExitCode.unexpected.rawValue)
        }
        pthread_detach(thread)
    }

    /// Runs until the process ends, or the writer fails.
    private func serve() {
        while let next = takeNext() {
            let entry: OutputQueue.Entry? =
                switch next {
                case .write(let entry): entry
                case .tell(let losses): notice(losses)
                }
            guard let failure = entry.flatMap(write) else { continue }
            let action = locked {
                failed = failure
                isWriting = false
                queue.discardAll()
                pthread_cond_broadcast(changed)
                return whenFailed
            }
            action?()
            return
        }
    }

    private func takeNext() -> OutputQueue.Next? {
        locked {
            isWriting = false
            isClosed = false
            while true {
                // Wake those who wait for room, or for the end, too.
                pthread_cond_broadcast(changed)
                if let next = queue.next() {
                    isWriting = true
                    return next
                }
                pthread_cond_wait(changed, mutex)
            }
        }
    }

    /// Nil if the entry was written whole.
    private func write(_ entry: OutputQueue.Entry) -> Failure? {
        var bytes = entry.bytes[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(entry.descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                bytes = bytes.dropFirst(count)
                continue
            }
            switch count < 0 ? errno : EAGAIN {
            case EINTR: continue
            case EAGAIN:
                var waiting = pollfd(fd: entry.descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&waiting, 1, Self.retryMilliseconds)
            // The system may give the number to another file soon.
            case EBADF: return .closed
            case let code:
                let hasReader = ![EPIPE, ECONNRESET, ENOTCONN, ESHUTDOWN].contains(code)
                guard endures(hasReader: hasReader) else { return hasReader ? .unwritable(code) : .closed }
                // Retry the rest of the entry alone, so that a disk that was full for a while tears no line.
                _ = poll(nil, 0, Self.retryMilliseconds)
            }
        }
        return nil
    }

    private func endures(hasReader: Bool) -> Bool {
        locked {
            guard isEnduring else { return false }
            isClosed = !hasReader
            pthread_cond_broadcast(changed)
            return true
        }
    }

    /// The clock by which the condition waits.
    private static var now: Instant {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return .zero + .nanoseconds(Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    deinit {
        pthread_cond_destroy(changed)
        pthread_mutex_destroy(mutex)
        changed.deallocate()
        mutex.deallocate()
    }
}
