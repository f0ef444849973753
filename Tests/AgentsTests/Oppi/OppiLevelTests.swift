import AgentKit
import Testing
import Vocabulary

@Suite("A phone's level of thought at Oppi")
struct OppiLevelTests {
    private static func asked(_ level: LevelChoice, result: String = "rpc_result") -> (OppiConversation, [String]) {
        var oppi = OppiConversation.live(result: result)
        _ = oppi.sends("r1", "Hi", level: level)
        _ = oppi.answers("POST /workspaces/w1/sessions", 201, #"{"session":{"id":"s1"}}"#)
        _ = oppi.keeps()
        let lines = oppi.follows(2)
        return (oppi, lines)
    }

    @Test("the level is set before the prompt is written", arguments: OppiMachineTests.dialects)
    func order(_ result: String) {
        for (level, word) in [(LevelChoice.level(.extended), "high"), (.level(.max), "xhigh"), (.own("low"), "low")] {
            var (oppi, lines) = Self.asked(level, result: result)
            #expect(lines.last == "2 > set_thinking_level s1 \(word)")
            lines = oppi.replies("set_thinking_level")
            #expect(lines.first == "r1 thinks at \(level): set(before: nil, instead: nil)")
            #expect(lines.contains { $0.hasPrefix("2 > prompt s1") })
        }
    }

    @Test("what the session's model took of it is not to be heard: the server says what was asked for")
    func notTold() {
        var (oppi, _) = Self.asked(.level(.extended))
        #expect(!oppi.replies("set_thinking_level").contains { $0.contains("get_state") })
        let state = #""session":{"id":"s1","status":"ready","thinkingLevel":"high"}"#
        #expect(!oppi.says("state", state).contains { $0.contains("thinks at") })
    }

    @Test("a refusal, and no answer, hold up no prompt", arguments: [true, false])
    func refused(isAnswered: Bool) {
        var (oppi, _) = Self.asked(.level(.max))
        let lines = isAnswered ? oppi.replies("set_thinking_level", error: "no such level") : oppi.waits(8_000)
        #expect(lines.first?.contains(isAnswered ? "no such level" : "Oppi did not answer") == true, "\(lines)")
        #expect(lines.contains { $0.hasPrefix("2 > prompt s1") })
    }
}
