import AgentKit
import Oppi
import Testing
import Vocabulary

/// Prompts that may have arrived, and words said while the bridge looked elsewhere.
@Suite("Oppi, where an outcome is not known")
struct OppiOutcomeTests {
    private static let history = OppiRecoveryTests.history
    private static let events = OppiRecoveryTests.events
    private static let historyCall = "GET /workspaces/w1/sessions/s1?view=full&traceView=full"

    // MARK: Prompts that are not answered

    @Test("a prompt that was not answered is looked for when its stream is lost before it could be repeated")
    func unansweredAndLost() {
        var oppi = OppiConversation.prompted()
        #expect(oppi.waits(8_500) == ["2 > subscribe s1 full since 0"])
        _ = oppi.happens(.closed(code: 1006, reason: ""), 2)
        #expect(oppi.waits(300) == [Self.events + "?since=0"])
    }

    @Test("a stop of a prompt that was not answered waits until it is known whether it arrived")
    func unansweredAndStopped() {
        var oppi = OppiConversation.prompted()
        _ = oppi.waits(8_500)
        #expect(oppi.aborts("r1") == [])
        // The prompt had arrived, and its answer was late.
        #expect(oppi.accepts() == ["send r1 accepted as r1"])
        _ = oppi.subscribes(2)
        _ = oppi.says("agent_start")
        #expect(
            oppi.says("message_end", #""role":"user","content":"Hi""#) == ["r1 oppi:ses_1 started", "2 > stop s1"])
        // The prompt had not arrived: the server has answered a later frame.
        var other = OppiConversation.prompted()
        _ = other.waits(8_500)
        _ = other.aborts("r1")
        #expect(other.subscribes(2) == ["stop of r1 answered"])
    }

    @Test("after a conflict nothing is written again, also while the history of a new session is not written yet")
    func conflictInNewSession() {
        var oppi = OppiConversation.prompted()
        var lines = oppi.replies("prompt", error: "clientTurnId conflict: r1")
        for _ in 0..<4 {
            lines += oppi.answers(Self.history, 200, OppiRecoveryTests.trace([], status: "busy"))
            lines += oppi.state("busy")
            lines += oppi.waits(2_100)
        }
        #expect(lines.filter { $0 == Self.historyCall }.count == 5, "one look each 2 s: \(lines)")
        #expect(!lines.contains { $0.contains("> prompt") })
        lines = oppi.answers(
            Self.history, 200, OppiRecoveryTests.trace([("user", "Hi"), ("assistant", "Hello")], status: "busy"))
        #expect(lines.first == #"r1 oppi:ses_1 snapshot "Hello""#, "\(lines)")
    }

    @Test("a prompt of unknown outcome is not repeated while a first run is at work that no history shows")
    func doubtfulInNewSession() {
        let own = Fact("session:oppi:ses_1", Array("w1\ns1\nr1\n\(OppiConversation.wall - 5_000)".utf8))
        var oppi = OppiConversation(facts: [own], turns: [OppiRecoveryTests.earlier(isAccepted: false)])
        _ = oppi.greets()
        _ = oppi.answers(Self.events, 200, OppiRecoveryTests.missed(2))
        #expect(oppi.answers(Self.history, 200, OppiRecoveryTests.trace([], status: "busy")) == [])
        #expect(oppi.waits(2_100).contains(Self.historyCall))
        let there = OppiRecoveryTests.trace([("user", "Hi"), ("assistant", "I work")], status: "busy")
        #expect(oppi.answers(Self.history, 200, there).first == "send r1 accepted as r1")
    }

    // MARK: Messages into a run

    /// `r2` is written into the run of `r1`, and has no answer.
    private func steering() -> OppiConversation {
        var oppi = OppiConversation.running()
        _ = oppi.sends("r2", "Faster")
        _ = oppi.keeps()
        return oppi
    }

    @Test("a message into a run that may have arrived is looked for when the run has ended, and not run again")
    func steerInDoubt() {
        var oppi = steering()
        _ = oppi.answers(text: "Hello")
        var lines = oppi.ends()
        #expect(lines == ["r1 oppi:ses_1 finished stop run -", Self.historyCall], "\(lines)")
        let rows = [("user", "Hi"), ("user", "Faster"), ("assistant", "Hello")]
        lines = oppi.answers(Self.history, 200, OppiRecoveryTests.trace(rows))
        #expect(lines == ["send r2 accepted as r2", #"r2 oppi:ses_1 finished stop run "Hello""#], "\(lines)")
    }

    @Test("one that is not there is sent as a prompt of its own")
    func steerLost() {
        var oppi = steering()
        _ = oppi.answers(text: "Hello")
        _ = oppi.ends()
        let lines = oppi.answers(Self.history, 200, OppiRecoveryTests.trace([("user", "Hi"), ("assistant", "Hello")]))
        #expect(lines == ["keep session:oppi:ses_1=w1 s1 r2 \(oppi.wallNow)"])
        #expect(oppi.keeps() == ["2 > prompt s1 r2 Faster"])
    }

    @Test("after a loss it is not written into the run again")
    func steerAfterLoss() {
        var oppi = steering()
        oppi.loses()
        _ = oppi.answers(Self.history, 200, OppiRecoveryTests.trace([("user", "Hi")], status: "busy"))
        var lines = oppi.follows(3, status: "busy")
        #expect(!lines.contains { $0.contains("steer") || $0.contains("prompt") }, "\(lines)")
        _ = oppi.answers(text: "Hello", on: 3)
        lines = oppi.ends(on: 3)
        #expect(lines.last == Self.historyCall, "\(lines)")
    }

    @Test("a refused one waits for the end of the run, and is not written again before")
    func steerRefused() {
        var oppi = steering()
        #expect(oppi.replies("steer", error: "Steer requires an active streaming turn") == [])
        _ = oppi.answers(text: "Hello")
        #expect(
            oppi.ends() == [
                "r1 oppi:ses_1 finished stop run -", "keep session:oppi:ses_1=w1 s1 r2 \(oppi.wallNow)",
            ])
        #expect(oppi.keeps() == ["2 > prompt s1 r2 Faster"])
    }

