import AgentKit
import BridgeModel
import Oppi
import Testing

@Suite("What Oppi asks a person, live")
struct OppiQuestionsTests {
    private static func permission(_ id: String, session: String = "s1", more: String = "") -> String {
        let timeout = OppiConversation.wall + 120_000
        return
            #"{"type":"permission_request","id":"\#(id)","sessionId":"\#(session)","tool":"bash","input":{"command":"rm x"},"displaySummary":"rm x","reason":"Deletes","timeoutAt":\#(timeout),"expires":true\#(more)}"#
    }

    private static let asked = "r1 oppi:ses_1 approval requested p1"

    @Test(
        "a permission on every socket is one approval, with the call that waits for it",
        arguments: OppiMachineTests.dialects)
    func permission(_ result: String) {
        var oppi = OppiConversation.running(result: result)
        _ = oppi.says("tool_start", #""tool":"bash","toolCallId":"c1","args":{"command":"rm x"}"#)
        _ = oppi.answers(text: "")
        #expect(oppi.hears(Self.permission("p1"), on: 1) == [], "its own stream says it in order")
        let lines = oppi.hears(Self.permission("p1"), on: 2)
        #expect(lines.count == 1 && lines[0].hasPrefix(Self.asked) && lines[0].contains(#"call="c1""#), "\(lines)")
        #expect(oppi.hears(Self.permission("p1"), on: 2) == [])
        #expect(oppi.decides("p1", .approve) == ["1 > permission_response p1 allow once"])
        #expect(
            oppi.replies("permission_response", on: 1) == [
                "- oppi:ses_1 approval settled p1 decided(BridgeModel.ApprovalDecision.approve)"
            ])
    }

