import Glibc
package import Vocabulary

/// Reads a journal, with or without a running bridge. It changes nothing, and ends each transaction soon.
///
/// Not `Sendable`: a reader serves one thread at a time.
package final class JournalReader {
    let database: Database

    /// `ofAnyVersion` also opens a journal of an earlier version, to copy it. Before other reads a bridge must migrate it.
    package init(directory: String, ofAnyVersion takesAny: Bool = false) throws(JournalFailure) {
        database = try JournalFile.openForReading(in: directory, ofAnyVersion: takesAny)
    }

    package func summary() throws(JournalFailure) -> JournalSummary {
        try reading { () throws(DatabaseError) in
            var connections: [JournalSummary.Connection] = []
            try database.rows(Self.connections) { row throws(DatabaseError) in
                connections.append(
                    .init(
                        name: ConnectionName(row.text(0)), openTurns: Int(row.integer(1)),
                        waitingTurns: Int(row.integer(2)), closedTurns: Int(row.integer(3)),
                        stops: Int(row.integer(4)), settings: Int(row.integer(5))))
            }
            let dead = try deadLetterRows()
            for index in connections.indices {
                connections[index].deadLetters = dead.count { $0.connection == connections[index].name }
            }
            let bytes = [database.path, database.path + "-wal"].map(Self.size).reduce(0, +)
            let version = Int(try database.integer("PRAGMA user_version") ?? 0)
            return JournalSummary(
                path: database.path, byteCount: bytes, version: version, connections: connections)
        }
    }

    /// Turns in ascending order. `open` filters them by state, `last` limits them to the newest.
    package func turns(open: Bool?, last: Int = .max) throws(JournalFailure) -> [TurnSummary] {
        let condition = open.map { "WHERE closed_at IS \($0 ? "" : "NOT ")NULL" } ?? ""
        return try reading { () throws(DatabaseError) in
            var turns: [TurnSummary] = []
            let query = "\(Self.turns) \(condition) ORDER BY number DESC LIMIT ?"
            try database.rows(query, [.number(last)]) { row throws(DatabaseError) in
                turns.append(
                    TurnSummary(
                        connection: ConnectionName(row.text(0)), turn: TurnID(row.text(1)),
                        session: row.optionalText(2).map { SessionID($0) },
                        interaction: row.optionalText(3).map { InteractionID($0) }, keptAt: row.integer(4),
                        closedAt: row.optionalInteger(5), outcome: row.optionalText(6), calls: Int(row.integer(7)),
                        undelivered: Int(row.integer(8))))
            }
            return turns.reversed()
        }
    }

    package func deadLetters() throws(JournalFailure) -> [DeadLetter] {
        try reading { () throws(DatabaseError) in try deadLetterRows() }
    }

    /// Faults of the file; empty if it is sound.
    package func verify() throws(JournalFailure) -> [String] {
        var faults: [String] = []
        do throws(DatabaseError) {
            try database.rows("PRAGMA integrity_check") { row throws(DatabaseError) in
                if row.text(0) != "ok" { faults.append(row.text(0)) }
            }
            try database.rows("PRAGMA foreign_key_check") { row throws(DatabaseError) in
                faults.append("row \(row.integer(1)) of \(row.text(0)) belongs to a row of \(row.text(2)) that is gone")
            }
            try database.rows(Self.crossed) { row throws(DatabaseError) in
                faults.append("turn \(row.text(0)) of \(row.text(1)) is closed and has a record, as an open one has")
            }
            try database.rows(Self.strayParts) { row throws(DatabaseError) in
                faults.append("part \(row.integer(1)) of turn number \(row.integer(0)) belongs to no open turn")
            }
            try database.rows(Self.missingParts) { row throws(DatabaseError) in
                faults.append("part \(row.integer(1)) of turn \(row.text(0)) is missing: its record cannot be read")
            }
            try database.rows(Self.missingRecords) { row throws(DatabaseError) in
                faults.append("turn \(row.text(0)) is open, and its record is missing")
            }
        } catch {
            // Corruption that stops the check is itself a finding; rethrow everything else.
            guard case .damaged = error.failure.code else { throw error.failure }
            faults.append(error.words)
        }
        return faults
    }

    // MARK: Within

    /// Runs the reads in one transaction, so that all rows are of one moment.
    func reading<Value>(_ body: () throws(DatabaseError) -> Value) throws(JournalFailure) -> Value {
        do throws(DatabaseError) {
            try database.run("BEGIN")
            defer { try? database.run("COMMIT") }
            return try body()
        } catch { throw error.failure }
    }

    private func deadLetterRows() throws(DatabaseError) -> [DeadLetter] {
        var letters: [DeadLetter] = []
        try database.rows(Self.dead) { row throws(DatabaseError) in
            letters.append(
                DeadLetter(
                    connection: ConnectionName(row.text(0)), turn: TurnID(row.text(1)),
                    key: IdempotencyKey(row.text(2)), path: row.text(3), tries: Int(row.integer(4)),
                    lastResult: row.text(5), lastTriedAt: row.integer(6)))
        }
        return letters
    }

    private static func size(_ path: String) -> Int {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : 0
    }

    private static let connections = """
        WITH names (connection) AS
            (SELECT connection FROM turns UNION SELECT connection FROM stops UNION SELECT connection FROM settings)
        SELECT connection,
            (SELECT count(*) FROM turns WHERE turns.connection = names.connection AND closed_at IS NULL),
            (SELECT count(*) FROM turns WHERE turns.connection = names.connection AND closed_at IS NULL
                AND record IS NULL AND EXISTS (SELECT 1 FROM messages WHERE turn = turns.number)),
            (SELECT count(*) FROM turns WHERE turns.connection = names.connection AND closed_at IS NOT NULL),
            (SELECT count(*) FROM stops WHERE stops.connection = names.connection),
            (SELECT count(*) FROM settings WHERE settings.connection = names.connection)
        FROM names ORDER BY connection
        """
    private static let turns = """
        SELECT connection, name,
            (SELECT session FROM messages WHERE turn = turns.number ORDER BY number LIMIT 1),
            (SELECT interaction FROM messages WHERE turn = turns.number ORDER BY number LIMIT 1),
            kept_at, closed_at, outcome,
            (SELECT count(*) FROM calls WHERE turn = turns.number),
            (SELECT count(*) FROM calls WHERE turn = turns.number AND delivered = 0)
        FROM turns
        """
    /// SQLite takes the bare columns from the row with the max().
    private static let dead = """
        SELECT turns.connection, turns.name, calls.key, calls.path, count(tries.number),
            coalesce(tries.result, 'its answer was never read'), coalesce(max(tries.tried_at), calls.kept_at)
        FROM calls JOIN turns ON turns.number = calls.turn
            LEFT JOIN tries ON tries.turn = calls.turn AND tries.key = calls.key
        WHERE calls.delivered = 0 AND calls.end_offset IS NULL AND calls.body IS NULL AND turns.closed_at IS NOT NULL
        GROUP BY calls.number ORDER BY calls.number
        """
    private static let crossed = """
        SELECT name, connection FROM turns WHERE closed_at IS NOT NULL AND record IS NOT NULL
        """
    private static let strayParts = """
        SELECT place >> \(Parts.bits), place & \(Parts.last) FROM parts LEFT JOIN turns ON turns.number = place >> \(Parts.bits)
        WHERE turns.number IS NULL OR closed_at IS NOT NULL OR parts.turn <> turns.number ORDER BY place
        """
    /// Gaps among a turn's parts. The number of parts is in the record alone, so a missing end goes unnoticed here.
    private static let missingParts = """
        SELECT name, (place & \(Parts.last)) - 1 FROM parts AS later JOIN turns ON turns.number = place >> \(Parts.bits)
        WHERE place & \(Parts.last) > 1 AND NOT EXISTS (SELECT 1 FROM parts WHERE place = later.place - 1) ORDER BY place
        """
    private static let missingRecords = """
        SELECT name FROM turns WHERE closed_at IS NULL AND record = x''
            AND NOT EXISTS (SELECT 1 FROM parts WHERE place = turns.number << \(Parts.bits)) ORDER BY number
        """
}
