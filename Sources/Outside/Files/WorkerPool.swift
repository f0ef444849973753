import Locking
import OSThreads

/// Runs jobs that may block on a disk, on up to `workerLimit` threads that end when the queue is empty. A hanging disk
/// blocks these threads and nothing else.
final class WorkerPool: Sendable {
    private struct State {
        var waiting: [@Sendable () -> Void] = []
        var workers = 0
    }

    private static let waitingLimit = 64
    private let workerLimit: Int
    private let state = Locked(State())

    init(workerLimit: Int) { self.workerLimit = workerLimit }

    /// False if the queue is full, or the system has no thread left.
    func run(_ job: @escaping @Sendable () -> Void) -> Bool {
        let (isTaken, startsWorker) = state.withLock { state in
            guard state.waiting.count < Self.waitingLimit else { return (false, false) }
            state.waiting.append(job)
            guard state.workers < workerLimit else { return (true, false) }
            state.workers += 1
            return (true, true)
        }
        guard startsWorker, !startThread({ self.work() }) else { return isTaken }
        return state.withLock { state in
            state.workers -= 1
            // A running worker takes the job.
            guard state.workers == 0 else { return true }
            state.waiting = []
            return false
        }
    }

    private func work() {
        while let job = next() { job() }
    }

    private func next() -> (@Sendable () -> Void)? {
        state.withLock { state in
            if state.waiting.isEmpty {
                state.workers -= 1
                return nil
            }
            return state.waiting.removeFirst()
        }
    }
}
