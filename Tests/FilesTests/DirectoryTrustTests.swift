import Files
import Glibc
import Testing

@Suite("Whose directory it is")
struct DirectoryTrustTests {
    private func made(_ mode: mode_t, owner: uid_t = geteuid()) -> String {
        var template = Array("/tmp/trust.XXXXXX".utf8CString)
        let path = String(cString: mkdtemp(&template))
        chmod(path, mode)
        chown(path, owner, getegid())
        return path
    }

    @Test("a directory that every user may write, or that is another user's, is not believed")
    func foreign() {
        let (own, open) = (made(0o755), made(0o777))
        defer { for path in [own, open] { rmdir(path) } }
        #expect(PrivateFile.fault(ofDirectory: own) == nil)
        #expect(PrivateFile.fault(ofDirectory: open)?.contains("chmod o-w") == true)
        #expect(PrivateFile.fault(ofDirectory: "/nonexistent/there") == nil)
    }

    @Test("one of a user is taken by that user and by root")
    func owner() {
        let path = made(0o700)
        defer { rmdir(path) }
        guard geteuid() == 0 else { return }
        chown(path, 12_345, 12_345)
        #expect(PrivateFile.fault(ofDirectory: path, for: 12_345) == nil)
        #expect(PrivateFile.fault(ofDirectory: path, for: 0) == nil)
        #expect(PrivateFile.fault(ofDirectory: path, for: 12_346)?.contains("chown 12346") == true)
    }

    @Test("a link at the place of the lock is not followed")
    func link() throws {
        let path = made(0o700)
        let target = path + "/precious"
        defer { for name in ["/sophon-bridge.lock", "/precious", ""] { remove(path + name) } }
        let descriptor = creat(target, 0o600)
        #expect(write(descriptor, "words", 5) == 5)
        close(descriptor)
        symlink(target, path + "/sophon-bridge.lock")
        #expect(throws: FileError.self) { try InstanceLock(directory: path) }
        var status = stat()
        #expect(stat(target, &status) == 0 && status.st_size == 5)
    }
}
