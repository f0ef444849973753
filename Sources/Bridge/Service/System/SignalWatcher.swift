import Glibc
package import Links
import Locking
import Vocabulary

/// The signals that end or notify a long-running command, taken by a thread of its own with `sigwait`: its handler is free of the
/// restrictions of a signal handler.
///
/// - `block` must run before any thread begins, so that each inherits the mask; only the watcher's thread ever sees the signals.
/// - The first SIGTERM or SIGINT is delivered; the second one ends the process at once with 1 (DESIGN.md#journal-and-recovery), also while the
/// handler of the first runs elsewhere. The handler must therefore not block.
/// - A child inherits the mask too: its parent gives it an empty mask (`POSIX_SPAWN_SETSIGMASK`).
package final class SignalWatcher: Sendable {
    package enum Caught: Hashable, Sendable {
        /// SIGTERM or SIGINT: end in good order.
        case stop
        /// SIGHUP.
        case hangUp
    }

    private static let watched = [SIGTERM, SIGINT, SIGHUP]

    private let handler: @Sendable (Caught) -> Void
    private let leave: @Sendable () -> Void
    /// Target of signals that are for this watcher alone.
    private let thread = Locked<pthread_t?>(nil)

    /// Blocks the signals in the whole process, if called before any other thread begins.
    package static func block() {
        var signals = signalSet
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }

    /// `leave` ends the process.
    package init(
        leave: @escaping @Sendable () -> Void = { _exit(ExitCode.unexpected.rawValue) },
        handler: @escaping @Sendable (Caught) -> Void
    ) throws(ThreadFault) {
        self.handler = handler
        self.leave = leave
        var thread = pthread_t()
        let watcher = Unmanaged.passRetained(self)
        let status = pthread_create(
            &thread, nil,
            { @Sendable pointer in
                guard let pointer else { return nil }
                Unmanaged<SignalWatcher>.fromOpaque(pointer).takeRetainedValue().watch()
                return nil
            }, watcher.toOpaque())
        guard status == 0 else {
            watcher.release()
            throw ThreadFault(purpose: "signals", status: status)
        }
        pthread_detach(thread)
        self.thread.withLock { $0 = thread }
    }

    /// Raises a signal for this watcher alone.
    package func send(_ signal: Int32) { if let thread = thread.withLock({ $0 }) { pthread_kill(thread, signal) } }

    private static var signalSet: sigset_t {
        var signals = sigset_t()
        sigemptyset(&signals)
        for signal in watched { sigaddset(&signals, signal) }
        return signals
    }

    /// Runs until the process ends.
    private func watch() {
        Self.block()
        var signals = Self.signalSet
        var isStopping = false
        while true {
            var caught: Int32 = 0
            guard sigwait(&signals, &caught) == 0 else { continue }
            guard caught != SIGHUP else {
                handler(.hangUp)
                continue
            }
            if isStopping { return leave() }
            isStopping = true
            handler(.stop)
        }
    }
}
