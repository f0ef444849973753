import AgentKit
import Oppi
import Testing
import Vocabulary

@Suite("Dialogs of Oppi's extensions")
struct OppiDialogsTests {
    @Test("a dialog for yes and no is an approval")
    func confirm() {
        var oppi = OppiConversation.running()
        let lines = oppi.says(
            "extension_ui_request", #""id":"d1","method":"confirm","title":"Sure?","message":"Really""#)
        #expect(lines.first?.hasPrefix("r1 oppi:ses_1 approval requested d1 dialog") == true, "\(lines)")
        #expect(
            oppi.decides("d1", .approve, subject: .dialog)
                == ["2 > extension_ui_response s1 d1 confirmed true", "2 > unsubscribe none"])
        #expect(oppi.replies("unsubscribe") == [Self.approved])
    }

    @Test("options and texts are questions")
    func questions() {
        var oppi = OppiConversation.running()
        let select = oppi.says(
            "extension_ui_request", #""id":"d1","method":"select","title":"Which?","options":["a","b"]"#)
        #expect(select.count == 1 && select[0].hasPrefix("r1 oppi:ses_1 asked d1"), "\(select)")
        #expect(
            oppi.answers(question: "d1", .choices(["b"])).first == "2 > extension_ui_response s1 d1 b")
        _ = oppi.says("extension_ui_request", #""id":"d2","method":"input","title":"Name?","placeholder":"x""#)
        #expect(oppi.answers(question: "d2", .text("Ada")).first == "2 > extension_ui_response s1 d2 Ada")
        _ = oppi.says("extension_ui_request", #""id":"d3","method":"editor","title":"Text?","prefill":"x""#)
        #expect(oppi.answers(question: "d3", .declined).first == "2 > extension_ui_response s1 d3 cancelled")
        #expect(
            oppi.says("extension_ui_request", #""id":"d4","method":"dance","title":"?""#).first
                == "2 > extension_ui_response s1 d4 cancelled")
    }

    @Test("an ask is answered when all of its questions are")
    func ask() {
        var oppi = OppiConversation.running(result: "command_result")
        let questions =
            #""questions":[{"id":"q1","question":"Which?","options":[{"value":"a","label":"A"},{"value":"b","label":"B"}],"multiSelect":true},{"id":"q2","question":"Why?","options":[]}]"#
        let lines = oppi.says("extension_ui_request", #""id":"d1","method":"ask",\#(questions)"#)
        #expect(lines.count == 2, "\(lines)")
        // The next question of the dialog still lacks an answer.
        #expect(
            oppi.answers(question: "d1#0", .choices(["a", "b"])) == ["r1 oppi:ses_1 question settled d1#0 answered"])
        #expect(
            oppi.answers(question: "d1#1", .text("so")).first
                == #"2 > extension_ui_response s1 d1 {"q1":"A, B","q2":"so"}"#)
    }

    @Test("an ask with two questions of one name is cancelled, also where neither has one")
    func repeated() {
        for names in [(#""id":"q","#, #""id":"q","#), ("", "")] {
            var oppi = OppiConversation.running()
            let lines = oppi.says(
                "extension_ui_request",
                #""id":"d1","method":"ask","questions":[{\#(names.0)"question":"Delete?","options":[{"value":"e"}]},{\#(names.1)"question":"Really?","options":[{"value":"e"}]}]"#
            )
            #expect(
                lines == ["2 > extension_ui_response s1 d1 cancelled", "note a dialog (ask) cannot be shown"],
                "\(lines)")
        }
    }

    private static func confirm(_ message: String) -> String {
        #""id":"d1","method":"confirm","title":"Sure?","message":"\#(message)""#
    }

    @Test("another dialog under the same name is asked anew, and takes no yes of the one before")
    func another() throws {
        var oppi = OppiConversation.running()
        _ = oppi.says("extension_ui_request", Self.confirm("Really"))
        let shown = AskFingerprint(of: try #require(oppi.cards.last))
        #expect(oppi.says("extension_ui_request", Self.confirm("Really")) == [], "it is known")
        let lines = oppi.says("extension_ui_request", Self.confirm("Delete everything"))
        #expect(lines.count == 2 && lines[0].hasSuffix("approval settled d1 cancelled"), "\(lines)")
        #expect(oppi.cards.map(\.message) == ["Really", "Delete everything"])
        #expect(oppi.decides("d1", .approve, subject: .dialog, shown: shown) == [])
        let other = AskFingerprint(of: try #require(oppi.cards.last))
        #expect(
            oppi.decides("d1", .approve, subject: .dialog, shown: other).first
                == "2 > extension_ui_response s1 d1 confirmed true")
    }

    @Test("a yes of an earlier process is not given to another dialog of that name")
    func anotherLater() throws {
        var before = OppiConversation.running()
        _ = before.says("extension_ui_request", Self.confirm("Really"))
        let shown = AskFingerprint(of: try #require(before.cards.last))
        var oppi = Self.restarted()
        _ = oppi.decides("d1", .approve, subject: .dialog, shown: shown)
        let body = #"{"type":"extension_ui_request",\#(Self.confirm("Delete everything")),"sessionId":"s1"}"#
        // The server reads the answer first.
        _ = oppi.opens(2)
        _ = oppi.hears(body, on: 2)
        #expect(oppi.decides("d1", .approve, subject: .dialog, shown: shown) == [])
    }

    @Test("an answer is given to what was read alone")
    func anotherQuestion() {
        var oppi = OppiConversation.running()
        let read = AskFingerprint(
            of: Question(id: QuestionID("d1"), title: "Which?", options: [.init("a"), .init("b")]))
        let other = #""id":"d1","method":"select","title":"Delete which?","options":["a","b"]"#
        _ = oppi.says("extension_ui_request", #""id":"d1","method":"select","title":"Which?","options":["a","b"]"#)
        #expect(oppi.says("extension_ui_request", other).count == 2)
        #expect(oppi.answers(question: "d1", .choices(["b"]), shown: read) == [])
        #expect(oppi.answers(question: "d1", .declined).first == "2 > extension_ui_response s1 d1 cancelled")
    }

    @Test("an answer that waits for its question is not given to another")
    func earlyForAnother() {
        let ask =
            #"{"type":"extension_ui_request","id":"d1","method":"ask","questions":[{"id":"q","question":"Delete?","options":[{"value":"e"}]}],"sessionId":"s1"}"#
        var oppi = Self.restarted()
        let read = AskFingerprint(of: Question(id: QuestionID("d1#0"), title: "?", options: [.init("e")]))
        #expect(oppi.answers(question: "d1#0", .choices(["e"]), shown: read) == [])
        let lines = oppi.follows(2, current: 7, status: "busy", replay: [ask])
        #expect(!lines.contains { $0.contains("extension_ui_response") }, "\(lines)")
        #expect(lines.contains { $0.contains("asked d1#0") }, "\(lines)")
    }

    /// A bridge that restarted during an ask, up to the dialling of the chat's stream.
    private static func restarted() -> OppiConversation {
        let fact = Fact("session:oppi:ses_1", Array("w1\ns1\nr1\n\(OppiConversation.wall - 5_000)".utf8))
        var oppi = OppiConversation(facts: [fact], turns: [OppiRecoveryTests.earlier(isAccepted: true)])
        _ = oppi.greets()
        _ = oppi.answers(OppiRecoveryTests.events, 200, OppiRecoveryTests.missed(7))
        _ = oppi.answers(
            OppiRecoveryTests.history, 200, OppiRecoveryTests.trace([("user", "Hi")], status: "busy"))
        return oppi
    }

    @Test("an answer that comes before the server shows its question again waits for that")
    func early() {
        let ask =
            #"{"type":"extension_ui_request","id":"d1","method":"ask","questions":[{"id":"q","question":"?","options":[{"value":"e"}]}],"sessionId":"s1"}"#
        var oppi = Self.restarted()
        #expect(oppi.answers(question: "d1#0", .choices(["e"])) == [])
        let lines = oppi.follows(2, current: 7, status: "busy", replay: [ask])
        #expect(lines.contains(#"2 > extension_ui_response s1 d1 {"q":"e"}"#), "\(lines)")

        var other = Self.restarted()
        _ = other.answers(question: "d1#0", .choices(["e"]))
        let over = other.follows(2, current: 7, status: "busy")
        #expect(over.contains { $0.hasSuffix("question settled d1#0 unknown") }, "\(over)")
    }

    @Test("a dialog's time is the agent's")
    func expires() {
        var oppi = OppiConversation.running()
        _ = oppi.says("extension_ui_request", #""id":"d1","method":"input","title":"Name?","timeout":5000"#)
        #expect(oppi.waits(5_100).contains { $0.contains("question") || $0.contains("expired") })
        #expect(oppi.answers(question: "d1", .text("late")).first?.contains("unknown") == true)
    }

    // MARK: Declined

    @Test("what is declined is cancelled, and a question of an ask is left out")
    func declined() {
        var oppi = OppiConversation.running()
        _ = oppi.says("extension_ui_request", #""id":"d1","method":"select","title":"Which?","options":["a","b"]"#)
        #expect(oppi.answers(question: "d1", .declined).first == "2 > extension_ui_response s1 d1 cancelled")
        _ = oppi.says("extension_ui_request", #""id":"d2","method":"input","title":"Name?""#)
        #expect(oppi.answers(question: "d2", .declined).first == "2 > extension_ui_response s1 d2 cancelled")
        let two =
            #""questions":[{"id":"q1","question":"Which?","options":[{"value":"a"}]},{"id":"q2","question":"Why?","options":[]}]"#
        _ = oppi.says("extension_ui_request", #""id":"d3","method":"ask",\#(two)"#)
        _ = oppi.answers(question: "d3#0", .declined)
        #expect(
            oppi.answers(question: "d3#1", .text("so")).first == #"2 > extension_ui_response s1 d3 {"q2":"so"}"#)
        _ = oppi.says("extension_ui_request", #""id":"d4","method":"ask",\#(two)"#)
        _ = oppi.answers(question: "d4#0", .declined)
        #expect(oppi.answers(question: "d4#1", .declined).first == "2 > extension_ui_response s1 d4 cancelled")
    }

    // MARK: Losses

    private static let confirm = #""id":"d1","method":"confirm","title":"Sure?","message":"Really""#
    private static let approved =
        "r1 oppi:ses_1 approval settled d1 decided(Vocabulary.ApprovalDecision.approve)"

    /// The chat's stream is lost during the run and restored.
    private func reconnect(_ oppi: inout OppiConversation) -> [String] {
        _ = oppi.waits(300)
        _ = oppi.answers(OppiRecoveryTests.events, 200, OppiRecoveryTests.missed(oppi.sequence))
        _ = oppi.answers(
            OppiRecoveryTests.history, 200, OppiRecoveryTests.trace([("user", "Hi")], status: "busy"))
        return oppi.follows(3, status: "busy")
    }

    @Test("a decision that its stream was lost under is sent again on the next")
    func lostUnder() {
        var oppi = OppiConversation.running()
        _ = oppi.says("extension_ui_request", Self.confirm)
        let sent = oppi.decides("d1", .approve, subject: .dialog)
        #expect(sent == ["2 > extension_ui_response s1 d1 confirmed true", "2 > unsubscribe none"])
        _ = oppi.happens(.closed(code: 1006, reason: ""), 2)
        let lines = reconnect(&oppi)
        #expect(
            lines.suffix(2) == ["3 > extension_ui_response s1 d1 confirmed true", "3 > unsubscribe none"], "\(lines)")
        #expect(oppi.replies("unsubscribe", on: 3) == [Self.approved])
    }

    private static let inDoubt = "approval settled d1 inDoubt"

    @Test("one that may have arrived before, and that the agent no longer waits for, is in doubt")
    func complainedLater() {
        var oppi = OppiConversation.running()
        _ = oppi.says("extension_ui_request", Self.confirm)
        _ = oppi.decides("d1", .approve, subject: .dialog)
        _ = oppi.happens(.closed(code: 1006, reason: ""), 2)
        _ = reconnect(&oppi)
        let lines = oppi.hears(#"{"type":"error","error":"UI request not found: d1","sessionId":"s1"}"#, on: 3)
        #expect(lines.count == 1 && lines[0].hasSuffix(Self.inDoubt), "\(lines)")
    }

    @Test("one whose run ends before the decision is known to be taken is in doubt")
    func endedEarly() {
        var oppi = OppiConversation.running()
        _ = oppi.says("extension_ui_request", Self.confirm)
        _ = oppi.decides("d1", .approve, subject: .dialog)
        _ = oppi.answers(text: "Hello")
        let lines = oppi.ends()
        #expect(lines.first?.hasSuffix(Self.inDoubt) == true, "\(lines)")
    }

    @Test("a decision while its stream is away is sent when it is back")
    func away() {
        var oppi = OppiConversation.running()
        _ = oppi.says("extension_ui_request", Self.confirm)
        _ = oppi.happens(.closed(code: 1006, reason: ""), 2)
        #expect(oppi.decides("d1", .approve, subject: .dialog) == [])
        let lines = reconnect(&oppi)
        #expect(lines.contains("3 > extension_ui_response s1 d1 confirmed true"), "\(lines)")
    }

    @Test("one that the agent no longer waits for is settled by the server's complaint")
    func complained() {
        var oppi = OppiConversation.running()
        _ = oppi.says("extension_ui_request", Self.confirm)
        _ = oppi.decides("d1", .approve, subject: .dialog)
        let lines = oppi.hears(#"{"type":"error","error":"UI request not found: d1","sessionId":"s1"}"#, on: 2)
        #expect(lines == ["r1 oppi:ses_1 approval settled d1 unknown"])
        #expect(oppi.replies("unsubscribe") == [])
    }

    @Test("decisions and answers of before a restart go to dialogs that the server does not show again")
    func restart() {
        let fact = Fact("session:oppi:ses_1", Array("w1\ns1\nr1\n\(OppiConversation.wall - 5_000)".utf8))
        let decision = EarlierTurn.Decision(
            .approve, scope: .unscoped, of: ApprovalID("d1"), subject: .dialog, decidedAt: nil, expiresAt: nil,
            fingerprint: AskFingerprint("what the record says was shown"))
        let earlier = EarlierTurn(
            session: OppiConversation.chat, runs: [.init(RunID("r1"), text: "Hi")], isAccepted: true,
            isStopping: false, receivedAt: .zero, decisions: [decision], detached: [])
        var oppi = OppiConversation(facts: [fact], turns: [earlier])
        _ = oppi.greets()
        _ = oppi.answers(OppiRecoveryTests.events, 200, OppiRecoveryTests.missed(7))
        _ = oppi.answers(
            OppiRecoveryTests.history, 200, OppiRecoveryTests.trace([("user", "Hi")], status: "busy"))
        let lines = oppi.follows(2, current: 7, status: "busy")
        #expect(lines.contains("2 > extension_ui_response s1 d1 confirmed true"), "\(lines)")
        #expect(oppi.replies("unsubscribe") == [Self.approved])
        // An open question without an answer, which the earlier process had shown.
        #expect(oppi.answers(question: "d2", .choices(["a"])).first == "2 > extension_ui_response s1 d2 a")
        #expect(oppi.replies("unsubscribe") == ["r1 oppi:ses_1 question settled d2 answered"])
        #expect(oppi.decides("d3", .deny, subject: .dialog).first == "2 > extension_ui_response s1 d3 confirmed false")
    }

    // MARK: Other clients

    @Test("dialogs of another client's run are neither shown nor answered")
    func ofAnother() {
        var oppi = OppiConversation.idle()
        #expect(oppi.says("extension_ui_request", Self.confirm) == [])
        oppi.queuesBehindAnother()
        #expect(oppi.says("extension_ui_request", #""id":"d2","method":"dance","title":"?""#) == [])
        #expect(oppi.says("extension_ui_request", #""id":"d3","method":"input","title":"?""#) == [])
    }

    @Test("a dialog of a run that is to stop is cancelled, and nobody is asked")
    func behindStop() {
        var oppi = OppiConversation.running()
        #expect(oppi.aborts("r1").contains("2 > stop s1"))
        #expect(oppi.says("extension_ui_request", Self.choice) == ["2 > extension_ui_response s1 d1 cancelled"])
    }

    // MARK: Time limits

    private static let choice = #""id":"d1","method":"select","title":"Which?","options":["A","B"]"#

    @Test("a dialog with the time zero has none, and one with more than Node counts is over at once")
    func noTime() {
        var oppi = OppiConversation.running(result: "command_result")
        _ = oppi.says("extension_ui_request", Self.choice + #","timeout":0"#)
        #expect(oppi.waits(3_000) == [])
        #expect(oppi.answers(question: "d1", .choices(["B"])).first == "2 > extension_ui_response s1 d1 B")
        var other = OppiConversation.running(result: "command_result")
        _ = other.says("extension_ui_request", Self.choice + #","timeout":2147483648"#)
        #expect(other.waits(10).contains("r1 oppi:ses_1 question settled d1 expired"))
    }

    @Test("a dialog whose time is over here is cancelled, lest the agent waits for it still")
    func cancelledAtExpiry() {
        var oppi = OppiConversation.running(result: "command_result")
        _ = oppi.says("extension_ui_request", Self.choice + #","timeout":2000"#)
        #expect(
            oppi.waits(2_100)
                == ["2 > extension_ui_response s1 d1 cancelled", "r1 oppi:ses_1 question settled d1 expired"])
    }
}
