import Files
import Glibc
import Testing

@Suite("Whose directory it is")
struct DirectoryTrustTests {
    @Test("of a directory that every user may write a person is warned")
    func open() throws {
        let folder = try Folder()
        chmod(folder.path, 0o755)
        #expect(PrivateFile.warning(ofDirectory: folder.path) == nil)
        chmod(folder.path, 0o777)
        #expect(PrivateFile.fault(ofDirectory: folder.path) == nil)
        #expect(PrivateFile.warning(ofDirectory: folder.path)?.contains("chmod o-w") == true)
        #expect(PrivateFile.warning(ofDirectory: folder.path + "/there/not") == nil)
    }

    @Test("one of a user is taken by that user and by root")
    func owner() throws {
        let folder = try Folder()
        guard geteuid() == 0 else { return }
        chmod(folder.path, 0o700)
        chown(folder.path, 12_345, 12_345)
        #expect(PrivateFile.fault(ofDirectory: folder.path, for: 12_345) == nil)
        #expect(PrivateFile.fault(ofDirectory: folder.path, for: 0) == nil)
        #expect(PrivateFile.fault(ofDirectory: folder.path, for: 12_346)?.contains("chown 12346") == true)
    }

    @Test("a link at the place of the lock is not followed")
    func link() throws {
        let folder = try Folder()
        chmod(folder.path, 0o700)
        try folder.put("words", "precious")
        symlink(folder.path + "/precious", folder.path + "/sophon-bridge.lock")
        #expect(throws: FileError.self) { try InstanceLock(directory: folder.path) }
        #expect(folder.text("precious") == "words")
    }
}
