import BridgeModel
import Testing

@testable import Journal

@Suite("After a crash")
struct CrashTests {
    @Test("a killed process loses nothing that was told as written")
    func killed() throws {
        let folder = try JournalFolder()
        let journal = try folder.open()
        let main = journal.connection(Sample.main)
        for number in 0..<50 { #expect(try main.write([Sample.turn("t\(number)")]) == nil) }
        #expect(try main.take(Sample.message("m", turn: "late")) == .success(.fresh))
        let left = try folder.copyAsKilled()
        let contents = try left.open().connection(Sample.main).load()
        #expect(contents.turns.map(\.id.text) == (0..<50).map { "t\($0)" })
        #expect(contents.accepted.count == 1)
        withExtendedLifetime(journal) {}
    }

    @Test(
        "a log that is cut anywhere leaves whole jobs, and no later one without the earlier ones",
        arguments: [0, 0.1, 0.25, 0.5, 0.77, 0.9, 0.999])
    func cut(part: Double) throws {
        let folder = try JournalFolder()
        let journal = try folder.open()
        let main = journal.connection(Sample.main)
        // What came with the tables is in the file already.
        journal.close()
        let again = try folder.open()
        let writer = again.connection(Sample.main)
        for number in 0..<50 {
            let turn = "t\(number)"
            #expect(try writer.write([Sample.turn(turn), .call(Sample.call(turn, "\(turn)-open"))]) == nil)
        }
        let left = try folder.copyAsKilled(logBytes: Int(Double(folder.logBytes) * part))
        let contents = try left.open().connection(Sample.main).load()
        #expect(contents.turns.map(\.id.text) == (0..<contents.turns.count).map { "t\($0)" })
        #expect(contents.turns.allSatisfy { $0.calls.count == 1 })
        #expect(part > 0.2 ? contents.turns.count > 1 : contents.turns.count < 50)
        #expect(try JournalReader(directory: left.path).verify().isEmpty)
        withExtendedLifetime((main, again)) {}
    }
}
