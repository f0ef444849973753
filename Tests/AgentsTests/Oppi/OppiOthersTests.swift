import AgentKit
import Oppi
import Testing
import Vocabulary

/// Other clients work in the same session: their work is neither shown as ours nor stopped.
@Suite("Oppi beside other clients")
struct OppiOthersTests {
    private static let history = OppiRecoveryTests.history
    private static let events = OppiRecoveryTests.events
    private static let historyCall = "GET /workspaces/w1/sessions/s1?view=full&traceView=full"

    private func isOurs(_ lines: [String], _ run: String = "r2") -> Bool {
        lines.contains { $0.hasPrefix("\(run) ") && !$0.contains("accepted") }
    }

    // MARK: Whose run it is

    @Test("the prompt of another client that was first has the run; ours has its own")
    func raced() {
        var oppi = OppiConversation.idle()
        _ = oppi.sends("r2", "Ours")
        _ = oppi.keeps()
        _ = oppi.accepts("r2")
        var lines = oppi.says("agent_start")
        lines += oppi.says("message_end", #""role":"user","content":"Theirs""#)
        lines += oppi.says("text_delta", #""delta":"For""#)
        lines += oppi.answers(text: "For them")
        lines += oppi.ends()
        #expect(!isOurs(lines) && lines.contains { $0.hasSuffix("started") }, "\(lines)")
        _ = oppi.says("agent_start")
        #expect(oppi.says("message_end", #""role":"user","content":"Ours""#) == ["r2 oppi:ses_1 started"])
    }

    @Test("who comes into the middle of another's run takes its words for another's")
    func withinTheirs() {
        let fact = Fact("session:oppi:ses_1", Array("w1\ns1\nr1\n0".utf8))
        var oppi = OppiConversation.live(facts: [fact])
        _ = oppi.sends("r2", "Ours")
        _ = oppi.keeps()
        let followed = oppi.follows(2, current: 40, status: "busy")
        #expect(followed.last == "2 > follow_up s1 r2 Ours", "\(followed)")
        _ = oppi.accepts("r2")
        var lines = oppi.says("text_delta", #""delta":"rest of theirs""#)
        lines += oppi.says("tool_start", #""tool":"bash","toolCallId":"c1","args":{}"#)
        lines += oppi.answers(text: "Theirs")
        #expect(!isOurs(lines), "\(lines)")
        let ours = oppi.says("message_end", #""role":"user","content":"Ours""#)
        #expect(ours.last == "r2 oppi:ses_1 started", "\(ours)")
        _ = oppi.answers(text: "For us")
        #expect(oppi.ends() == ["r2 oppi:ses_1 finished stop run -"])
    }

    @Test("a retry of another's run does not begin the one that is queued behind it")
    func theirRetry() {
        var oppi = OppiConversation.queuedBehindAnother()
        var lines = oppi.answers(text: "")
        lines += oppi.ends()
        lines += oppi.says("retry_start", #""attempt":1,"maxAttempts":3,"delayMs":1,"errorMessage":"529""#)
        lines += oppi.says("agent_start")
        lines += oppi.answers(text: "Theirs")
        #expect(!isOurs(lines), "\(lines)")
        #expect(
            oppi.says("message_end", #""role":"user","content":"Ours""#).last == "r2 oppi:ses_1 started")
    }

    @Test("a command of the agent's is said in other words, and has the run that begins")
    func command() {
        var oppi = OppiConversation.prompted(text: "/review x")
        _ = oppi.accepts()
        #expect(oppi.says("agent_start") == ["r1 oppi:ses_1 started"])
        #expect(oppi.says("message_end", #""role":"user","content":"Review x, please.""#) == [])
    }

    // MARK: Stop

    @Test("a stop of what is queued behind another's run waits for its beginning")
    func stopQueued() {
        var oppi = OppiConversation.queuedBehindAnother()
        #expect(oppi.aborts("r2") == [])
        #expect(oppi.answers(text: "Theirs").allSatisfy { !$0.contains("> stop") })
        let begun = oppi.says("message_end", #""role":"user","content":"Ours""#)
        #expect(begun.suffix(2) == ["r2 oppi:ses_1 started", "2 > stop s1"], "\(begun)")
        _ = oppi.says("stop_requested", #""source":"user""#)
        #expect(oppi.says("agent_end") == ["r2 oppi:ses_1 finished aborted run -", "stop of r2 answered"])
    }

    @Test("a queued message that was never taken up leaves no stop behind")
    func stopNeverBegun() {
        var oppi = OppiConversation.queuedBehindAnother()
        _ = oppi.aborts("r2")
        _ = oppi.waits(11_000)
        _ = oppi.ends()
        _ = oppi.state("ready")
        #expect(oppi.waits(2_500).contains(Self.historyCall))
        let lines = oppi.answers(
            Self.history, 200,
            OppiRecoveryTests.trace([("user", "Hi"), ("assistant", "Hello"), ("user", "Theirs"), ("assistant", "x")]))
        #expect(lines == ["r2 oppi:ses_1 finished aborted run -", "stop of r2 answered"])
    }

    @Test("a stop that is owed for a run of ours that is over leaves the run of another alone")
    func owedStop() {
        let fact = Fact("session:oppi:ses_1", Array("w1\ns1\nr1\n\(OppiConversation.wall - 5_000)".utf8))
        var oppi = OppiConversation.live(facts: [fact])
        #expect(oppi.aborts("r1") == [Self.events + "?since=0"])
        _ = oppi.answers(Self.events, 200, OppiRecoveryTests.missed(7))
        let rows = [("user", "Hi"), ("assistant", "Hello"), ("user", "Theirs")]
        let lines = oppi.answers(Self.history, 200, OppiRecoveryTests.trace(rows, status: "busy"))
        #expect(lines == [#"r1 oppi:ses_1 finished aborted run "Hello""#, "stop of r1 answered"], "\(lines)")
    }

    @Test("a stop that is owed for the run before is asked for before the next message leaves")
    func owedBefore() {
        let fact = Fact("session:oppi:ses_1", Array("w1\ns1\nr1\n\(OppiConversation.wall - 5_000)".utf8))
        let next = EarlierTurn(
            session: OppiConversation.chat, runs: [.init(RunID("r2"), text: "Next")], isAccepted: false,
            isStopping: false, receivedAt: .zero, decisions: [], detached: [])
        var oppi = OppiConversation.live(facts: [fact], turns: [next])
        var lines = oppi.aborts("r1")
        #expect(!lines.contains("stop of r1 answered"), "\(lines)")
        lines = oppi.keeps()
        #expect(lines == [Self.events + "?since=0"])
        _ = oppi.answers(Self.events, 200, OppiRecoveryTests.missed(7))
        let rows = [("user", "Hi"), ("assistant", "I work")]
        _ = oppi.answers(Self.history, 200, OppiRecoveryTests.trace(rows, status: "busy"))
        lines = oppi.follows(2, current: 7, status: "busy")
        lines += oppi.answers(Self.history, 200, OppiRecoveryTests.trace(rows, status: "busy"))
        #expect(lines.last == "2 > stop s1" && !lines.contains { $0.contains("prompt") }, "\(lines)")
        _ = oppi.replies("stop")
        _ = oppi.says("stop_requested", #""source":"user""#)
        _ = oppi.state("stopping")
        lines = oppi.ends()
        #expect(!lines.contains { $0.contains("prompt") }, "what is being stopped takes nothing: \(lines)")
        lines += oppi.state("ready")
        #expect(lines.contains("stop of r1 answered") && lines.last?.contains("prompt s1 r2 Next") == true, "\(lines)")
    }

    // MARK: Losses

    /// The chat's stream shows another client's run, without a turn of ours.
    private func shown() -> OppiConversation {
        var oppi = OppiConversation.idle()
        _ = oppi.says("agent_start")
        _ = oppi.says("message_end", #""role":"user","content":"Theirs""#)
        _ = oppi.state("busy")
        return oppi
    }

    private static let forgets = "keep session:oppi:ses_1="

    @Test("the run of another that was shown is followed to its end where its chat is deleted")
    func deletedInTheirs() {
        var oppi = shown()
        #expect(oppi.releases(isDeleted: true) == [Self.forgets])
        _ = oppi.answers(text: "For them")
        let lines = oppi.ends()
        #expect(lines.first?.contains(" finished stop run ") == true, "\(lines)")
        #expect(lines.suffix(2) == ["close 2", Self.forgets], "\(lines)")
    }

    @Test("a deleted chat whose stream is lost in the run of another ends with that run")
    func deletedAndLost() {
        var oppi = shown()
        _ = oppi.releases(isDeleted: true)
        #expect(oppi.happens(.closed(code: 1006, reason: ""), 2).last == Self.historyCall)
        let rows = [("user", "Hi"), ("assistant", "Hello"), ("user", "Theirs"), ("assistant", "For them")]
        let lines = oppi.answers(Self.history, 200, OppiRecoveryTests.trace(rows))
        #expect(lines.first?.hasSuffix(#"finished stop run "For them""#) == true, "\(lines)")
        #expect(lines.last == Self.forgets, "\(lines)")
    }

    @Test("a server that fails to say how the run of another is, is asked again before the run counts as failed")
    func askedAgain() {
        let rows = [("user", "Hi"), ("assistant", "Hello"), ("user", "Theirs"), ("assistant", "For them")]
        var oppi = shown()
        _ = oppi.happens(.closed(code: 1006, reason: ""), 2)
        #expect(oppi.answers(Self.historyCall, 502, "<html>") == [])
        #expect(oppi.waits(999) == [])
        #expect(oppi.waits(1) == [Self.historyCall])
        let lines = oppi.answers(Self.historyCall, 200, OppiRecoveryTests.trace(rows))
        #expect(lines.first?.hasSuffix(#"finished stop run "For them""#) == true, "\(lines)")

        // The machine looks once for the end that notifications report. A second answer concerns a run that has
        // ended.
        var twice = shown()
        _ = twice.happens(.closed(code: 1006, reason: ""), 2)
        _ = twice.answers(Self.historyCall, 502, "<html>")
        #expect(twice.endsElsewhere() == [Self.historyCall])
        #expect(twice.waits(1_000) == [])
        #expect(twice.endsElsewhere() == [Self.historyCall])
        #expect(twice.answers(Self.historyCall, 200, OppiRecoveryTests.trace(rows)).count == 1)
        #expect(twice.answers(Self.historyCall, 200, OppiRecoveryTests.trace(rows)) == [])

        var deaf = shown()
        _ = deaf.happens(.closed(code: 1006, reason: ""), 2)
        for pause: Int64 in [1, 2, 4, 8, 8] {
            #expect(deaf.fails(Self.history) == [])
            #expect(deaf.waits(pause * 1_000) == [Self.historyCall])
        }
        let failed = deaf.fails(Self.history)
        #expect(failed.count == 1 && failed[0].contains("failed agentGone"), "\(failed)")
    }

    @Test("the run of another whose end the ring has lost ends with what the history has")
    func lostInGap() {
        var oppi = shown()
        oppi.sequence += 5
        #expect(oppi.says("tool_end", #""toolCallId":"c1""#).contains { $0.contains("subscribe s1 full") })
        let said = oppi.subscribes(2, isWhole: false)
        #expect(said.last == Self.historyCall, "\(said)")
        let rows = [("user", "Hi"), ("assistant", "Hello"), ("user", "Theirs"), ("assistant", "For them")]
        let ended = oppi.answers(Self.history, 200, OppiRecoveryTests.trace(rows))
        #expect(ended.first?.hasSuffix(#"finished stop run "For them""#) == true, "\(ended)")
    }

    @Test("the run of another whose session ends, unseen by the chat, ends with it")
    func sessionEnded() {
        var oppi = shown()
        _ = oppi.happens(.closed(code: 1006, reason: ""), 2)
        let rows = [("user", "Hi"), ("assistant", "Hello"), ("user", "Theirs")]
        let busy = OppiRecoveryTests.trace(rows, status: "busy")
        #expect(oppi.answers(Self.history, 200, busy) == [])
        #expect(oppi.says("session_ended", #""reason":"stopped""#, on: 1).contains(Self.historyCall))
        #expect(oppi.answers(Self.history, 200, busy).contains { $0.contains(" finished stop run ") })
    }

    @Test("a chat whose stream is back leaves with its own run, whatever it was shown before")
    func backAgain() {
        var oppi = shown()
        _ = oppi.happens(.closed(code: 1006, reason: ""), 2)
        let rows = [("user", "Hi"), ("assistant", "Hello"), ("user", "Theirs")]
        _ = oppi.answers(Self.history, 200, OppiRecoveryTests.trace(rows, status: "busy"))
        _ = oppi.sends("r2", "Ours")
        _ = oppi.keeps()
        _ = oppi.follows(3, current: oppi.sequence, status: "busy")
        _ = oppi.accepts("r2")
        _ = oppi.answers(text: "For them", on: 3)
        _ = oppi.ends(on: 3)
        _ = oppi.says("agent_start", on: 3)
        _ = oppi.says("message_end", #""role":"user","content":"Ours""#, on: 3)
        _ = oppi.answers(text: "For us", on: 3)
        _ = oppi.ends(on: 3)
        let lines = oppi.releases(isDeleted: true)
        #expect(lines.contains("close 3") && lines.last == Self.forgets, "\(lines)")
    }

    @Test("a deleted chat that shows the run of another is forgotten with the link")
    func deletedAndDown() {
        var oppi = shown()
        _ = oppi.releases(isDeleted: true)
        #expect(oppi.happens(.closed(code: 1006, reason: "")).contains(Self.forgets))
    }

    @Test("the run of another that was shown when the chat's stream was lost ends with what the history has")
    func lostInTheirs() {
        var oppi = shown()
        let lost = oppi.happens(.closed(code: 1006, reason: ""), 2)
        #expect(lost.contains { $0.hasPrefix("1 > subscribe s1 notifications") }, "\(lost)")
        #expect(lost.last == Self.historyCall, "\(lost)")
        var rows = [("user", "Hi"), ("assistant", "Hello"), ("user", "Theirs")]
        #expect(oppi.answers(Self.history, 200, OppiRecoveryTests.trace(rows, status: "busy")) == [])
        #expect(oppi.endsElsewhere() == [Self.historyCall])
        rows.append(("assistant", "For them"))
        let ended = oppi.answers(Self.history, 200, OppiRecoveryTests.trace(rows))
        #expect(ended.count == 1 && ended[0].hasSuffix(#"finished stop run "For them""#), "\(ended)")
        #expect(!isOurs(ended, "r1"), "\(ended)")
        // The next run gets a bubble of its own.
        #expect(oppi.endsElsewhere() == [Self.historyCall])
        #expect(oppi.answers(Self.history, 200, OppiRecoveryTests.trace(rows)).count == 3)
    }

    // MARK: Unseen retries

    /// The chat has no stream of its own, and another client's run is under way.
    private func unseen(_ result: String) -> OppiConversation {
        let fact = Fact("session:oppi:ses_1", Array("w1\ns1\nr1\n0".utf8))
        var oppi = OppiConversation.live(result: result, facts: [fact])
        _ = oppi.replies("subscribe", on: 1)
        _ = oppi.says("agent_start", on: 1)
        return oppi
    }
    private static let head = "command_result"
    private static let whole = OppiRecoveryTests.trace([("user", "Theirs"), ("assistant", "For them")])

    @Test("the run of another that is tried again is told once, when it has ended", arguments: ["rpc_result", head])
    func triedAgain(result: String) {
        var oppi = unseen(result)
        if result == Self.head { _ = oppi.says("error", #""error":"529""#, on: 1) }
        var lines = oppi.says("agent_end", on: 1) + oppi.waits(2_500)
        lines += oppi.says("agent_start", on: 1)
        lines += oppi.waits(16_000)
        #expect(lines == [], "\(lines)")
        #expect(oppi.endsElsewhere() == [Self.historyCall])
        let told = oppi.answers(Self.history, 200, Self.whole)
        #expect(told.count == 3 && told[2].hasSuffix(#"finished stop run "For them""#), "\(told)")
    }

    @Test("one that ended well is told at once by a server that names failures")
    func endedWell() {
        var oppi = unseen(Self.head)
        #expect(oppi.says("agent_end", on: 1) == [Self.historyCall])
    }

    @Test("one that failed and is not tried again is told after the longest usual wait")
    func failed() {
        var oppi = unseen(Self.head)
        _ = oppi.says("error", #""error":"529""#, on: 1)
        #expect(oppi.says("agent_end", on: 1) + oppi.waits(14_000) == [])
        #expect(oppi.waits(1_000) == [Self.historyCall])
        // The error was of the earlier run.
        _ = oppi.says("agent_start", on: 1)
        #expect(oppi.says("agent_end", on: 1) == [Self.historyCall])
    }

    @Test("nothing is told of a session that is at work again, nor of one whose chat has a run of ours by then")
    func atWork() {
        var oppi = unseen(Self.head)
        _ = oppi.says("agent_end", on: 1)
        let rows = [("user", "Theirs"), ("assistant", "For")]
        #expect(oppi.answers(Self.history, 200, OppiRecoveryTests.trace(rows, status: "busy")) == [])
        var ours = unseen(Self.head)
        _ = ours.says("error", #""error":"529""#, on: 1)
        _ = ours.says("agent_end", on: 1)
        _ = ours.sends("r2", "Ours")
        _ = ours.keeps()
        _ = ours.follows(2, current: ours.sequence)
        #expect(!ours.waits(16_000).contains(Self.historyCall))
    }

    @Test("the shown run of another whose stream was lost is not ended between two of its attempts")
    func shownAndTriedAgain() {
        var oppi = shown()
        _ = oppi.happens(.closed(code: 1006, reason: ""), 2)
        let busy = OppiRecoveryTests.trace([("user", "Hi"), ("user", "Theirs")], status: "busy")
        _ = oppi.answers(Self.history, 200, busy)
        _ = oppi.says("error", #""error":"529""#, on: 1)
        var lines = oppi.says("agent_end", on: 1) + oppi.waits(2_500)
        lines += oppi.says("agent_start", on: 1)
        #expect(lines == [], "\(lines)")
        #expect(oppi.endsElsewhere() == [Self.historyCall])
        let ended = oppi.answers(Self.history, 200, Self.whole)
        #expect(ended.count == 1 && ended[0].hasSuffix(#"finished stop run "For them""#), "\(ended)")
    }

    @Test("a stream on which the run of another goes on is not idle")
    func longTheirs() {
        var oppi = shown()
        #expect(!minutePasses(&oppi).contains("close 2"))
        _ = oppi.answers(text: "For them")
        _ = oppi.ends()
        _ = oppi.state("ready")
        #expect(minutePasses(&oppi).contains("close 2"))
    }

    /// A minute in which the main stream is never silent for long.
    private func minutePasses(_ oppi: inout OppiConversation) -> [String] {
        let first = oppi.waits(41_000)
        _ = oppi.hears(#"{"type":"pong"}"#, on: 1)
        return first + oppi.waits(20_000)
    }

    // MARK: Names

    @Test("runs of others have names of their own, also after a restart of the server")
    func names() {
        var oppi = OppiConversation.idle()
        func name(_ lines: [String]) -> String? { lines.last { $0.hasSuffix("started") } }
        let first = name(oppi.says("agent_start") + oppi.says("message_end", #""role":"user","content":"Theirs""#))
        _ = oppi.answers(text: "x")
        _ = oppi.ends()
        _ = oppi.happens(.closed(code: 1001, reason: "Server shutting down"))
        _ = oppi.waits(5_000)
        _ = oppi.greets(uptime: 1)
        _ = oppi.sends("r2", "Ours")
        _ = oppi.keeps()
        _ = oppi.follows(3, current: 0)
        let second = name(
            oppi.says("agent_start", on: 3)
                + oppi.says("message_end", #""role":"user","content":"Theirs""#, on: 3))
        #expect(first != nil && second != nil && first != second, "\(first ?? "-") \(second ?? "-")")
    }
}
