import AgentKit
import Testing
import Vocabulary

@Suite("What became of what Codex asked")
struct CodexDecidedTests {
    private static let name = "U:c1"
    private static let active = #"{"id":3,"result":{"thread":{"id":"T","status":{"type":"active"}}}}"#
    private static let place = Fact("thread:codex:ses_1", Array(#"{"thread":"T","folder":"/site"}"#.utf8))
    private static let ask =
        #"{"id":0,"method":"item/commandExecution/requestApproval","params":{"threadId":"T","turnId":"U","itemId":"c1","command":"reboot"}}"#
    private static let question =
        #"{"id":0,"method":"item/tool/requestUserInput","params":{"threadId":"T","turnId":"U","itemId":"c1","questions":[{"id":"q","header":"H","question":"Which?","isOther":false,"isSecret":false,"options":[{"label":"North","description":""},{"label":"South","description":""}]}]}}"#
    private static let resolved =
        #"{"method":"serverRequest/resolved","params":{"threadId":"T","requestId":0}}"#

    /// Item `c1`, as lists and frames show it.
    private static func command(_ status: String, exitCode: Int? = nil) -> String {
        let code = exitCode.map { #","exitCode":\#($0)"# } ?? ""
        return #"{"type":"commandExecution","id":"c1","command":"reboot","status":"\#(status)"\#(code)}"#
    }
    private static func ends(_ status: String, exitCode: Int? = nil) -> String {
        #"{"method":"item/completed","params":{"threadId":"T","turnId":"U","item":\#(command(status, exitCode: exitCode))}}"#
    }
    private static func turnEnds(_ status: String) -> String {
        #"{"method":"turn/completed","params":{"threadId":"T","turn":{"id":"U","status":"\#(status)","items":[]}}}"#
    }
    private static func list(_ status: String, _ item: String? = nil) -> String {
        let items = [#"{"type":"userMessage","id":"m","clientId":"r1","content":[]}"#, item].compactMap(\.self)
        return
            #"{"id":4,"result":{"data":[{"id":"U","status":"\#(status)","items":[\#(items.joined(separator: ","))]}]}}"#
    }

    private static func asking() -> CodexConversation {
        var codex = CodexConversation.going()
        _ = codex.says(
            #"{"method":"item/started","params":{"threadId":"T","turnId":"U","item":\#(command("inProgress"))}}"#)
        _ = codex.says(ask)
        return codex
    }

    /// An earlier process had turn `U` under way for run `r1`.
    private static func earlier(
        decided decision: ApprovalDecision? = nil, asked questions: [String] = []
    ) -> CodexConversation {
        let decisions = decision.map { decision in
            [
                EarlierTurn.Decision(
                    decision, scope: .unscoped, of: ApprovalID(name), subject: .exec, decidedAt: nil, expiresAt: nil,
                    fingerprint: AskFingerprint(
                        of: ApprovalRequest(
                            id: ApprovalID(name), subject: .exec, title: "Run a command?", command: "reboot",
                            facts: AskFacts(leavesSandbox: true))))
            ]
        }
        let run = EarlierTurn.Run(RunID("r1"), text: "one", folder: "/site")
        let turn = EarlierTurn(
            session: CodexConversation.chat, runs: [run], isAccepted: true, isStopping: false, receivedAt: .zero,
            decisions: decisions ?? [], detached: [], questions: questions.map { QuestionID($0) })
        return CodexConversation.up(facts: [place], turns: [turn])
    }

    private static func settled(_ said: [String]) -> [String] {
        said.compactMap { $0.firstMatch(of: /settled (U\S* \S+)/).map { String($0.output.1) } }
    }

    // MARK: By another client

    @Test("what another client denied shows in the call, which ends as declined")
    func deniedElsewhere() {
        var codex = Self.asking()
        #expect(Self.settled(codex.says(Self.resolved)).isEmpty)
        #expect(Self.settled(codex.says(Self.ends("declined"))) == ["U:c1 decided(Vocabulary.ApprovalDecision.deny)"])
    }

    @Test("what another client allowed shows in the call, which ends otherwise or goes on")
    func allowedElsewhere() {
        var codex = Self.asking()
        _ = codex.says(Self.resolved)
        let ended = codex.says(Self.ends("failed", exitCode: 2))
        #expect(Self.settled(ended) == ["U:c1 decided(Vocabulary.ApprovalDecision.approve)"])
        codex = Self.asking()
        _ = codex.says(Self.resolved)
        #expect(Self.settled(codex.waits(1_500)) == ["U:c1 decided(Vocabulary.ApprovalDecision.approve)"])
    }

    @Test("a decision that comes behind another client's is not sent")
    func tooLate() {
        var codex = Self.asking()
        _ = codex.says(Self.resolved)
        #expect(!codex.decides(Self.name, .deny).contains { $0.hasPrefix("send") })
    }

    @Test("the end of a turn withdraws what was not answered, and says no more of what another client answered")
    func over() {
        var codex = Self.asking()
        #expect(Self.settled(codex.says(Self.turnEnds("interrupted"))) == ["U:c1 cancelled"])
        codex = Self.asking()
        _ = codex.says(Self.resolved)
        #expect(Self.settled(codex.says(Self.turnEnds("interrupted"))) == ["U:c1 unknown"])
    }

    // MARK: By us

    @Test("a decision that nothing confirms before the turn ends is in doubt")
    func unconfirmed() {
        var codex = Self.asking()
        _ = codex.decides(Self.name, .approve)
        #expect(Self.settled(codex.says(Self.turnEnds("interrupted"))) == ["U:c1 inDoubt"])
    }

    @Test("behind a lost link the list shows what was decided, whatever was sent")
    func shownByList() {
        for (status, expected) in [("declined", "deny"), ("completed", "approve")] {
            var codex = Self.asking()
            _ = codex.decides(Self.name, .approve)
            _ = codex.rejoins()
            _ = codex.says(Self.active)
            let said = codex.says(Self.list("inProgress", Self.command(status, exitCode: 0)))
            #expect(Self.settled(said) == ["U:c1 decided(Vocabulary.ApprovalDecision.\(expected))"])
        }
    }

    /// Approved on the lost connection, or during the loss.
    private static func rejoined(isSent: Bool) -> CodexConversation {
        var codex = asking()
        if isSent { _ = codex.decides(name, .approve) }
        _ = codex.rejoins()
        if !isSent { _ = codex.decides(name, .approve) }
        _ = codex.says(active)
        return codex
    }

    @Test("one that failed without an exit code may have been refused: ours is in doubt")
    func failedWithoutCode() {
        var codex = Self.asking()
        _ = codex.decides(Self.name, .approve)
        _ = codex.rejoins()
        _ = codex.says(Self.active)
        #expect(Self.settled(codex.says(Self.list("inProgress", Self.command("failed")))) == ["U:c1 inDoubt"])
    }

    @Test("where the server died with the turn, a decision that was sent is in doubt, one that was not came too late")
    func serverDied() {
        for isSent in [true, false] {
            var codex = Self.rejoined(isSent: isSent)
            let said = codex.says(Self.list("interrupted"))
            #expect(Self.settled(said) == ["U:c1 \(isSent ? "inDoubt" : "unknown")"])
        }
    }

    @Test("what is not asked again behind a lost link is not called decided where nothing shows it")
    func notAskedAgain() {
        for isSent in [true, false] {
            var codex = Self.rejoined(isSent: isSent)
            _ = codex.says(Self.list("inProgress"))
            #expect(Self.settled(codex.waits(1_500)) == ["U:c1 \(isSent ? "inDoubt" : "unknown")"])
        }
    }

    // MARK: In an earlier process

    @Test("a decision of an earlier process is sent when its ask comes again")
    func repeated() {
        var codex = Self.earlier(decided: .approve)
        _ = codex.says(Self.active)
        _ = codex.says(Self.list("inProgress"))
        #expect(codex.says(Self.ask) == [#"send {"id":0,"result":{"decision":"accept"}}"#])
    }

    @Test("a decision of an earlier process that nothing shows is in doubt, and a call shows it")
    func earlierUnconfirmed() {
        var codex = Self.earlier(decided: .approve)
        _ = codex.says(Self.active)
        _ = codex.says(Self.list("inProgress"))
        #expect(Self.settled(codex.waits(1_500)) == ["U:c1 inDoubt"])
        codex = Self.earlier(decided: .approve)
        _ = codex.says(Self.active)
        let said = codex.says(Self.list("inProgress", Self.command("completed", exitCode: 0)))
        #expect(Self.settled(said) == ["U:c1 decided(Vocabulary.ApprovalDecision.approve)"])
    }

    @Test("an answer to a question of an earlier process waits until the question is asked again")
    func earlyAnswer() {
        var codex = Self.earlier(asked: ["U:c1:q"])
        #expect(codex.answers("U:c1:q", .choices(["South"])).isEmpty)
        _ = codex.says(Self.active)
        _ = codex.says(Self.list("inProgress"))
        let said = codex.says(Self.question)
        #expect(Self.settled(said) == ["U:c1:q answered"])
        #expect(said.contains(#"send {"id":0,"result":{"answers":{"q":{"answers":["South"]}}}}"#))
    }

    @Test("an option that is a part of another one goes as itself", arguments: ["Yes, always", "Yes", "No"])
    func contained(option: String) {
        var codex = CodexConversation.going()
        let labels = ["Yes, always", "Yes", "No", "Not now"].map { #"{"label":"\#($0)","description":""}"# }
        let asked = codex.says(
            Self.question.replacing(
                #"[{"label":"North","description":""},{"label":"South","description":""}]"#,
                with: "[\(labels.joined(separator: ","))]"))
        let name = asked.compactMap { $0.firstMatch(of: /asked (\S+)/).map { String($0.output.1) } }.first ?? ""
        #expect(
            codex.answers(name, .choices([option])).contains(
                #"send {"id":0,"result":{"answers":{"q":{"answers":["\#(option)"]}}}}"#))
    }

    @Test("an answer to a question that is not asked again came too late")
    func lateAnswer() {
        var codex = Self.earlier(asked: ["U:c1:q"])
        _ = codex.answers("U:c1:q", .choices(["South"]))
        _ = codex.says(Self.active)
        let said = codex.says(Self.list("inProgress")) + codex.waits(1_500)
        #expect(Self.settled(said) == ["U:c1:q unknown"])
    }

    @Test("an answer that was lost does not leave again behind a Stop: the question is refused")
    func stoppedMeanwhile() {
        var codex = CodexConversation.going()
        _ = codex.says(Self.question)
        #expect(codex.answers("U:c1:q", .choices(["South"])).contains { $0.contains("South") })
        _ = codex.aborts("r1")
        _ = codex.rejoins()
        _ = codex.says(Self.active)
        _ = codex.says(Self.list("inProgress"))
        #expect(codex.says(Self.question) == [#"send {"id":0,"result":{"answers":{}}}"#])
    }
}
