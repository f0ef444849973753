import FoundationEssentials
import Glibc
import Testing

@testable import Children

@Suite("The bound of a child's log")
struct LogBoundTests {
    private let folder = "\(FileManager.default.temporaryDirectory.path)/log-bound-\(UUID())"
    private var log: String { "\(folder)/codex.log" }

    init() throws { try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true) }

    private func text(_ path: String) -> String? {
        FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
    }

    private func append(_ text: String, to file: Int32) { _ = write(file, text, text.utf8.count) }

    @Test("a log under its limit, or none at all, is left as it is")
    func under() {
        LogBound.keep(log, under: 4)
        #expect(text(log) == nil)
        let file = open(log, O_WRONLY | O_APPEND | O_CREAT, 0o600)
        append("1234", to: file)
        LogBound.keep(log, under: 4)
        #expect(text(log) == "1234")
        #expect(text(LogBound.older(log)) == nil)
        close(file)
    }

    @Test("the newest part is kept aside, and the child goes on at the beginning of its file")
    func over() {
        let file = open(log, O_WRONLY | O_APPEND | O_CREAT, 0o600)
        append("0123456789", to: file)
        LogBound.keep(log, under: 4)
        append("new", to: file)
        #expect(text(log) == "new")
        #expect(text(LogBound.older(log)) == "6789")
        append("est words", to: file)
        LogBound.keep(log, under: 4)
        #expect(text(log) == "")
        #expect(text(LogBound.older(log)) == "ords")
        var status = stat()
        #expect(stat(LogBound.older(log), &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
        close(file)
    }

    @Test("a link is not followed")
    func link() {
        let target = "\(folder)/target"
        #expect(FileManager.default.createFile(atPath: target, contents: Data("0123456789".utf8)))
        symlink(target, log)
        LogBound.keep(log, under: 4)
        #expect(text(target) == "0123456789")
    }
}
