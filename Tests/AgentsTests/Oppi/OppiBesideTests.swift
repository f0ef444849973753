import AgentKit
import Oppi
import Testing
import Vocabulary

/// Other frames of the session in the middle of our run.
@Suite("Oppi in the middle of our run")
struct OppiBesideTests {
    @Test("the prompt of another client that is taken up within our loop ends our answer")
    func theirsBehindOurs() {
        var oppi = OppiConversation.running()
        _ = oppi.answers(text: "For us")
        var lines = oppi.says("message_end", #""role":"user","content":"Theirs""#)
        #expect(lines.first == "r1 oppi:ses_1 finished stop run -", "\(lines)")
        lines = oppi.says("text_delta", #""delta":"For""#) + oppi.answers(text: "For them")
        lines += oppi.ends()
        #expect(lines.allSatisfy { !$0.hasPrefix("r1 ") }, "\(lines)")
    }

    @Test("our own words within our loop end nothing")
    func ours() {
        var oppi = OppiConversation.running()
        _ = oppi.answers(text: "For us")
        #expect(oppi.says("message_end", #""role":"user","content":" Hi""#) == [])
    }

    @Test("frames that say nothing of the loop leave a failed attempt open to its retry", arguments: beside)
    func heldBeside(type: String) {
        var oppi = OppiConversation.running()
        _ = oppi.answers(text: "")
        var lines = oppi.ends() + oppi.says(type)
        #expect(ofRuns(lines).allSatisfy { $0.hasSuffix("alive, working") }, "\(lines)")
        lines = oppi.says("retry_start", #""attempt":1,"maxAttempts":3,"delayMs":1,"errorMessage":"529""#)
        #expect(lines.last?.hasPrefix("r1 oppi:ses_1 retrying") == true, "\(lines)")
    }

    @Test("they do not say whose loop begins", arguments: beside)
    func openedBeside(type: String) {
        var oppi = OppiConversation.prompted()
        _ = oppi.accepts()
        let lines = oppi.says("agent_start") + oppi.says(type)
        #expect(ofRuns(lines) == [], "\(lines)")
        #expect(oppi.says("message_end", #""role":"user","content":"Hi""#) == ["r1 oppi:ses_1 started"])
    }

    private func ofRuns(_ lines: [String]) -> [String] { lines.filter { !$0.hasPrefix("unknown") } }

    private static let beside = [
        "extension_ui_notification", "queue_state", "weather_report", "git_status", "turn_end",
    ]
}
