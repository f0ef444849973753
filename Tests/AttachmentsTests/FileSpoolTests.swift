import Files
import FoundationEssentials
import Glibc
import Locking
import OSThreads
import Testing
import Vocabulary
import WireTesting

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
        try FileSpool(folder).open()
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
        #expect(throws: FileError.self) { try FileSpool(folder).open() }
        #expect(FileManager.default.fileExists(atPath: "\(other)/file-1"))
    }

    @Test("holds only so many bytes, and gets them back with each file that is deleted")
    func limit() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let spool = FileSpool(folder, limit: 100)
        let first = try spool.make()
        try write(60, to: first)
        let second = try spool.make()
        #expect(throws: FetchProblem.noRoom) { try write(41, to: second) }
        first.delete()
        first.delete()
        try write(100, to: second)
        #expect(throws: FetchProblem.noRoom) { try write(1, to: second) }
    }

    @Test("the files of one connection leave the others their shares")
    func shares() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let spool = FileSpool(folder, limit: 100)
        let (one, other) = (spool.openShare(), spool.openShare())
        let greedy = try spool.make(in: one)
        try write(75, to: greedy)
        #expect(throws: FetchProblem.noRoom) { try write(1, to: greedy) }
        let modest = try spool.make(in: other)
        try write(25, to: modest)
        #expect(throws: FetchProblem.noRoom) { try write(1, to: modest) }
        greedy.delete()
        try write(50, to: modest)
        #expect(throws: FetchProblem.noRoom) { try write(1, to: modest) }
    }

    @Test("a file that was deleted or finished takes nothing more")
    func finished() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let spool = FileSpool(folder)
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
        let spool = FileSpool(folder)
        let file = SpooledFile(path: "\(folder)/file-full", descriptor: open("/dev/full", O_WRONLY), spool: spool)
        #expect(throws: FetchProblem.diskFull) { try write(10, to: file) }
    }

    @Test("a folder that is gone is named, and made again for the next file")
    func gone() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let spool = FileSpool(folder)
        try spool.open()
        try FileManager.default.removeItem(atPath: folder)
        #expect(throws: FetchProblem.self) { try spool.make() }
        _ = try spool.make()
    }

    @Test("a folder that could not be made at the start is made when it can be")
    func late() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let spool = FileSpool("\(folder)/files")
        _ = FileManager.default.createFile(atPath: folder, contents: nil)
        #expect(throws: FileError.self) { try spool.open() }
        #expect(throws: FetchProblem.self) { try spool.make() }
        try FileManager.default.removeItem(atPath: folder)
        try write(3, to: try spool.make())
    }

    @Test("leaves the disk its reserve, and looks again while a file is written")
    func reserve() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let room = Locked(1 << 20)
        let spool = FileSpool(folder, limit: 16 << 20) { _ in room.withLock { $0 } }
        let file = try spool.make()
        try write(2 << 20, to: file)
        room.withLock { $0 = 0 }
        #expect(throws: FetchProblem.diskLow) { try spool.make() }
        try write(1 << 20, to: file)
        #expect(throws: FetchProblem.diskLow) { try write(1 << 20, to: file) }
        #expect(file.size == 3 << 20)
        room.withLock { $0 = 1 }
        try write(13 << 20, to: file)
        #expect(throws: FetchProblem.noRoom) { try write(1, to: file) }
    }

    @Test("a disk that takes its time keeps nobody waiting but the writer, also where the file is deleted meanwhile")
    func slow() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var ends: [Int32] = [-1, -1]
        #expect(pipe(&ends) == 0)
        defer { close(ends[0]) }
        let spool = FileSpool(folder, limit: 1 << 20)
        let file = SpooledFile(path: "\(folder)/file-slow", descriptor: ends[1], spool: spool)
        let (begins, over) = (Signal(), Signal())
        let problem = Locked(FetchProblem?.none)
        #expect(
            startThread {
                begins.raise()
                // More than a pipe holds.
                [UInt8](repeating: 7, count: 1 << 20).withUnsafeBytes { bytes in
                    do throws(FetchProblem) { try file.append(bytes) } catch { problem.withLock { $0 = error } }
                }
                over.raise()
            })
        #expect(begins.wait())
        var first = [UInt8](repeating: 0, count: 1)
        #expect(read(ends[0], &first, 1) == 1, "it writes, and waits for room")
        #expect(file.size == 1 << 20)
        file.delete()
        var rest = [UInt8](repeating: 0, count: 65_536)
        while read(ends[0], &rest, rest.count) > 0 {}
        #expect(over.wait() && problem.withLock { $0 } == .cancelled)
        // The spool no longer counts any of its bytes.
        try write(1 << 20, to: try spool.make())
    }
}
