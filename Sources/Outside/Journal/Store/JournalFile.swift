import CSQLite
import Glibc
import Vocabulary

/// The journal's path, and how it is opened.
enum JournalFile {
    static func path(in directory: String) -> String { directory + "/journal.db" }

    /// Opens the journal for its one writer. Makes a missing directory (0700) and file (0600).
    static func openForWriting(in directory: String) throws(JournalFailure) -> Database {
        try makeDirectory(directory)
        let path = path(in: directory)
        try makeFile(path)
        let database: Database
        do throws(DatabaseError) {
            database = try Database(path: path, mode: .writing)
        } catch { throw error.failure }
        _ = try Migrations.version(of: database)
        do throws(DatabaseError) {
            // `auto_vacuum` must be set before the file has its first page.
            if try database.integer("PRAGMA page_count") == 0 { try Shrinking.prepareNew(database) }
            try prepare(database)
        } catch { throw error.failure }
        try Migrations.apply(to: database)
        return database
    }

    private static func prepare(_ database: Database) throws(DatabaseError) {
        var mode = ""
        try database.rows("PRAGMA journal_mode = WAL") { row throws(DatabaseError) in mode = row.text(0) }
        guard mode == "wal" else {
            throw DatabaseError(
                code: SQLITE_CANTOPEN, words: "its file system cannot share memory between programs",
                path: database.path)
        }
        try database.script("PRAGMA foreign_keys = ON")
        // The writer's default; it raises the level for a job that requires it.
        try database.script("PRAGMA synchronous = NORMAL")
        // SQLite overwrites deleted bytes where that costs no extra write; closing a turn raises the level
        // (`EntryWriter.close`).
        try database.script("PRAGMA secure_delete = FAST")
        // After a burst the log is truncated to 16 MB.
        try database.script("PRAGMA journal_size_limit = 16777216")
        database.watchLog()
    }

    /// Opens the journal read-only, with or without a running bridge. A reader never checkpoints the WAL: two
    /// connections that do so may lose a page in SQLite 3.40 (its WAL-reset race).
    static func openForReading(
        in directory: String, ofAnyVersion takesAny: Bool = false
    ) throws(JournalFailure) -> Database {
        let path = path(in: directory)
        guard access(path, F_OK) == 0 else {
            throw JournalFailure(
                .other,
                "there is no journal at \(path); a bridge makes it when it first runs, or name another directory with --state-dir"
            )
        }
        let database: Database
        do throws(DatabaseError) {
            database = try openShared(path)
            try database.script("PRAGMA query_only = ON")
        } catch { throw error.failure }
        guard try Migrations.version(of: database) == Migrations.newest || takesAny else {
            throw JournalFailure(
                .other, "\(path) was written by an earlier version; start the bridge once, which brings it up to date")
        }
        return database
    }

    /// A reader shares memory with the writer, through a file that it makes if there is none. If it may not make one
    /// and there is no WAL, there is no writer, and it reads the file directly.
    private static func openShared(_ path: String) throws(DatabaseError) -> Database {
        do throws(DatabaseError) {
            let database = try Database(path: path, mode: .reading)
            _ = try database.integer("SELECT count(*) FROM sqlite_schema")
            return database
        } catch {
            guard error.code == SQLITE_CANTOPEN || error.code == SQLITE_READONLY, access(path + "-wal", F_OK) != 0
            else { throw error }
            return try Database(path: path, mode: .immutable)
        }
    }

    // MARK: Within

    private static func makeFile(_ path: String) throws(JournalFailure) {
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw unwritable("open \(path)") }
        defer { close(descriptor) }
        // The file contains conversations, so its mode is reset to the owner alone. SQLite gives the log the same bits.
        guard fchmod(descriptor, 0o600) == 0 else { throw unwritable("close \(path) to others") }
    }

    private static func makeDirectory(_ path: String) throws(JournalFailure) {
        if mkdir(path, S_IRWXU) == 0 || errno == EEXIST { return }
        guard errno == ENOENT, let slash = path.lastIndex(of: "/"), slash != path.startIndex else {
            throw unwritable("make the directory \(path)")
        }
        try makeDirectory(String(path[..<slash]))
        guard mkdir(path, S_IRWXU) == 0 || errno == EEXIST else { throw unwritable("make the directory \(path)") }
    }

    private static func unwritable(_ doing: String) -> JournalFailure {
        if errno == EMFILE || errno == ENFILE {
            return JournalFailure(
                .other,
                "cannot \(doing): \(String(cString: strerror(errno))); raise the limit of open files (`ulimit -n`, LimitNOFILE=)"
            )
        }
        return whoMayNotWrite(doing)
    }

    private static func whoMayNotWrite(_ doing: String) -> JournalFailure {
        JournalFailure(
            errno == ENOSPC ? .full : .readOnly,
            "cannot \(doing): \(String(cString: strerror(errno))); let this user write there, or set SOPHON_STATE_DIR to another directory"
        )
    }
}
