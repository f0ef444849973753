import Files
import FoundationEssentials
import Glibc
import Testing

@Suite("Private files")
struct PrivateFileTests {
    private let folder: Folder

    init() throws { folder = try Folder() }

    @Test("a file is made 0600 in directories of 0700, and nothing else is left behind")
    func modes() throws {
        try PrivateFile.write(Array("one".utf8), to: folder.path + "/a/b/secret")
        #expect(folder.text("a/b/secret") == "one")
        #expect(folder.mode("a") == 0o700)
        #expect(folder.mode("a/b") == 0o700)
        #expect(folder.mode("a/b/secret") == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path + "/a/b") == ["secret"])
    }

    @Test("writing replaces the content and takes others' rights away")
    func replacing() throws {
        try folder.put("old", "secret", mode: 0o644)
        try PrivateFile.write(Array("new".utf8), to: folder.path + "/secret")
        #expect(folder.text("secret") == "new")
        #expect(folder.mode("secret") == 0o600)
        #expect(try PrivateFile.read(folder.path + "/secret")?.warning == nil)
    }

    @Test("a file that cannot be replaced stays, with no remains of the try")
    func failedWrite() throws {
        try folder.put("x", "taken/inside")
        #expect(throws: FileError.self) { try PrivateFile.write([1], to: folder.path + "/taken") }
        #expect(folder.names == ["taken"])
        #expect(folder.text("taken/inside") == "x")
    }

    @Test("what others may open is read with a warning", arguments: [0o640, 0o604, 0o660] as [mode_t])
    func warning(mode: mode_t) throws {
        try folder.put("x", "secret", mode: mode)
        let content = try PrivateFile.read(folder.path + "/secret")
        #expect(content?.bytes == Array("x".utf8))
        #expect(content?.warning?.contains("chmod 600") == true)
    }

    @Test("an absent file is nil; a directory and a file over the bound are errors")
    func unreadable() throws {
        #expect(try PrivateFile.read(folder.path + "/none") == nil)
        #expect(try PrivateFile.read(folder.path + "/none/none") == nil)
        #expect(throws: FileError.self) { try PrivateFile.read(folder.path) }
        try folder.put(String(repeating: "x", count: PrivateFile.limit + 1), "large")
        do {
            _ = try PrivateFile.read(folder.path + "/large")
            Issue.record("it was read")
        } catch { #expect(error.code == .tooLarge) }
    }

    @Test("a pipe in the file's place is refused at once: its writer may never come")
    func pipe() throws {
        let pipe = folder.path + "/secret"
        #expect(mkfifo(pipe, 0o600) == 0)
        let error = #expect(throws: FileError.self) { try PrivateFile.read(pipe) }
        #expect(error?.code == .unreadable)
        #expect(error?.message.contains("is no ordinary file") == true)
    }

    @Test("removing tells whether there was something")
    func removing() throws {
        try folder.put("x", "secret")
        #expect(try PrivateFile.remove(folder.path + "/secret"))
        #expect(try !PrivateFile.remove(folder.path + "/secret"))
    }
}
