import AgentKit
import Testing
import Vocabulary

/// A decision counts only for the ask that was shown, whatever else asks under the same item.
@Suite("Another ask of Codex under the same item")
struct CodexAnotherAskTests {
    private static let place = Fact("thread:codex:ses_1", Array(#"{"thread":"T","folder":"/site"}"#.utf8))
    private static let active = #"{"id":3,"result":{"thread":{"id":"T","status":{"type":"active"}}}}"#
    private static let listed =
        #"{"id":4,"result":{"data":[{"id":"U","status":"inProgress","items":[{"type":"userMessage","id":"m","clientId":"r1","content":[]}]}]}}"#

    private static func ask(_ command: String, as number: Int = 0) -> String {
        #"{"id":\#(number),"method":"item/commandExecution/requestApproval","params":{"threadId":"T","turnId":"U","itemId":"c1","command":"\#(command)"}}"#
    }
    private static func fingerprint(_ command: String) -> AskFingerprint {
        AskFingerprint(
            of: ApprovalRequest(
                id: ApprovalID("x"), subject: .exec, title: "Run a command?", command: command,
                facts: AskFacts(leavesSandbox: true)))
    }
    private static func accepts(_ number: Int) -> String { #"send {"id":\#(number),"result":{"decision":"accept"}}"# }

    private static func cards(_ said: [String]) -> [String] {
        said.compactMap { $0.firstMatch(of: /approval requested (\S+)/).map { String($0.output.1) } }
    }
    private static func sent(_ said: [String]) -> [String] { said.filter { $0.hasPrefix("send") } }
    private static func settled(_ said: [String]) -> [String] {
        said.compactMap { $0.firstMatch(of: /settled (U\S* \w+)/).map { String($0.output.1) } }
    }

    private static func follow(_ codex: inout CodexConversation) {
        _ = codex.says(active)
        _ = codex.says(listed)
    }

    // MARK: In one process

    @Test("behind a lost link another command is another ask: it has a card of its own, and no answer before that")
    func behindLoss() {
        var codex = CodexConversation.going()
        _ = codex.says(Self.ask("ls"))
        #expect(codex.decides("U:c1", .approve).contains(Self.accepts(0)))
        _ = codex.rejoins()
        Self.follow(&codex)
        let said = codex.says(Self.ask("rm -r .", as: 1))
        #expect(Self.cards(said) == ["U:c1:2"] && Self.sent(said).isEmpty)
        #expect(Self.settled(codex.waits(1_500)) == ["U:c1 inDoubt"])
        #expect(Self.sent(codex.decides("U:c1", .approve)).isEmpty)
        #expect(codex.decides("U:c1:2", .approve) == [Self.accepts(1)])
    }

    @Test("a decision that was made while the link was down is for the ask that was shown")
    func whileDown() {
        var codex = CodexConversation.going()
        _ = codex.says(Self.ask("ls"))
        _ = codex.breaks()
        _ = codex.decides("U:c1", .approve)
        _ = codex.rejoins()
        Self.follow(&codex)
        #expect(Self.sent(codex.says(Self.ask("rm -r .", as: 1))).isEmpty)
        #expect(Self.sent(codex.says(Self.ask("ls", as: 2))) == [Self.accepts(2)])
    }

    @Test("two that are open at once have two cards, and each its own answer")
    func atOnce() {
        var codex = CodexConversation.going()
        #expect(Self.cards(codex.says(Self.ask("ls", as: 0))) == ["U:c1"])
        #expect(Self.cards(codex.says(Self.ask("rm -r .", as: 1))) == ["U:c1:2"])
        #expect(Self.cards(codex.says(Self.ask("ls", as: 2))) == ["U:c1:3"])
        #expect(codex.decides("U:c1:2", .deny) == [#"send {"id":1,"result":{"decision":"decline"}}"#])
        #expect(codex.decides("U:c1", .approve) == [Self.accepts(0)])
        #expect(codex.decides("U:c1:3", .approve) == [Self.accepts(2)])
    }

    @Test("another one under the same number takes the place of the first, whose card goes")
    func sameNumber() {
        var codex = CodexConversation.going()
        _ = codex.says(Self.ask("ls"))
        let said = codex.says(Self.ask("rm -r ."))
        #expect(Self.settled(said) == ["U:c1 cancelled"] && Self.cards(said) == ["U:c1:2"])
        #expect(Self.sent(codex.decides("U:c1", .approve)).isEmpty)
    }

    @Test("the same one that is asked once more has the next name, and needs another decision")
    func onceMore() {
        var codex = CodexConversation.going()
        _ = codex.says(Self.ask("ls"))
        _ = codex.decides("U:c1", .approve)
        _ = codex.says(#"{"method":"serverRequest/resolved","params":{"threadId":"T","requestId":0}}"#)
        let said = codex.says(Self.ask("ls", as: 1))
        #expect(Self.cards(said) == ["U:c1:2"] && Self.sent(said).isEmpty)
    }

    @Test("an answer to a question is not one to another question of the same name")
    func question() {
        func ask(_ text: String, as number: Int) -> String {
            #"{"id":\#(number),"method":"item/tool/requestUserInput","params":{"threadId":"T","turnId":"U","itemId":"c1","questions":[{"id":"q","header":"H","question":"\#(text)","options":[]}]}}"#
        }
        var codex = CodexConversation.going()
        _ = codex.says(ask("Which bed?", as: 0))
        _ = codex.answers("U:c1:q", .text("north"))
        _ = codex.rejoins()
        Self.follow(&codex)
        let said = codex.says(ask("Which disk is to be wiped?", as: 1))
        #expect(Self.sent(said).isEmpty && said.contains { $0.contains("asked U:c1:2:q") })
    }

    // MARK: Over a restart

    /// An earlier process had turn `U` under way for run `r1`.
    private static func earlier(_ asks: [EarlierTurn.Ask], _ decisions: [EarlierTurn.Decision] = [])
        -> CodexConversation
    {
        let run = EarlierTurn.Run(RunID("r1"), text: "one", folder: "/site")
        let turn = EarlierTurn(
            session: CodexConversation.chat, runs: [run], isAccepted: true, isStopping: false, receivedAt: .zero,
            decisions: decisions, asks: asks, detached: [])
        return CodexConversation.up(facts: [place], turns: [turn])
    }
    private static func shown(_ name: String, _ command: String?, isOver: Bool = false) -> EarlierTurn.Ask {
        EarlierTurn.Ask(ApprovalID(name), fingerprint: command.map { fingerprint($0) }, isOver: isOver)
    }
    private static func decided(_ decision: ApprovalDecision, _ command: String?) -> EarlierTurn.Decision {
        EarlierTurn.Decision(
            decision, scope: .unscoped, of: ApprovalID("U:c1"), subject: .exec, decidedAt: nil, expiresAt: nil,
            fingerprint: command.map { fingerprint($0) })
    }

    @Test("a yes of an earlier process answers what it was shown for, and nothing else")
    func adopted() {
        for (shown, isAnswered) in [("ls", true), ("rm -r .", false), (nil, false)] {
            var codex = Self.earlier([Self.shown("U:c1", shown)], [Self.decided(.approve, shown)])
            Self.follow(&codex)
            let said = codex.says(Self.ask("ls"))
            #expect(Self.sent(said) == (isAnswered ? [Self.accepts(0)] : []))
            #expect(Self.cards(said) == (isAnswered ? [] : ["U:c1:2"]))
            #expect(Self.settled(codex.waits(1_500)) == (isAnswered ? [] : ["U:c1 inDoubt"]))
        }
    }

    @Test("a no of an earlier process stays one, also where its record does not say what was shown")
    func adoptedDenial() {
        var codex = Self.earlier([Self.shown("U:c1", nil)], [Self.decided(.deny, nil)])
        Self.follow(&codex)
        #expect(Self.sent(codex.says(Self.ask("ls"))) == [#"send {"id":0,"result":{"decision":"decline"}}"#])
    }

    @Test("names are those of the record: what is over is not asked again, and what is open keeps its name")
    func names() {
        let asks = [Self.shown("U:c1", "ls", isOver: true), Self.shown("U:c1:2", "make")]
        var codex = Self.earlier(asks)
        Self.follow(&codex)
        #expect(Self.cards(codex.says(Self.ask("make", as: 0))) == ["U:c1:2"])
        #expect(Self.cards(codex.says(Self.ask("ls", as: 1))) == ["U:c1:3"])
        #expect(codex.decides("U:c1:2", .approve) == [Self.accepts(0)])
    }

    @Test("one that was repeated word for word keeps its second name over a restart, and gets the answer")
    func repeated() {
        let asks = [Self.shown("U:c1", "ls", isOver: true), Self.shown("U:c1:2", "ls")]
        var codex = Self.earlier(asks)
        Self.follow(&codex)
        #expect(Self.cards(codex.says(Self.ask("ls", as: 0))) == ["U:c1:2"])
        #expect(codex.decides("U:c1:2", .approve) == [Self.accepts(0)])
    }

    @Test(
        "an open one whose record does not say what was shown keeps its name: its card is judged where cards are made")
    func undecided() {
        var codex = Self.earlier([Self.shown("U:c1", nil)])
        Self.follow(&codex)
        #expect(Self.cards(codex.says(Self.ask("ls"))) == ["U:c1"])
    }

    @Test("a yes that comes before its ask waits for what was shown alone")
    func held() {
        for (command, isAnswered) in [("ls", true), ("rm -r .", false)] {
            var codex = Self.earlier([Self.shown("U:c1", "ls")])
            #expect(codex.decides("U:c1", .approve).isEmpty)
            Self.follow(&codex)
            let said = codex.says(Self.ask(command))
            #expect(Self.sent(said) == (isAnswered ? [Self.accepts(0)] : []))
            #expect(Self.cards(said) == [isAnswered ? "U:c1" : "U:c1:2"])
            #expect(Self.settled(codex.waits(11_000)) == (isAnswered ? [] : ["U:c1 unknown"]))
        }
    }

    @Test("a yes to what nothing describes is dropped at once, and its ask is asked again")
    func heldWithoutFingerprint() {
        var codex = Self.earlier([Self.shown("U:c1", nil)])
        #expect(Self.settled(codex.decides("U:c1", .approve)) == ["U:c1 unknown"])
        Self.follow(&codex)
        let said = codex.says(Self.ask("ls"))
        #expect(Self.sent(said).isEmpty && Self.cards(said) == ["U:c1:2"])
    }

    // MARK: Unanswered

    @Test("that nobody answered is told where Codex has a word for it")
    func unanswered() {
        let tool =
            #"{"id":5,"method":"mcpServer/elicitation/request","params":{"threadId":"T","turnId":"U","serverName":"browser","mode":"form","message":"Allow?","_meta":{"codex_approval_kind":"mcp_tool_call","tool_params":{}},"requestedSchema":{"type":"object","properties":{}}}}"#
        var codex = CodexConversation.going()
        _ = codex.says(tool)
        _ = codex.says(Self.ask("ls"))
        let cancelled = #"send {"id":5,"result":{"action":"cancel"}}"#
        #expect(codex.decides("U:browser#5", .deny, isUnanswered: true) == [cancelled])
        // `cancel` would end the turn.
        let declined = #"send {"id":0,"result":{"decision":"decline"}}"#
        #expect(codex.decides("U:c1", .deny, isUnanswered: true) == [declined])
        _ = codex.rejoins()
        Self.follow(&codex)
        #expect(codex.says(tool) == [cancelled])
    }

    @Test("an ask stays open for half a day, and over a lost link and a restart, until a person answers")
    func halfADay() {
        for isRestarted in [false, true] {
            var codex = isRestarted ? Self.earlier([Self.shown("U:c1", "ls")]) : CodexConversation.going()
            if isRestarted { Self.follow(&codex) }
            _ = codex.says(Self.ask("ls"))
            #expect(codex.waits(6 * 3_600_000).isEmpty)
            _ = codex.rejoins()
            Self.follow(&codex)
            #expect(codex.says(Self.ask("ls")).isEmpty)
            #expect(codex.waits(6 * 3_600_000).isEmpty)
            #expect(codex.decides("U:c1", .approve) == [Self.accepts(0)])
        }
    }
}
