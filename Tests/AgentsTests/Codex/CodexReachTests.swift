import AgentKit
import Testing
import Vocabulary

/// Our prompt steers a turn that another client's message began (codex.md#stop-steer-busy), and the relay stops only
/// ours.
@Suite("Codex: a Stop of our runs alone, in another client's turn")
struct CodexReachTests {
    /// The prompt of run `r1` is request 4.
    private static func asked() -> CodexConversation {
        var codex = CodexConversation.up()
        _ = codex.sends("r1", "one")
        _ = codex.says(#"{"id":3,"result":{"thread":{"id":"T","status":{"type":"idle"}},"model":"m"}}"#)
        _ = codex.isDone()
        return codex
    }

    private static let answer = #"{"id":4,"result":{"turn":{"id":"U","status":"inProgress"}}}"#
    private static func message(of label: String) -> String {
        #"{"type":"userMessage","id":"u-\#(label)","clientId":"\#(label)"}"#
    }
    /// A message of a client that uses no labels.
    private static let unlabelled = #"{"type":"userMessage","id":"u-0","clientId":null}"#
    private static func item(_ item: String) -> String {
        #"{"method":"item/completed","params":{"threadId":"T","turnId":"U","item":\#(item)}}"#
    }
    private static func says(_ text: String) -> String {
        item(#"{"type":"agentMessage","id":"\#(text)","text":"\#(text)"}"#)
    }
    private static let end =
        #"{"method":"turn/completed","params":{"threadId":"T","turn":{"id":"U","status":"completed","items":[]}}}"#
    private static func list(
        _ number: Int, _ status: String = "inProgress", first: String = message(of: "other")
    ) -> String {
        let child =
            #"{"type":"subAgentActivity","id":"s","kind":"started","agentThreadId":"C","agentPath":"/apprentice"}"#
        let items = [first, message(of: "r1"), child].joined(separator: ",")
        let turn = #"{"id":"U","status":"\#(status)","completedAt":1,"items":[\#(items)]}"#
        return #"{"id":\#(number),"result":{"data":[\#(turn)],"nextCursor":null}}"#
    }

    private static func interrupts(_ lines: [String]) -> Bool { lines.contains { $0.contains("turn/interrupt") } }
    private static func isLeft(_ lines: [String]) -> Bool {
        !interrupts(lines) && lines.contains("stop of r1 answered")
            && lines.contains { $0.hasPrefix("r1 ") && $0.contains("finished") && $0.contains("aborted") }
    }

    /// Our message stands behind the other client's in turn `U`.
    private static func merged() -> CodexConversation {
        var codex = asked()
        _ = codex.says(answer)
        _ = codex.begins("U")
        _ = codex.says(item(message(of: "other")))
        _ = codex.says(item(message(of: "r1")))
        return codex
    }

    @Test("ends our bubble and leaves the turn alone, which is the other client's again")
    func left() {
        var codex = Self.merged()
        #expect(Self.isLeft(codex.aborts("r1", reach: .ownRuns)))
        let said = codex.says(Self.says("Both."))
        #expect(said.contains { $0.hasPrefix("codex-U ") && $0.contains("Both.") })
        #expect(!codex.sends("r2", "two").contains { $0.contains("turn/start") })
        let ended = codex.says(Self.end)
        #expect(ended.contains { $0.contains("turn/start") && $0.contains("two") })
        #expect(!Self.interrupts(said + ended) && !(said + ended).contains { $0.hasPrefix("r1 ") })
    }

    @Test("of every run interrupts it")
    func everyRun() {
        var codex = Self.merged()
        #expect(Self.interrupts(codex.aborts("r1")))
    }

    @Test("interrupts a turn that our message began, whoever is in it besides")
    func ours() {
        var codex = Self.asked()
        _ = codex.says(Self.answer)
        _ = codex.begins("U")
        _ = codex.says(Self.item(Self.message(of: "r1")))
        _ = codex.says(Self.item(Self.message(of: "other")))
        #expect(Self.interrupts(codex.aborts("r1", reach: .ownRuns)))
    }

    @Test(
        "before the turn's first message waits for that, which says whose the turn is",
        arguments: [message(of: "r1"), message(of: "other"), unlabelled])
    func early(first: String) {
        var codex = Self.asked()
        _ = codex.says(Self.answer)
        var said = codex.aborts("r1", reach: .ownRuns)
        said += codex.begins("U")
        #expect(!Self.interrupts(said) && !said.contains("stop of r1 answered"))
        said = codex.says(Self.item(first))
        #expect(first.contains("r1") ? Self.interrupts(said) : Self.isLeft(said), "\(said)")
    }

    @Test("does not wait for long where no message comes")
    func unclear() {
        var codex = Self.asked()
        _ = codex.says(Self.answer)
        _ = codex.aborts("r1", reach: .ownRuns)
        _ = codex.begins("U")
        #expect(Self.interrupts(codex.waits(5_100)))
    }

    @Test(
        "leaves the turn alone that a list shows to be another's",
        arguments: ["inProgress", "completed"], [message(of: "other"), unlabelled])
    func found(status: String, first: String) {
        let fact = Fact("thread:codex:ses_1", Array(#"{"thread":"T","folder":"/work"}"#.utf8))
        let turn = EarlierTurn(
            session: CodexConversation.chat, runs: [.init(RunID("r1"), text: "one")], isAccepted: true,
            isStopping: true, receivedAt: .zero, decisions: [], detached: [], stopReach: .ownRuns)
        var codex = CodexConversation.up(facts: [fact], turns: [turn])
        _ = codex.says(#"{"id":3,"result":{"thread":{"id":"T","status":{"type":"active"}}}}"#)
        let said = codex.says(Self.list(4, status, first: first)) + codex.waits(10_000)
        #expect(!Self.interrupts(said) && said.contains("stop of r1 answered"), "\(said)")
        // Sub-agents of that turn belong to the other client as well.
        #expect(!said.contains { $0.contains("thread/turns/list") && $0.contains(#""threadId":"C""#) })
    }

    @Test("and so does one that is owed from an earlier process", arguments: ["inProgress", "completed"])
    func owed(status: String) {
        let fact = Fact("thread:codex:ses_1", Array(#"{"thread":"T","folder":"/work"}"#.utf8))
        var codex = CodexConversation.up(facts: [fact])
        _ = codex.aborts("r1", reach: .ownRuns)
        _ = codex.says(#"{"id":3,"result":{"thread":{"id":"T","status":{"type":"active"}}}}"#)
        let said = codex.says(Self.list(4, status)) + codex.waits(10_000)
        #expect(!Self.interrupts(said) && said.contains("stop of r1 answered"), "\(said)")
        #expect(!said.contains { $0.contains("thread/turns/list") && $0.contains(#""threadId":"C""#) })
    }

    @Test("is followed by one that reaches further")
    func further() {
        var codex = Self.asked()
        _ = codex.says(Self.answer)
        let said = codex.aborts("r1", reach: .ownRuns) + codex.begins("U")
        #expect(!Self.interrupts(said) && Self.interrupts(codex.aborts("r1")))
        #expect(codex.aborts("r1").isEmpty)
    }
}
