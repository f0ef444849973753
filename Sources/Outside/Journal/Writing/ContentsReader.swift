import Vocabulary

/// Row ids of a turn's parts: adjacent, and in order.
enum Parts {
    static let bits: Int64 = 20

    static let last: Int64 = 1 << bits - 1

    /// A part holds about a kilobyte, so memory runs out long before a turn's places do. The masks keep any number from
    /// a damaged file from trapping, or from reaching another turn's parts.
    static func place(of part: Int64, in turn: Int64) -> Int64 { turn &<< bits | part & last }

    /// First and last place of a turn.
    static func places(of turn: Int64) -> [Database.Value] {
        [.integer(place(of: 0, in: turn)), .integer(place(of: last, in: turn))]
    }
}

/// Reads the rows that a start continues from. Each query has an index, so that no closed turn is read.
struct ContentsReader {
    let database: Database
    let connection: ConnectionName

    static let openTurns = """
        SELECT number, name, coalesce((SELECT content FROM parts WHERE place = turns.number << \(Parts.bits)), record),
            session, interaction, bubble FROM turns
        WHERE connection = ? AND closed_at IS NULL AND record IS NOT NULL ORDER BY number
        """
    static let partsOfTurn = "SELECT place, content FROM parts WHERE place BETWEEN ? AND ? ORDER BY place"
    static let callsOfTurn = """
        SELECT key, name, path, body, end_offset, kept_at, delivered FROM calls WHERE turn = ? ORDER BY number
        """
    /// CROSS JOIN keeps SQLite from beginning with `messages`.
    static let acceptedOpenings = """
        SELECT turns.name, messages.opening, messages.session, messages.interaction FROM turns CROSS JOIN messages ON messages.turn = turns.number
        WHERE turns.connection = ? AND turns.closed_at IS NULL AND turns.record IS NULL AND messages.opening IS NOT NULL
        ORDER BY turns.number, messages.number
        """
    static let stops = """
        SELECT session, interaction, made, own_runs_alone FROM stops
        WHERE connection = ?1 AND (asked_at >= ?2 OR interaction IN (\(EntryWriter.unbegun))) ORDER BY asked_at
        """
    /// Cards of closed turns too; the newest, and no more than a bridge remembers.
    static let cards = """
        SELECT turns.name, calls.name FROM calls INDEXED BY cards JOIN turns ON turns.number = calls.turn
        WHERE calls.path = '/v1/bridge/createTask' AND turns.connection = ? ORDER BY calls.number DESC LIMIT 4096
        """
    /// Marks of envelopes are not loaded: `EntryWriter` looks each up when its message comes.
    static let isMark = "name >= '\(AcceptedMessage.markPrefix)' AND name < 'replay;'"
    static let settings = "SELECT name, value FROM settings WHERE connection = ? AND NOT (\(isMark))"

    func read(now: Int64) throws(DatabaseError) -> JournalContents {
        var contents = JournalContents()
        let name: [Database.Value] = [.text(connection.text)]
        var numbers: [Int64] = []
        try database.rows(Self.openTurns, name) { row throws(DatabaseError) in
            numbers.append(row.integer(0))
            let place = row.optionalText(3).map { session in
                TurnPlace(
                    session: SessionID(session), interaction: row.optionalText(4).map { InteractionID($0) },
                    bubble: row.optionalText(5).map { MessageID($0) })
            }
            contents.turns.append(.init(id: TurnID(row.text(1)), record: row.bytes(2), calls: [], place: place))
        }
        for (index, number) in numbers.enumerated() {
            contents.turns[index].calls = try calls(of: number, contents.turns[index].id)
            contents.turns[index].parts = try parts(of: number)
        }
        try database.rows(Self.acceptedOpenings, name) { row throws(DatabaseError) in
            contents.accepted.append(
                .init(
                    turn: TurnID(row.text(0)), opening: row.bytes(1), session: SessionID(row.text(2)),
                    interaction: row.optionalText(3).map { InteractionID($0) }))
        }
        let oldest = now - EntryWriter.stopMilliseconds
        try database.rows(Self.stops, name + [.integer(oldest)]) { row throws(DatabaseError) in
            contents.stops.append(
                .init(
                    session: SessionID(row.text(0)), interaction: InteractionID(row.text(1)),
                    made: row.optionalInteger(2), reach: row.optionalInteger(3) == 1 ? .ownRuns : .everyRun))
        }
        try database.rows(Self.cards, name) { row throws(DatabaseError) in
            contents.cards.append(.init(turn: TurnID(row.text(0)), name: row.bytes(1)))
        }
        contents.cards.reverse()
        try database.rows(Self.settings, name) { row throws(DatabaseError) in
            contents.settings[row.text(0)] = row.bytes(1)
        }
        return contents
    }

    /// Parts without the record, up to the first gap.
    private func parts(of turn: Int64) throws(DatabaseError) -> [[UInt8]] {
        var parts: [[UInt8]] = []
        try database.rows(Self.partsOfTurn, Parts.places(of: turn)) { row throws(DatabaseError) in
            if row.integer(0) == Parts.place(of: Int64(parts.count + 1), in: turn) { parts.append(row.bytes(1)) }
        }
        return parts
    }

    private func calls(of number: Int64, _ turn: TurnID) throws(DatabaseError) -> [JournalContents.Call] {
        var calls: [JournalContents.Call] = []
        try database.rows(Self.callsOfTurn, [.integer(number)]) { row throws(DatabaseError) in
            let call = StoredCall(
                turn: turn, key: IdempotencyKey(row.text(0)), name: row.bytes(1), path: row.text(2),
                body: row.bytes(3), endOffset: row.optionalInteger(4).map { Int($0) }, wall: row.integer(5))
            calls.append(.init(call: call, isDelivered: row.integer(6) != 0))
        }
        return calls
    }
}
