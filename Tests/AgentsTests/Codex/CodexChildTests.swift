import AgentKit
import BridgeModel
import Testing

@Suite("Codex's sub-agents behind their turn, and chats that are over")
struct CodexChildTests {
    private static func ended(_ thread: String, _ turn: String) -> String {
        #"{"method":"turn/completed","params":{"threadId":"\#(thread)","turn":{"id":"\#(turn)","status":"completed","items":[]}}}"#
    }
    private static let ask =
        #"{"id":0,"method":"item/commandExecution/requestApproval","params":{"threadId":"C","turnId":"V","itemId":"i","command":"rm x"}}"#
    private static func isLeft(_ thread: String, _ lines: [String]) -> Bool {
        lines.contains { $0.contains("thread/unsubscribe") && $0.contains(#""threadId":"\#(thread)""#) }
    }

    /// A sub-agent works in thread `C`, turn `V`, and the turn that began it is over.
    private static func behind() -> CodexConversation {
        var codex = CodexConversation.going()
        _ = codex.says(
            #"{"method":"item/started","params":{"threadId":"T","turnId":"U","item":{"type":"subAgentActivity","id":"s","kind":"started","agentThreadId":"C","agentPath":"/apprentice"}}}"#
        )
        _ = codex.says(#"{"method":"turn/started","params":{"threadId":"C","turn":{"id":"V"}}}"#)
        _ = codex.says(ended("T", "U"))
        return codex
    }

    /// Of run `r2`, as turn `W`.
    private static func next(_ codex: inout CodexConversation, request: Int) {
        _ = codex.sends("r2", "two")
        _ = codex.says(#"{"id":\#(request),"result":{"turn":{"id":"W","status":"inProgress"}}}"#)
        _ = codex.begins("W")
    }

    @Test("its thread is left with the chat's, when it has come to its end")
    func isLeft() {
        var codex = Self.behind()
        #expect(codex.waits(3_600_000).isEmpty)
        #expect(codex.says(Self.ask) == [#"send {"id":0,"result":{"decision":"decline"}}"#])
        _ = codex.says(Self.ended("C", "V"))
        let said = codex.waits(301_000)
        #expect(Self.isLeft("T", said) && Self.isLeft("C", said))
        // No chat has it any more.
        #expect(codex.says(Self.ask).isEmpty)
    }

    @Test("one of an earlier turn is left likewise, and asks in the bubble of the turn that continues")
    func ofAnEarlierTurn() {
        var codex = Self.behind()
        Self.next(&codex, request: 5)
        #expect(codex.says(Self.ask).contains { $0.hasPrefix("r2 ") && $0.contains("approval requested V:i") })
        _ = codex.decides("V:i", .approve)
        _ = codex.says(#"{"method":"serverRequest/resolved","params":{"threadId":"C","requestId":0}}"#)
        _ = codex.says(Self.ended("T", "W"))
        _ = codex.says(Self.ended("C", "V"))
        let said = codex.waits(301_000)
        #expect(Self.isLeft("T", said) && Self.isLeft("C", said))
    }

    @Test("what it uses behind its turn is not the chat's")
    func usage() {
        func used(_ thread: String, _ turn: String, _ input: Int) -> String {
            let total = #"{"totalTokens":\#(input),"inputTokens":\#(input),"cachedInputTokens":0,"outputTokens":0}"#
            return
                #"{"method":"thread/tokenUsage/updated","params":{"threadId":"\#(thread)","turnId":"\#(turn)","tokenUsage":{"total":\#(total)}}}"#
        }
        var codex = Self.behind()
        _ = codex.says(used("T", "U", 100))
        Self.next(&codex, request: 5)
        _ = codex.says(used("T", "W", 150))
        _ = codex.says(used("C", "V", 9_000))
        let said = codex.says(Self.ended("T", "W"))
        #expect(said.contains { $0.contains("finished") && $0.contains("50") && !$0.contains("9000") }, "\(said)")
    }

    @Test(
        "the place of a deleted chat is forgotten, of an archived one it is kept, and both threads are left",
        arguments: [true, false])
    func released(isDeleted: Bool) {
        var codex = CodexConversation.going()
        _ = codex.says(Self.ended("T", "U"))
        let said = codex.releases(isDeleted: isDeleted)
        #expect(Self.isLeft("T", said) && said.contains("keep thread:codex:ses_1 ") == isDeleted)
        #expect(codex.sends("r2", "two").contains { $0.contains(isDeleted ? "thread/start" : "thread/resume") })
    }

    @Test("that of one whose turn continues is kept until it is stopped")
    func releasedBusy() {
        var codex = CodexConversation.going()
        _ = codex.aborts("r1")
        #expect(codex.releases(isDeleted: true).isEmpty)
        let said = codex.says(Self.ended("T", "U"))
        #expect(said.contains("keep thread:codex:ses_1 ") && Self.isLeft("T", said))
    }

    @Test("that of one at rest is forgotten without a thread that is joined")
    func releasedAtRest() {
        var codex = CodexConversation.going()
        _ = codex.says(Self.ended("T", "U"))
        _ = codex.waits(301_000)
        #expect(codex.releases(isDeleted: true) == ["keep thread:codex:ses_1 "])
    }
}
