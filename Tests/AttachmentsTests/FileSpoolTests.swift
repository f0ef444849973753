import BridgeModel
import Files
import FoundationEssentials
import Glibc
import Testing

@testable import Attachments

@Suite("The folder of files on their way")
struct FileSpoolTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "spool-\(UUID().uuidString)").path

    private func write(_ count: Int, to file: SpooledFile) throws(FetchProblem) {
        let bytes = [UInt8](repeating: 7, count: count)
        let problem: FetchProblem? = bytes.withUnsafeBytes { buffer in
            do throws(FetchProblem) { try file.append(buffer) } catch { return error }
            return nil
        }
        if let problem { throw problem }
    }

    @Test("is emptied at the start, of its own files alone, and has the right rights")
    func start() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        chmod(folder, 0o777)
        for name in ["file-1", "file-77", "mine"] {
            _ = FileManager.default.createFile(atPath: "\(folder)/\(name)", contents: nil)
        }
        _ = try FileSpool(folder)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["mine"])
        var status = stat()
        #expect(stat(folder, &status) == 0 && status.st_mode & 0o777 == 0o700)
    }

    @Test("is no link to another folder")
    func link() throws {
        let other = folder + "-other"
        defer {
            try? FileManager.default.removeItem(atPath: other)
            unlink(folder)
        }
        try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: true)
        _ = FileManager.default.createFile(atPath: "\(other)/file-1", contents: nil)
        symlink(other, folder)
        #expect(throws: FileError.self) { try FileSpool(folder) }
        #expect(FileManager.default.fileExists(atPath: "\(other)/file-1"))
    }

    @Test("holds only so many bytes, and gets them back with each file that is deleted")
    func limit() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let spool = try FileSpool(folder, limit: 100)
        let first = try spool.make()
        try write(60, to: first)
        let second = try spool.make()
        #expect(throws: FetchProblem.noRoom) { try write(41, to: second) }
        first.delete()
        first.delete()
        try write(100, to: second)
        #expect(throws: FetchProblem.noRoom) { try write(1, to: second) }
    }

    @Test("a file that was deleted or finished takes nothing more")
    func finished() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let spool = try FileSpool(folder)
        let file = try spool.make()
        try write(3, to: file)
        file.finish()
        #expect(throws: FetchProblem.cancelled) { try write(1, to: file) }
        file.delete()
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
    }

    @Test("a full disk is named")
    func full() throws {
        // A file on a device that is always full.
        guard access("/dev/full", W_OK) == 0 else { return }
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let spool = try FileSpool(folder)
        let file = SpooledFile(path: "\(folder)/file-full", descriptor: open("/dev/full", O_WRONLY), spool: spool)
        #expect(throws: FetchProblem.diskFull) { try write(10, to: file) }
    }

    @Test("a folder that cannot be written to is named")
    func gone() throws {
        let spool = try FileSpool(folder)
        try FileManager.default.removeItem(atPath: folder)
        #expect(throws: FetchProblem.self) { try spool.make() }
    }
}
