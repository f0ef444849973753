import Vocabulary

/// Folds the pieces of text of a closed turn into one row, and the progress of its tools into another. Together they
/// are most of a turn's rows, and single ones are of no use afterwards.
struct Folding {
    let database: Database

    /// Turns per step, for turns closed by a version that did not fold.
    static let turnsInStep = 20

    private static let text = "key IN (SELECT key FROM calls WHERE turn = ?1 AND end_offset IS NOT NULL)"
    /// Progress calls are not stored; their tries alone show that they were made.
    private static let progress = "key NOT IN (SELECT key FROM calls WHERE turn = ?1)"

    func fold(_ turn: Int64) throws(DatabaseError) {
        var (calls, bytes): (Int64, Int64) = (0, 0)
        try database.rows(
            "SELECT count(*), coalesce(max(end_offset), 0) FROM calls WHERE turn = ?1 AND end_offset IS NOT NULL",
            [.integer(turn)]
        ) { row throws(DatabaseError) in (calls, bytes) = (row.integer(0), row.integer(1)) }
        try fold(turn, "progress", Self.progress, calls: nil, bytes: 0)
        if calls > 0 {
            // Tries stored in the rows of their calls count like those with rows of their own.
            try database.run(
                """
                INSERT INTO tries (turn, key, attempt, result, delivered, request, milliseconds, tried_at)
                SELECT turn, key, 1, result, 1, request, milliseconds, tried_at FROM calls
                WHERE turn = ?1 AND end_offset IS NOT NULL AND tried_at IS NOT NULL ORDER BY tried_at, number
                """, [.integer(turn)])
            try fold(turn, "text", Self.text, calls: calls, bytes: bytes)
            try database.run("DELETE FROM calls WHERE turn = ?1 AND end_offset IS NOT NULL", [.integer(turn)])
        }
        try moveSingleTries(turn)
    }

    /// Most calls are tried once. Moving the try to the row of its call saves a row and a second copy of the key.
    private func moveSingleTries(_ turn: Int64) throws(DatabaseError) {
        try database.run(
            """
            UPDATE calls SET result = once.result, request = once.request, milliseconds = once.milliseconds,
                tried_at = once.tried_at
            FROM (SELECT key, result, request, milliseconds, tried_at FROM tries WHERE turn = ?1
                GROUP BY key HAVING count(*) = 1 AND attempt = 1) AS once
            WHERE calls.turn = ?1 AND calls.key = once.key AND calls.delivered = 1 AND calls.tried_at IS NULL
            """, [.integer(turn)])
        guard database.changes > 0 else { return }
        try database.run(
            """
            DELETE FROM tries WHERE turn = ?1 AND attempt = 1
                AND EXISTS (SELECT 1 FROM calls WHERE calls.turn = ?1 AND calls.key = tries.key
                    AND calls.tried_at = tries.tried_at AND calls.milliseconds = tries.milliseconds)
            """, [.integer(turn)])
    }

    /// Rewrites the turn's calls without their bodies. A row that merely becomes shorter stays in its page, so the
    /// pages would hold no more rows than before. Afterwards the calls of closed turns are in the order of the closes.
    func compact(_ turn: Int64) throws(DatabaseError) {
        let columns = """
            turn, key, name, path, end_offset, kept_at, delivered, result, request, milliseconds, tried_at
            """
        var calls: [[Database.Value]] = []
        try database.rows("SELECT \(columns) FROM calls WHERE turn = ? ORDER BY number", [.integer(turn)]) {
            row throws(DatabaseError) in
            calls.append((0..<row.count).map { row.value($0) })
        }
        try database.run("DELETE FROM calls WHERE turn = ?", [.integer(turn)])
        for call in calls {
            try database.run("INSERT INTO calls (\(columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", call)
        }
    }

    /// `calls` is the number of folded calls, or nil to count those with tries.
    private func fold(
        _ turn: Int64, _ kind: String, _ chosen: String, calls: Int64?, bytes: Int64
    ) throws(DatabaseError) {
        var (tries, tried, first): (Int64, Int64, Int64) = (0, 0, 0)
        try database.rows(
            "SELECT count(*), count(DISTINCT key), coalesce(min(tried_at), 0) FROM tries WHERE turn = ?1 AND \(chosen)",
            [.integer(turn)]
        ) { row throws(DatabaseError) in (tries, tried, first) = (row.integer(0), row.integer(1), row.integer(2)) }
        guard tries > 0 else { return }
        var last: Int64 = 0
        var result = ""
        try database.rows(
            "SELECT tried_at, result FROM tries WHERE turn = ?1 AND \(chosen) ORDER BY tried_at DESC, number DESC LIMIT 1",
            [.integer(turn)]
        ) { row throws(DatabaseError) in (last, result) = (row.integer(0), row.text(1)) }
        // A turn that was reopened adds to its earlier folds.
        try database.run(
            """
            INSERT INTO folds (turn, kind, calls, bytes, retries, result, first_at, last_at)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (turn, kind) DO UPDATE SET calls = calls + excluded.calls, bytes = bytes + excluded.bytes,
                retries = retries + excluded.retries, result = excluded.result, last_at = excluded.last_at
            """,
            [
                .integer(turn), .text(kind), .integer(calls ?? tried), .integer(bytes), .integer(tries - tried),
                .text(result), .integer(first), .integer(last),
            ])
        try database.run("DELETE FROM tries WHERE turn = ?1 AND \(chosen)", [.integer(turn)])
    }

    // MARK: Turns from before

    /// Greatest number among the turns still to fold, or nil if there are none.
    func unfolded() throws(DatabaseError) -> Int64? {
        try database.integer("SELECT value FROM meta WHERE name = 'unfolded' AND value > 0")
    }

    func foldOld(upTo greatest: Int64) throws(DatabaseError) {
        var turns: [(number: Int64, isClosed: Bool)] = []
        try database.rows(
            "SELECT number, closed_at IS NOT NULL FROM turns WHERE number <= ? ORDER BY number DESC LIMIT ?",
            [.integer(greatest), .number(Self.turnsInStep)]
        ) { row throws(DatabaseError) in turns.append((row.integer(0), row.integer(1) != 0)) }
        for turn in turns where turn.isClosed { try fold(turn.number) }
        let left = turns.count < Self.turnsInStep ? 0 : (turns.last?.number ?? 1) - 1
        try database.run("UPDATE meta SET value = ? WHERE name = 'unfolded'", [.integer(left)])
    }
}
