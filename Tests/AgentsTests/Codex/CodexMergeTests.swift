import AgentKit
import Testing
import Vocabulary

/// Another client of the server prompts in the same thread (codex.md#one-writer-several-clients).
@Suite("Codex: another client's message in the same thread")
struct CodexMergeTests {
    /// The prompt of run `r1` has left for thread `T` and has no answer.
    private static func asked() -> CodexConversation {
        var codex = CodexConversation.up()
        _ = codex.sends("r1", "one")
        _ = codex.says(#"{"id":3,"result":{"thread":{"id":"T","status":{"type":"idle"}},"model":"m"}}"#)
        _ = codex.isDone()
        return codex
    }

    private static let answer = #"{"id":4,"result":{"turn":{"id":"U","status":"inProgress"}}}"#

    private static func item(_ item: String, _ method: String = "item/completed") -> String {
        #"{"method":"\#(method)","params":{"threadId":"T","turnId":"U","item":\#(item)}}"#
    }
    private static func message(of label: String) -> String {
        #"{"type":"userMessage","id":"u-\#(label)","clientId":"\#(label)"}"#
    }
    private static func words(_ id: String, _ text: String) -> String {
        #"{"type":"agentMessage","id":"\#(id)","text":"\#(text)"}"#
    }
    private static func call(_ status: String) -> String {
        #"{"type":"commandExecution","id":"c","command":"df","status":"\#(status)"}"#
    }
    private static func end(_ status: String = "completed", _ items: String = "") -> String {
        let turn = #"{"id":"U","status":"\#(status)","completedAt":1,"items":[\#(items)]}"#
        return #"{"method":"turn/completed","params":{"threadId":"T","turn":\#(turn)}}"#
    }

    // MARK: Before the answer

    @Test("a turn that begins while the prompt is unanswered is not taken for ours")
    func another() {
        var codex = Self.asked()
        var said = codex.begins("U") + codex.says(Self.item(Self.message(of: "other")))
        said += codex.says(Self.item(Self.words("a", "Theirs."))) + codex.says(Self.end())
        #expect(!said.contains { $0.hasPrefix("r1 ") || $0.hasPrefix("send r1") })
        #expect(said.contains { $0.hasPrefix("codex-U ") && $0.contains("Theirs.") })
        // The server handles the prompt only now.
        #expect(codex.says(Self.answer.replacing("U", with: "V")).contains("send r1 accepted as r1"))
        #expect(codex.begins("V").contains { $0.hasPrefix("r1 ") && $0.hasSuffix("started") })
    }

    @Test("ours is known by its message where that comes before the answer")
    func unanswered() {
        var codex = Self.asked()
        let said = codex.begins("U") + codex.says(Self.item(Self.message(of: "r1"), "item/started"))
        #expect(
            said == [
                #"keep thread:codex:ses_1 {"thread":"T","folder":"/work"}"#, "send r1 accepted as r1",
                "r1 codex:ses_1 started", "r1 codex:ses_1 alive, working",
            ])
        #expect(codex.says(Self.item(Self.words("a", "Ours."))).contains { $0.hasPrefix("r1 ") })
        #expect(codex.says(Self.answer).isEmpty)
        #expect(codex.says(Self.end()).contains { $0.hasPrefix("r1 ") && $0.contains("finished") })
    }

    // MARK: In one turn

    @Test("of a turn that another client began, what comes behind our message is the answer to it")
    func merged() {
        var codex = Self.asked()
        _ = codex.says(Self.answer)
        _ = codex.begins("U")
        var theirs = codex.says(Self.item(Self.message(of: "other")))
        theirs += codex.says(Self.item(Self.words("a", "Theirs.")))
        theirs += codex.says(Self.item(Self.call("inProgress"), "item/started"))
        #expect(!theirs.contains { $0.hasPrefix("r1 ") } && theirs.contains { $0.contains("Theirs.") })
        let ours = codex.says(Self.item(Self.message(of: "r1")))
        // The other run's bubble, if mirrored, does not wait for our run's end.
        #expect(ours.contains { $0.hasPrefix("codex-U ") && $0.contains("finished") })
        #expect(codex.says(Self.item(Self.call("completed"))).isEmpty)
        let said = codex.says(Self.item(Self.words("b", "Both."))) + codex.says(Self.end("completed"))
        #expect(said.contains { $0.hasPrefix("r1 ") && $0.contains("Both.") })
        #expect(said.contains { $0.hasPrefix("r1 ") && $0.contains("finished") })
        #expect(!said.contains { $0.hasPrefix("codex-U ") })
    }

    @Test("a message of another client within our turn leaves the turn ours")
    func steered() {
        var codex = Self.asked()
        _ = codex.says(Self.answer)
        _ = codex.begins("U")
        _ = codex.says(Self.item(Self.message(of: "r1")))
        _ = codex.says(Self.item(Self.message(of: "other")))
        let said = codex.says(Self.item(Self.words("a", "Both.")))
        #expect(said.contains { $0.hasPrefix("r1 ") && $0.contains("Both.") })
    }

