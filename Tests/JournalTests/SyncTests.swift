import CSQLite
import Locking
import Testing
import Vocabulary

@testable import Journal

/// Counts syncs of the WAL, with a shim between SQLite and the file.
private enum LogSyncs {
    static let count = Locked(0)
    nonisolated(unsafe) private static var methods = sqlite3_io_methods()
    nonisolated(unsafe) private static var original:
        (@convention(c) (UnsafeMutablePointer<sqlite3_file>?, Int32) -> Int32)?

    static func watch(_ database: Database) {
        var file: UnsafeMutablePointer<sqlite3_file>?
        sqlite3_file_control(database.handle, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file)
        guard let file, let known = file.pointee.pMethods else { return }
        methods = known.pointee
        original = methods.xSync
        methods.xSync = { file, flags in
            LogSyncs.count.withLock { $0 += 1 }
            return LogSyncs.original?(file, flags) ?? SQLITE_IOERR
        }
        withUnsafePointer(to: &methods) { file.pointee.pMethods = $0 }
    }

    static func during(_ body: () throws -> Void) rethrows -> Int {
        let before = count.withLock { $0 }
        try body()
        return count.withLock { $0 } - before
    }
}

@Suite("When the disk is waited for")
struct SyncTests {
    @Test("only where a job asks for it, and then for all that was written before")
    func syncs() throws {
        let folder = try JournalFolder()
        let main = try folder.open(JournalHooks(opened: { LogSyncs.watch($0) })).connection(Sample.main)
        // A new journal does not know what the one before left to the system.
        #expect(try main.write([], .synced) == nil)

        #expect(try LogSyncs.during { _ = try main.write([Sample.turn("a")]) } == 0)
        #expect(try LogSyncs.during { _ = try main.write([Sample.turn("b")], .synced) } > 0)
        #expect(try LogSyncs.during { _ = try main.write([], .synced) } == 0, "nothing is left to be made safe")
        #expect(try LogSyncs.during { _ = try main.write([Sample.turn("c")]) } == 0)
        #expect(try LogSyncs.during { _ = try main.write([], .synced) } > 0, "a barrier makes safe what was written")
        #expect(try LogSyncs.during { _ = try main.write([], .synced) } == 0)
        #expect(try LogSyncs.during { _ = try main.take(Sample.message("m", turn: "d")) } > 0)
        #expect(try LogSyncs.during { _ = try main.write([Sample.turn("d")]) } == 0)
        // The message is known, but the journal reports it as durable, so it must sync.
        #expect(try LogSyncs.during { _ = try main.take(Sample.message("m", turn: "d")) } > 0)
    }
}
