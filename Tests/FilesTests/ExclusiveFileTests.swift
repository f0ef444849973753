import Files
import Glibc
import Testing

@Suite struct ExclusiveFileTests {
    @Test func itIsReplacedWholeAndPrivate() throws {
        let folder = try Folder()
        let file = try ExclusiveFile(folder.path + "/deep/state.json")
        #expect(try file.read(atMost: 100) == nil)
        for text in ["first", "second"] { try file.write(Array(text.utf8)) }
        #expect(try file.read(atMost: 100)?.bytes == Array("second".utf8))
        #expect(try file.read(atMost: 100)?.warning == nil)
        var status = stat()
        #expect(stat(file.path, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
        #expect(access(file.path + ".new", F_OK) != 0)
    }

    @Test func oneProcessAloneKeepsIt() throws {
        let folder = try Folder()
        let path = folder.path + "/state.json"
        do {
            let first = try ExclusiveFile(path)
            let error = #expect(throws: FileError.self) { try ExclusiveFile(path) }
            #expect(error?.code == .inUse)
            withExtendedLifetime(first) {}
        }
        _ = try ExclusiveFile(path)
    }

    @Test func whatAKilledWriterLeftIsOverwritten() throws {
        let folder = try Folder()
        let file = try ExclusiveFile(folder.path + "/state.json")
        try file.write(Array("whole".utf8))
        try PrivateFile.write(Array("ha".utf8), to: file.path + ".new")
        #expect(try file.read(atMost: 100)?.bytes == Array("whole".utf8))
        try file.write(Array("next".utf8))
        #expect(try file.read(atMost: 100)?.bytes == Array("next".utf8))
    }

    @Test func aFileOverItsBoundAndAPlaceThatCannotBeWrittenAreSaid() throws {
        let folder = try Folder()
        let file = try ExclusiveFile(folder.path + "/state.json")
        try file.write(Array(repeating: 32, count: 101))
        #expect(throws: FileError.self) { try file.read(atMost: 100) }
        #expect(throws: FileError.self) { try ExclusiveFile(file.path + "/below") }
    }
}
