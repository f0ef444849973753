import Locking
import Testing
import Vocabulary

@testable import Journal

@Suite("What a connection keeps")
struct ConnectionJournalTests {
    private let folder: JournalFolder
    private let journal: Journal
    private let main: any TurnJournal

    init() throws {
        folder = try JournalFolder()
        journal = try folder.open()
        main = journal.connection(Sample.main)
    }

    @Test("open turns come back in the order they were first kept, with their newest record and calls in order")
    func turns() throws {
        let first = Sample.call("a", "a-open")
        let second = Sample.call("a", "a-d1-1", name: #"{"text":{"endOffset":5}}"#, end: 5)
        #expect(try main.write([Sample.turn("b", "1"), Sample.turn("a", "2"), .call(first), .call(second)]) == nil)
        #expect(try main.write([Sample.tried("a", "a-open", result: "timeout"), Sample.tried("a", "a-open")]) == nil)
        #expect(try main.write([Sample.turn("b", "3")]) == nil)
        let turns = try main.load().turns
        #expect(turns.map(\.id.text) == ["b", "a"])
        #expect(turns.map { String(decoding: $0.record, as: UTF8.self) } == ["3", "2"])
        #expect(
            turns[1].calls == [.init(call: first, isDelivered: true), .init(call: second, isDelivered: false)])
    }

    @Test("what was written is there for the next process")
    func nextProcess() throws {
        _ = try main.write([Sample.turn("a", "1"), .setting(name: "ses", value: [0, 255])])
        journal.close()
        let contents = try folder.open().connection(Sample.main).load()
        #expect(contents.turns.map(\.id.text) == ["a"])
        #expect(contents.settings == ["ses": [0, 255]])
    }

    @Test("a closed turn is not loaded, and its record and bodies are gone")
    func closed() throws {
        _ = try main.take(Sample.message("m1", turn: "a"))
        _ = try main.write([Sample.turn("a", "secret record"), .call(Sample.call("a", "k", body: "secret body"))])
        #expect(try main.write([Sample.closed("a")], .synced) == nil)
        #expect(try main.load() == JournalContents())
        var lines: [String] = []
        try JournalReader(directory: folder.path).export { lines.append($0) }
        #expect(!lines.contains { $0.contains("secret") || $0.contains("opening of") })
        #expect(lines.contains { $0.contains(#""outcome":"finished""#) })
    }

    @Test("a message is taken once in 30 days")
    func messages() throws {
        let day: Int64 = 24 * 60 * 60 * 1_000
        #expect(try main.take(Sample.message("m1", turn: "a")) == .success(.fresh))
        #expect(try main.take(Sample.message("m1", turn: "b")) == .success(.known))
        #expect(try JournalReader(directory: folder.path).turns(open: nil).map(\.turn.text) == ["a"])
        let later = Sample.message("m1", turn: "c", wall: 1_770_000_000_000 + 30 * day)
        #expect(try main.take(later) == .success(.known))
        let muchLater = Sample.message("m1", turn: "d", wall: 1_770_000_000_001 + 30 * day)
        #expect(try main.take(muchLater) == .success(.fresh))
    }

    @Test("a turn has one message: another one is told so, and nothing is written", arguments: [false, true])
    func secondMessage(_ isClosed: Bool) throws {
        #expect(try main.take(Sample.message("m1", turn: "a")) == .success(.fresh))
        if isClosed { _ = try main.write([Sample.closed("a")]) }
        #expect(try main.take(Sample.message("m2", turn: "a")) == .success(.turnIsTaken))
        #expect(try main.take(Sample.message("m1", turn: "a")) == .success(.known))
        #expect(try main.take(Sample.message("m2", turn: "b")) == .success(.fresh))
        #expect(try main.take(Sample.message("m2", turn: "a")) == .success(.known))
        #expect(try JournalReader(directory: folder.path).turns(open: nil).map(\.turn.text) == ["a", "b"])
    }

