import Glibc
import Locking
package import Vocabulary

/// The durable state of a bridge: one SQLite file in its state directory, written by one thread.
///
/// - A job is done when it is as durable as it asked to be, and not before. Jobs are carried out in the order they are handed
///   in, whichever connection they are of; as many as wait share one transaction, so that a slow disk is waited for once.
/// - A job is carried out whole or not at all. What is wrong with one job alone fails that job; what is wrong with the disk
///   fails the transaction and every job in it, and the writer continues with the next ones.
/// - Only the writer checkpoints the WAL into the database; readers (`JournalReader`) never do.
/// - A job without a completion (`done` nil) is left to the journal: when it cannot be written it is tried again, before whatever is
///   handed in later, after one second and then twice as long each time up to half a minute.
/// - The queue has no bound of its own: `HeldBytes` counts its bytes, and at the memory limit its callers stop reading.
package final class Journal: Sendable {
    let writer: JournalWriter
    /// Why the file cannot shrink, and what to do; nil: it can.
    package let remedy: String?
    private let thread: Locked<pthread_t?>

    /// Opens the journal, or makes it. `wall`: the time in milliseconds since 1970. `committed` receives the time that each
    /// transaction took.
    ///
    /// Fails with one sentence and a remedy; a file that a later version wrote and a damaged one are distinguished.
    package static func open(
        directory: String, wall: @escaping @Sendable () -> Int64,
        committed: (@Sendable (Duration) -> Void)? = nil
    ) throws(JournalFailure) -> Journal {
        var hooks = JournalHooks()
        hooks.committed = committed
        return try open(directory: directory, wall: wall, hooks: hooks)
    }

    /// Size of the file and of its log in a directory, 0 where there is none.
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

    /// The part of one connection of the configuration.
    package func connection(_ name: ConnectionName) -> any TurnJournal { ConnectionJournal(journal: self, name: name) }

    /// Drains the queue, checkpoints the WAL and ends the thread. Jobs submitted later fail.
    package func close() {
        writer.queue.close()
        guard let thread = thread.withLock({ $0.take() }) else { return }
        // The last owner may have been a callback, which is on the thread itself.
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

/// Callbacks of the writer, invoked on its thread.
struct JournalHooks: Sendable {
    /// Before the thread starts.
    var opened: (@Sendable (Database) -> Void)?
    /// Before a transaction begins, with the number of its jobs.
    var willCommit: (@Sendable (Database, Int) -> Void)?
    /// Receives the time of each transaction that was committed.
    var committed: (@Sendable (Duration) -> Void)?
    var firstRetry = Duration.seconds(1)
}
