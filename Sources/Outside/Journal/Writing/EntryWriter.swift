import CSQLite
import Vocabulary

/// Writes entries as rows, within the writer's transaction.
struct EntryWriter {
    let database: Database
    let connection: ConnectionName
    let now: Int64

    /// Retention of message ids (DESIGN.md#a-runs-journey, step 1).
    static let messageMilliseconds: Int64 = 30 * 24 * 60 * 60 * 1_000
    /// Retention of a stop that waits for its message (DESIGN.md#the-turn-machine).
    static let stopMilliseconds: Int64 = 30 * 60 * 1_000
    /// Turns with an accepted message and no record yet. A stop of one of them is kept until its turn begins.
    static let unbegun = "SELECT name FROM turns WHERE connection = ?1 AND closed_at IS NULL AND record IS NULL"
    static let forgetStops = """
        DELETE FROM stops WHERE connection = ?1 AND asked_at < ?2 AND interaction NOT IN (\(unbegun))
        """

    func write(_ entry: JournalEntry) throws(DatabaseError) {
        switch entry {
        case .turn(let turn, let record, let place): try keep(turn, record, place)
        case .part(let turn, let part, let content): try keep(part, of: try number(of: turn), content)
        case .call(let call): try keep(call)
        case .tried(let entry): try keep(entry)
        case .closed(let turn, let outcome, let wall): try close(turn, outcome, wall)
        case .stop(let session, let interaction, let wall, let made, let reach):
            try keepStop(.init(session: session, interaction: interaction, made: made, reach: reach), wall)
        case .event(let turn, let words, let wall):
            try database.run(
                "INSERT INTO events (turn, words, happened_at) VALUES (?, ?, ?)",
                [.integer(try number(of: turn)), .text(words), .integer(wall)])
        case .setting(let name, let value): try keepSetting(name, value)
        }
    }

    func accept(_ message: AcceptedMessage) throws(DatabaseError) -> Acceptance {
        let name: [Database.Value] = [.text(connection.text), .text(message.message.text)]
        let isKnown = try database.integer(
            "SELECT 1 FROM messages WHERE connection = ? AND message = ? AND received_at >= ?",
            name + [.integer(message.wall - Self.messageMilliseconds)])
        if isKnown != nil { return .known }
        let taken = try database.integer(
            """
            SELECT 1 FROM turns JOIN messages ON messages.turn = turns.number
            WHERE turns.connection = ? AND turns.name = ? AND messages.message != ?
            """,
            [.text(connection.text), .text(message.turn.text), .text(message.message.text)])
        // Each turn has one bubble: the answer to a second message of the same interaction would have none.
        if taken != nil { return .turnIsTaken }
        if let mark = message.markSetting {
            var kept: [UInt8]?
            try database.rows(
                "SELECT value FROM settings WHERE connection = ? AND name = ?",
                [.text(connection.text), .text(mark.name)]
            ) { row in kept = row.bytes(0) }
            if let kept, message.isReplayed(kept, since: message.wall - Self.messageMilliseconds) { return .replayed }
            try keepSetting(mark.name, mark.value)
        }
        let turn = try number(of: message.turn)
        // The row of a message last seen more than 30 days ago may not be purged yet, and is replaced.
        try database.run(
            """
            INSERT OR REPLACE INTO messages
                (connection, message, update_name, turn, session, interaction, opening, received_at)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """,
            name + [
                .text(message.update.text), .integer(turn), .text(message.session.text),
                .optional(message.interaction?.text), .blob(message.opening), .integer(message.wall),
            ])
        // A message redelivered long after its purge counts as new: an acknowledged message is never lost.
        try database.run(
            "UPDATE turns SET closed_at = NULL, outcome = NULL WHERE number = ? AND closed_at IS NOT NULL",
            [.integer(turn)])
        return .fresh
    }

    // MARK: Within

    /// The turn's number; the first entry of a turn makes its row.
    private func number(of turn: TurnID) throws(DatabaseError) -> Int64 {
        let name: [Database.Value] = [.text(connection.text), .text(turn.text)]
        if let found = try database.integer("SELECT number FROM turns WHERE connection = ? AND name = ?", name) {
            return found
        }
        try database.run("INSERT INTO turns (connection, name, kept_at) VALUES (?, ?, ?)", name + [.integer(now)])
        return sqlite3_last_insert_rowid(database.handle)
    }

    /// Stores the record as part 0. The turn's row and its indexes change only if its place did.
    private func keep(_ turn: TurnID, _ record: [UInt8], _ place: TurnPlace?) throws(DatabaseError) {
        let number = try number(of: turn)
        try keep(0, of: number, record)
        try database.run(
            """
            UPDATE turns SET record = x'', closed_at = NULL, outcome = NULL, session = ?2, interaction = ?3, bubble = ?4
            WHERE number = ?1 AND (record IS NOT x'' OR closed_at IS NOT NULL
                OR session IS NOT ?2 OR interaction IS NOT ?3 OR bubble IS NOT ?4)
            """,
            [
                .integer(number), .optional(place?.session.text), .optional(place?.interaction?.text),
                .optional(place?.bubble?.text),
            ])
    }

    /// Stores a part. The same content again writes nothing.
    private func keep(_ part: Int, of turn: Int64, _ content: [UInt8]) throws(DatabaseError) {
        try database.run(
            """
            INSERT INTO parts (place, turn, content) VALUES (?, ?, ?)
            ON CONFLICT (place) DO UPDATE SET content = excluded.content WHERE content IS NOT excluded.content
            """, [.integer(Parts.place(of: Int64(part), in: turn)), .integer(turn), .blob(content)])
    }

