import CSQLite
import Glibc

extension JournalReader {
    /// Copies the journal's state of one moment into an empty file, a few pages at a time. Between two steps the copy
    /// holds no snapshot, so that a running bridge can checkpoint its write-ahead log. `stepped` receives the progress
    /// in pages; an error from it cancels the copy.
    package func backUp(to path: String, stepped: (_ copied: Int, _ pages: Int) throws -> Void) throws {
        try backUp(to: path, at: CopyPace(pages: 256), stepped: stepped)
    }

    func backUp(to path: String, at pace: CopyPace, stepped: (_ copied: Int, _ pages: Int) throws -> Void) throws {
        var pace = pace
        do {
            let copy = try Database(path: path, mode: .writing)
            // An interrupted copy is thrown away, and the caller syncs a whole one.
            try copy.script("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
            guard let backup = sqlite3_backup_init(copy.handle, "main", database.handle, "main") else {
                throw copy.error()
            }
            var code = SQLITE_OK
            defer { if code != SQLITE_DONE { sqlite3_backup_finish(backup) } }
            while true {
                code = sqlite3_backup_step(backup, pace.pages)
                guard code == SQLITE_OK else { break }
                let pages = Int(sqlite3_backup_pagecount(backup))
                let copied = pages - Int(sqlite3_backup_remaining(backup))
                pace.stepped(to: copied)
                try stepped(copied, pages)
            }
            let isWhole = code == SQLITE_DONE
            let end = isWhole ? sqlite3_backup_finish(backup) : code
            guard end == SQLITE_OK else {
                throw DatabaseError(code: end & 0xFF, words: String(cString: sqlite3_errstr(end)), path: path)
            }
        } catch let error as DatabaseError { throw error.failure }
    }

    /// Whether the path's folder is that directory, under any of its names.
    package static func lies(_ path: String, in directory: String) -> Bool {
        let slash = path.lastIndex(of: "/")
        let folder = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        var (ours, theirs) = (stat(), stat())
        guard stat(directory, &ours) == 0, stat(folder, &theirs) == 0 else { return false }
        return ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino
    }
}

/// Number of pages in the next step of a copy. SQLite restarts a copy after another process wrote between two steps;
/// growing steps reach the end beside any bridge (https://www.sqlite.org/c3ref/backup_finish.html).
struct CopyPace {
    private(set) var pages: Int32
    private var copied = 0

    init(pages: Int32) { self.pages = pages }

    /// `copied` is the number of pages since the copy last restarted.
    mutating func stepped(to copied: Int) {
        if copied < self.copied + Int(pages) { pages = pages > Int32.max / 2 ? Int32.max : pages * 2 }
        self.copied = copied
    }
}
