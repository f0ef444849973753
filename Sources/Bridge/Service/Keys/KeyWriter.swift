import Files
import Glibc
package import Links
import Locking
import OSThreads
package import Sealing
package import Vocabulary

/// Writes the keys of one connection on a thread of its own, so that no thread of a socket waits for the disk. A `KeyRing` has one save
/// in flight at a time.
package final class KeyWriter: Sendable {
    package enum News: Hashable, Sendable {
        /// The keys are written outside their usual folder: into which file, and why.
        case elsewhere(String)
        /// Why the keys could not be written, and what to do.
        case failed(String)
        /// The keys can be written again.
        case works
    }

    private typealias Job = (stored: StoredKeyRing, done: @Sendable (Bool) -> Void)

    private struct State {
        var jobs: [Job] = []
        var isStopped = false
        var told: News = .works
    }

    private let state = Locked(State())
    private let wake = Semaphore()
    private let ended = Semaphore()

    /// `tell` gets each change once.
    package init(_ files: KeyFiles, clock: any Clock, tell: @escaping @Sendable (News) -> Void) throws(ThreadFault) {
        let (state, wake, ended) = (state, wake, ended)
        let isStarted = startThread {
            defer { ended.raise() }
            while true {
                wake.wait()
                let (job, isStopped) = state.withLock { ($0.jobs.isEmpty ? nil : $0.jobs.removeFirst(), $0.isStopped) }
                guard let job else {
                    if isStopped { return }
                    continue
                }
                let news = Self.write(job.stored, to: files, clock)
                let isNews = state.withLock { state in
                    defer { state.told = news }
                    return state.told != news
                }
                if isNews { tell(news) }
                if case .failed = news { job.done(false) } else { job.done(true) }
            }
        }
        guard isStarted else { throw ThreadFault(purpose: "keys", status: EAGAIN) }
    }

    package func save(_ stored: StoredKeyRing, done: @escaping @Sendable (Bool) -> Void) {
        state.withLock { $0.jobs.append((stored, done)) }
        wake.raise()
    }

    /// Returns once all earlier saves are written: no file appears in the folder after that.
    package func stop() {
        let isFirst = state.withLock { state in
            defer { state.isStopped = true }
            return !state.isStopped
        }
        guard isFirst else { return }
        wake.raise()
        ended.wait()
    }

    private static func write(_ stored: StoredKeyRing, to files: KeyFiles, _ clock: any Clock) -> News {
        do throws(FileError) {
            return try files.save(stored, wallMilliseconds: clock.wallMilliseconds).map { .elsewhere($0) } ?? .works
        } catch {
            return .failed(error.message)
        }
    }
}
