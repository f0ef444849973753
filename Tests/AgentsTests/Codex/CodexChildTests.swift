import AgentKit
import Testing
import Vocabulary

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

    /// A sub-agent works in thread `C`, turn `V`, after the turn that began it has ended.
    private static func behind() -> CodexConversation {
        var codex = CodexConversation.going()
        _ = codex.says(
            #"{"method":"item/started","params":{"threadId":"T","turnId":"U","item":{"type":"subAgentActivity","id":"s","kind":"started","agentThreadId":"C","agentPath":"/apprentice"}}}"#
        )
        _ = codex.says(#"{"method":"turn/started","params":{"threadId":"C","turn":{"id":"V"}}}"#)
        _ = codex.says(ended("T", "U"))
        return codex
    }

    /// Starts run `r2` as turn `W`.
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
        // No chat owns the thread now.
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

    @Test("however many a chat has had, what the next one asks is answered, and so is what an old one asks that works")
    func many() {
        func activity(_ thread: String) -> String {
            #"{"method":"item/started","params":{"threadId":"T","turnId":"U","item":{"type":"subAgentActivity","id":"s\#(thread)","kind":"started","agentThreadId":"\#(thread)","agentPath":"/apprentice"}}}"#
        }
        func begins(_ thread: String) -> String {
            #"{"method":"turn/started","params":{"threadId":"\#(thread)","turn":{"id":"V\#(thread)"}}}"#
        }
        func asks(_ number: Int, _ thread: String) -> String {
            #"{"id":\#(number),"method":"item/commandExecution/requestApproval","params":{"threadId":"\#(thread)","turnId":"V\#(thread)","itemId":"i","command":"rm x"}}"#
        }
        var codex = CodexConversation.going()
        for number in 0..<300 {
            _ = codex.says(activity("C\(number)"))
            _ = codex.says(begins("C\(number)"))
            // The first sub-agent outlasts all others.
            if number > 0 { _ = codex.says(Self.ended("C\(number)", "VC\(number)")) }
        }
        _ = codex.says(activity("D"))
        _ = codex.says(begins("D"))
        #expect(codex.says(asks(0, "D")).contains { $0.contains("approval requested VD:i") })
        #expect(codex.says(asks(1, "C0")).contains { $0.contains("approval requested VC0:i") })
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

    // MARK: Over a cut of the link

    /// The sub-agent's turn and its ask `V:i` are open, and the link has been lost and restored.
    private static func cut() -> CodexConversation {
        var codex = CodexConversation.going()
        _ = codex.says(
            #"{"method":"item/started","params":{"threadId":"T","turnId":"U","item":{"type":"subAgentActivity","id":"s","kind":"started","agentThreadId":"C","agentPath":"/apprentice"}}}"#
        )
        _ = codex.says(#"{"method":"turn/started","params":{"threadId":"C","turn":{"id":"V"}}}"#)
        _ = codex.says(ask)
        _ = codex.rejoins()
        _ = codex.says(#"{"id":3,"result":{"thread":{"id":"T","status":{"type":"active"}}}}"#)
        return codex
    }
    private static let listed =
        #"{"id":4,"result":{"data":[{"id":"U","status":"inProgress","items":[{"type":"userMessage","id":"m","clientId":"r1","content":[]},{"type":"subAgentActivity","id":"s","kind":"started","agentThreadId":"C","agentPath":"/apprentice"}]}]}}"#
    private static func resumes(_ lines: [String]) -> Bool {
        lines.contains { $0.contains("thread/resume") && $0.contains(#""threadId":"C""#) }
    }
    private static let followed = #"{"id":5,"result":{"thread":{"id":"C","status":{"type":"active"}}}}"#
    private static let again =
        #"{"id":1,"method":"item/commandExecution/requestApproval","params":{"threadId":"C","turnId":"V","itemId":"i","command":"rm x"}}"#

    @Test("what it asks stays open however late its thread is followed again, and is no second ask then")
    func asksOverCut() {
        var codex = Self.cut()
        var said = codex.waits(1_500) + codex.says(Self.listed)
        #expect(Self.resumes(said))
        said += codex.waits(3_000) + codex.says(Self.followed)
        said += codex.says(#"{"id":6,"result":{"data":[{"id":"V","status":"inProgress","items":[]}]}}"#)
        said += codex.says(Self.again)
        #expect(!said.contains { $0.contains("settled V:i") || $0.contains("V:i:2") }, "\(said)")
        #expect(codex.decides("V:i", .approve).contains(#"send {"id":1,"result":{"decision":"accept"}}"#))
    }

    @Test("a server that is too busy to let its thread be followed is asked again, and so is one that does not answer")
    func followedAgain() {
        var busy = Self.cut()
        _ = busy.says(Self.listed)
        let refused = #"{"id":5,"error":{"code":-32001,"message":"Server overloaded; retry later."}}"#
        var said = busy.says(refused)
        said += busy.waits(1_500)
        #expect(Self.resumes(said) && !said.contains { $0.contains("settled V:i") }, "\(said)")
        var silent = Self.cut()
        _ = silent.says(Self.listed)
        said = silent.waits(32_000)
        #expect(Self.resumes(said) && !said.contains { $0.contains("settled V:i") }, "\(said)")
    }

    @Test("what it asked and does not ask again is answered, once its thread is followed")
    func answeredMeanwhile() {
        var codex = Self.cut()
        _ = codex.says(Self.listed)
        _ = codex.says(#"{"id":5,"result":{"thread":{"id":"C","status":{"type":"idle"}}}}"#)
        #expect(codex.waits(1_500).contains { $0.contains("settled V:i") })
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
