import CSQLite
import Vocabulary

/// An error of SQLite.
struct DatabaseError: Error {
    /// SQLite's primary result code.
    var code: Int32
    /// SQLite's error message, or one of this room.
    var words: String
    var path: String

    /// The error concerns one statement, and the transaction can continue without its job.
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
            // Covers a disk that fills up while SQLite makes the log's index.
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
