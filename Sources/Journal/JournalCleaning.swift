package import BridgeModel
import Glibc

/// Tidying a journal that no bridge has open. The caller sees to it that none does.
package enum JournalCleaning {
    package struct Outcome: Hashable, Sendable {
        package var turnsForgotten: Int
        package var bytesBefore: Int
        package var bytesAfter: Int
    }

    /// Forgets what was closed before that moment and gives the room back. `now` in milliseconds since 1970.
    package static func clean(
        directory: String, before wall: Int64, now: Int64
    ) throws(JournalFailure) -> Outcome {
        // One that looks never makes what it looks for.
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
            // From now on it can give room back by itself.
            try database.script("PRAGMA auto_vacuum = INCREMENTAL; VACUUM")
            _ = try database.checkpoint(truncating: true)
            return Outcome(
                turnsForgotten: Int(turns - (try database.integer(count) ?? 0)), bytesBefore: bytes,
                bytesAfter: try size(database))
        } catch { throw error.failure }
    }

    /// Forgets all of one connection, open turns too. Gives how many turns that were.
    package static func forget(_ name: ConnectionName, directory: String) throws(JournalFailure) -> Int {
        _ = try JournalReader(directory: directory)
        let database = try JournalFile.openForWriting(in: directory)
        do throws(DatabaseError) {
            let connection = [Database.Value.text(name.text)]
            try database.run("BEGIN IMMEDIATE")
            // Messages, calls, tries and events go with their turn.
            try database.run("DELETE FROM turns WHERE connection = ?", connection)
            let turns = database.changes
            try database.run("DELETE FROM stops WHERE connection = ?", connection)
            try database.run("DELETE FROM settings WHERE connection = ?", connection)
            try database.run("COMMIT")
            try database.script("VACUUM")
            _ = try database.checkpoint(truncating: true)
            return Int(turns)
        } catch { throw error.failure }
    }

    private static func size(_ database: Database) throws(DatabaseError) -> Int {
        Int((try database.integer("PRAGMA page_count") ?? 0) * (try database.integer("PRAGMA page_size") ?? 0))
    }
}
