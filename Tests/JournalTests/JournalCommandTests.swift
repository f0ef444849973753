import FoundationEssentials
import Glibc
import Testing
import Vocabulary

@testable import Journal

@Suite("The commands explain and journal")
struct JournalCommandTests {
    private let folder: JournalFolder
    private let journal: Journal

    init() throws {
        folder = try JournalFolder()
        journal = try folder.open()
        let main = journal.connection(Sample.main)
        _ = try main.take(Sample.message("msg_1", turn: "int_1"))
        _ = try main.write([
            Sample.turn("int_1"), .event(TurnID("int_1"), "handed over", wall: 1_770_000_000_000),
            .call(Sample.call("int_1", "int_1-open")),
            Sample.tried("int_1", "int_1-open", attempt: 2, request: "req-2"),
            Sample.turn("int_0"), .call(Sample.call("int_0", "int_0-end")),
            Sample.tried("int_0", "int_0-end", result: "http_500"), Sample.closed("int_0", wall: 1_000),
        ])
    }

    /// Runs the program from the directory that the tests were built into. Returns the exit code and both outputs.
    private func run(_ arguments: String..., state: String? = nil) throws -> (code: Int32, out: String, error: String) {
        let program = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(
            path: "sophon-bridge"
        ).path()
        let (out, error) = (folder.path + "/out", folder.path + "/error")
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 1, out, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        posix_spawn_file_actions_addopen(&actions, 2, error, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        var words = ([program] + arguments).map { strdup($0) } + [nil]
        let settings = ["SOPHON_STATE_DIR=\(state ?? folder.path)", "SOPHON_CONFIG_DIR=\(folder.path)/none"]
        var environment = settings.map { strdup($0) } + [nil]
        defer { for word in words + environment { free(word) } }
        var child = pid_t()
        guard posix_spawn(&child, program, &actions, nil, &words, &environment) == 0 else { return (-1, "", "") }
        var status: Int32 = 0
        waitpid(child, &status, 0)
        return ((status >> 8) & 0xFF, try text(out), try text(error))
    }

    private func text(_ path: String) throws -> String {
        String(decoding: try Data(contentsOf: URL(filePath: path)), as: UTF8.self)
    }

    @Test("explain tells a life in the order of time, while a bridge runs")
    func explain() throws {
        let result = try run("explain", "msg_1")
        #expect(result.code == 0, "\(result.error)")
        let lines = result.out.split(separator: "\n")
        #expect(lines.first?.hasPrefix("turn int_1 of connection main, open since 2026-02-02T") == true)
        #expect(
            lines.dropFirst().dropLast().map { $0.dropFirst(28).prefix(22) } == [
                "received and accepted ", "handed over", "stored call int_1-open", "call int_1-open, try 2",
            ], "\(result.out)")
        #expect(lines.dropLast().last?.hasSuffix("delivered, 12 ms, request req-2") == true)
        #expect(lines.last?.hasPrefix("  still open; the journal has nothing since 2026-02-02T") == true)
        #expect(try !run("explain", "int_0").out.contains("still open"))
    }

    @Test("explain gives the same as JSON lines")
    func explainJSON() throws {
        struct Line: Decodable { var event: String, turn: String }
        let result = try run("explain", "req-2", "--json")
        let lines = try result.out.split(separator: "\n").map {
            try JSONDecoder().decode(Line.self, from: Data($0.utf8))
        }
        #expect(lines.map(\.event) == ["turn", "turn_message", "turn_event", "turn_call"])
        #expect(lines.allSatisfy { $0.turn == "int_1" })
        #expect(result.out.contains(#""tries":[{"attempt":2,"result":"delivered","delivered":true,"request":"req-2""#))
    }

    @Test("an unknown id, no id and no journal are each told with what to do")
    func mistakes() throws {
        let unknown = try run("explain", "int_9")
        #expect(unknown.code == 1)
        #expect(unknown.error.contains("knows nothing of int_9"))
        #expect(try run("explain").code == 2)
        let nothing = try run("journal", "inspect", state: folder.path + "/nowhere")
        #expect(nothing.code == 1)
        #expect(nothing.error.contains("there is no journal at"))
    }

    @Test("inspect lists connections, open turns and what was given up")
    func inspect() throws {
        let result = try run("journal", "inspect")
        #expect(result.code == 0)
        #expect(result.out.contains("connection main: 1 open turn (0 not begun), 1 closed, 1 call given up"))
        #expect(result.out.contains("open: turn int_1 of main"))
        #expect(result.out.contains("given up: call int_0-end"))
        #expect(try run("journal", "inspect", "--json").out.contains(#""event":"dead_letter""#))
    }

    @Test("inspect lists the newest turns, open and closed, with their times")
    func inspectLast() throws {
        let all = try run("journal", "inspect", "--last", "9").out.split(separator: "\n")
        #expect(all.contains { $0.hasPrefix("ended: turn int_0 of main, since ") && $0.hasSuffix(": finished") })
        #expect(all.contains { $0.hasPrefix("open: turn int_1 of main, since ") })
        let newest = try run("journal", "inspect", "--last", "1", "--json").out.split(separator: "\n")
        #expect(newest.filter { $0.contains(#""event":"journal_turn""#) }.count == 1)
        #expect(newest.contains { $0.contains(#""turn":"int_0""#) && $0.contains(#""outcome":"finished""#) })
        #expect(try run("journal", "inspect", "--last", "0").code == 2)
        #expect(try run("journal", "verify", "--last", "1").code == 2)
    }

    @Test("verify says whether the journal is whole")
    func verify() throws {
        #expect(try run("journal", "verify").code == 0)
        journal.close()
        try Data(repeating: 0x41, count: 4_096).write(to: URL(filePath: folder.file))
        #expect(try run("journal", "verify").code == 1)
    }

    @Test("export writes a line for each row")
    func export() throws {
        let lines = try run("journal", "export").out.split(separator: "\n")
        #expect(lines.count { $0.contains(#""table":"turns""#) } == 2)
        #expect(lines.allSatisfy { $0.hasPrefix(#"{"table":"#) })
    }

    @Test("clean waits for nobody: it refuses while the state is held, and tidies when it is not")
    func clean() throws {
        journal.close()
        let descriptor = open(folder.path + "/sophon-bridge.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        #expect(flock(descriptor, LOCK_EX | LOCK_NB) == 0)
        #expect(try run("journal", "clean").code == 24)
        flock(descriptor, LOCK_UN)
        close(descriptor)
        let result = try run("journal", "clean", "--json")
        #expect(result.code == 0, "\(result.error)")
        #expect(result.out.contains(#""turns_forgotten":1"#))
    }
}
