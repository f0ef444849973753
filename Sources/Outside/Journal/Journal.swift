import Glibc
import Locking
package import Vocabulary

/// The durable state of a bridge: one SQLite file in its state directory, written by one thread.
///
/// - A job completes when it is as durable as it requested. Jobs are executed in the order of submission, across
///   connections. All waiting jobs share one transaction, so that a slow disk costs one wait.
/// - A job is executed whole or not at all. An error of one job fails that job; an error of the disk fails the
///   transaction with all its jobs, and the writer continues with the next ones.
/// - Only the writer checkpoints the WAL into the database; readers (`JournalReader`) never do.
/// - A job without a completion (`done` is nil) is the journal's to retry: ahead of later jobs, after one second, and
///   then with pauses that double up to half a minute.
/// - The queue has no bound of its own: `HeldBytes` counts its bytes, and at the memory limit its callers stop reading.
package final class Journal: Sendable {
    let writer: JournalWriter
    /// Why the file cannot shrink, with the remedy, or nil if it can.
    package let remedy: String?
    private let thread: Locked<pthread_t?>

    /// Opens the journal, or makes it. `wall` returns the time in milliseconds since 1970. `committed` receives the
    /// duration of each transaction.
    ///
    /// Throws a sentence with a remedy. A file of a later version and a damaged one have codes of their own.
    package static func open(
        directory: String, wall: @escaping @Sendable () -> Int64,
        committed: (@Sendable (Duration) -> Void)? = nil
    ) throws(JournalFailure) -> Journal {
        var hooks = JournalHooks()
        hooks.committed = committed
        return try open(directory: directory, wall: wall, hooks: hooks)
    }

    /// Size of the file and its log in a directory, or 0 if there is none.
    package static func bytes(in directory: String) -> Int64 {
        let path = JournalFile.path(in: directory)
        return [path, path + "-wal"].reduce(0) { sum, file in
            var status = stat()
            return stat(file, &status) == 0 ? sum + Int64(status.st_size) : sum
        }
    }

    static func open(
        directory: String, wall: @escaping @Sendable () -> Int64, hooks: JournalHooks
    ) throws(JournalFailure) -> Journal {
        let database = try JournalFile.openForWriting(in: directory)
        let remedy = Shrinking(database: database).makePossible(in: directory)
        hooks.opened?(database)
        let journal = Journal(JournalWriter(queue: JournalQueue(), wall: wall, hooks: hooks), remedy)
        try journal.start(database)
        return journal
    }

    private init(_ writer: JournalWriter, _ remedy: String?) {
        self.writer = writer
        self.remedy = remedy
        thread = Locked(nil)
    }

    deinit { close() }

    /// The view of one configured connection.
    package func connection(_ name: ConnectionName) -> any TurnJournal { ConnectionJournal(journal: self, name: name) }

    /// Drains the queue, checkpoints the WAL and ends the thread. Jobs submitted later fail.
    package func close() {
        writer.queue.close()
        guard let thread = thread.withLock({ $0.take() }) else { return }
        // The last reference may be released in a callback, which runs on this thread itself.
        if pthread_equal(thread, pthread_self()) != 0 { pthread_detach(thread) } else { pthread_join(thread, nil) }
    }

    private final class Start {
        let writer: JournalWriter
        let database: Database

        init(_ writer: JournalWriter, _ database: Database) {
            self.writer = writer
            self.database = database
        }
    }

    private func start(_ database: Database) throws(JournalFailure) {
        let start = Unmanaged.passRetained(Start(writer, database))
        var thread = pthread_t()
        let status = pthread_create(
            &thread, nil,
            { @Sendable pointer in
                guard let pointer else { return nil }
                let start = Unmanaged<Start>.fromOpaque(pointer).takeRetainedValue()
                start.writer.run(start.database)
                return nil
            }, start.toOpaque())
        guard status == 0 else {
            start.release()
            throw JournalFailure(
                .other, "cannot start the journal's thread: \(String(cString: strerror(status))); end other programs")
        }
        self.thread.withLock { $0 = thread }
    }
}

/// Callbacks of the writer, all but `opened` on its thread.
struct JournalHooks: Sendable {
    /// Called before the thread starts.
    var opened: (@Sendable (Database) -> Void)?
    /// Called before a transaction begins, with the number of its jobs.
    var willCommit: (@Sendable (Database, Int) -> Void)?
    /// Called with the duration of each committed transaction.
    var committed: (@Sendable (Duration) -> Void)?
    var firstRetry = Duration.seconds(1)
}