    @Test("the scope is the widest that is not wider")
    func scope() {
        var oppi = OppiConversation.running()
        for id in ["p1", "p2", "p3", "p4"] { _ = oppi.hears(Self.permission(id), on: 2) }
        #expect(oppi.decides("p1", .approveAlways) == ["1 > permission_response p1 allow global"])
        #expect(oppi.decides("p2", .approveAlways, .session) == ["1 > permission_response p2 allow session"])
        #expect(
            oppi.decides("p3", .approveAlways, DecisionScope(name: "tool", value: "bash"))
                == ["1 > permission_response p3 allow once"])
        #expect(oppi.decides("p4", .deny) == ["1 > permission_response p4 deny once"])
    }

    @Test("after a stop no approval leaves: the denial takes its place, also on a deaf stream")
    func deniedAfterApproval() {
        var oppi = OppiConversation.running()
        _ = oppi.hears(Self.permission("p1"), on: 2)
        #expect(oppi.decides("p1", .approve) == ["1 > permission_response p1 allow once"])
        #expect(oppi.decides("p1", .deny) == ["1 > permission_response p1 deny once"])
        #expect(oppi.decides("p1", .approve) == [])
        // Neither is answered, and the server still waits.
        var lines = oppi.waits(8_500)
        for _ in oppi.openCalls {
            lines += oppi.answers("GET /permissions/pending", 200, oppi.pending("[\(Self.permission("p1"))]"))
        }
        #expect(lines.contains("1 > permission_response p1 deny once"), "\(lines)")
        #expect(!lines.contains { $0.contains("allow") }, "\(lines)")
    }

    @Test("an approval that was quicker than the denial is what is said")
    func approvedBeforeDenial() {
        var oppi = OppiConversation.running()
        _ = oppi.hears(Self.permission("p1"), on: 2)
        _ = oppi.decides("p1", .approve)
        let approval = oppi.request("permission_response")
        _ = oppi.decides("p1", .deny)
        #expect(
            oppi.hears(
                #"{"type":"rpc_result","command":"permission_response","requestId":"\#(approval)","success":true}"#,
                on: 1)
                == ["- oppi:ses_1 approval settled p1 decided(BridgeModel.ApprovalDecision.approve)"])
    }

    @Test("one of another session is left to others, and counted")
    func stranger() {
        var oppi = OppiConversation.running()
        #expect(
            oppi.hears(Self.permission("p1", session: "other"), on: 1) == [
                #"unknown ["permission of another session"]"#
            ])
        #expect(oppi.hears(Self.permission("p1", session: "other"), on: 2) == [])
        let pending = "[\(Self.permission("p1", session: "other"))]"
        _ = oppi.happens(.closed(code: 1006, reason: ""))
        _ = oppi.waits(1_500)
        #expect(!oppi.greets(pending: pending).contains { $0.contains("approval") })
    }

    @Test("one that was answered elsewhere is noticed by the list, one that expired by its time")
    func elsewhere() {
        var oppi = OppiConversation.running()
        _ = oppi.hears(Self.permission("p1"), on: 2)
        #expect(oppi.waits(3_100) == ["GET /permissions/pending"])
        #expect(oppi.answers("GET /permissions/pending", 200, oppi.pending("[\(Self.permission("p1"))]")) == [])
        #expect(oppi.waits(3_100) == ["GET /permissions/pending"])
        #expect(
            oppi.answers("GET /permissions/pending", 200, oppi.pending("[]"))
                == ["- oppi:ses_1 approval settled p1 unknown"])
        _ = oppi.hears(Self.permission("p2"), on: 2)
        #expect(
            oppi.says("permission_expired", #""id":"p2","reason":"Approval timeout""#)
                == ["r1 oppi:ses_1 approval settled p2 expired"])
        #expect(oppi.says("permission_expired", #""id":"p2","reason":"Approval timeout""#, on: 1) == [])
    }

    @Test("one that never expires has no time, however far its number lies")
    func forever() {
        var oppi = OppiConversation.running()
        let expiring = oppi.hears(Self.permission("p1"), on: 2)
        #expect(expiring.first?.contains("expires=") == true, "\(expiring)")
        let never =
            #"{"type":"permission_request","id":"p2","sessionId":"s1","tool":"bash","input":{},"displaySummary":"x","reason":"y","timeoutAt":4925000000000,"expires":false}"#
        #expect(oppi.hears(never, on: 2).first?.contains("expires=") == false)
        let far =
            #"{"type":"permission_request","id":"p3","sessionId":"s1","tool":"bash","input":{},"displaySummary":"x","reason":"y","timeoutAt":4925000000000}"#
        #expect(oppi.hears(far, on: 2).first?.contains("expires=") == false)
    }

    @Test("a decision that came while the server was away is sent if it still waits")
    func away() {
        var oppi = OppiConversation.running()
        for id in ["p1", "p2"] { _ = oppi.hears(Self.permission(id), on: 2) }
        _ = oppi.happens(.closed(code: 1006, reason: ""))
        #expect(oppi.decides("p1", .approve) == [] && oppi.decides("p2", .deny) == [])
        _ = oppi.waits(1_500)
        let lines = oppi.greets(pending: "[\(Self.permission("p1"))]")
        #expect(lines.contains("1 > permission_response p1 allow once"), "\(lines)")
        #expect(lines.contains("- oppi:ses_1 approval settled p2 unknown"))
    }

    @Test("an unknown one is settled by the server's complaint")
    func complained() {
        var oppi = OppiConversation.running()
        _ = oppi.hears(Self.permission("p1"), on: 2)
        _ = oppi.decides("p1", .approve)
        #expect(
            oppi.hears(#"{"type":"error","error":"Permission request not found: p1"}"#, on: 1)
                == ["- oppi:ses_1 approval settled p1 unknown"])
    }

    @Test("the end of the session withdraws what it asked")
    func ended() {
        var oppi = OppiConversation.running()
        _ = oppi.hears(Self.permission("p1"), on: 2)
        let lines = oppi.says("session_ended", #""reason":"stopped""#)
        #expect(lines.contains("- oppi:ses_1 approval settled p1 cancelled"), "\(lines)")
    }

    // MARK: Dialogs

    @Test("a dialog for yes and no is an approval")
    func confirm() {
        var oppi = OppiConversation.running()
        let lines = oppi.says(
            "extension_ui_request", #""id":"d1","method":"confirm","title":"Sure?","message":"Really""#)
        #expect(lines.first?.hasPrefix("r1 oppi:ses_1 approval requested d1 dialog") == true, "\(lines)")
        #expect(
            oppi.decides("d1", .approve, subject: .dialog)
                == [
                    "2 > extension_ui_response s1 d1 confirmed true",
                    "r1 oppi:ses_1 approval settled d1 decided(BridgeModel.ApprovalDecision.approve)",
                ])
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
        // Its next question waits for that.
        #expect(
            oppi.answers(question: "d1#0", .choices(["a", "b"])) == ["r1 oppi:ses_1 question settled d1#0 answered"])
        #expect(
            oppi.answers(question: "d1#1", .text("so")).first
                == #"2 > extension_ui_response s1 d1 {"q1":["a","b"],"q2":"so"}"#)
    }

    /// A bridge that began again while an ask was open, up to the dialling of the chat's stream.
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

}
