import Vocabulary

/// The disk under all journals of a process. It writes after a moment, and a kill loses the rest. Jobs are written in
/// their order; one sync covers all that waited for it.
package final class VirtualDisk: @unchecked Sendable {
    private let time: VirtualTime
    private var waiting: [(durability: Durability, job: (JournalFailure?) -> Void)] = []
    /// Number of jobs behind the current sync.
    private var inBatch = 0
    private(set) var life = 0
    /// Every job fails.
    package var isFull = false
    /// Number of the job, from 1, at which the disk is full for five seconds.
    package var fullFrom: Int?
    /// Time until a written job would survive a power cut.
    package var syncTime = Duration.milliseconds(2)
    /// The process ends: the disk writes what it has, and takes nothing new.
    package var isClosed = false
    package var isWritten: Bool { waiting.isEmpty }
    /// Number of jobs tried, written or not.
    package private(set) var jobs = 0

    package init(_ time: VirtualTime) { self.time = time }

    var wallMilliseconds: Int64 { time.wallMilliseconds }

    /// The process died.
    package func kill() {
        life += 1
        isClosed = false
        waiting = []
        inBatch = 0
    }

    func after(_ delay: Duration, _ action: @escaping () -> Void) { time.after(delay, action) }

    func write(_ durability: Durability, _ job: @escaping (JournalFailure?) -> Void) {
        guard !isClosed else { return job(JournalFailure(.other, "the journal is closed")) }
        waiting.append((durability, job))
        if waiting.count == 1 { beginBatch() }
    }

    private func beginBatch() {
        inBatch = waiting.count
        // A job that must be durable delays the others of its batch.
        let mustSync = waiting.contains { $0.durability == .synced }
        writeNext(after: mustSync ? syncTime : .milliseconds(2))
    }

    /// Writes each job by itself, so the process can die between any two.
    private func writeNext(after delay: Duration) {
        let mine = life
        time.after(delay) { [self] in
            guard mine == life else { return }
            // The job stays in line while it runs, so jobs that it submits wait behind it.
            let job = waiting[0].job
            jobs += 1
            if jobs == fullFrom {
                isFull = true
                time.after(.seconds(5)) { [self] in isFull = false }
            }
            job(isFull ? JournalFailure(.full, "the disk is full") : nil)
            guard mine == life else { return }
            waiting.removeFirst()
            inBatch -= 1
            if inBatch > 0 { return writeNext(after: .microseconds(100)) }
            if !waiting.isEmpty { beginBatch() }
        }
    }
}
