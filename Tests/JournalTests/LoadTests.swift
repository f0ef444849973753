import Testing
import Vocabulary

@testable import Journal

@Suite("Loading from a large journal")
struct LoadTests {
    private static let queries = [
        ContentsReader.openTurns, ContentsReader.callsOfTurn, ContentsReader.acceptedOpenings, ContentsReader.stops,
        ContentsReader.settings,
    ]

    @Test("100,000 closed turns are never looked at")
    func manyClosed() throws {
        let folder = try JournalFolder()
        try folder.open().close()
        let database = try Database(path: folder.file, mode: .writing)
        try database.script(
            """
            BEGIN;
            WITH RECURSIVE count (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM count WHERE n < 100000)
            INSERT INTO turns (number, connection, name, kept_at, closed_at, outcome)
                SELECT n, 'main', 'old' || n, n, n, 'finished' FROM count;
            INSERT INTO messages (connection, message, update_name, turn, session, received_at)
                SELECT 'main', 'm' || number, 'u', number, 's', number FROM turns;
            INSERT INTO calls (turn, key, name, path, kept_at, delivered)
                SELECT number, 'k', '{}', '/', number, 1 FROM turns;
            COMMIT;
            """)
        for query in Self.queries {
            var plan: [String] = []
            try database.rows("EXPLAIN QUERY PLAN " + query) { row throws(DatabaseError) in plan.append(row.text(3)) }
            #expect(!plan.isEmpty)
            for step in plan { #expect(!step.hasPrefix("SCAN"), "\(step) in \(query)") }
        }
        // The index of open turns serves this, and no index that also has the closed ones.
        var first: [String] = []
        for query in [ContentsReader.openTurns, ContentsReader.acceptedOpenings] {
            try database.rows("EXPLAIN QUERY PLAN " + query) { row throws(DatabaseError) in first.append(row.text(3)) }
        }
        #expect(first.filter { $0.contains("open_turns") }.count == 2, "\(first)")

        let main = try folder.open().connection(Sample.main)
        _ = try main.write([Sample.turn("new"), .call(Sample.call("new", "k"))])
        #expect(try main.load().turns.map(\.id.text) == ["new"])
    }
}
