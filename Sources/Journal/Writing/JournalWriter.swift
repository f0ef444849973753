import BridgeModel
import CSQLite

/// The thread that writes.
///
/// With a write-ahead log, `synchronous=NORMAL` writes the log at each commit and leaves it to the system when it comes to
/// the disk: a killed process loses nothing, a power cut may. FULL waits for the disk after each commit, for the whole log, so
/// it also makes safe what was written before (https://www.sqlite.org/pragma.html#pragma_synchronous).
final class JournalWriter: Sendable {
    let queue: JournalQueue
    private let wall: @Sendable () -> Int64
    private let hooks: JournalHooks

    /// From this many pages (4 MB) the log is brought into the file when nothing waits, from four times as many at once.
    static let pagesBeforeCheckpoint = 1_000

    private struct Progress {
        /// The last commits may not survive a power cut.
        var hasUnsynced = true
        var isFull = false
        /// How long the log was at the last checkpoint.
        var pagesAtCheckpoint = 0
    }

    init(queue: JournalQueue, wall: @escaping @Sendable () -> Int64, hooks: JournalHooks) {
        self.queue = queue
        self.wall = wall
        self.hooks = hooks
    }

    func run(_ database: Database) {
        var progress = Progress()
        while true {
            switch queue.next() {
            case .commit(let jobs): commit(jobs, database, &progress)
            case .purge(let connection, let before): purge(connection, before, database, &progress)
            case .close:
                // Readers may keep the log; the next one to open the file goes on from there.
                _ = try? database.checkpoint(truncating: true)
                return
            }
            checkpointIfDue(database, &progress)
        }
    }

    // MARK: A transaction

    private func commit(_ jobs: [JournalJob], _ database: Database, _ progress: inout Progress) {
        hooks.willCommit?(database, jobs.count)
        let mustSync = jobs.contains(where: \.mustSurvivePowerCut)
        var tellings: [() -> Void] = []
        tellings.reserveCapacity(jobs.count)
        do throws(DatabaseError) {
            try begin(mustSync: mustSync, database, &progress)
            for job in jobs { tellings.append(try carryOut(job, database)) }
            // A commit that changes no page is no commit to SQLite, and syncs nothing of what was written before.
            if mustSync, progress.hasUnsynced { try database.run(Self.touchBarrier) }
            try database.run("COMMIT")
            progress.hasUnsynced = !mustSync
        } catch {
            if database.isInTransaction { try? database.script("ROLLBACK") }
            progress.hasUnsynced = true
            let failure = error.failure
            for job in jobs { job.fail(failure) }
            return
        }
        for tell in tellings { tell() }
    }

    private static let touchBarrier = "UPDATE meta SET value = value + 1 WHERE name = 'barrier'"

    private func begin(mustSync: Bool, _ database: Database, _ progress: inout Progress) throws(DatabaseError) {
        if progress.isFull != mustSync {
            try database.script("PRAGMA synchronous = \(mustSync ? "FULL" : "NORMAL")")
            progress.isFull = mustSync
        }
        try database.run("BEGIN IMMEDIATE")
    }

    /// Throws what concerns the whole transaction. Gives how to tell the job's owner, once it is committed.
    private func carryOut(_ job: JournalJob, _ database: Database) throws(DatabaseError) -> () -> Void {
        try database.run("SAVEPOINT job")
        do throws(DatabaseError) {
            let tell = try perform(job, database)
            try database.run("RELEASE job")
            return tell
        } catch {
            guard error.concernsOneJob, database.isInTransaction else { throw error }
            try database.run("ROLLBACK TO job")
            try database.run("RELEASE job")
            let failure = error.failure
            return { job.fail(failure) }
        }
    }

    private func perform(_ job: JournalJob, _ database: Database) throws(DatabaseError) -> () -> Void {
        let entries = EntryWriter(database: database, connection: job.connection, now: wall())
        switch job.work {
        case .entries(let list, _, let done):
            for entry in list { try entries.write(entry) }
            return { done?(nil) }
        case .accept(let message, let done):
            let acceptance = try entries.accept(message)
            return { done(.success(acceptance)) }
        case .load(let done):
            let contents = try ContentsReader(database: database, connection: job.connection).read(now: wall())
            return { done(.success(contents)) }
        }
    }

    // MARK: Off the hot path

    private func purge(
        _ connection: ConnectionName, _ before: Int64, _ database: Database, _ progress: inout Progress
    ) {
        do throws(DatabaseError) {
            try begin(mustSync: false, database, &progress)
            let isFinished = try Purge(database: database, connection: connection).step(before: before, now: wall())
            try database.run("COMMIT")
            progress.hasUnsynced = true
            if isFinished { queue.purged(connection, before: before) }
        } catch {
            if database.isInTransaction { try? database.script("ROLLBACK") }
            // The next purge tries again; nothing is lost but room.
            queue.purged(connection, before: before)
        }
    }

    private func checkpointIfDue(_ database: Database, _ progress: inout Progress) {
        let pages = database.pagesInLog
        // After a whole checkpoint the log begins again with the next commit.
        if pages < progress.pagesAtCheckpoint { progress.pagesAtCheckpoint = 0 }
        let news = pages - progress.pagesAtCheckpoint
        guard news >= Self.pagesBeforeCheckpoint else { return }
        guard queue.isEmpty || news >= 4 * Self.pagesBeforeCheckpoint else { return }
        // One that fails, or that a reader cuts short, is tried again when as much has come again: the log loses nothing.
        _ = try? database.checkpoint(truncating: false)
        progress.pagesAtCheckpoint = pages
    }
}
