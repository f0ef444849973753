import Testing
import Vocabulary

@testable import Journal

@Suite("Forgetting")
struct PurgeTests {
    private let folder: JournalFolder
    private let journal: Journal
    private let main: any TurnJournal

    init() throws {
        folder = try JournalFolder()
        journal = try folder.open()
        main = journal.connection(Sample.main)
    }

    private func turns() throws -> [String] {
        try JournalReader(directory: folder.path).turns(open: nil).map(\.turn.text)
    }

    @Test("what was closed before goes with all that belongs to it; what is open or closed later stays")
    func purge() throws {
        let count = 3 * Purge.turnsInStep + 1
        for number in 0..<count {
            let turn = "old\(number)"
            _ = try main.take(Sample.message("m\(number)", turn: turn))
            _ = try main.write([
                Sample.turn(turn), .call(Sample.call(turn, "k")), Sample.tried(turn, "k"),
                .event(TurnID(turn), "words", wall: 1), Sample.closed(turn, wall: 1_000),
            ])
        }
        _ = try main.write([Sample.turn("open"), Sample.turn("later"), Sample.closed("later", wall: 2_000)])
        _ = try main.write([.event(TurnID("stray"), "words", wall: 1)])
        let other = journal.connection(ConnectionName("other"))
        _ = try other.write([Sample.turn("foreign"), Sample.closed("foreign", wall: 1_000)])
        main.purge(before: 2_000)
        // Closing waits for the queue, so some steps of the purge may be done. The next purge does the rest.
        journal.close()
        let again = try folder.open()
        again.connection(Sample.main).purge(before: 2_000)
        let outcome = try purged(again)
        #expect(outcome == ["open", "later", "stray", "foreign"])
        #expect(try again.connection(Sample.main).take(Sample.message("m0", turn: "new")) == .success(.fresh))
        var lines: [String] = []
        try JournalReader(directory: folder.path).export { lines.append($0) }
        #expect(lines.filter { $0.contains(#""table":"calls""#) }.isEmpty)
    }

    @Test("marks of envelopes go with their messages, and are not loaded")
    func marks() throws {
        let other = journal.connection(ConnectionName("other"))
        for number in 0..<450 {
            _ = try main.take(Sample.message("m\(number)", turn: "t\(number)", wall: 1_000, mark: "old\(number)"))
        }
        _ = try main.take(Sample.message("new", turn: "new", wall: 2_000, mark: "new"))
        _ = try other.take(Sample.message("m", turn: "t", wall: 1_000, mark: "foreign"))
        _ = try main.write([.setting(name: "replay", value: Array("kept".utf8))])
        #expect(try main.load().settings.keys.sorted() == ["replay"])
        main.purge(before: 2_000)
        let probe = journal.connection(ConnectionName("probe"))
        func names() throws -> [String] { try JournalReader(directory: folder.path).settings().map(\.name) }
        for _ in 0..<1_000 {
            _ = try probe.write([])
            if try names().count <= 3 { break }
        }
        #expect(try names().sorted() == ["replay", "replay:foreign", "replay:new"])
    }

    /// Jobs go first, so each one lets at most one further step of the purge pass.
    private func purged(_ journal: Journal) throws -> [String] {
        let probe = journal.connection(ConnectionName("probe"))
        for _ in 0..<1_000 {
            _ = try probe.write([])
            let left = try turns()
            if left.count <= 4 { return left }
        }
        return try turns()
    }

    @Test("turns that never had a message or a record are forgotten too")
    func strays() throws {
        _ = try main.write([.event(TurnID("stray"), "words", wall: 1)])
        _ = try main.take(Sample.message("m", turn: "waiting"))
        journal.close()
        let outcome = try JournalCleaning.clean(directory: folder.path, before: folder.now + 1, now: folder.now)
        #expect(outcome.turnsForgotten == 1)
        #expect(try turns() == ["waiting"])
    }

    @Test("a stop is forgotten with its time, but for one whose message was taken and not begun")
    func stops() throws {
        _ = try main.take(Sample.message("m", turn: "waiting"))
        let names = ["waiting", "other"].map { InteractionID($0) }
        _ = try main.write(names.map { .stop(SessionID("ses_1"), $0, wall: folder.now) }, .synced)
        journal.close()
        folder.pass(minutes: 31)
        _ = try JournalCleaning.clean(directory: folder.path, before: 0, now: folder.now)
        #expect(try folder.open().connection(Sample.main).load().stops.map(\.interaction.text) == ["waiting"])
    }

    @Test("cleaning gives the room back")
    func cleaning() throws {
        let record = String(repeating: "x", count: 1 << 20)
        _ = try main.write([Sample.turn("a", record), Sample.turn("b")])
        _ = try main.write([Sample.closed("a", wall: 1)])
        journal.close()
        let outcome = try JournalCleaning.clean(directory: folder.path, before: 2, now: folder.now)
        #expect(outcome.turnsForgotten == 1)
        #expect(outcome.bytesAfter < outcome.bytesBefore / 2)
        #expect(try turns() == ["b"])
        #expect(try JournalReader(directory: folder.path).verify().isEmpty)
    }

    @Test("cleaning makes no journal where there is none")
    func cleaningNothing() throws {
        let empty = try JournalFolder()
        #expect(throws: JournalFailure.self) {
            try JournalCleaning.clean(directory: empty.path, before: 2, now: 3)
        }
        #expect(empty.mode(empty.file) == 0)
    }
}