    @Test("after a restart of the bridge a message into a run is one that may have left")
    func steerAfterRestart() {
        let fact = Fact("session:oppi:ses_1", Array("w1\ns1\nr1\n\(OppiConversation.wall - 5_000)\nr2".utf8))
        let earlier = EarlierTurn(
            session: OppiConversation.chat, runs: [.init(RunID("r2"), text: "Faster")], isAccepted: false,
            isStopping: false, receivedAt: .zero, decisions: [], detached: [])
        var oppi = OppiConversation(facts: [fact], turns: [earlier])
        let lines = oppi.greets()
        #expect(lines.contains(Self.events + "?since=0") && !lines.contains { $0.hasPrefix("keep") })
    }

    // MARK: Words during a look

    @Test("a message and an end that come during a look are not lost to an older history")
    func endDuringLook() {
        var oppi = OppiConversation.running()
        oppi.loses(current: 2)
        _ = oppi.answers(Self.history, 200, OppiRecoveryTests.trace([("user", "Hi")], status: "busy"))
        let followed = oppi.follows(3, current: 800, isWhole: false, status: "busy")
        #expect(followed.last == Self.historyCall, "\(followed)")
        _ = oppi.answers(text: "Second", on: 3)
        #expect(oppi.ends(on: 3) == [])
        let old = OppiRecoveryTests.trace([("user", "Hi"), ("assistant", "First")], status: "busy")
        #expect(oppi.answers(Self.history, 200, old) == [Self.historyCall])
        // The server writes the session's file a moment later.
        #expect(oppi.answers(Self.history, 200, old) == [])
        #expect(oppi.waits(2_100).contains(Self.historyCall))
        let whole = OppiRecoveryTests.trace([
            ("user", "Hi"), ("assistant", "First"), ("toolResult", ""), ("assistant", "Second"),
        ])
        #expect(
            oppi.answers(Self.history, 200, whole) == [#"r1 oppi:ses_1 finished stop run "First\n\nSecond""#])
    }

    // MARK: Retries and losses

    @Test("a retry whose announcement was lost goes on with the same run")
    func retryInReplay() {
        var oppi = OppiConversation.running()
        _ = oppi.happens(.closed(code: 1006, reason: ""), 2)
        _ = oppi.waits(300)
        let replay = [
            oppi.frame("error", #""error":"529""#),
            oppi.frame("message_end", #""role":"assistant","content":"""#),
            oppi.frame("agent_end"), oppi.frame("agent_start"),
            oppi.frame("message_end", #""role":"assistant","content":"Good""#), oppi.frame("agent_end"),
        ]
        _ = oppi.answers(Self.events, 200, OppiRecoveryTests.missed(oppi.sequence))
        _ = oppi.answers(Self.history, 200, OppiRecoveryTests.trace([("user", "Hi")], status: "busy"))
        let lines = oppi.follows(3, replay: replay) + oppi.waits(3_000)
        #expect(
            lines.suffix(2) == [#"r1 oppi:ses_1 segment ended "Good""#, "r1 oppi:ses_1 finished stop run -"], "\(lines)"
        )
        #expect(!lines.contains { $0.contains("failed") })
    }

    @Test("a failure is held for longer where the announcement of a retry may be lost")
    func retryAfterReplay() {
        var oppi = OppiConversation.running()
        _ = oppi.answers(text: "")
        _ = oppi.says("agent_end")
        _ = oppi.happens(.closed(code: 1006, reason: ""), 2)
        _ = oppi.waits(5_000)
        _ = oppi.answers(Self.events, 200, OppiRecoveryTests.missed(oppi.sequence, status: "ready"))
        _ = oppi.answers(Self.history, 200, OppiRecoveryTests.trace([("user", "Hi")]))
        _ = oppi.follows(3)
        #expect(oppi.waits(8_000) == [])
        #expect(oppi.says("agent_start", on: 3) == [])
        let lines = oppi.answers(text: "Good", on: 3)
        #expect(lines.last == #"r1 oppi:ses_1 segment ended "Good""#, "\(lines)")
        #expect(oppi.ends(on: 3) == ["r1 oppi:ses_1 finished stop run -"])
    }

    @Test("after a loss a new prompt of another is no retry")
    func promptAfterReplay() {
        var oppi = OppiConversation.running()
        _ = oppi.answers(text: "")
        _ = oppi.says("agent_end")
        oppi.loses(status: "ready")
        _ = oppi.answers(Self.history, 200, OppiRecoveryTests.trace([("user", "Hi")]))
        _ = oppi.follows(3)
        _ = oppi.says("agent_start", on: 3)
        let lines = oppi.says("message_end", #""role":"user","content":"Theirs""#, on: 3)
        #expect(lines.first == "r1 oppi:ses_1 finished stop run -" && lines.count == 2, "\(lines)")
    }

    // MARK: Whose words

    @Test("a command that runs no agent ends without an answer, and soon")
    func commandWithoutRun() {
        var oppi = OppiConversation.prompted(text: "/deploy")
        _ = oppi.accepts()
        var lines = oppi.state("ready") + oppi.waits(11_000) + oppi.state("ready") + oppi.waits(2_500)
        #expect(lines.contains(Self.historyCall), "\(lines)")
        lines = oppi.answers(Self.history, 200, OppiRecoveryTests.trace([]))
        #expect(lines == ["send r1 runs nothing"])
    }

    @Test("a template is in the history in other words, and is known by its time")
    func template() {
        var oppi = OppiConversation.prompted(text: "/review x")
        _ = oppi.accepts()
        _ = oppi.says("agent_start")
        _ = oppi.says("message_end", #""role":"user","content":"Review x, please.""#)
        oppi.loses(current: 900, isWhole: false, status: "ready")
        let trace = OppiRecoveryTests.trace([("user", "Review x, please."), ("assistant", "Fine")])
        #expect(oppi.answers(Self.history, 200, trace) == [#"r1 oppi:ses_1 finished stop run "Fine""#])
    }

    @Test("of two prompts with the same words each has its own place in the history")
    func sameWords() {
        var oppi = OppiConversation.running()
        _ = oppi.answers(text: "Hello")
        _ = oppi.ends()
        _ = oppi.sends("r2", "Hi")
        _ = oppi.keeps()
        oppi.loses(status: "ready")
        var there = oppi
        let first = OppiRecoveryTests.trace([("user", "Hi"), ("assistant", "Hello")])
        #expect(oppi.answers(Self.history, 200, first) == ["open 3 ws://127.0.0.1:7749/stream"], "it did not arrive")
        let both = OppiRecoveryTests.trace([
            ("user", "Hi"), ("assistant", "Hello"), ("user", "Hi"), ("assistant", "Again"),
        ])
        #expect(
            there.answers(Self.history, 200, both)
                == ["send r2 accepted as r2", #"r2 oppi:ses_1 finished stop run "Again""#])
    }

    @Test("the newer dialect is known from any answer, so that no half of a call is shown after a restart")
    func dialectAfterRestart() {
        let fact = Fact("session:oppi:ses_1", Array("w1\ns1\nr1\n\(OppiConversation.wall - 5_000)".utf8))
        var oppi = OppiConversation(
            result: "command_result", facts: [fact], turns: [OppiRecoveryTests.earlier(isAccepted: true)])
        _ = oppi.greets()
        _ = oppi.answers(Self.events, 200, OppiRecoveryTests.missed(7))
        _ = oppi.answers(Self.history, 200, OppiRecoveryTests.trace([("user", "Hi")], status: "busy"))
        _ = oppi.follows(2, current: 7, status: "busy")
        _ = oppi.answers(Self.history, 200, OppiRecoveryTests.trace([("user", "Hi")], status: "busy"))
        #expect(oppi.says("tool_start", #""tool":"bash","toolCallId":"c1","args":{"command":"r"}"#) == [])
        #expect(oppi.says("tool_start", #""tool":"bash","toolCallId":"c1","args":{"command":"rm x"}"#) == [])
        let lines = oppi.answers(text: "I do it")
        #expect(lines.count == 2 && lines[1].contains("rm x"), "\(lines)")
    }
}