    /// A stored call may have been sent: it is never replaced while its turn is open. The same call again changes
    /// nothing.
    private func keep(_ call: StoredCall) throws(DatabaseError) {
        try database.run(
            """
            INSERT INTO calls (turn, key, name, path, body, end_offset, kept_at) VALUES (?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (turn, key) DO UPDATE SET name = excluded.name, path = excluded.path, body = excluded.body,
                end_offset = excluded.end_offset, delivered = delivered AND body IS NOT NULL,
                result = CASE WHEN body IS NULL THEN NULL ELSE result END,
                request = CASE WHEN body IS NULL THEN NULL ELSE request END,
                milliseconds = CASE WHEN body IS NULL THEN NULL ELSE milliseconds END,
                tried_at = CASE WHEN body IS NULL THEN NULL ELSE tried_at END
            WHERE body IS NULL OR (path = excluded.path AND body = excluded.body)
            """,
            [
                .integer(try number(of: call.turn)), .text(call.key.text), .blob(call.name), .text(call.path),
                .blob(call.body), call.endOffset.map(Database.Value.number) ?? .null, .integer(call.wall),
            ])
        guard database.changes == 1 else {
            throw DatabaseError(
                code: SQLITE_CONSTRAINT,
                words: "the call \(call.key) of turn \(call.turn) is kept already with another body",
                path: database.path)
        }
    }

    private func keep(_ entry: CallTry) throws(DatabaseError) {
        let turn = try number(of: entry.turn)
        if try keepBesideCall(entry, turn) { return }
        try database.run(
            """
            INSERT INTO tries (turn, key, attempt, result, delivered, request, milliseconds, tried_at)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                .integer(turn), .text(entry.key.text), .number(entry.attempt), .text(entry.result),
                .integer(entry.isDelivered ? 1 : 0), .optional(entry.request?.text), .number(entry.milliseconds),
                .integer(entry.wall),
            ])
        guard entry.isDelivered else { return }
        try database.run(
            "UPDATE calls SET delivered = 1 WHERE turn = ? AND key = ?", [.integer(turn), .text(entry.key.text)])
    }

    /// Most calls are tried once. Their try is stored in the row of the call, and needs none of its own. False for other tries.
    private func keepBesideCall(_ entry: CallTry, _ turn: Int64) throws(DatabaseError) -> Bool {
        guard entry.isDelivered, entry.attempt == 1 else { return false }
        try database.run(
            """
            UPDATE calls SET delivered = 1, result = ?3, request = ?4, milliseconds = ?5, tried_at = ?6
            WHERE turn = ?1 AND key = ?2 AND delivered = 0 AND tried_at IS NULL
                AND NOT EXISTS (SELECT 1 FROM tries WHERE turn = ?1 AND key = ?2)
            """,
            [
                .integer(turn), .text(entry.key.text), .text(entry.result), .optional(entry.request?.text),
                .number(entry.milliseconds), .integer(entry.wall),
            ])
        return database.changes == 1
    }

    private func close(_ turn: TurnID, _ outcome: String, _ wall: Int64) throws(DatabaseError) {
        let number = try number(of: turn)
        // The turn's text is overwritten, also in pages that become free as a whole.
        try database.script("PRAGMA secure_delete = ON")
        defer { try? database.script("PRAGMA secure_delete = FAST") }
        try database.run(
            """
            UPDATE turns SET record = NULL, session = NULL, interaction = NULL, bubble = NULL, closed_at = ?, outcome = ?
            WHERE number = ?
            """,
            [.integer(wall), .text(outcome), .integer(number)])
        try database.run("DELETE FROM parts WHERE place BETWEEN ? AND ?", Parts.places(of: number))
        let folding = Folding(database: database)
        try folding.fold(number)
        try folding.compact(number)
        try database.run("UPDATE messages SET opening = NULL WHERE turn = ?", [.integer(number)])
    }

    private func keepStop(_ stop: JournalContents.Stop, _ wall: Int64) throws(DatabaseError) {
        try database.run(Self.forgetStops, [.text(connection.text), .integer(now - Self.stopMilliseconds)])
        try database.run(
            """
            INSERT INTO stops (connection, session, interaction, asked_at, made, own_runs_alone) VALUES (?, ?, ?, ?, ?, ?)
            ON CONFLICT DO UPDATE SET asked_at = excluded.asked_at, made = excluded.made,
            own_runs_alone = min(ifnull(own_runs_alone, 0), excluded.own_runs_alone)
            """,
            [
                .text(connection.text), .text(stop.session.text), .text(stop.interaction.text), .integer(wall),
                stop.made.map { .integer($0) } ?? .null, .integer(stop.reach == .ownRuns ? 1 : 0),
            ])
    }

    private func keepSetting(_ name: String, _ value: [UInt8]?) throws(DatabaseError) {
        guard let value else {
            return try database.run(
                "DELETE FROM settings WHERE connection = ? AND name = ?", [.text(connection.text), .text(name)])
        }
        try database.run(
            "INSERT OR REPLACE INTO settings (connection, name, value) VALUES (?, ?, ?)",
            [.text(connection.text), .text(name), .blob(value)])
    }
}
