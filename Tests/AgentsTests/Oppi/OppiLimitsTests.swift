import AgentKit
import Oppi
import Testing
import Vocabulary

@Suite("Oppi, limits in time")
struct OppiLimitsTests {
    private static let history = OppiRecoveryTests.history
    private static let events = OppiRecoveryTests.events

    /// Advances time second by second. The main stream answers, but calls fail and streams of chats do not open.
    private func seconds(_ count: Int, _ oppi: inout OppiConversation) -> [String] {
        var lines: [String] = []
        for _ in 0..<count {
            lines += oppi.waits(1_000)
            _ = oppi.replies("unsubscribe", on: 1)
            for call in oppi.openCalls where call.hasPrefix("GET") { lines += oppi.fails(call) }
        }
        return lines
    }

    // MARK: No way to the session

    @Test("a prompt whose stream does not open is given up, with a sentence")
    func noStream() {
        var oppi = OppiConversation.live()
        _ = oppi.sends("r1", "Hi")
        _ = oppi.answers("POST /workspaces/w1/sessions", 201, #"{"session":{"id":"s1"}}"#)
        _ = oppi.keeps()
        let lines = seconds(140, &oppi)
        let end = lines.filter { $0.hasPrefix("send r1 not made") }
        #expect(end.count == 1 && end[0].contains("not sent"), "\(lines)")
        #expect(!lines.contains("link lost"))
        #expect(oppi.sends("r2", "More").contains { $0.hasPrefix("keep") }, "the next one is tried")
    }

    @Test("a prompt of unknown outcome is given up as such when nothing can be found out")
    func nothingFoundOut() {
        var oppi = OppiConversation.prompted()
        _ = oppi.happens(.closed(code: 1006, reason: ""), 2)
        let lines = seconds(140, &oppi)
        let end = lines.filter { $0.hasPrefix("send r1 not made") }
        #expect(end.count == 1 && end[0].contains("cannot be found out whether it arrived"), "\(lines)")
        #expect(lines.filter { $0.hasPrefix("note the server does not say") }.count == 1, "\(lines)")
    }

    @Test("a prompt that is never answered is written a few times, then given up")
    func neverAnswered() {
        var oppi = OppiConversation.prompted()
        var lines: [String] = []
        var channel = 2
        for _ in 0..<200 {
            let some = oppi.waits(1_000)
            lines += some
            _ = oppi.replies("unsubscribe", on: 1)
            if some.contains(where: { $0.contains("> subscribe s1 full") }) { lines += oppi.subscribes(channel) }
            for call in oppi.openCalls where call.hasPrefix("GET") {
                let isTrace = call.hasPrefix(Self.history)
                lines += oppi.answers(
                    call, 200, isTrace ? OppiRecoveryTests.trace([]) : OppiRecoveryTests.missed(0, status: "ready"))
            }
            if lines.last?.hasPrefix("open") == true {
                channel += 1
                lines += oppi.follows(channel)
            }
        }
        #expect(lines.filter { $0.hasPrefix("send r1 not made") }.count == 1, "\(lines)")
    }

    @Test("a run that can neither be followed nor looked up is given up, and its history asked for ever more slowly")
    func lostRun() {
        var oppi = OppiConversation.running()
        _ = oppi.happens(.closed(code: 1006, reason: ""), 2)
        _ = oppi.waits(300)
        _ = oppi.answers(Self.events, 404, #"{"error":"Session not active"}"#)
        let lines = seconds(140, &oppi)
        #expect(lines.filter { $0.hasPrefix("r1 oppi:ses_1 failed agentGone") }.count == 1, "\(lines)")
        #expect(lines.filter { $0.hasPrefix("GET") }.count < 12, "\(lines)")
        #expect(lines.filter { $0.hasPrefix("note the history") }.count == 1, "\(lines)")
    }

    @Test("a message that has not left when the link is lost is given up after two minutes, as the bridge's own are")
    func linkAway() {
        var oppi = OppiConversation.live()
        _ = oppi.sends("r1", "Hi")
        _ = oppi.happens(.closed(code: 1006, reason: ""))
        var lines: [String] = []
        for _ in 0..<140 { lines += oppi.waits(1_000) }
        #expect(lines.filter { $0.hasPrefix("send r1 not made") }.count == 1, "\(lines)")
    }

    @Test("a message that has not left when the token is refused ends with what is to be done")
    func tokenRefused() {
        var oppi = OppiConversation.live()
        _ = oppi.sends("r1", "Hi")
        let lines = oppi.answers("POST /workspaces/w1/sessions", 401, #"{"error":"Unauthorized"}"#)
        #expect(lines.contains { $0.hasPrefix("send r1 not made") && $0.contains("air") }, "\(lines)")
    }

    // MARK: Reading is paused

    @Test("while the bridge itself does not read, silence of the server says nothing")
    func pausedRun() {
        var oppi = OppiConversation.running()
        oppi.pauses()
        var lines: [String] = []
        for _ in 0..<60 {
            lines += oppi.waits(1_000)
            _ = oppi.replies("unsubscribe", on: 1)
        }
        #expect(lines.allSatisfy { $0 == "1 > unsubscribe none" }, "\(lines)")
        oppi.resumes()
        #expect(oppi.waits(14_000).allSatisfy { $0 == "1 > unsubscribe none" })
        #expect(oppi.answers(text: "Hello") == [#"r1 oppi:ses_1 segment ended "Hello""#])
    }

    @Test("nor does a prompt that is not answered")
    func pausedPrompt() {
        var oppi = OppiConversation.prompted()
        oppi.pauses()
        #expect(oppi.waits(30_000) == [])
        oppi.resumes()
        #expect(oppi.waits(7_500) == [])
        #expect(oppi.accepts() == ["send r1 accepted as r1"])
    }

    @Test("nor does the end of a failed loop, behind which its retry may be unread")
    func pausedVerdict() {
        var oppi = OppiConversation.running()
        _ = oppi.answers(text: "")
        _ = oppi.says("agent_end")
        oppi.pauses()
        #expect(oppi.waits(30_000) == [])
        oppi.resumes()
        #expect(
            oppi.says("retry_start", #""attempt":1,"maxAttempts":3,"delayMs":1,"errorMessage":"529""#)
                == [#"r1 oppi:ses_1 retrying "529""#])
    }

    // MARK: Retries

    @Test("a retry that waits long is not taken for a lost end")
    func longRetry() {
        var oppi = OppiConversation.running()
        _ = oppi.says("error", #""error":"529""#)
        _ = oppi.answers(text: "")
        _ = oppi.says("agent_end")
        _ = oppi.says("retry_start", #""attempt":3,"maxAttempts":3,"delayMs":60000,"errorMessage":"529""#)
        var lines = oppi.state("ready")
        for _ in 0..<60 {
            lines += oppi.waits(1_000)
            _ = oppi.replies("unsubscribe", on: 1)
            lines += oppi.state("ready")
        }
        #expect(!lines.contains { $0.hasPrefix("GET") || $0.hasPrefix("close") }, "\(lines)")
        _ = oppi.says("agent_start")
        _ = oppi.answers(text: "Good")
        #expect(oppi.ends() == ["r1 oppi:ses_1 finished stop run -"])
    }

    @Test("one that never begins is found out")
    func retryWithoutEnd() {
        var oppi = OppiConversation.running()
        _ = oppi.answers(text: "")
        _ = oppi.says("agent_end")
        _ = oppi.says("retry_start", #""attempt":1,"maxAttempts":3,"delayMs":2000,"errorMessage":"529""#)
        var lines: [String] = []
        for _ in 0..<70 {
            lines += oppi.waits(1_000)
            _ = oppi.replies("unsubscribe", on: 1)
            if !lines.contains(where: { $0.hasPrefix("GET") }) { lines += oppi.state("ready") }
        }
        #expect(lines.contains { $0.hasPrefix(Self.history) }, "\(lines)")
    }

    // MARK: The age of a prompt

    @Test("a prompt of an earlier process that is older than the server's memory of it is not written again")
    func oldPrompt() {
        let fact = Fact("session:oppi:ses_1", Array("w1\ns1\nr1\n\(OppiConversation.wall - 20 * 60_000)".utf8))
        var oppi = OppiConversation(facts: [fact], turns: [OppiRecoveryTests.earlier(isAccepted: false)])
        _ = oppi.greets()
        _ = oppi.answers(Self.events, 200, OppiRecoveryTests.missed(7))
        let lines = oppi.answers(
            Self.history, 200, OppiRecoveryTests.trace([("user", "Theirs"), ("assistant", "I")], status: "busy"))
        #expect(lines.first?.contains("cannot be found out whether it arrived") == true, "\(lines)")
    }
}
