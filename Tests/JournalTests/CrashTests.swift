import FoundationEssentials
import Glibc
import Testing
import Vocabulary

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
        // The rows written with the schema are already in the file.
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

    @Test("kill -9 in the middle of writing loses no call that was told as written")
    func realKill() throws {
        let folder = try JournalFolder()
        var ends: [Int32] = [0, 0]
        // Children that other tests start meanwhile must not inherit them.
        #expect(pipe(&ends) == 0)
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let child = try #require(writingChild(folder.path, output: ends[1]))
        close(ends[1])
        defer { close(ends[0]) }
        var told: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 4_096)
        var isKilled = false
        // Output from before the kill can still be read.
        while case let count = read(ends[0], &piece, piece.count), count > 0 {
            told += piece.prefix(count)
            if !isKilled, told.count > 20_000 {
                kill(child, SIGKILL)
                isKilled = true
            }
        }
        var status: Int32 = 0
        waitpid(child, &status, 0)
        #expect(status & 0x7F == SIGKILL)
        let numbers = told.split(separator: UInt8(ascii: "\n")).compactMap { Int(String(decoding: $0, as: UTF8.self)) }
        let contents = try folder.open().connection(Sample.main).load()
        let keys = contents.turns.first?.calls.map(\.call.key.text) ?? []
        #expect(keys.count >= numbers.count)
        #expect(keys == (0..<keys.count).map { "key-\($0)" })
        #expect(try JournalReader(directory: folder.path).verify().isEmpty)
    }

    /// Runs a part of the benchmark, from the directory that the tests were built into.
    private func writingChild(_ directory: String, output: Int32) -> pid_t? {
        let program = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(
            path: "bridge-bench"
        ).path()
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, output, 1)
        let arguments = [program, "journal-tell", directory]
        var words = arguments.map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var child = pid_t()
        return posix_spawn(&child, program, &actions, nil, &words, environ) == 0 ? child : nil
    }
}
