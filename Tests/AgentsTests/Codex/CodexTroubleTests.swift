import AgentKit
import Testing
import Vocabulary

@Suite("Codex: turns of an earlier process, while something is wrong with the server")
struct CodexTroubleTests {
    private static let place = Fact("thread:codex:ses_1", Array(#"{"thread":"T","folder":"/site"}"#.utf8))

    private static func earlier(isAccepted: Bool) -> EarlierTurn {
        EarlierTurn(
            session: CodexConversation.chat, runs: [EarlierTurn.Run(RunID("r1"), text: "one", folder: "/site")],
            isAccepted: isAccepted, isStopping: false, receivedAt: .zero, decisions: [], detached: [])
    }

    /// The server was started, and ends at once.
    private static func ending(_ words: String, of turn: EarlierTurn? = nil) -> (CodexConversation, said: [String]) {
        var codex = CodexConversation(facts: [place], turns: turn.map { [$0] } ?? [])
        _ = codex.ran("codex-cli 0.163.0")
        _ = codex.fails()
        _ = codex.isDone()
        _ = codex.finished(.read([], size: 0))
        _ = codex.spawns(9)
        _ = codex.exits()
        let log = Array(words.utf8)
        let said = codex.finished(.read(log, size: Int64(log.count)))
        return (codex, said)
    }

    @Test("ends when the server could not be started a second time, and with it the message behind")
    func secondTry() {
        var earlier = Self.earlier(isAccepted: true)
        earlier.runs.append(EarlierTurn.Run(RunID("r2"), text: "two", folder: "/site"))
        var (codex, said) = Self.ending("Error: no", of: earlier)
        #expect(said.contains { $0.hasPrefix("remedy") } && !said.contains { $0.contains("failed") })
        said = codex.waits(60_100)
        #expect(said.contains("run codex --version"))
        _ = codex.ran("codex-cli 0.163.0")
        _ = codex.fails()
        _ = codex.isDone()
        _ = codex.finished(.failed(WorkFailure(.absent, "there is none")))
        _ = codex.spawns(10)
        _ = codex.exits()
        said = codex.finished(.read([], size: 0))
        for run in ["r1", "r2"] { #expect(said.contains { $0.hasPrefix(run) && $0.contains("failed") }, "\(said)") }
    }

    @Test("where the socket is another user's a message is told so, no server is started, and once it is gone one is")
    func foreign() {
        var codex = CodexConversation()
        _ = codex.ran("codex-cli 0.163.0")
        var said = codex.meetsAnother()
        #expect(said.contains { $0.hasPrefix("remedy") && $0.contains("user 1001") })
        #expect(!said.contains { $0.hasPrefix("keep server") || $0.hasPrefix("start") })
        said = codex.sends("r1", "one") + codex.ran("codex-cli 0.163.0") + codex.meetsAnother()
        #expect(said.contains { $0.contains("r1") && $0.contains("It belongs to user 1001") }, "\(said)")
        _ = codex.sends("r2", "two")
        _ = codex.ran("codex-cli 0.163.0")
        #expect(codex.fails().contains { $0.hasPrefix("keep server") })
    }

    @Test("a server is started when the size of its log is known, so that one that ends at once has its last words")
    func logBeforeStart() {
        var codex = CodexConversation(facts: [Self.place], turns: [])
        _ = codex.ran("codex-cli 0.163.0")
        _ = codex.fails()
        var said = codex.isDone()
        #expect(!said.contains { $0.hasPrefix("start") }, "\(said)")
        said = codex.finished(.read([], size: 70))
        #expect(said.contains { $0.hasPrefix("start") }, "\(said)")
        _ = codex.exits()
        let log = Array("Error: app-server control socket is already in use: /state/codex.sock".utf8)
        #expect(!codex.finished(.read(log, size: 140)).contains { $0.hasPrefix("remedy") })
    }

    @Test("a server that is being started by an earlier process is waited for, and keeps its name")
    func startedByAnother() {
        var (codex, said) = Self.ending("Error: app-server control socket is already in use: /state/codex.sock")
        #expect(!said.contains { $0.hasPrefix("remedy") })
        said = codex.waits(300)
        #expect(said == ["open 1 /state/codex.sock"])
        #expect(codex.greets().contains("link back"))
    }
}