    @Test("a turn that took our message in and ends without it ends ours with a sentence")
    func leftOut() {
        var codex = Self.asked()
        _ = codex.says(Self.answer)
        _ = codex.begins("U")
        _ = codex.says(Self.item(Self.message(of: "other")))
        let said = codex.says(Self.end("interrupted"))
        #expect(said.contains { $0.hasPrefix("r1 ") && $0.contains("failed") && $0.contains("Another program") })
    }

    // MARK: Behind a loss

    /// A list with the turn that has both messages.
    private static func list(_ number: Int, _ status: String, _ items: [String]) -> String {
        let turn = #"{"id":"U","status":"\#(status)","completedAt":1,"items":[\#(items.joined(separator: ","))]}"#
        return #"{"id":\#(number),"result":{"data":[\#(turn)],"nextCursor":null}}"#
    }
    private static let both = [
        message(of: "other"), words("a", "Theirs."), message(of: "r1"), words("b", "Both."),
    ]

    @Test("our message is found behind another client's in one turn, and is not sent again")
    func found() {
        var codex = Self.asked()
        _ = codex.rejoins()
        _ = codex.says(#"{"id":3,"result":{"thread":{"id":"T","status":{"type":"idle"}}}}"#)
        _ = codex.says(#"{"id":4,"result":{"thread":{"id":"T","status":{"type":"idle"}}}}"#)
        let said = codex.says(Self.list(5, "completed", Self.both))
        #expect(said.contains { $0.hasPrefix("r1 ") && $0.contains("Both.") })
        #expect(said.contains { $0.hasPrefix("r1 ") && $0.contains("finished") })
        #expect(!said.contains { $0.contains("Theirs.") || $0.contains("turn/start") })
    }

    @Test("the next process of the bridge shows what is behind our message, too")
    func adopted() {
        let fact = Fact("thread:codex:ses_1", Array(#"{"thread":"T","folder":"/work"}"#.utf8))
        let turn = EarlierTurn(
            session: CodexConversation.chat, runs: [.init(RunID("r1"), text: "one")], isAccepted: true,
            isStopping: false, receivedAt: .zero, decisions: [], detached: [])
        var codex = CodexConversation.up(facts: [fact], turns: [turn])
        _ = codex.says(#"{"id":3,"result":{"thread":{"id":"T","status":{"type":"active"}}}}"#)
        let said = codex.says(Self.list(4, "inProgress", Self.both))
        #expect(said.contains { $0.contains(#"snapshot "Both.""#) } && !said.contains { $0.contains("Theirs.") })
    }

    @Test("a run that is asked about is found behind another client's message")
    func lookedUp() {
        var codex = CodexConversation.going()
        _ = codex.says(Self.end())
        #expect(codex.looksUp("r1").contains { $0.contains("thread/turns/list") })
        let said = codex.says(Self.list(5, "completed", Self.both))
        #expect(said.contains { $0.hasPrefix("looked up r1 finished") && $0.contains(#""Both.""#) })
    }

    // MARK: The end

    /// Another client's turn `V` runs in thread `T`, and the link has been lost and restored.
    private static func lost() -> CodexConversation {
        var codex = CodexConversation.going()
        _ = codex.says(end())
        _ = codex.begins("V")
        _ = codex.rejoins()
        return codex
    }

    private static func resumed(_ status: String) -> String {
        #"{"id":3,"result":{"thread":{"id":"T","status":{"type":"\#(status)"}}}}"#
    }

    @Test("another client's turn that ended behind a lost link ends where it is shown")
    func endedMeanwhile() {
        var codex = Self.lost()
        _ = codex.says(Self.resumed("idle"))
        let turn = #"{"id":"V","status":"completed","completedAt":1,"items":[\#(Self.words("b", "Theirs."))]}"#
        let said = codex.says(#"{"id":4,"result":{"data":[\#(turn)]}}"#)
        #expect(said.contains { $0.hasPrefix("codex-V ") && $0.contains("Theirs.") })
        #expect(said.contains { $0.hasPrefix("codex-V ") && $0.contains("finished") })
    }

    @Test("and one that no list has, too")
    func notListed() {
        var codex = Self.lost()
        _ = codex.says(Self.resumed("idle"))
        let said = codex.says(#"{"id":4,"result":{"data":[]}}"#)
        #expect(said.contains { $0.hasPrefix("codex-V ") && $0.contains("finished") })
    }

    @Test("or one that another turn follows")
    func followed() {
        var codex = Self.lost()
        _ = codex.says(Self.resumed("active"))
        _ = codex.says(#"{"id":4,"result":{"data":[{"id":"V","status":"inProgress","items":[]}]}}"#)
        #expect(codex.begins("W").contains { $0.hasPrefix("codex-V ") && $0.contains("finished") })
    }
}
