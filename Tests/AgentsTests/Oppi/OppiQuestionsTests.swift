import AgentKit
import Oppi
import Testing
import Vocabulary

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
                "- oppi:ses_1 approval settled p1 decided(Vocabulary.ApprovalDecision.approve)"
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
        // Neither decision gets an answer, and the server still waits.
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
                == ["- oppi:ses_1 approval settled p1 decided(Vocabulary.ApprovalDecision.approve)"])
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

    @Test("a decision whose answer was lost, and whose permission is gone, is in doubt")
    func answerLost() {
        var oppi = OppiConversation.running()
        _ = oppi.hears(Self.permission("p1"), on: 2)
        #expect(oppi.decides("p1", .approve) == ["1 > permission_response p1 allow once"])
        _ = oppi.happens(.closed(code: 1006, reason: ""))
        _ = oppi.waits(1_500)
        let lines = oppi.greets()
        #expect(lines.contains("- oppi:ses_1 approval settled p1 inDoubt"), "\(lines)")
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

    @Test("the end of another session withdraws nothing")
    func otherEnded() {
        var oppi = OppiConversation.running()
        _ = oppi.hears(Self.permission("p1"), on: 2)
        #expect(oppi.hears(#"{"type":"session_ended","sessionId":"s9","seq":4,"reason":"stopped"}"#, on: 2) == [])
        #expect(oppi.decides("p1", .deny) == ["1 > permission_response p1 deny once"])
        let complaint = oppi.hears(#"{"type":"error","error":"Session not found: s9"}"#, on: 2)
        #expect(complaint.count == 1 && complaint[0].hasPrefix("note"), "\(complaint)")
    }

    // MARK: Another client's run

    @Test("a permission that a run of another client waits for is left to that client")
    func ofAnother() {
        var oppi = OppiConversation.idle()
        let count = [#"unknown ["permission of another client"]"#]
        #expect(oppi.hears(Self.permission("p1"), on: 2) == count, "no message of the phone is there")
        oppi.queuesBehindAnother()
        #expect(!oppi.hears(Self.permission("p2"), on: 2).contains { $0.contains("approval") }, "ours waits behind it")
        #expect(!oppi.aborts("r2").contains { $0.contains("permission") })
    }

    @Test("one that was shown before it was known whose it is is listed when our run is found")
    func listedWhenFound() {
        var oppi = OppiConversation.prompted()
        _ = oppi.accepts()
        _ = oppi.hears(Self.permission("p1"), on: 2)
        _ = oppi.says("agent_start")
        let begun = oppi.says("message_end", #""role":"user","content":"Hi""#)
        #expect(begun == ["r1 oppi:ses_1 started", "GET /permissions/pending"])
        let lines = oppi.answers("GET /permissions/pending", 200, oppi.pending("[\(Self.permission("p1"))]"))
        #expect(lines.count == 1 && lines[0].hasPrefix(Self.asked), "\(lines)")
    }
}
