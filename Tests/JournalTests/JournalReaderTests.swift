import FoundationEssentials
import Testing
import Vocabulary
import WireTesting

@testable import Journal

@Suite("Looking into the journal")
struct JournalReaderTests {
    private let folder: JournalFolder
    private let journal: Journal

    init() throws {
        folder = try JournalFolder()
        journal = try folder.open()
        let main = journal.connection(Sample.main)
        _ = try main.take(Sample.message("msg_1", turn: "int_1"))
        _ = try main.write([
            Sample.turn("int_1", #"{"run":"run-7"}"#), .event(TurnID("int_1"), "handed over", wall: 5),
            .call(Sample.call("int_1", "int_1-open")),
            .call(Sample.call("int_1", "int_1-a-x", name: #"{"approval":{"_0":"appr-1"}}"#)),
            Sample.tried("int_1", "int_1-open", result: "timeout", wall: 6),
            Sample.tried("int_1", "int_1-open", attempt: 2, request: "req-2", wall: 7),
            Sample.tried("int_1", "int_1-t-1-u1", wall: 8),
        ])
        _ = try main.write([
            Sample.turn("int_2"), .call(Sample.call("int_2", "int_2-end", name: #"{"end":{}}"#)),
            .call(Sample.call("int_2", "int_2-d1-1", name: #"{"text":{"endOffset":3}}"#, end: 3)),
            Sample.tried("int_2", "int_2-end", result: "http_500", wall: 1),
            Sample.tried("int_2", "int_2-end", attempt: 2, result: "http_503", wall: 2),
            Sample.tried("int_2", "int_2-d1-1", result: "http_500"), .event(TurnID("int_2"), "run run-8", wall: 3),
            Sample.closed("int_2", wall: 9),
        ])
    }

    @Test("the summary counts by connection")
    func summary() throws {
        let summary = try JournalReader(directory: folder.path).summary()
        #expect(
            summary.connections == [
                .init(name: Sample.main, openTurns: 1, closedTurns: 1, deadLetters: 1)
            ])
        #expect(summary.byteCount > 0)
    }

    @Test("turns are listed, all of them or by whether they are open")
    func turns() throws {
        let reader = try JournalReader(directory: folder.path)
        #expect(try reader.turns(open: nil).map(\.turn.text) == ["int_1", "int_2"])
        #expect(try reader.turns(open: true).map(\.undelivered) == [1])
        #expect(try reader.turns(open: true).map(\.session?.text) == ["ses_1"])
        #expect(try reader.turns(open: false).map(\.outcome) == ["finished"])
    }

    @Test(
        "a turn is found by whatever names it",
        arguments: [
            ("int_1", ["int_1"]), ("msg_1", ["int_1"]), ("u-msg_1", ["int_1"]), ("appr-1", ["int_1"]),
            ("req-2", ["int_1"]), ("int_1-open", ["int_1"]), ("run-7", ["int_1"]), ("run-8", ["int_2"]),
            ("int_", []), ("appr", []), ("run-", []), ("", []), ("%", []),
        ])
    func found(id: String, turns: [String]) throws {
        #expect(try JournalReader(directory: folder.path).life(of: id).map(\.turn.text) == turns)
    }

    @Test("a life tells messages, events and each call with its tries, kept or not")
    func life() throws {
        let life = try #require(try JournalReader(directory: folder.path).life(of: "int_1").first)
        #expect(life.messages.map(\.message.text) == ["msg_1"])
        #expect(life.events == [.init(words: "handed over", wall: 5)])
        #expect(life.calls.map(\.key.text) == ["int_1-open", "int_1-a-x", "int_1-t-1-u1"])
        #expect(life.calls.map(\.isDelivered) == [true, false, true])
        #expect(life.calls[0].tries.map(\.result) == ["timeout", "delivered"])
        #expect(life.calls[0].tries[1].request == RequestID("req-2"))
        #expect(life.calls[2].name == nil)
    }

    @Test("dead letters are calls that were given up, but no pieces of text")
    func deadLetters() throws {
        let letters = try JournalReader(directory: folder.path).deadLetters()
        #expect(letters.map(\.key.text) == ["int_2-end"])
        #expect(letters.first?.lastResult == "http_503")
        #expect(letters.first?.tries == 2)
    }

    @Test("it works when the bridge has ended, and makes no journal where there is none")
    func withoutBridge() throws {
        journal.close()
        #expect(try JournalReader(directory: folder.path).turns(open: true).count == 1)
        let empty = try JournalFolder()
        #expect(throws: JournalFailure.self) { try JournalReader(directory: empty.path) }
        #expect(empty.mode(empty.file) == 0)
    }

    @Test("a path with signs that mean something in an address is only a path")
    func oddPath() throws {
        let odd = folder.path + "/a?mode=rw#b%20ü"
        let journal = try Journal.open(directory: odd, wall: { 0 })
        _ = try journal.connection(Sample.main).write([Sample.turn("a")])
        #expect(try JournalReader(directory: odd).turns(open: nil).count == 1)
    }

    @Test("it sees only whole jobs while the bridge writes, and cannot write itself")
    func duringWrites() throws {
        let reader = try JournalReader(directory: folder.path)
        let main = journal.connection(Sample.main)
        let written = Queue<Void>()
        for number in 0..<200 {
            let turn = "w\(number)"
            main.submit([Sample.turn(turn), .call(Sample.call(turn, "k"))], .written) { _ in written.put(()) }
            let turns = try reader.turns(open: true).filter { $0.turn.text.hasPrefix("w") }
            #expect(turns.allSatisfy { $0.calls == 1 })
        }
        for _ in 0..<200 { try written.next() }
        #expect(try reader.turns(open: true).count == 201)
        #expect(throws: DatabaseError.self) { try reader.database.script("DELETE FROM turns") }
        #expect(throws: DatabaseError.self) { try reader.database.checkpoint(truncating: true) }
    }

    @Test("verify finds damage and rows that belong to nothing")
    func verify() throws {
        #expect(try JournalReader(directory: folder.path).verify().isEmpty)
        journal.close()
        let database = try Database(path: folder.file, mode: .writing)
        try database.script("DELETE FROM turns WHERE name = 'int_2'; UPDATE turns SET closed_at = 1;")
        let faults = try JournalReader(directory: folder.path).verify()
        #expect(faults.contains { $0.contains("calls") })
        #expect(faults.contains { $0.contains("int_1") })
    }

    @Test("verify finds parts of a turn that is gone or closed, and a part that is missing")
    func verifyParts() throws {
        journal.close()
        let database = try Database(path: folder.file, mode: .writing)
        let turn = try #require(try database.integer("SELECT number FROM turns WHERE name = 'int_1'"))
        try database.script("UPDATE turns SET closed_at = NULL; DELETE FROM parts")
        for (place, owner) in [(turn << 20, turn), (turn << 20 | 1, turn), (turn << 20 | 2, turn), (900 << 20, 900)] {
            try database.run(
                "INSERT INTO parts VALUES (?, ?, x'00')", [.integer(place), .integer(owner)])
        }
        let reader = try JournalReader(directory: folder.path)
        #expect(try reader.verify() == ["part 0 of turn number 900 belongs to no open turn"])
        try database.script("DELETE FROM parts WHERE turn = 900 OR place = \(turn << 20 | 1)")
        #expect(try reader.verify() == ["part 1 of turn int_1 is missing: its record cannot be read"])
        try database.script("DELETE FROM parts; UPDATE turns SET record = x'' WHERE number = \(turn)")
        #expect(try reader.verify() == ["turn int_1 is open, and its record is missing"])
        for place in [turn << 20, turn << 20 | 1] {
            try database.run("INSERT INTO parts VALUES (?, ?, x'00')", [.integer(place), .integer(turn)])
        }
        try database.script("UPDATE turns SET closed_at = 1, record = NULL WHERE number = \(turn)")
        #expect(try reader.verify().filter { $0.contains("belongs to no open turn") }.count == 2)
    }

    @Test("an export that nobody reads holds back neither the writer nor its log, and has each row once")
    func exportInPages() throws {
        let connection = journal.connection(Sample.main)
        for number in 0..<120 {
            _ = try connection.write([.setting(name: "name \(number)", value: [UInt8(number)])])
        }
        var names: [String] = []
        var isEmptied = false
        let writer = try Database(path: folder.file, mode: .writing)
        try JournalReader(directory: folder.path).export { line in
            if line.contains(#""name":"name "#) { names.append(line) }
            guard names.count == 60, !isEmptied else { return }
            // Within the second page: a busy reader would leave frames in the log.
            isEmptied = (try? writer.integer("PRAGMA wal_checkpoint(TRUNCATE)")) == 0
        }
        #expect(isEmptied)
        #expect(names.count == 120 && Set(names).count == 120)
    }

    @Test("every row is exported as a JSON object")
    func export() throws {
        struct Line: Decodable { var table: String }
        _ = try journal.connection(Sample.main).write([.setting(name: "bytes", value: [0xFF])])
        var lines: [String] = []
        try JournalReader(directory: folder.path).export { lines.append($0) }
        let tables = try lines.map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)).table }
        #expect(
            Set(tables) == ["meta", "turns", "parts", "messages", "calls", "tries", "events", "settings", "folds"])
        #expect(lines.contains { $0.contains(#"{"base64":"/w=="}"#) })
    }
}
