import Locking
import OSThreads

/// Runs jobs that may block on a disk, on up to `workerLimit` threads that end when the queue is empty. A hanging disk
/// blocks these threads and nothing else.
final class WorkerPool: Sendable {
    /// Returns false if the system has no thread left.
    typealias ThreadStart = @Sendable (@escaping @Sendable () -> Void) -> Bool

    private struct Job {
        let run: @Sendable () -> Void
        let refuse: @Sendable () -> Void
    }

    private struct State {
        var waiting: [Job] = []
        /// A worker counts from before its thread is started.
        var workers = 0
    }

    private static let waitingLimit = 64
    private let workerLimit: Int
    private let start: ThreadStart
    private let state = Locked(State())

    /// `start` is another one in tests, for a system without threads.
    init(workerLimit: Int, start: @escaping ThreadStart = { startThread($0) }) {
        self.workerLimit = workerLimit
        self.start = start
    }

    /// Calls one of the two, once: `refuse` if too much waits already, or the system has no thread left.
    func run(_ job: @escaping @Sendable () -> Void, orElse refuse: @escaping @Sendable () -> Void) {
        let (isTaken, startsWorker) = state.withLock { state in
            guard state.waiting.count < Self.waitingLimit else { return (false, false) }
            state.waiting.append(Job(run: job, refuse: refuse))
            guard state.workers < workerLimit else { return (true, false) }
            state.workers += 1
            return (true, true)
        }
        guard isTaken else { return refuse() }
        guard startsWorker, !start({ self.work() }) else { return }
        let refused: [Job] = state.withLock { state in
            state.workers -= 1
            // Another worker takes the job, or refuses it with its own.
            guard state.workers == 0 else { return [] }
            defer { state.waiting = [] }
            return state.waiting
        }
        for job in refused { job.refuse() }
    }

    private func work() {
        while let job = next() { job.run() }
    }

    private func next() -> Job? {
        state.withLock { state in
            if state.waiting.isEmpty {
                state.workers -= 1
                return nil
            }
            return state.waiting.removeFirst()
        }
    }
}
