import FoundationEssentials
import Glibc
import RelayRules
import Simulator
import Testing

@Suite("replay --expect against a relay's address")
struct ReplayCommandTests {
    /// The program is in the directory of the tests it was built with.
    private static var program: String {
        URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: "sophon-bridge").path()
    }

    /// The exit code of the program, and its standard output.
    private static func run(_ arguments: [String]) throws -> (code: Int32, text: String) {
        let file = FileManager.default.temporaryDirectory.appending(path: "replay-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 1, file.path(), O_WRONLY | O_CREAT, 0o600)
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        var words = ([program] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var child = pid_t()
        guard posix_spawn(&child, program, &actions, nil, &words, environ) == 0 else { return (-1, "not started") }
        var status: Int32 = 0
        waitpid(child, &status, 0)
        return ((status >> 8) & 0xFF, String(decoding: try Data(contentsOf: file), as: UTF8.self))
    }

    private static func replay(_ trace: String, expecting golden: String, _ more: [String] = []) throws -> (
        code: Int32, text: String
    ) {
        let simulator = RelaySimulator()
        try simulator.start()
        defer { simulator.stop() }
        return try run(
            ["replay", Fixtures.trace(trace), "--to", simulator.baseURL, "--token", simulator.bridgeToken]
                + ["--expect", golden] + more)
    }

    @Test(
        "the calls of a recording are as expected", arguments: ["oppi-tool.jsonl", "openclaw-append-only-deltas.jsonl"])
    func same(trace: String) throws {
        #expect(try Self.replay(trace, expecting: Fixtures.golden(trace).path()) == (0, ""))
    }

    @Test("a difference is told in lines that a person can read, and exits 1")
    func different() throws {
        let trace = "oppi-tool.jsonl"
        let altered = FileManager.default.temporaryDirectory.appending(path: "altered-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: altered) }
        let golden = String(decoding: try Data(contentsOf: Fixtures.golden(trace)), as: UTF8.self)
        let lie = golden.split(separator: "\n").map { line in
            line.contains(" sendMessageEnd ") ? String(line).replacing("42", with: "41") : String(line)
        }
        try Data(lie.joined(separator: "\n").utf8).write(to: altered)
        let (code, text) = try Self.replay(trace, expecting: altered.path())
        #expect(code == 1)
        let lines = text.split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines.first?.contains(": - sendMessageEnd ") == true && lines.first?.contains("41 packets") == true)
        #expect(lines.last?.contains(": + sendMessageEnd ") == true && lines.last?.contains("42 packets") == true)
    }

    @Test("a golden file that is missing, or is to be written from a relay, is a mistake of usage")
    func mistakes() throws {
        #expect(try Self.replay("oppi-tool.jsonl", expecting: "/nowhere/x.golden").code == 2)
        let golden = Fixtures.golden("oppi-tool.jsonl").path()
        #expect(try Self.replay("oppi-tool.jsonl", expecting: golden, ["--rewrite"]).code == 2)
    }
}
