import AgentKit
import Oppi
import Testing
import Vocabulary

@Suite("What is not Oppi's answer, and how many are asked for")
struct OppiCallsTests {
    private static let page = "<html><body>no such page</body></html>"
    private static let json = #"{"message":"no upstream"}"#

    // MARK: A proxy's page

    @Test(
        "during the handshake it is no answer",
        arguments: ["GET /server/info", "GET /workspaces", "GET /permissions/pending"], [page, json])
    func handshake(_ call: String, _ body: String) {
        for status in [403, 404, 502] {
            var oppi = OppiConversation()
            _ = oppi.opens()
            _ = oppi.hears(#"{"type":"stream_connected","userName":"shed"}"#, on: 1)
            let lines = oppi.answers(call, status, body)
            #expect(lines.first == "close 1" && lines.last?.contains("REST routes do not answer") == true, "\(lines)")
        }
    }

    @Test("Oppi's own refusal of its workspaces is none either, but an older Oppi may lack the other routes")
    func refusedByOppi() {
        var oppi = OppiConversation()
        _ = oppi.opens()
        _ = oppi.hears(#"{"type":"stream_connected","userName":"shed"}"#, on: 1)
        #expect(oppi.answers("GET /server/info", 404, #"{"error":"Not found"}"#) == [])
        #expect(oppi.answers("GET /permissions/pending", 404, #"{"error":"Not found"}"#) == [])
        let lines = oppi.answers("GET /workspaces", 500, #"{"error":"Internal"}"#)
        #expect(lines.first == "close 1" && !lines.contains { $0.contains("no workspace yet") }, "\(lines)")
        #expect(lines.last?.contains("/workspaces was refused: 500 Internal") == true)
    }

    @Test("a chat is gone by Oppi's word alone")
    func gone() {
        var oppi = OppiConversation.running()
        _ = oppi.happens(.closed(code: 1006, reason: ""), 2)
        _ = oppi.waits(300)
        #expect(oppi.answers(OppiRecoveryTests.events, 404, Self.page).allSatisfy { $0.hasPrefix("note ") })
        #expect(oppi.waits(2_500).contains(OppiRecoveryTests.events + "?since=\(oppi.sequence)"))
        _ = oppi.answers(OppiRecoveryTests.events, 404, #"{"error":"Session not active"}"#)
        #expect(oppi.answers(OppiRecoveryTests.history, 404, Self.page).allSatisfy { $0.hasPrefix("note ") })
        #expect(oppi.waits(2_500) == [OppiRecoveryTests.history + "view=full&traceView=full"])
        let lines = oppi.answers(OppiRecoveryTests.history, 404, #"{"error":"Workspace not found"}"#)
        #expect(lines.contains { $0.hasPrefix("r1 oppi:ses_1 failed agentGone") }, "\(lines)")
    }

    @Test("a session that a proxy did not let through is not refused by Oppi")
    func notMade() {
        var oppi = OppiConversation.live()
        _ = oppi.sends("r1", "Hi")
        let lines = oppi.answers("POST /workspaces/w1/sessions", 502, Self.page)
        #expect(!lines.isEmpty && !lines.contains { $0.contains("refused") }, "\(lines)")
        #expect(lines.first?.contains("something before Oppi answered with 502") == true, "\(lines)")
    }

    @Test("workspaces that could not be read are not missing", arguments: [page, #"{"error":"Internal"}"#, "{}"])
    func noWorkspaces(_ body: String) {
        let several = #"{"workspaces":[{"id":"w1","name":"garden"},{"id":"w2","name":"shed"}]}"#
        var oppi = OppiConversation()
        _ = oppi.greets(workspaces: several)
        #expect(oppi.sends("r1", "Hi") == ["GET /workspaces"])
        let lines = oppi.answers("GET /workspaces", body == "{}" ? 200 : 500, body)
        #expect(!lines.isEmpty && !lines.contains { $0.contains("OPPI_WORKSPACE") }, "\(lines)")
    }

    @Test("a link is used up by Oppi's word alone")
    func pairing() {
        let settings = OppiSettings(
            address: WebAddress(.http, "127.0.0.1", 7749), invite: OppiInvite(OppiLinks.link(OppiLinks.plain)))
        for (status, body) in [(404, Self.page), (403, Self.page), (500, Self.json)] {
            var oppi = OppiConversation(settings: settings)
            _ = oppi.finishes("secret", .secret(nil))
            let lines = oppi.answers("POST /pair", status, body)
            #expect(lines.count == 1 && lines[0].contains("something before Oppi"), "\(lines)")
        }
        var forbidden = OppiConversation(settings: settings)
        _ = forbidden.finishes("secret", .secret(nil))
        let lines = forbidden.answers("POST /pair", 403, #"{"error":"Forbidden"}"#)
        #expect(lines.first?.hasPrefix("waits 60 s: pairing: 403 Forbidden; Oppi refused this machine") == true)
    }

    // MARK: Many chats

    @Test("more calls than the host takes wait, in order, and none is refused")
    func many() {
        var oppi = OppiConversation.live()
        for number in 0..<100 {
            _ = oppi.sends("r\(number)", "Hi", in: AgentSession("oppi:many_\(number)"))
        }
        #expect(oppi.openCalls.count == 64)
        var lines: [String] = []
        for number in 0..<100 {
            lines += oppi.answers("POST /workspaces/w1/sessions", 201, #"{"session":{"id":"m\#(number)"}}"#)
        }
        for _ in 0..<100 { lines += oppi.keeps() }
        #expect(lines.filter { $0.hasPrefix("POST") }.count == 36)
        #expect(lines.filter { $0.hasPrefix("open ") }.count == 100, "\(lines)")
        #expect(oppi.openCalls == [])
    }

    @Test("what waits to be asked is dropped with its link")
    func dropped() {
        var oppi = OppiConversation.live()
        for number in 0..<64 { _ = oppi.sends("r\(number)", "Hi", in: AgentSession("oppi:many_\(number)")) }
        _ = oppi.waits(10)
        #expect(oppi.openCalls.count == 64)
        _ = oppi.happens(.closed(code: 1006, reason: ""))
        _ = oppi.waits(1_500)
        _ = oppi.opens()
        #expect(oppi.hears(#"{"type":"stream_connected","userName":"shed"}"#, on: 1) == [])
        _ = oppi.happens(.closed(code: 1006, reason: ""))
        _ = oppi.waits(3_000)
        var lines: [String] = []
        for _ in 0..<64 { lines += oppi.fails("POST") }
        #expect(!lines.contains("GET /server/info"), "\(lines)")
    }

    @Test("a place that was kept for the session before is not taken for the one of now")
    func lateKeep() {
        var oppi = OppiConversation.running()
        _ = oppi.answers(text: "Hello")
        _ = oppi.ends()
        #expect(oppi.sends("r2", "More").first?.hasPrefix("keep session:oppi:ses_1=w1 s1 r2") == true)
        let gone = oppi.hears(#"{"type":"error","error":"Session not found: s1"}"#, on: 2)
        #expect(gone.contains("POST /workspaces/w1/sessions"), "\(gone)")
        _ = oppi.answers("POST /workspaces/w1/sessions", 201, #"{"session":{"id":"s2"}}"#)
        #expect(oppi.keeps() == [], "that was the first one")
        #expect(oppi.keeps() == ["open 3 ws://127.0.0.1:7749/stream"])
    }

    // MARK: Results without a look-up

    @Test("what was found is said, also when the link is lost once more before it is asked for")
    func found() {
        var oppi = OppiConversation.running()
        _ = oppi.happens(.closed(code: 1001, reason: ""))
        _ = oppi.waits(1_500)
        _ = oppi.greets(uptime: 1)
        _ = oppi.answers(OppiRecoveryTests.events, 404, #"{"error":"Session not active"}"#)
        let whole = OppiRecoveryTests.trace([("user", "Hi"), ("assistant", "Hello")])
        #expect(oppi.answers(OppiRecoveryTests.history, 200, whole) == [])
        _ = oppi.happens(.closed(code: 1001, reason: ""))
        var lines = oppi.waits(2_000) + oppi.greets(uptime: 1)
        lines += oppi.waits(6_000)
        #expect(lines.contains(#"r1 oppi:ses_1 finished stop run "Hello""#), "\(lines)")
    }
}
