import CSQLite
import FoundationEssentials
import Glibc
import Testing
import Vocabulary

@testable import Journal

@Suite("Opening the journal")
struct JournalOpeningTests {
    private let folder: JournalFolder

    init() throws { folder = try JournalFolder() }

    private func code(_ directory: String) -> JournalFailure.Code? {
        do throws(JournalFailure) {
            _ = try Journal.open(directory: directory, wall: { 0 })
            return nil
        } catch { return error.code }
    }

    private func change(_ sql: String) throws {
        let database = try Database(path: folder.file, mode: .writing)
        try database.script(sql)
    }

    @Test("directories on the way are made for the owner alone, and so are the file and its log")
    func permissions() throws {
        let deep = folder.path + "/new/state"
        let journal = try Journal.open(directory: deep, wall: { 0 })
        #expect(try journal.connection(Sample.main).write([Sample.turn("a")]) == nil)
        #expect(folder.mode(folder.path + "/new") == 0o700)
        #expect(folder.mode(deep) == 0o700)
        for name in ["journal.db", "journal.db-wal", "journal.db-shm"] {
            #expect(folder.mode("\(deep)/\(name)") == 0o600, "\(name)")
        }
    }

    @Test("a file that others could read is closed to them")
    func loosePermissions() throws {
        try folder.open().close()
        chmod(folder.file, 0o644)
        _ = try folder.open()
        #expect(folder.mode(folder.file) == 0o600)
    }

    @Test("a place that cannot be written is named with a remedy")
    func unwritable() throws {
        #expect(code("/proc/self/no-such-place") == .readOnly)
        try Data().write(to: URL(filePath: folder.path + "/file"))
        #expect(code(folder.path + "/file/state") == .readOnly)
    }

    @Test("a file of a later version is refused and left as it is")
    func newer() throws {
        try folder.open().close()
        try change("PRAGMA user_version = 999")
        #expect(code(folder.path) == .newer)
        #expect(throws: JournalFailure.self) { try JournalReader(directory: folder.path) }
        let database = try Database(path: folder.file, mode: .reading)
        #expect(try database.integer("PRAGMA user_version") == 999)
    }

    @Test("a damaged file and a database of another program are told as damaged")
    func damaged() throws {
        try Data(repeating: 0x41, count: 8_192).write(to: URL(filePath: folder.file))
        #expect(code(folder.path) == .damaged)
        try FileManager.default.removeItem(atPath: folder.file)
        try Data().write(to: URL(filePath: folder.file))
        try change("CREATE TABLE songs (name TEXT)")
        #expect(code(folder.path) == .damaged)
    }

    @Test("opening again applies no step twice")
    func twice() throws {
        try folder.open().close()
        try folder.open().close()
        #expect(try JournalReader(directory: folder.path).summary().version == Migrations.newest)
    }
}
