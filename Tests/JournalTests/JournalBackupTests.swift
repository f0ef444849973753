import FoundationEssentials
import Glibc
import Testing
import Vocabulary

@testable import Journal

@Suite("A backup of the journal")
struct JournalBackupTests {
    private let folder: JournalFolder
    private let other: JournalFolder
    private let journal: Journal
    private var main: any TurnJournal { journal.connection(Sample.main) }

    init() throws {
        folder = try JournalFolder()
        other = try JournalFolder()
        journal = try folder.open()
        let record = String(repeating: "r", count: 3_000)
        _ = try main.write((0..<100).map { Sample.turn("int_\($0)", record) }, .synced)
    }

    private func backUp(
        pages: Int32, stepped: (Int, Int) throws -> Void = { _, _ in }
    ) throws -> JournalReader {
        try Data().write(to: URL(filePath: other.file))
        try JournalReader(directory: folder.path).backUp(to: other.file, at: CopyPace(pages: pages), stepped: stepped)
        #expect(try FileManager.default.contentsOfDirectory(atPath: other.path) == ["journal.db"])
        return try JournalReader(directory: other.path)
    }

    @Test("the copy is one whole file with the same turns", arguments: [1, 7, 10_000] as [Int32])
    func whole(pages: Int32) throws {
        let copy = try backUp(pages: pages)
        #expect(try copy.verify().isEmpty)
        #expect(try copy.turns(open: nil) == JournalReader(directory: folder.path).turns(open: nil))
    }

    @Test("a writer between all steps ends no copy, and the copy is of one moment")
    func writing() throws {
        var steps = 0
        let copy = try backUp(pages: 2) { _, _ in
            steps += 1
            _ = try main.write([Sample.turn("new_\(steps)", "{}"), Sample.closed("int_\(steps)")], .synced)
        }
        #expect(steps > 3)
        #expect(try copy.verify().isEmpty)
        let (new, closed) = (
            try copy.turns(open: nil).count { $0.turn.text.hasPrefix("new_") }, try copy.turns(open: false).count
        )
        #expect(new == closed)
        #expect(new > 0)
    }

    @Test("between two steps the log can be emptied")
    func log() throws {
        var steps = 0
        _ = try backUp(pages: 40) { _, _ in
            steps += 1
            let writer = try Database(path: folder.file, mode: .writing)
            // A connection knows its log from its first read on.
            #expect(try writer.integer("SELECT count(*) FROM turns") == 100)
            _ = try writer.checkpoint(truncating: true)
            #expect(folder.logBytes == 0)
        }
        #expect(steps > 0)
    }

    @Test("what a step throws ends the copy")
    func ended() throws {
        struct Enough: Error {}
        #expect(throws: Enough.self) { try backUp(pages: 2) { _, _ in throw Enough() } }
    }

    @Test("a bridge goes on with the copy")
    func restored() throws {
        _ = try backUp(pages: 64)
        let restored = try other.open()
        #expect(try restored.connection(Sample.main).load().turns.count == 100)
        restored.close()
    }

    @Test("a place among the files of the journal is known by its directory, however that is written")
    func places() throws {
        for (path, isPlace) in [
            ("/journal.db", true), ("/./journal.db-wal", true), ("/x/journal.db", false),
            ("/backup.db", true),
        ] {
            #expect(JournalReader.lies(folder.path + path, in: folder.path) == isPlace, "\(path)")
        }
        #expect(!JournalReader.lies(other.path + "/journal.db", in: folder.path))
    }

    @Test("a step grows where the copy was begun again, and no more than its type holds")
    func pace() {
        var pace = CopyPace(pages: 4)
        func pages(after copied: Int) -> Int32 {
            pace.stepped(to: copied)
            return pace.pages
        }
        #expect([4, 8, 4, 12, 8, 24].map(pages) == [4, 4, 8, 8, 16, 16])
        for _ in 0..<64 { pace.stepped(to: 0) }
        #expect(pace.pages == .max)
    }
}
