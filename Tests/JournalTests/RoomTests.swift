import CSQLite
import FoundationEssentials
import Glibc
import Locking
import Testing
import Vocabulary

@testable import Journal

/// Room that a journal takes and returns.
@Suite("The room that a journal takes")
struct RoomTests {
    private let folder: JournalFolder

    init() throws { folder = try JournalFolder() }

    /// A turn as on the wire: an open, the deltas, the cards, an end.
    private func play(_ main: any TurnJournal, _ number: Int, deltas: Int, tools: Int = 0) throws {
        let turn = "int_4XWjqaxI85Y\(number)"
        _ = try main.take(Sample.message("msg_v8ZDuTPPxzKmc\(number)", turn: turn))
        let record = String(repeating: "r", count: 1_400)
        var entries = [
            Sample.turn(turn, record), .event(TurnID(turn), "handed over as run sophon-\(turn)", wall: folder.now),
        ]
        func call(_ key: String, _ name: String, bytes: Int, end: Int? = nil) {
            let body = String(repeating: "b", count: bytes)
            entries.append(.call(Sample.call(turn, key, body: body, name: name, end: end)))
            entries.append(Sample.tried(turn, key, request: "req_0123456789abcdef"))
        }
        call("\(turn)-open", #"{"post":"open"}"#, bytes: 200)
        for delta in 1...max(1, deltas) {
            call("\(turn)-d1-\(delta)", #"{"post":"text","n":\#(delta * 40)}"#, bytes: 140, end: delta * 40)
        }
        for tool in 0..<tools {
            let task = "call_FhiZj3BW_\(tool)"
            call("\(turn)-t-\(tool)-start", #"{"post":"task_started","task":"\#(task)"}"#, bytes: 400)
            call("\(turn)-t-\(tool)-end", #"{"post":"task_ended","task":"\#(task)"}"#, bytes: 4_000)
            for update in 0..<20 { entries.append(Sample.tried(turn, "\(turn)-t-\(tool)-u1x\(update)")) }
        }
        call("\(turn)-end", #"{"post":"end"}"#, bytes: 6_000)
        entries.append(Sample.turn(turn, record))
        #expect(try main.write(entries) == nil)
        #expect(try main.write([Sample.closed(turn, wall: folder.now)]) == nil)
    }

    private func used(_ journal: Journal) throws -> Int {
        journal.close()
        let database = try Database(path: folder.file, mode: .writing)
        let pages = try database.integer("PRAGMA page_count") ?? 0
        let free = try database.integer("PRAGMA freelist_count") ?? 0
        return Int((pages - free) * (try database.integer("PRAGMA page_size") ?? 0))
    }

    @Test("a closed turn leaves less than 3 KB", arguments: [(1, 0), (150, 0), (150, 2), (1_000, 0)])
    func closedTurn(deltas: Int, tools: Int) throws {
        let journal = try folder.open()
        let main = journal.connection(Sample.main)
        for number in 100..<200 { try play(main, number, deltas: deltas, tools: tools) }
        let bytes = try used(journal) / 100
        #expect(bytes < 3_000, "\(bytes) bytes a turn with \(deltas) deltas and \(tools) tools")
    }

    @Test("the file shrinks while it is open")
    func shrinks() throws {
        let journal = try folder.open()
        let main = journal.connection(Sample.main)
        // 16 MB in open turns, which are then closed and forgotten.
        let record = String(repeating: "x", count: 1 << 18)
        for number in 0..<64 { _ = try main.write([Sample.turn("t\(number)", record)]) }
        for number in 0..<64 { _ = try main.write([Sample.closed("t\(number)", wall: 1)]) }
        main.purge(before: 2)
        var bytes = Int.max
        // Each job makes the writer look for room to tidy.
        for _ in 0..<20_000 where bytes > 3 << 20 {
            _ = try main.write([.setting(name: "n", value: [1])])
            bytes = try FileManager.default.attributesOfItem(atPath: folder.file)[.size] as? Int ?? .max
        }
        #expect(bytes <= 3 << 20, "it has \(bytes) bytes")
        #expect(try JournalReader(directory: folder.path).verify().isEmpty)
    }

    @Test("a file that cannot give pages back is not tidied again and again")
    func withoutVacuum() throws {
        for (mode, expected) in [("NONE", false), ("INCREMENTAL", true)] {
            let path = "\(folder.path)/\(mode).db"
            try Data().write(to: URL(filePath: path))
            let database = try Database(path: path, mode: .writing)
            try database.script("PRAGMA auto_vacuum = \(mode); CREATE TABLE t (x BLOB)")
            try database.script("INSERT INTO t VALUES (zeroblob(8000000)); DELETE FROM t")
            #expect(Shrinking(database: database).isWorthwhile == expected)
        }
    }

    @Test("what nobody waits for is written once there is room, and before what comes after it")
    func triedAgain() throws {
        let isFull = Locked(false)
        let journal = try folder.open(
            JournalHooks(willCommit: { database, _ in
                try? database.script("PRAGMA query_only = \(isFull.withLock { $0 })")
            }))
        let main = journal.connection(Sample.main)
        _ = try main.write([
            Sample.turn("a"), .call(Sample.call("a", "k")), Sample.turn("b"), .call(Sample.call("b", "k")),
        ])
        isFull.withLock { $0 = true }
        main.submit([Sample.tried("a", "k")], .written, done: nil)
        main.submit([Sample.closed("b")], .written, done: nil)
        main.submit(
            [.stop(SessionID("ses_1"), InteractionID("int_9"), wall: folder.now)], .written, done: nil)
        #expect(try main.write([Sample.turn("c")])?.code == .readOnly)
        isFull.withLock { $0 = false }
        // The same interaction starts over: the close from before must not end it.
        #expect(try main.write([Sample.turn("b", "again")]) == nil)
        let contents = try main.load()
        #expect(contents.turns.map(\.id.text) == ["a", "b"])
        #expect(contents.turns.first?.calls.map(\.isDelivered) == [true])
        #expect(contents.stops.map(\.interaction.text) == ["int_9"])
    }

    @Test("what nobody waits for is written by itself, also when nothing else is handed in")
    func triedAgainAlone() throws {
        let refusals = Locked(2)
        let written = Locked(0)
        let journal = try folder.open(
            JournalHooks(
                willCommit: { database, _ in
                    let refuses = refusals.withLock { left in
                        defer { left = max(0, left - 1) }
                        return left > 0
                    }
                    written.withLock { $0 += refuses ? 0 : 1 }
                    try? database.script("PRAGMA query_only = \(refuses)")
                }, firstRetry: .milliseconds(1)))
        let main = journal.connection(Sample.main)
        main.submit([Sample.turn("a")], .written, done: nil)
        let deadline = ContinuousClock().now + .seconds(20)
        while written.withLock({ $0 }) == 0, ContinuousClock().now < deadline { sched_yield() }
        #expect(refusals.withLock { $0 } == 0)
        #expect(try main.load().turns.map(\.id.text) == ["a"])
    }

    @Test("what was forgotten is forgotten where the file then finds no room to shrink, and the remedy is told")
    func withoutRoom() throws {
        let journal = try folder.open()
        let main = journal.connection(Sample.main)
        for number in 0..<8 { _ = try main.write([Sample.turn("t\(number)", String(repeating: "x", count: 10_000))]) }
        journal.close()
        // Neither a file that may not grow nor a full disk has room for the copy.
        let outcome = try JournalCleaning.forget(Sample.main, directory: folder.path) {
            database, _ throws(DatabaseError) in
            try database.script(
                "PRAGMA max_page_count = 1; CREATE TABLE copy (x); INSERT INTO copy VALUES (zeroblob(9000000))")
        }
        #expect(outcome.turns == 8)
        #expect(outcome.remedy?.contains("make room") == true)
        #expect(try JournalReader(directory: folder.path).summary().connections.isEmpty)
    }

    @Test("a damaged file is no want of room")
    func damaged() throws {
        let journal = try folder.open()
        _ = try journal.connection(Sample.main).write([Sample.turn("t", "text")])
        journal.close()
        let failure = #expect(throws: JournalFailure.self) {
            try JournalCleaning.forget(Sample.main, directory: folder.path) { database, _ throws(DatabaseError) in
                throw DatabaseError(code: SQLITE_CORRUPT, words: "malformed", path: database.path)
            }
        }
        #expect(failure?.code == .damaged)
    }
}
