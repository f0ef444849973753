import AgentKit
import Testing
import Vocabulary

@testable import Oppi

@Suite("Oppi: a prompt that a bridge on a copy of the state directory wrote before")
struct OppiCopiedTests {
    private static let history = "GET /workspaces/w1/sessions/s1?view=full"

    private static func known(_ oppi: inout OppiConversation, _ members: String) -> [String] {
        oppi.hears(
            #"{"type":"turn_ack","command":"prompt","clientTurnId":"r1","stage":"started"\#(members),"sessionId":"s1"}"#,
            on: 2)
    }

    /// The server had the prompt before, and its run is under way.
    private static func copied(byConflict: Bool) -> OppiConversation {
        var oppi = OppiConversation.prompted()
        if byConflict {
            _ = oppi.replies("prompt", error: "clientTurnId conflict: r1")
            let trace = OppiRecoveryTests.trace([("user", "Hi"), ("assistant", "Hel")], status: "busy")
            _ = oppi.answers(history, 200, trace)
        } else {
            _ = known(&oppi, #","duplicate":true,"requestId":"\#(oppi.request("prompt"))""#)
            _ = oppi.replies("prompt")
            _ = oppi.says("agent_start")
            _ = oppi.says("message_end", #""role":"user","content":"Hi""#)
        }
        return oppi
    }

    @Test("the run goes on where the message is the other bridge's", arguments: [true, false])
    func sparesTheRun(byConflict: Bool) {
        var oppi = Self.copied(byConflict: byConflict)
        let lines = oppi.aborts("r1", reach: .ownRuns)
        #expect(lines.contains("stop of r1 answered"), "\(lines)")
        let later = oppi.says("text_delta", #""delta":"Hel""#) + oppi.waits(20_000)
        #expect(!(lines + later).contains { $0.contains("> stop") }, "\(lines) \(later)")
        #expect(!(lines + later).contains { $0.hasPrefix("r1 ") }, "\(lines) \(later)")
    }

    @Test("a person's Stop ends it", arguments: [true, false])
    func personStops(byConflict: Bool) {
        var oppi = Self.copied(byConflict: byConflict)
        #expect(oppi.aborts("r1").contains("2 > stop s1"))
    }

    @Test("the stop is dropped where the server says only afterwards that it had the prompt")
    func saidLater() {
        var oppi = OppiConversation.prompted()
        _ = oppi.aborts("r1", reach: .ownRuns)
        let lines = Self.known(&oppi, #","duplicate":true,"requestId":"\#(oppi.request("prompt"))""#)
        #expect(lines.contains("stop of r1 answered"), "\(lines)")
        _ = oppi.replies("prompt")
        let later = oppi.says("agent_start") + oppi.says("message_end", #""role":"user","content":"Hi""#)
        #expect(!later.contains { $0.contains("> stop") }, "\(later)")
    }

    @Test("the acknowledgement of the other's copy says nothing about a prompt that was first")
    func isFirst() {
        var oppi = OppiConversation.running()
        _ = Self.known(&oppi, #","duplicate":true,"requestId":"another-1""#)
        #expect(oppi.aborts("r1", reach: .ownRuns).contains("2 > stop s1"))
    }

    @Test("a prompt that was written twice here may be its own copy")
    func writtenTwice() {
        var oppi = OppiConversation.prompted()
        _ = oppi.waits(8_500)
        _ = oppi.subscribes(2)
        _ = oppi.replies("prompt", error: "clientTurnId conflict: r1")
        let trace = OppiRecoveryTests.trace([("user", "Hi"), ("assistant", "Hel")], status: "busy")
        _ = oppi.answers(Self.history, 200, trace)
        #expect(oppi.aborts("r1", reach: .ownRuns).contains("2 > stop s1"))
    }
}
