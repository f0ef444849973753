import CSQLite
import Glibc
package import Vocabulary

/// Cleans a journal that no bridge has open, which the caller ensures.
package enum JournalCleaning {
    package struct Outcome: Hashable, Sendable {
        package var turnsForgotten: Int
        package var bytesBefore: Int
        package var bytesAfter: Int
        /// Why the file keeps its size although the rest is done, with the remedy, or nil if it shrank.
        package var remedy: String?
    }

    /// Deletes turns closed before `wall`, and shrinks the file. Both times are milliseconds since 1970.
    package static func clean(
        directory: String, before wall: Int64, now: Int64
    ) throws(JournalFailure) -> Outcome {
        // Fails if there is no journal; `openForWriting` would make one.
        _ = try JournalReader(directory: directory)
        let database = try JournalFile.openForWriting(in: directory)
        do throws(DatabaseError) {
            _ = try database.checkpoint(truncating: true)
            let count = "SELECT count(*) FROM turns"
            let turns = try database.integer(count) ?? 0
            let bytes = try size(database)
            var names: [ConnectionName] = []
            try database.rows(
                "SELECT connection FROM turns UNION SELECT connection FROM stops"
            ) { row throws(DatabaseError) in names.append(ConnectionName(row.text(0))) }
            for name in names {
                let purge = Purge(database: database, connection: name)
                while !(try purge.step(before: wall, now: now)) {}
            }
            let folding = Folding(database: database)
            while let greatest = try folding.unfolded() { try folding.foldOld(upTo: greatest) }
            // `auto_vacuum` lets a running bridge shrink the file by itself.
            let remedy = try shrink(database, by: "PRAGMA auto_vacuum = INCREMENTAL; VACUUM", Self.run)
            return Outcome(
                turnsForgotten: Int(turns - (try database.integer(count) ?? 0)), bytesBefore: bytes,
                bytesAfter: try size(database), remedy: remedy)
        } catch { throw error.failure }
    }

    /// Deletes all rows of one connection, open turns too. Returns the number of turns, and why the file keeps its size.
    package static func forget(
        _ name: ConnectionName, directory: String
    ) throws(JournalFailure) -> (turns: Int, remedy: String?) {
        try forget(name, directory: directory, vacuum: Self.run)
    }

    typealias Vacuum = (Database, String) throws(DatabaseError) -> Void

    static func run(_ database: Database, _ script: String) throws(DatabaseError) { try database.script(script) }

    static func forget(
        _ name: ConnectionName, directory: String, vacuum: Vacuum
    ) throws(JournalFailure) -> (turns: Int, remedy: String?) {
        _ = try JournalReader(directory: directory)
        let database = try JournalFile.openForWriting(in: directory)
        do throws(DatabaseError) {
            let connection = [Database.Value.text(name.text)]
            try database.run("BEGIN IMMEDIATE")
            // Messages, calls, tries and events are deleted with their turn.
            try database.run("DELETE FROM turns WHERE connection = ?", connection)
            let turns = database.changes
            try database.run("DELETE FROM stops WHERE connection = ?", connection)
            try database.run("DELETE FROM settings WHERE connection = ?", connection)
            try database.run("COMMIT")
            return (Int(turns), try shrink(database, by: "VACUUM", vacuum))
        } catch { throw error.failure }
    }

    /// Shrinks the file after the deletion was committed. A disk without room for the copy is reported and not thrown.
    private static func shrink(
        _ database: Database, by script: String, _ vacuum: Vacuum
    ) throws(DatabaseError) -> String? {
        do throws(DatabaseError) {
            try vacuum(database, script)
            _ = try database.checkpoint(truncating: true)
            return nil
        } catch {
            // On some full disks SQLite reports a mere write error.
            guard [SQLITE_FULL, SQLITE_IOERR].contains(error.code) else { throw error }
            return "\(database.path) keeps its size: \(error.words); make room on its disk, or name one that has it in "
                + "SQLITE_TMPDIR, and run: sophon-bridge journal clean"
        }
    }

    private static func size(_ database: Database) throws(DatabaseError) -> Int {
        Int((try database.integer("PRAGMA page_count") ?? 0) * (try database.integer("PRAGMA page_size") ?? 0))
    }
}
