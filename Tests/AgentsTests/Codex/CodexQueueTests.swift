import AgentKit
import Testing
import Vocabulary

@Suite("Codex's server: one start at a time with one CODEX_HOME")
struct CodexQueueTests {
    private static let isHeld = WorkResult.failed(WorkFailure(.full, "it is locked"))

    /// No server runs.
    private static func absent() -> (conversation: CodexConversation, said: [String]) {
        var codex = CodexConversation(lock: "/state/start.lock")
        _ = codex.ran("codex-cli 0.163.0")
        let said = codex.fails()
        return (codex, said)
    }

    @Test("the lock is taken before anything is started, and held until the server answers")
    func holds() {
        var (codex, said) = Self.absent()
        #expect(said == ["lock /state/start.lock"])
        #expect(codex.isDone() == ["keep server 0.163.0 F"])
        _ = codex.isDone()
        #expect(codex.finished(.read([], size: 0)).contains { $0.hasPrefix("start 2") })
        _ = codex.spawns(7)
        #expect(codex.waits(300) == ["open 1 /state/codex.sock"])
        #expect(codex.greets().contains("unlock /state/start.lock"))
        #expect(codex.isDone().isEmpty)
    }

    @Test("while another start has it nothing is started, and it is asked for again")
    func waits() {
        var (codex, _) = Self.absent()
        for _ in 0..<20 {
            #expect(codex.finished(Self.isHeld).isEmpty)
            #expect(codex.waits(300) == ["open 1 /state/codex.sock"])
            #expect(codex.fails() == ["lock /state/start.lock"])
        }
        #expect(codex.isDone() == ["keep server 0.163.0 F"])
    }

    @Test("one that is held for longer than a minute is started without")
    func isPatientForAWhile() {
        var (codex, _) = Self.absent()
        var said: [String] = []
        for _ in 0..<300 where said.isEmpty {
            said = codex.finished(Self.isHeld)
            if said.isEmpty { _ = codex.waits(300) + codex.fails() }
        }
        #expect(said == ["keep server 0.163.0 F"] && codex.now >= .zero + .seconds(60))
    }

    @Test("where there can be no lock it is started without, and nothing is let go of")
    func none() {
        var (codex, _) = Self.absent()
        #expect(codex.finished(.failed(WorkFailure(.other, "read-only"))) == ["keep server 0.163.0 F"])
        _ = codex.isDone()
        _ = codex.finished(.read([], size: 0))
        _ = codex.spawns(7)
        _ = codex.waits(300)
        #expect(!codex.greets().contains { $0.hasPrefix("unlock") })
    }

    @Test("a start that fails lets others start", arguments: [true, false])
    func fails(isKept: Bool) {
        var (codex, _) = Self.absent()
        _ = codex.isDone()
        guard isKept else {
            let said = codex.finished(.failed(WorkFailure(.other, "full")))
            #expect(said.contains("unlock /state/start.lock"))
            return
        }
        _ = codex.isDone()
        _ = codex.finished(.read([], size: 0))
        _ = codex.spawns(7)
        _ = codex.exits()
        #expect(codex.finished(.read([], size: 0)).contains("unlock /state/start.lock"))
    }

    @Test("one that was granted when the server had answered is let go of at once")
    func late() {
        var (codex, _) = Self.absent()
        _ = codex.waits(300)
        _ = codex.greets()
        #expect(codex.isDone() == ["unlock /state/start.lock"])
    }
}
