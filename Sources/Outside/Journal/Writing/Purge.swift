import Vocabulary

/// Deletes old turns, a few at a time, so that no job waits long.
struct Purge {
    let database: Database
    let connection: ConnectionName

    /// A turn may have hundreds of calls and tries, which are deleted with it.
    static let turnsInStep = 20

    private static let closed = """
        DELETE FROM turns WHERE number IN
            (SELECT number FROM turns WHERE connection = ? AND closed_at < ? LIMIT \(turnsInStep))
        """
    /// Turns with an event, but never a message or a record.
    private static let strays = """
        DELETE FROM turns WHERE number IN
            (SELECT number FROM turns WHERE connection = ? AND closed_at IS NULL AND record IS NULL AND kept_at < ?
            AND NOT EXISTS (SELECT 1 FROM messages WHERE messages.turn = turns.number) LIMIT \(turnsInStep))
        """

    /// Marks of envelopes; each value begins with the time of its message.
    private static let marks = """
        DELETE FROM settings WHERE connection = ?1 AND name IN
            (SELECT name FROM settings WHERE connection = ?1 AND \(ContentsReader.isMark)
            AND CAST(CAST(value AS TEXT) AS INTEGER) < ?2 LIMIT \(marksInStep))
        """
    static let marksInStep = 200

    /// Runs one step. True if nothing is left. Messages, calls, tries and events are deleted with their turn.
    func step(before wall: Int64, now: Int64) throws(DatabaseError) -> Bool {
        let name = Database.Value.text(connection.text)
        for statement in [Self.closed, Self.strays, Self.marks] {
            try database.run(statement, [name, .integer(wall)])
            if database.changes > 0 { return false }
        }
        try database.run(EntryWriter.forgetStops, [name, .integer(now - EntryWriter.stopMilliseconds)])
        return true
    }
}
