import CSQLite
import Glibc
import Vocabulary

/// Gives free pages back to the system, a few at a time. A file can shrink if it was made with `auto_vacuum`, or after
/// a
/// `VACUUM`, which needs as much room again as the file takes (https://www.sqlite.org/pragma.html#pragma_auto_vacuum).
struct Shrinking {
    let database: Database

    /// Free pages kept for the next writes (1 MB).
    static let pagesKept = 256
    /// Shrinking begins above this many free pages (2 MB).
    static let pagesBeforeShrinking = 512
    static let pagesInStep = 64
    /// Value of `PRAGMA auto_vacuum` for a file that can shrink.
    private static let incremental: Int64 = 2

    /// Sets up a file that has no table yet.
    static func prepareNew(_ database: Database) throws(DatabaseError) {
        try database.script("PRAGMA auto_vacuum = INCREMENTAL")
    }

    /// Why the file cannot shrink, with the remedy, or nil if it can.
    func makePossible(in directory: String) -> String? {
        do throws(DatabaseError) {
            if try database.integer("PRAGMA auto_vacuum") == Self.incremental { return nil }
            let pages = try database.integer("PRAGMA page_count") ?? 0
            let bytes = pages * (try database.integer("PRAGMA page_size") ?? 4_096)
            // `VACUUM` writes the rebuilt copy to the log, and before that another one to the directory for temporary files.
            let needed = 2 * bytes + 1 << 20
            if let free = Self.freeBytes(directory), free < needed {
                return sentence(
                    "it needs \(Self.megabytes(needed)) free there once, and there are \(Self.megabytes(free))")
            }
            try database.script("PRAGMA auto_vacuum = INCREMENTAL; VACUUM")
            return nil
        } catch {
            return sentence(error.words)
        }
    }

    private func sentence(_ why: String) -> String {
        "\(database.path) cannot shrink while the bridge runs: \(why); make room on its disk and start the bridge again"
    }

    private static func megabytes(_ bytes: Int64) -> String { "\(bytes / 1_000_000 + 1) MB" }

    static func freeBytes(_ directory: String) -> Int64? {
        var status = statvfs()
        guard statvfs(directory, &status) == 0 else { return nil }
        let (bytes, overflow) = Int64(status.f_bavail).multipliedReportingOverflow(by: Int64(status.f_frsize))
        return overflow ? .max : bytes
    }

    /// Runs one step. False if nothing is left to give back.
    func step() throws(DatabaseError) -> Bool {
        let free = Int(try database.integer("PRAGMA freelist_count") ?? 0)
        guard free > Self.pagesKept else { return false }
        try database.script("PRAGMA incremental_vacuum(\(min(Self.pagesInStep, free - Self.pagesKept)))")
        return Int(try database.integer("PRAGMA freelist_count") ?? 0) < free
    }

    /// False if the file lacks `auto_vacuum`, for example because its `VACUUM` had no room: a step would give nothing back.
    var isWorthwhile: Bool {
        guard let mode = try? database.integer("PRAGMA auto_vacuum"), mode == Self.incremental else { return false }
        let free = try? database.integer("PRAGMA freelist_count")
        return (free ?? nil) ?? 0 > Self.pagesBeforeShrinking
    }
}
