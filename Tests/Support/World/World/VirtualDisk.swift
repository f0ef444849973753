import Vocabulary

/// The disk under all journals of a process: it writes after a moment, and loses with its process what it had not written by
/// then. Jobs are written in the order they come, as many behind one sync as waited for it.
package final class VirtualDisk: @unchecked Sendable {
    private let time: VirtualTime
    private var waiting: [(durability: Durability, job: (JournalFailure?) -> Void)] = []
    /// How many of them are behind the sync that is under way.
    private var inBatch = 0
    private(set) var life = 0
    /// Nothing can be written.
    package var isFull = false
    /// The disk is full from this job on, counted from 1, for five seconds.
    package var fullFrom: Int?
    /// How long it takes until what is written would survive a power cut.
    package var syncTime = Duration.milliseconds(2)
    /// How many were asked for and whether or not they could be written.
    package private(set) var jobs = 0

    package init(_ time: VirtualTime) { self.time = time }

    var wallMilliseconds: Int64 { time.wallMilliseconds }

    /// The process is gone.
    package func kill() {
        life += 1
        waiting = []
        inBatch = 0
    }

    func after(_ delay: Duration, _ action: @escaping () -> Void) { time.after(delay, action) }

    func write(_ durability: Durability, _ job: @escaping (JournalFailure?) -> Void) {
        waiting.append((durability, job))
        if waiting.count == 1 { beginBatch() }
    }

    private func beginBatch() {
        inBatch = waiting.count
        // What must be durable holds up what was handed in with it.
        let mustSync = waiting.contains { $0.durability == .synced }
        writeNext(after: mustSync ? syncTime : .milliseconds(2))
    }

    /// Each job by itself, so that a process can die between any two.
    private func writeNext(after delay: Duration) {
        let mine = life
        time.after(delay) { [self] in
            guard mine == life else { return }
            // It stays in the line while it is carried out: what it hands in waits behind it.
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
