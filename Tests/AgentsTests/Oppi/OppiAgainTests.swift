import AgentKit
import Oppi
import Testing
import Vocabulary

/// Repeated frames, and frames that mean too little by themselves.
@Suite("Oppi, where frames and histories repeat themselves or leave something out")
struct OppiAgainTests {
    private static let history = OppiRecoveryTests.history
    private static let events = OppiRecoveryTests.events
    private static let hi = #""role":"user","content":"Hi""#

    @Test("our own prompt does not end its run when it comes again behind a history that does not have it yet")
    func promptAgain() {
        var oppi = OppiConversation.prompted()
        _ = oppi.accepts()
        oppi.loses(current: 9, isWhole: false)
        _ = oppi.answers(Self.history, 200, OppiRecoveryTests.trace([], status: "busy"))
        _ = oppi.follows(3, current: 9, status: "busy")
        // The run begins while the history is being read.
        _ = oppi.says("agent_start", on: 3)
        #expect(oppi.says("message_end", Self.hi, on: 3).first == "r1 oppi:ses_1 started")
        _ = oppi.answers(Self.history, 200, OppiRecoveryTests.trace([], status: "busy"))
        let again = oppi.says("message_end", Self.hi, on: 3)
        #expect(!again.contains { $0.contains("finished") }, "\(again)")
        #expect(oppi.answers(text: "Hello", on: 3).contains(#"r1 oppi:ses_1 segment ended "Hello""#))
    }

    @Test("our own prompt does not end the run that was found in the history")
    func promptAfterRestart() {
        let fact = Fact("session:oppi:ses_1", Array("w1\ns1\nr1\n\(OppiConversation.wall - 5_000)".utf8))
        var oppi = OppiConversation(facts: [fact], turns: [OppiRecoveryTests.earlier(isAccepted: true)])
        _ = oppi.greets()
        _ = oppi.answers(Self.events, 200, OppiRecoveryTests.missed(1))
        _ = oppi.answers(Self.history, 200, OppiRecoveryTests.trace([("user", "Hi")], status: "busy"))
        _ = oppi.looksUp("r1")
        var lines = oppi.follows(2, current: 1, status: "busy")
        lines += oppi.says("message_end", Self.hi)
        lines += oppi.answers(Self.history, 200, OppiRecoveryTests.trace([("user", "Hi")], status: "busy"))
        lines += oppi.answers(text: "Hello")
        #expect(!lines.contains { $0.contains("finished") }, "\(lines)")
        #expect(lines.last == #"r1 oppi:ses_1 segment ended "Hello""#, "\(lines)")
    }

    @Test("a frame whose number cannot be read is asked for again, and heard once", arguments: ["\"x\"", "-1", "1.5"])
    func unreadableNumber(number: String) {
        var oppi = OppiConversation.running()
        let words = #""role":"assistant","content":"Hello""#
        let spoilt = #"{"type":"message_end","sessionId":"s1","seq":\#(number),\#(words)}"#
        let lines = oppi.hears(spoilt, on: 2)
        #expect(lines.last == "2 > subscribe s1 full since 2", "\(lines)")
        #expect(!lines.contains { $0.contains("Hello") }, "\(lines)")
        let whole = oppi.frame("message_end", words)
        let replayed = oppi.subscribes(2, status: "busy", replay: [whole])
        #expect(replayed == [#"r1 oppi:ses_1 segment ended "Hello""#])
    }

    @Test("a run that ends in a tool has ended, where its agent is there and has nothing to do")
    func endsInTool() {
        var oppi = OppiConversation.running()
        oppi.loses(current: 900, isWhole: false, status: "ready")
        let rows = [("user", "Hi"), ("assistant", "I look."), ("toolCall", ""), ("toolResult", "")]
        let whole = OppiRecoveryTests.trace(rows)
        var lines = oppi.answers(Self.history, 200, whole)
        for _ in 0..<5 { lines += oppi.waits(2_100) + oppi.answers(Self.history, 200, whole) }
        #expect(lines.contains(#"r1 oppi:ses_1 finished stop run "I look.""#), "\(lines)")
        #expect(!lines.contains { $0.contains("failed") }, "\(lines)")
    }

    /// The loop ends with an empty message, after which a retry may follow, and then the server restarts.
    private func restartedAfterEnd(_ last: [String], _ trace: String) -> [String] {
        var oppi = OppiConversation.running()
        for words in last { _ = oppi.says("message_end", #""role":"assistant","content":"\#(words)""#) }
        _ = oppi.ends()
        _ = oppi.happens(.closed(code: 1001, reason: "Server shutting down"))
        _ = oppi.waits(10_000)
        _ = oppi.greets(uptime: 1)
        _ = oppi.looksUp("r1")
        _ = oppi.answers(Self.events, 404, #"{"error":"Session not active"}"#)
        var lines = oppi.answers(Self.history, 200, trace)
        for _ in 0..<5 { lines += oppi.waits(2_100) + oppi.answers(Self.history, 200, trace) }
        return lines
    }

    @Test("an end that was seen just before the link was lost is not called cut off")
    func endBeforeLoss() {
        let rows = [("user", "Hi"), ("assistant", "I look."), ("toolCall", ""), ("toolResult", "")]
        let lines = restartedAfterEnd(["I look.", ""], OppiRecoveryTests.trace(rows))
        #expect(lines.contains(#"looked up r1 finished stop run "I look.""#), "\(lines)")
        #expect(!lines.contains { $0.contains("cut off") }, "\(lines)")
    }

    @Test("a message that has not left yet waits, and is not said to run")
    func notLeft() {
        var oppi = OppiConversation.live()
        _ = oppi.sends("r1", "Hi")
        _ = oppi.happens(.closed(code: 1006, reason: ""))
        _ = oppi.waits(1_500)
        #expect(!oppi.greets().contains { $0.hasPrefix("looked up") })
        #expect(oppi.looksUp("r1").contains("looked up r1 waits"))
    }

    @Test("a stop that is owed is not dropped while a new session's history is not written yet")
    func owedStopInNewSession() {
        let fact = Fact("session:oppi:ses_1", Array("w1\ns1\nr1\n\(OppiConversation.wall - 5_000)".utf8))
        var oppi = OppiConversation.live(facts: [fact])
        _ = oppi.aborts("r1")
        _ = oppi.answers(Self.events, 200, OppiRecoveryTests.missed(3))
        var lines = oppi.answers(Self.history, 200, OppiRecoveryTests.trace([], status: "busy"))
        #expect(!lines.contains("stop of r1 answered"), "\(lines)")
        _ = oppi.follows(2, current: 3, status: "busy")
        let there = OppiRecoveryTests.trace([("user", "Hi"), ("assistant", "I work")], status: "busy")
        lines = oppi.answers(Self.history, 200, there)
        #expect(lines.last == "2 > stop s1", "\(lines)")
    }
}
