import CSQLite
import Glibc
import Vocabulary

/// The writer's thread.
///
/// With a write-ahead log, `synchronous=NORMAL` writes the log at each commit, and the system decides when it reaches
/// the disk: a killed process loses nothing, a power cut may. FULL syncs the whole log after each commit, which also
/// makes earlier commits durable (https://www.sqlite.org/pragma.html#pragma_synchronous).
final class JournalWriter: Sendable {
    let queue: JournalQueue
    private let wall: @Sendable () -> Int64
    private let hooks: JournalHooks

    /// Pages (4 MB) from which the WAL is checkpointed when the queue is empty; from four times as many, in any case.
    static let pagesBeforeCheckpoint = 1_000

    private struct Progress {
        /// The last commits may be lost by a power cut.
        var hasUnsynced = true
        var isFull = false
        /// Length of the log at the last checkpoint.
        var pagesAtCheckpoint = 0
        /// Failed jobs without a completion, in order; they are retried ahead of later jobs.
        var deferred: [JournalJob] = []
        /// Failed commits in a row.
        var failures = 0
        var mayTidy = true
        var isShrinking = false
    }

    /// Above this number the tries among them are dropped: a call whose answer is unknown is sent again under its key. A close,
    /// a stop or an owed abort is never dropped; its bytes count as held, so that intake stops at the memory limit.
    static let deferredJobs = 1_000
    private static let longestRetry = Duration.seconds(30)
    private let backOff: BackOff

    init(queue: JournalQueue, wall: @escaping @Sendable () -> Int64, hooks: JournalHooks) {
        self.queue = queue
        self.wall = wall
        self.hooks = hooks
        backOff = BackOff(first: hooks.firstRetry, longest: Self.longestRetry)
    }

    func run(_ database: Database) {
        var progress = Progress()
        while true {
            let retry = progress.deferred.isEmpty ? nil : backOff.pause(after: progress.failures)
            switch queue.next(mayTidy: progress.mayTidy && progress.deferred.isEmpty, retry: retry) {
            case .commit(let jobs): commit(jobs, database, &progress)
            case .purge(let connection, let before): purge(connection, before, database, &progress)
            case .tidy: tidy(database, &progress)
            case .close:
                if !progress.deferred.isEmpty { commit([], database, &progress) }
                // Readers may keep the log; the next writer continues from it.
                _ = try? database.checkpoint(truncating: true)
                return
            }
            checkpointIfDue(database, &progress)
        }
    }

    // MARK: A transaction

    private func commit(_ new: [JournalJob], _ database: Database, _ progress: inout Progress) {
        let jobs = progress.deferred + new
        progress.deferred = []
        hooks.willCommit?(database, jobs.count)
        let mustSync = jobs.contains(where: \.mustSurvivePowerCut)
        let begun = hooks.committed == nil ? 0 : Self.nanoseconds
        var tellings: [() -> Void] = []
        tellings.reserveCapacity(jobs.count)
        do throws(DatabaseError) {
            try begin(mustSync: mustSync, database, &progress)
            for job in jobs { tellings.append(try carryOut(job, database)) }
            // SQLite syncs nothing at a commit that changed no page, so the barrier changes one to sync earlier commits.
            if mustSync, progress.hasUnsynced { try database.run(Self.touchBarrier) }
            try database.run("COMMIT")
            progress.hasUnsynced = !mustSync
            hooks.committed?(.nanoseconds(Self.nanoseconds - begun))
        } catch {
            if database.isInTransaction { try? database.script("ROLLBACK") }
            progress.hasUnsynced = true
            failed(jobs, error.failure, &progress)
            return
        }
        progress.failures = 0
        if jobs.contains(where: \.closesTurns) { progress.mayTidy = true }
        queue.settled(jobs)
        for tell in tellings { tell() }
    }

    private static var nanoseconds: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    private func failed(_ jobs: [JournalJob], _ failure: JournalFailure, _ progress: inout Progress) {
        progress.failures += 1
        var left: [JournalJob] = []
        for job in jobs where job.isLeftToUs { left.append(job) }
        // A damaged file accepts no write, so retries are pointless.
        if failure.code == .damaged { left = [] }
        var surplus = left.count - Self.deferredJobs
        left.removeAll { job in
            guard surplus > 0, job.isOnlyTries else { return false }
            surplus -= 1
            return true
        }
        progress.deferred = left
        queue.settled(jobs)
        queue.stillHeld(left)
        for job in jobs where !job.isLeftToUs { job.fail(failure) }
    }

    private static let touchBarrier = "UPDATE meta SET value = value + 1 WHERE name = 'barrier'"

    private func begin(mustSync: Bool, _ database: Database, _ progress: inout Progress) throws(DatabaseError) {
        if progress.isFull != mustSync {
            try database.script("PRAGMA synchronous = \(mustSync ? "FULL" : "NORMAL")")
            progress.isFull = mustSync
        }
        try database.run("BEGIN IMMEDIATE")
    }

    /// Executes a job and returns its completion, to run after the commit. Throws errors of the whole transaction only.
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
            progress.mayTidy = true
            if isFinished { queue.purged(connection, before: before) }
        } catch {
            if database.isInTransaction { try? database.script("ROLLBACK") }
            // The next purge retries; the rows only take room until then.
            queue.purged(connection, before: before)
        }
    }

    /// One step of idle work: first folds turns of an earlier version, then gives free pages back.
    private func tidy(_ database: Database, _ progress: inout Progress) {
        let (folding, shrinking) = (Folding(database: database), Shrinking(database: database))
        let wasShrinking = progress.isShrinking
        do throws(DatabaseError) {
            try begin(mustSync: false, database, &progress)
            if let greatest = try folding.unfolded() {
                try folding.foldOld(upTo: greatest)
            } else if progress.isShrinking || shrinking.isWorthwhile {
                progress.isShrinking = try shrinking.step()
            } else {
                progress.mayTidy = false
            }
            // A step without work wrote nothing that could need a sync.
            if progress.mayTidy { progress.hasUnsynced = true }
            try database.run("COMMIT")
        } catch {
            if database.isInTransaction { try? database.script("ROLLBACK") }
            // The next closed turn retries.
            (progress.mayTidy, progress.isShrinking) = (false, false)
        }
        // The file itself shrinks at the checkpoint.
        if wasShrinking, !progress.isShrinking { _ = try? database.checkpoint(truncating: false) }
    }

    private func checkpointIfDue(_ database: Database, _ progress: inout Progress) {
        let pages = database.pagesInLog
        // After a complete checkpoint the next commit starts the log again.
        if pages < progress.pagesAtCheckpoint { progress.pagesAtCheckpoint = 0 }
        let news = pages - progress.pagesAtCheckpoint
        guard news >= Self.pagesBeforeCheckpoint else { return }
        guard queue.isEmpty || news >= 4 * Self.pagesBeforeCheckpoint else { return }
        // A checkpoint that fails, or that a reader cuts short, is retried after as many pages again; the log loses nothing.
        _ = try? database.checkpoint(truncating: false)
        progress.pagesAtCheckpoint = pages
    }
}