    @Test("a sealed text is taken for one message in 30 days, whatever number of others comes between")
    func marks() throws {
        let start: Int64 = 1_770_000_000_000
        let month: Int64 = 30 * 24 * 3_600_000
        func take(_ name: String, _ turn: String, _ mark: String, wall: Int64 = start) throws -> Acceptance {
            try main.take(Sample.message(name, turn: turn, wall: wall, mark: mark)).get()
        }
        #expect(try take("m1", "a", "old") == .fresh)
        // The same message again, and endless envelopes as one message.
        #expect(try take("m1", "a", "old") == .known)
        #expect(try take("same", "b", "0") == .fresh)
        for number in 1..<9_000 { #expect(try take("same", "b", "\(number)") == .known) }
        for number in 0..<50 { #expect(try take("other\(number)", "c\(number)", "x\(number)") == .fresh) }
        #expect(try take("m2", "d", "old") == .replayed)
        #expect(try JournalReader(directory: folder.path).turns(open: nil).allSatisfy { $0.turn.text != "d" })
        #expect(try take("m2", "d", "old", wall: start + month) == .replayed)
        #expect(try take("m2", "d", "old", wall: start + month + 1) == .fresh)
    }

    @Test("accepted messages are loaded until their turn has a record")
    func accepted() throws {
        for (message, turn) in [("m1", "a"), ("m2", "b"), ("m3", "c")] {
            _ = try main.take(Sample.message(message, turn: turn))
        }
        _ = try main.write([Sample.turn("b")])
        _ = try main.write([Sample.closed("c")])
        let contents = try main.load()
        #expect(contents.accepted.map { String(decoding: $0.opening, as: UTF8.self) } == ["opening of m1"])
        #expect(contents.turns.map(\.id.text) == ["b"])
    }

    @Test("turns stand in the order of acceptance, also when a later one is kept first")
    func orderOfAcceptance() throws {
        _ = try main.take(Sample.message("m1", turn: "a"))
        _ = try main.take(Sample.message("m2", turn: "b"))
        _ = try main.write([Sample.turn("b"), Sample.turn("a")])
        #expect(try main.load().turns.map(\.id.text) == ["a", "b"])
    }

    @Test("a stop is kept for 30 minutes")
    func stops() throws {
        let stop = JournalContents.Stop(session: SessionID("ses_1"), interaction: InteractionID("int_1"))
        _ = try main.write([.stop(stop.session, stop.interaction, wall: folder.now)], .synced)
        folder.pass(minutes: 30)
        #expect(try main.load().stops == [stop])
        folder.wall.withLock { $0 += 1 }
        #expect(try main.load().stops.isEmpty)
    }

    @Test("a stop keeps when it was pressed and whose runs it ends; a person's is not narrowed")
    func stopFacts() throws {
        let (session, interaction) = (SessionID("ses_1"), InteractionID("int_1"))
        func keep(_ made: Int64?, _ reach: StopReach) throws -> [JournalContents.Stop] {
            _ = try main.write([.stop(session, interaction, wall: folder.now, made: made, reach: reach)], .synced)
            return try main.load().stops
        }
        #expect(try keep(7, .ownRuns) == [.init(session: session, interaction: interaction, made: 7, reach: .ownRuns)])
        #expect(try keep(8, .everyRun) == [.init(session: session, interaction: interaction, made: 8)])
        #expect(try keep(nil, .ownRuns) == [.init(session: session, interaction: interaction)])
    }

    @Test("a stop of a message that was taken is kept until the message's turn has a record, however long nothing runs")
    func stopsOfTaken() throws {
        let stop = JournalContents.Stop(session: SessionID("ses_1"), interaction: InteractionID("a"))
        let other = JournalContents.Stop(session: SessionID("ses_1"), interaction: InteractionID("b"))
        _ = try main.take(Sample.message("m1", turn: "a"))
        _ = try main.write([.stop(stop.session, stop.interaction, wall: folder.now)], .synced)
        folder.pass(minutes: 24 * 60)
        _ = try main.write([.stop(other.session, other.interaction, wall: folder.now)], .synced)
        #expect(try main.load().stops == [stop, other])
        _ = try main.write([Sample.turn("a")])
        #expect(try main.load().stops == [other])
        _ = try main.write([Sample.closed("a")])
        #expect(try main.load().stops == [other])
    }

    @Test("a setting is replaced, and taken away by nil")
    func settings() throws {
        _ = try main.write([
            .setting(name: "a", value: [1]), .setting(name: "b", value: []), .setting(name: "a", value: [2]),
        ])
        #expect(try main.load().settings == ["a": [2], "b": []])
        _ = try main.write([.setting(name: "a", value: nil)])
        #expect(try main.load().settings == ["b": []])
    }

    @Test("connections share the file and see nothing of one another")
    func connections() throws {
        let other = journal.connection(ConnectionName("other"))
        _ = try main.write([Sample.turn("a", "main"), .setting(name: "s", value: [1])])
        _ = try main.take(Sample.message("m1", turn: "z"))
        #expect(try other.take(Sample.message("m1", turn: "a")) == .success(.fresh))
        _ = try other.write([Sample.turn("a", "other")])
        _ = try main.write([Sample.closed("a")])
        #expect(try main.load().turns.isEmpty)
        #expect(try other.load().turns.map(\.record) == [Array("other".utf8)])
        #expect(try other.load().settings.isEmpty)
    }

    @Test("the same call again changes nothing; another body under its key is refused, alone")
    func frozenCalls() throws {
        let call = Sample.call("a", "k", body: "one")
        _ = try main.write([Sample.turn("a"), .call(call)])
        #expect(try main.write([.call(call)]) == nil)
        let failure = try main.write([.setting(name: "s", value: [1]), .call(Sample.call("a", "k", body: "two"))])
        #expect(failure?.code == .conflict)
        let contents = try main.load()
        #expect(contents.turns.first?.calls.map(\.call) == [call])
        // A job is carried out whole or not at all.
        #expect(contents.settings.isEmpty)
    }

    @Test("empty texts and bodies are kept as they are")
    func empty() throws {
        let call = Sample.call("", "", body: "", name: "")
        _ = try main.write([Sample.turn("", ""), .call(call), .event(TurnID(""), "", wall: 0)])
        #expect(try main.load().turns.first?.calls.map(\.call) == [call])
    }
}
