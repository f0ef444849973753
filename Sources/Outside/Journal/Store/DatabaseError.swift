import CSQLite
import Vocabulary

/// What SQLite said when something could not be done.
struct DatabaseError: Error {
    /// SQLite's primary result code.
    var code: Int32
    /// SQLite's own words, or ours.
    var words: String
    var path: String

    /// It is about the one statement, and the transaction may go on without it.
    var concernsOneJob: Bool { [SQLITE_CONSTRAINT, SQLITE_TOOBIG, SQLITE_MISMATCH].contains(code) }

    var failure: JournalFailure {
        switch code {
        case SQLITE_FULL:
            JournalFailure(.full, "cannot write \(path): the disk is full; make room on it")
        case SQLITE_READONLY, SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_AUTH:
            JournalFailure(
                .readOnly,
                "cannot use \(path): \(words); let this user write there, or set SOPHON_STATE_DIR to another directory")
        case SQLITE_BUSY, SQLITE_LOCKED:
            JournalFailure(.busy, "cannot use \(path): another program is writing it; end that program and try again")
        case SQLITE_CORRUPT, SQLITE_NOTADB:
            .damaged(path, words)
        case SQLITE_CONSTRAINT:
            JournalFailure(
                .conflict, "cannot use \(path): \(words); look whether two bridges work with copies of it")
        case SQLITE_IOERR:
            // Also where the disk fills up while the log's index is made.
            JournalFailure(
                .other,
                "cannot use \(path): \(words); make room on its disk, or look for faults of it in the system's log")
        default:
            JournalFailure(
                .other, "cannot use \(path): \(words); run sophon-bridge journal verify to see whether it is whole")
        }
    }
}

extension JournalFailure {
    static func damaged(_ path: String, _ words: String) -> JournalFailure {
        JournalFailure(
            .damaged,
            "\(path) is damaged: \(words); save what can be read with sophon-bridge journal export, then move it away")
    }
}
