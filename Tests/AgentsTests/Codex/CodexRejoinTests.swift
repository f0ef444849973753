import AgentKit
import BridgeModel
import Testing

@Suite("Codex: the way back to a turn")
struct CodexRejoinTests {
    // MARK: The server

    @Test("a connection that is cut is dialled again, and no server is started beside the one that lives")
    func cut() {
        var codex = CodexConversation.going()
        #expect(codex.breaks() == ["link lost", "run codex --version"])
        #expect(codex.ran("codex-cli 0.163.0") == ["open 1 /state/codex.sock"])
        #expect(codex.greets().contains { $0.contains("thread/resume") })
    }

    @Test("one that is cut in the handshake is dialled again too")
    func cutInHandshake() {
        var codex = CodexConversation()
        _ = codex.ran("codex-cli 0.163.0")
        _ = codex.opens()
        #expect(!codex.breaks().contains { $0.hasPrefix("keep") })
        #expect(codex.waits(1_100).contains("run codex --version"))
    }

    @Test("the end of a server that was not needed leaves the one that answered known")
    func notNeeded() {
        let process = ProcessName(id: 7, startTicks: 1)
        var codex = CodexConversation(facts: [Fact("server", Array("0.150.0 F".utf8))], processes: [process])
        _ = codex.ran("codex-cli 0.163.0")
        _ = codex.fails()
        _ = codex.isDone()
        _ = codex.waits(300)
        _ = codex.greets()
        _ = codex.spawns(9)
        _ = codex.exits()
        // Its settings are changed: it is the one that is ended.
        #expect(codex.uses(fingerprint: "G").contains("end 7"))
    }
}
