package import Vocabulary

extension JournalReader {
    /// The turns named by an id: of a message, an interaction, a turn, an update, a call's key, a request, a task, an
    /// approval or a run. For the last three the search covers the names of calls, the words of events and, while the
    /// turn is open, its record.
    package func life(of id: String) throws(JournalFailure) -> [TurnLife] {
        guard !id.isEmpty else { return [] }
        return try reading { () throws(DatabaseError) in
            var numbers: [Int64] = []
            let quoted = Array(JSONText.string(id).text.utf8)
            try database.rows(Self.named, [.text(id), .blob(quoted)]) { row throws(DatabaseError) in
                numbers.append(row.integer(0))
            }
            var lives: [TurnLife] = []
            for number in numbers { if let life = try life(number) { lives.append(life) } }
            return lives
        }
    }

    /// The search in JSON includes the quotation marks, so that an id does not match a longer one.
    private static let named = """
        SELECT number FROM turns WHERE name = ?1 OR instr(record, ?2) > 0
        UNION SELECT turn FROM parts WHERE instr(content, ?2) > 0
        UNION SELECT turn FROM messages
            WHERE message = ?1 OR interaction = ?1 OR update_name = ?1 OR instr(opening, ?2) > 0
        UNION SELECT turn FROM calls WHERE key = ?1 OR request = ?1 OR instr(name, ?2) > 0
        UNION SELECT turn FROM tries WHERE request = ?1 OR key = ?1
        UNION SELECT turn FROM events WHERE instr(' ' || words || ' ', ' ' || ?1 || ' ') > 0
        ORDER BY 1
        """

    private func life(_ number: Int64) throws(DatabaseError) -> TurnLife? {
        var life: TurnLife?
        let turn: [Database.Value] = [.integer(number)]
        try database.rows(
            "SELECT connection, name, kept_at, closed_at, outcome FROM turns WHERE number = ?", turn
        ) { row throws(DatabaseError) in
            life = TurnLife(
                connection: ConnectionName(row.text(0)), turn: TurnID(row.text(1)), keptAt: row.integer(2),
                closedAt: row.optionalInteger(3), outcome: row.optionalText(4))
        }
        try database.rows(
            """
            SELECT message, update_name, session, interaction, received_at FROM messages WHERE turn = ? ORDER BY number
            """, turn
        ) { row throws(DatabaseError) in
            life?.messages.append(
                .init(
                    message: MessageID(row.text(0)), update: UpdateID(row.text(1)), session: SessionID(row.text(2)),
                    interaction: row.optionalText(3).map { InteractionID($0) }, receivedAt: row.integer(4)))
        }
        try database.rows(
            "SELECT words, happened_at FROM events WHERE turn = ? ORDER BY number", turn
        ) { row throws(DatabaseError) in
            life?.events.append(.init(words: row.text(0), wall: row.integer(1)))
        }
        try database.rows(
            "SELECT kind, calls, bytes, retries, result, first_at, last_at FROM folds WHERE turn = ? ORDER BY first_at",
            turn
        ) { row throws(DatabaseError) in
            life?.folds.append(
                .init(
                    kind: row.text(0), calls: Int(row.integer(1)), bytes: Int(row.integer(2)),
                    retries: Int(row.integer(3)), lastResult: row.text(4), firstAt: row.integer(5),
                    lastAt: row.integer(6)))
        }
        life?.calls = try calls(of: turn)
        return life
    }

    private func calls(of turn: [Database.Value]) throws(DatabaseError) -> [TurnLife.Call] {
        var calls: [TurnLife.Call] = []
        var places: [String: Int] = [:]
        try database.rows(
            """
            SELECT key, name, path, kept_at, end_offset, delivered, tried_at, result, request, milliseconds FROM calls
            WHERE turn = ? ORDER BY number
            """, turn
        ) { row throws(DatabaseError) in
            places[row.text(0)] = calls.count
            let only = row.optionalInteger(6).map { triedAt in
                TurnLife.Try(
                    attempt: 1, result: row.text(7), isDelivered: true,
                    request: row.optionalText(8).map { RequestID($0) }, milliseconds: Int(row.integer(9)),
                    wall: triedAt)
            }
            calls.append(
                .init(
                    key: IdempotencyKey(row.text(0)), name: row.text(1), path: row.text(2), keptAt: row.integer(3),
                    endOffset: row.optionalInteger(4).map { Int($0) }, isDelivered: row.integer(5) != 0,
                    tries: only.map { [$0] } ?? []))
        }
        try database.rows(
            """
            SELECT key, attempt, result, delivered, request, milliseconds, tried_at FROM tries
            WHERE turn = ? ORDER BY number
            """, turn
        ) { row throws(DatabaseError) in
            let key = row.text(0)
            let place = places[key] ?? calls.count
            if place == calls.count {
                places[key] = place
                calls.append(.init(key: IdempotencyKey(key), isDelivered: false, tries: []))
            }
            if row.integer(3) != 0 { calls[place].isDelivered = true }
            calls[place].tries.append(
                .init(
                    attempt: Int(row.integer(1)), result: row.text(2), isDelivered: row.integer(3) != 0,
                    request: row.optionalText(4).map { RequestID($0) }, milliseconds: Int(row.integer(5)),
                    wall: row.integer(6)))
        }
        return calls
    }
}
