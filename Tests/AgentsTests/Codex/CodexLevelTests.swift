import AgentKit
import Testing
import Vocabulary

@Suite("A phone's level of thought at Codex")
struct CodexLevelTests {
    private static let list = #"""
        {"data":[{"id":"m","model":"m","isDefault":false,"defaultReasoningEffort":"medium","supportedReasoningEfforts":[
        {"reasoningEffort":"low"},{"reasoningEffort":"medium"},{"reasoningEffort":"high"},{"reasoningEffort":"xhigh"}]},
        {"id":"small","model":"small","isDefault":true,"defaultReasoningEffort":"low","supportedReasoningEfforts":[
        {"reasoningEffort":"low"}]}]}
        """#

    /// The thread exists; `opened` are the server's members about it.
    private static func opened(
        _ level: LevelChoice, model: ModelChoice = .unchanged, _ opened: String = #""model":"m""#
    ) -> (CodexConversation, [String]) {
        var codex = CodexConversation.up()
        _ = codex.sends("r1", "one", model: model, level: level)
        _ = codex.says(#"{"id":3,"result":{"thread":{"id":"T","status":{"type":"idle"}},\#(opened)}}"#)
        let lines = codex.isDone()
        return (codex, lines)
    }

    private static func effort(_ lines: [String]) -> String? {
        lines.last { $0.contains("turn/start") }?.firstMatch(of: /"effort":"([a-z]+)"/).map { String($0.output.1) }
    }

    @Test("without a level nothing is asked and no effort is sent")
    func none() {
        let (_, lines) = Self.opened(.unchanged)
        #expect(lines.last?.contains("turn/start") == true && lines.last?.contains("effort") == false)
    }

    @Test(
        "a level is one of the model's own efforts",
        arguments: [
            (LevelChoice.level(.extended), "high"), (.level(.max), "xhigh"), (.own(nil), "medium"),
            (.own("low"), "low"),
        ])
    func words(_ level: LevelChoice, _ effort: String) {
        var (codex, lines) = Self.opened(level)
        #expect(lines == [#"send {"id":4,"method":"model/list","params":{}}"#], "the prompt waits for the list")
        lines = codex.says(#"{"id":4,"result":\#(Self.list)}"#)
        #expect(Self.effort(lines) == effort, "\(lines)")
        #expect(lines.first == "r1 thinks at \(level): set(before: nil, instead: nil)")
    }

    @Test("what the thread had is told, and the next lower level where the model lacks one")
    func lower() {
        var (codex, lines) = Self.opened(
            .level(.extended), model: .named("small"), #""model":"m","reasoningEffort":"minimal""#)
        lines = codex.says(#"{"id":4,"result":\#(Self.list)}"#)
        #expect(Self.effort(lines) == "low")
        #expect(
            lines.contains { $0.hasSuffix(#"set(before: Optional("minimal"), instead: Optional("low"))"#) }, "\(lines)")
    }

    @Test("where no list can be had, the word is one that every version takes", arguments: [true, false])
    func unlisted(isRefused: Bool) {
        var (codex, _) = Self.opened(.level(.max))
        let lines =
            isRefused
            ? codex.says(#"{"id":4,"error":{"code":-32600,"message":"unknown variant `model/list`"}}"#)
            : codex.waits(10_000)
        #expect(Self.effort(lines) == "high", "\(lines)")
    }

    @Test("a Stop while the list is asked for stops the message")
    func stopped() {
        var (codex, _) = Self.opened(.level(.max))
        #expect(codex.aborts("r1") == ["stop of r1 answered"])
        #expect(!codex.says(#"{"id":4,"result":\#(Self.list)}"#).contains { $0.contains("turn/start") })
    }

    @Test("over a loss the list is asked for again, and the prompt leaves once")
    func lost() {
        var (codex, _) = Self.opened(.level(.max))
        var lines = codex.rejoins()
        let resume = lines.last { $0.contains("thread/resume") }
        #expect(resume != nil, "\(lines)")
        lines = codex.says(#"{"id":3,"result":{"thread":{"id":"T","status":{"type":"idle"}},"model":"m"}}"#)
        #expect(lines.last?.contains("model/list") == true, "\(lines)")
        #expect(Self.effort(codex.says(#"{"id":4,"result":\#(Self.list)}"#)) == "xhigh")
    }
}
