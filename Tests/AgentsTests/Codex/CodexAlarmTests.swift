import AgentKit
import BridgeModel
import Testing

/// `waits` fails where a deadline stays that has passed.
@Suite("Codex's alarm rings for what is done then")
struct CodexAlarmTests {
    private static let child =
        #"{"method":"item/started","params":{"threadId":"T","turnId":"U","item":{"type":"subAgentActivity","id":"s","kind":"started","agentThreadId":"C","agentPath":"/apprentice"}}}"#
    private static let ended =
        #"{"method":"turn/completed","params":{"threadId":"T","turn":{"id":"U","status":"completed","items":[]}}}"#
    private static func ask(_ number: Int, in thread: String) -> String {
        #"{"id":\#(number),"method":"item/commandExecution/requestApproval","params":{"threadId":"\#(thread)","turnId":"V","itemId":"i","command":"rm x"}}"#
    }

    @Test("a stop while the link is down waits for the link, which comes up")
    func stopWhileDown() {
        var codex = CodexConversation.going()
        #expect(codex.breaks().contains("link lost"))
        #expect(codex.aborts("r1").isEmpty)
        #expect(codex.waits(25_000).allSatisfy { !$0.contains("for ever") })
        _ = codex.ran("codex-cli 0.163.0")
        _ = codex.waits(100)
        _ = codex.opens()
        _ = codex.waits(100)
        _ = codex.says(#"{"id":1,"result":{"userAgent":"sophon_bridge/0.163.0"}}"#)
        #expect(codex.waits(100).isEmpty)
        let back = codex.says(#"{"id":2,"result":{"account":null,"requiresOpenaiAuth":false}}"#)
        #expect(back.contains("link back") && back.contains { $0.contains("thread/resume") })
    }

    @Test("a stop while the thread is being joined leaves the link alone")
    func stopWhileJoining() {
        var codex = CodexConversation.going()
        _ = codex.rejoins()
        _ = codex.aborts("r1")
        #expect(codex.waits(25_000).isEmpty)
    }

    @Test("an open ask waits for a list that is slow")
    func slowList() {
        var codex = CodexConversation.going()
        _ = codex.says(Self.ask(0, in: "T"))
        _ = codex.rejoins()
        _ = codex.says(#"{"id":3,"result":{"thread":{"id":"T","status":{"type":"active"}}}}"#)
        #expect(codex.waits(20_000).isEmpty)
    }

    @Test("what a sub-agent asks when the turn is over is refused at once, and the thread is left")
    func childAtRest() {
        var codex = CodexConversation.going()
        _ = codex.says(Self.child)
        _ = codex.says(Self.ended)
        #expect(codex.says(Self.ask(0, in: "C")) == [#"send {"id":0,"result":{"decision":"decline"}}"#])
        #expect(codex.waits(301_000).contains { $0.contains("thread/unsubscribe") })
    }

    @Test("what a sub-agent has asked when the turn ends is refused, and its card goes")
    func childAtTheEnd() {
        var codex = CodexConversation.going()
        _ = codex.says(Self.child)
        #expect(codex.says(Self.ask(0, in: "C")).contains { $0.contains("approval requested V:i") })
        let said = codex.says(Self.ended)
        #expect(said.contains(#"send {"id":0,"result":{"decision":"decline"}}"#))
        #expect(said.contains { $0.contains("approval settled V:i") || $0.contains("V:i cancelled") })
    }
}
