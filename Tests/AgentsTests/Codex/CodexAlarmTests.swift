import AgentKit
import Testing
import Vocabulary

/// `waits` fails if a deadline stays after it has passed.
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

    @Test("a server that says nothing to a person's answer is asked whether it is there, and left if it is not")
    func deafToAnswer() {
        var codex = CodexConversation.going()
        _ = codex.says(Self.ask(0, in: "T"))
        // A person may take any time.
        #expect(codex.waits(3_600_000).isEmpty)
        _ = codex.decides("V:i", .approve)
        #expect(codex.waits(31_000).contains { $0.contains("thread/read") })
        #expect(codex.waits(11_000).contains("close 1"))
    }

    @Test("a message that waits for a turn whose stop was ignored has the server asked whether it is there")
    func deafToStop() {
        var codex = CodexConversation.going()
        #expect(codex.aborts("r1").contains { $0.contains("turn/interrupt") })
        #expect(codex.waits(16_000).contains { $0.contains("stop of r1 answered") })
        #expect(codex.sends("r2", "two").isEmpty)
        #expect(codex.waits(361_000).contains { $0.contains("thread/read") })
        #expect(codex.waits(11_000).contains("close 1"))
    }

    @Test("what is not read, because reading is paused, is not missed")
    func paused() {
        var codex = CodexConversation.going()
        _ = codex.says(#"{"method":"thread/status/changed","params":{"threadId":"T","status":{"type":"idle"}}}"#)
        #expect(codex.waits(2_100).contains { $0.contains("thread/turns/list") })
        codex.pauses()
        #expect(codex.waits(3_600_000).isEmpty)
        codex.resumes()
        #expect(codex.waits(20_000).isEmpty)
        let said = codex.says(#"{"id":5,"result":{"data":[{"id":"U","status":"completed","items":[]}]}}"#)
        #expect(said.contains { $0.contains("finished") })
    }
}
