import AgentKit
import Oppi
import Testing
import Vocabulary

/// Behaviour of the real server that a kind double would lack (oppi.md#stopping, oppi.md#retries-compaction-queue).
@Suite("Oppi as it is")
struct OppiHabitsTests {
    private static let history = OppiRecoveryTests.history
    private static let events = OppiRecoveryTests.events
    private static let idle = #""source":"user","reason":"Session already idle""#

    /// A second in which the main stream stays alive.
    private static func second(_ oppi: inout OppiConversation) -> [String] {
        _ = oppi.hears(#"{"type":"git_status"}"#, on: 1)
        return oppi.waits(1_000)
    }

    // MARK: Stops

    @Test(
        "a stop between two attempts cancels the wait, and the run ends with that", arguments: OppiMachineTests.dialects
    )
    func stopBetween(_ result: String) {
        var oppi = OppiConversation.running(result: result)
        _ = oppi.answers(text: "")
        _ = oppi.says("agent_end")
        _ = oppi.state("ready")
        _ = oppi.says("retry_start", #""attempt":1,"maxAttempts":3,"delayMs":3000,"errorMessage":"529""#)
        #expect(oppi.aborts("r1") == ["2 > abort_retry s1"])
        _ = oppi.replies("abort_retry")
        #expect(
            oppi.says("retry_end", #""success":false,"attempt":1,"finalError":"Retry cancelled""#)
                == ["r1 oppi:ses_1 finished aborted run -", "stop of r1 answered"])
    }

    @Test("a stop that found the session idle between two attempts is owed to the next one")
    func stopFoundIdle() {
        var oppi = OppiConversation.running()
        #expect(oppi.aborts("r1") == ["2 > stop s1"])
        // The loop had failed before the server handled the stop.
        _ = oppi.answers(text: "")
        _ = oppi.says("agent_end")
        _ = oppi.says("retry_start", #""attempt":1,"maxAttempts":3,"delayMs":3000,"errorMessage":"529""#)
        #expect(oppi.says("stop_confirmed", Self.idle) == ["2 > abort_retry s1"])
        #expect(oppi.says("agent_start").last == "2 > stop s1", "it was too late for that, too")
    }

    @Test("a stop while an overflow is compacted is written when the next attempt begins")
    func stopInCompaction() {
        var oppi = OppiConversation.running(result: "command_result")
        _ = oppi.says("error", #""error":"too long""#)
        _ = oppi.answers(text: "Some words")
        _ = oppi.says("agent_end")
        _ = oppi.says("compaction_start", #""reason":"overflow""#)
        #expect(oppi.aborts("r1") == [])
        #expect(oppi.says("stop_confirmed", Self.idle) == [], "of another client, which stops nothing")
        #expect(oppi.waits(30_000).allSatisfy { !$0.contains("finished") })
        _ = oppi.says("compaction_end", #""aborted":false,"willRetry":true"#)
        let lines = oppi.says("agent_start")
        #expect(lines.contains("2 > stop s1"), "\(lines)")
    }

    @Test("a stop of a run that has not begun is owed until it begins", arguments: [true, false])
    func stopBeforeBeginning(compacts: Bool) {
        var oppi = OppiConversation.prompted()
        _ = oppi.accepts()
        if compacts { _ = oppi.says("compaction_start", #""reason":"threshold""#) }
        #expect(oppi.aborts("r1") == [])
        var lines: [String] = []
        for _ in 0..<(compacts ? 200 : 100) {
            lines += Self.second(&oppi) + oppi.state("ready")
        }
        #expect(
            !lines.contains { $0.contains("finished") || $0.contains("stop of") || $0.contains("> stop") }, "\(lines)")
        _ = oppi.says("agent_start")
        lines = oppi.says("message_end", #""role":"user","content":"Hi""#)
        #expect(lines == ["r1 oppi:ses_1 started", "2 > stop s1"])
    }

    @Test("a stop by another client cuts a run of ours, which says so; of theirs it does not")
    func stoppedElsewhere() {
        var oppi = OppiConversation.running()
        _ = oppi.says("stop_requested", #""source":"user""#)
        _ = oppi.answers(text: "So far")
        #expect(
            oppi.says("agent_end").first?.hasPrefix("r1 oppi:ses_1 failed other \"it was stopped elsewhere") == true)
        var theirs = OppiConversation.idle()
        _ = theirs.says("agent_start")
        _ = theirs.says("message_end", #""role":"user","content":"Theirs""#)
        _ = theirs.says("stop_requested", #""source":"user""#)
        #expect(theirs.says("agent_end").last?.hasSuffix("finished aborted run -") == true)
    }

    @Test("a stop that was taken is one of its loop, and not of the next one")
    func stopOfItsLoop() {
        var oppi = OppiConversation.running()
        _ = oppi.aborts("r1")
        _ = oppi.says("stop_requested", #""source":"user""#)
        _ = oppi.answers(text: "So far")
        #expect(oppi.says("agent_end").first == "r1 oppi:ses_1 finished aborted run -")
        // The confirmation of the stop is lost.
        _ = oppi.state("ready")
        _ = oppi.sends("r2", "Again")
        _ = oppi.keeps()
        _ = oppi.accepts("r2")
        _ = oppi.says("agent_start")
        _ = oppi.says("message_end", #""role":"user","content":"Again""#)
        _ = oppi.answers(text: "Here")
        #expect(oppi.ends() == ["r2 oppi:ses_1 finished stop run -"])
    }

    @Test("a denial behind a stop is written behind it, on the same socket")
    func denialBehindStop() {
        var oppi = OppiConversation.running()
        let timeout = OppiConversation.wall + 120_000
        let ask =
            #"{"type":"permission_request","id":"p1","sessionId":"s1","tool":"bash","input":{"command":"rm x"},"displaySummary":"rm x","reason":"Deletes","timeoutAt":\#(timeout),"expires":true}"#
        _ = oppi.hears(ask, on: 2)
        #expect(oppi.aborts("r1") == ["2 > stop s1", "2 > permission_response p1 deny once"])
        #expect(oppi.decides("p1", .deny) == [], "as the bridge says it, too")
        #expect(oppi.replies("permission_response").first?.contains("approval settled p1 decided") == true)
    }

    @Test("a permission that comes behind a stop is denied, since the server does not stop before that")
    func askBehindStop() {
        var oppi = OppiConversation.running()
        #expect(oppi.aborts("r1") == ["2 > stop s1"])
        let ask =
            #"{"type":"permission_request","id":"p1","sessionId":"s1","tool":"bash","input":{"command":"rm x"},"displaySummary":"rm x","reason":"Deletes","timeoutAt":4925000000000,"expires":false}"#
        #expect(oppi.hears(ask, on: 2).last == "2 > permission_response p1 deny once")
    }

    // MARK: Attempts

    @Test("an attempt that fails behind words leaves nothing of them", arguments: OppiMachineTests.dialects)
    func retryBehindWords(_ result: String) {
        var oppi = OppiConversation.running(result: result)
        _ = oppi.answers(text: "First.")
        _ = oppi.says("tool_start", #""tool":"bash","toolCallId":"c1","args":{"command":"ls"}"#)
        _ = oppi.says("tool_end", #""tool":"bash","toolCallId":"c1""#)
        if result == "command_result" { _ = oppi.says("error", #""error":"overloaded""#) }
        _ = oppi.answers(text: "Five words that are lost")
        #expect(oppi.says("agent_end") == [])
        _ = oppi.state("ready")
        let lines = oppi.says("retry_start", #""attempt":1,"maxAttempts":3,"delayMs":1000,"errorMessage":"overloaded""#)
        #expect(lines == [#"r1 oppi:ses_1 retrying "overloaded""#])
        #expect(
            oppi.says("agent_start") == ["r1 oppi:ses_1 started", #"r1 oppi:ses_1 segment ended "First.""#])
        _ = oppi.answers(text: "The answer.")
        _ = oppi.says("retry_end", #""success":true,"attempt":1"#)
        #expect(oppi.ends() == ["r1 oppi:ses_1 finished stop run -"])
    }

    @Test("a failure behind words says why")
    func failureBehindWords() {
        var oppi = OppiConversation.running(result: "command_result")
        _ = oppi.says("error", #""error":"quota exhausted""#)
        _ = oppi.answers(text: "Ten words")
        _ = oppi.says("agent_end")
        #expect(oppi.waits(2_100) == [#"r1 oppi:ses_1 failed other "quota exhausted""#])
    }

    @Test("a compaction that makes room behind a good end holds nothing back")
    func compactionBehindEnd() {
        var oppi = OppiConversation.running()
        _ = oppi.answers(text: "Hello")
        #expect(oppi.says("agent_end") == [])
        #expect(
            oppi.says("compaction_start", #""reason":"threshold""#).first == "r1 oppi:ses_1 finished stop run -")
    }

    // MARK: Late beginnings

    @Test("a run that begins late is waited for", arguments: [true, false])
    func lateBeginning(compacts: Bool) {
        var oppi = OppiConversation.prompted()
        _ = oppi.accepts()
        if compacts { _ = oppi.says("compaction_start", #""reason":"threshold""#) }
        var lines: [String] = []
        for _ in 0..<(compacts ? 300 : 110) {
            lines += Self.second(&oppi) + oppi.state("ready")
        }
        #expect(!lines.contains { $0.contains("failed") || $0.hasPrefix("GET") }, "\(lines)")
        if compacts { _ = oppi.says("compaction_end", #""aborted":false,"willRetry":false"#) }
        _ = oppi.says("agent_start")
        #expect(oppi.says("message_end", #""role":"user","content":"Hi""#).last == "r1 oppi:ses_1 started")
    }

    @Test("one that does not begin for minutes is looked for, and given up")
    func neverBegins() {
        var oppi = OppiConversation.prompted()
        _ = oppi.accepts()
        var lines: [String] = []
        for _ in 0..<140 {
            lines += Self.second(&oppi) + oppi.state("ready")
            guard lines.last == Self.history + "view=full&traceView=full" else { continue }
            lines += oppi.answers(Self.history, 200, OppiRecoveryTests.trace([], status: "ready"))
        }
        #expect(lines.contains(#"r1 oppi:ses_1 failed agentGone "it never began to work on this""#), "\(lines)")
    }

    @Test("a refusal behind an acknowledged prompt is that prompt's, whatever runs")
    func refusedBehind() {
        var oppi = OppiConversation.prompted(result: "command_result")
        _ = oppi.accepts()
        _ = oppi.says("agent_start")
        _ = oppi.says("message_end", #""role":"user","content":"Theirs""#)
        let lines = oppi.says("error", #""error":"Agent is already processing. Specify streamingBehavior""#)
        #expect(lines.first?.hasPrefix("r1 oppi:ses_1 failed other \"Agent is already processing") == true, "\(lines)")
        _ = oppi.answers(text: "For them")
        #expect(oppi.ends().allSatisfy { !$0.contains("failed") })
    }

    @Test("a message behind a run that has just ended is a prompt of its own")
    func followsNothing() {
        var oppi = OppiConversation.queuedBehindAnother()
        #expect(
            oppi.replies("follow_up", error: "Follow-up requires an active streaming turn").allSatisfy {
                !$0.contains("refused")
            })
    }

    // MARK: Traces

    @Test("a message with a picture is known again, by its words")
    func picture() {
        let found = #"r1 oppi:ses_1 finished stop run "A bean""#
        #expect(Self.after(#"Hi\ndata:image/png;base64,iVBORw0KGgo="#).contains(found))
        // A row with other words after the text does not match: the prompt counts as one that never arrived.
        #expect(!Self.after(#"Hi\nA bean."#).contains(found))
    }

    private static func after(_ row: String) -> [String] {
        let own = Fact("session:oppi:ses_1", Array("w1\ns1\nr1\n\(OppiConversation.wall - 5_000)".utf8))
        var oppi = OppiConversation(facts: [own], turns: [OppiRecoveryTests.earlier(isAccepted: true)])
        _ = oppi.greets()
        _ = oppi.answers(events, 200, OppiRecoveryTests.missed(9, status: "ready"))
        let rows = [("user", row), ("assistant", "A bean")]
        return oppi.answers(history, 200, OppiRecoveryTests.trace(rows)) + oppi.waits(6_000)
    }

    @Test("what failed while nobody listened is no answer")
    func failedUnheard() {
        let own = Fact("session:oppi:ses_1", Array("w1\ns1\nr1\n\(OppiConversation.wall - 5_000)".utf8))
        var oppi = OppiConversation(facts: [own], turns: [OppiRecoveryTests.earlier(isAccepted: true)])
        _ = oppi.greets()
        let ring = [
            oppi.frame("agent_start"), oppi.frame("message_end", #""role":"user","content":"Hi""#),
            oppi.frame("error", #""error":"quota exhausted""#),
            oppi.frame("message_end", #""role":"assistant","content":"Half""#), oppi.frame("agent_end"),
        ]
        let body =
            #"{"events":[\#(ring.joined(separator: ","))],"currentSeq":5,"session":{"id":"s1","status":"ready"},"catchUpComplete":true}"#
        _ = oppi.answers(Self.events, 200, body)
        var lines = oppi.answers(Self.history, 200, OppiRecoveryTests.trace([("user", "Hi"), ("assistant", "Half")]))
        // The agent might have retried.
        lines += oppi.follows(2)
        lines += oppi.answers(Self.history, 200, OppiRecoveryTests.trace([("user", "Hi"), ("assistant", "Half")]))
        lines += oppi.waits(16_000)
        #expect(lines.contains { $0.contains("failed other \"quota exhausted\"") }, "\(lines)")
    }

    // MARK: Answers

    private static let deploy =
        #""id":"d1","method":"ask","allowCustom":true,"questions":[{"id":"go","question":"Deploy?","options":[{"value":"a","label":"Yes, always"},{"value":"yes","label":"Yes"},{"value":"no","label":"No, wait now"},{"value":"now","label":"Deploy"}]}]"#

    @Test("an option goes by its label, which the server takes for that option alone")
    func label() {
        var oppi = OppiConversation.running(result: "command_result")
        _ = oppi.says("extension_ui_request", Self.deploy)
        #expect(
            oppi.answers(question: "d1#0", .choices(["now"])).first
                == #"2 > extension_ui_response s1 d1 {"go":"Deploy"}"#)
    }

    @Test("an option whose label is a part of an earlier one is not sent, and the person reads what was chosen")
    func mistaken() {
        var oppi = OppiConversation.running(result: "command_result")
        _ = oppi.says("extension_ui_request", Self.deploy)
        let lines = oppi.answers(question: "d1#0", .choices(["yes"]))
        #expect(
            lines.first?.contains("question settled d1#0 mistaken") == true && lines.first?.contains("Yes") == true,
            "\(lines)")
        #expect(lines.contains("2 > extension_ui_response s1 d1 cancelled"), "\(lines)")
    }

    @Test(
        "own words stay own words",
        arguments: [("Perhaps", "Perhaps"), ("now", "“now”"), ("Yes, always", "Yes, always"), ("yes", "“yes”")])
    func ownWords(said: String, sent: String) {
        var oppi = OppiConversation.running(result: "command_result")
        _ = oppi.says("extension_ui_request", Self.deploy)
        #expect(
            oppi.answers(question: "d1#0", .text(said)).first
                == "2 > extension_ui_response s1 d1 {\"go\":\"\(sent)\"}")
    }

    // MARK: Places

    @Test("where the server has no place, a session at rest gives its own", arguments: OppiMachineTests.dialects)
    func place(_ result: String) {
        let facts = ["1", "2", "3"].map { number in
            Fact("session:oppi:ses_\(number)", Array("w1\ns\(number)\nr0\n\(number)".utf8))
        }
        var oppi = OppiConversation.live(result: result, facts: facts)
        _ = oppi.sends("r1", "Hi")
        _ = oppi.keeps()
        _ = oppi.opens(2)
        _ = oppi.hears(#"{"type":"stream_connected","userName":"shed"}"#, on: 2)
        let refused = oppi.replies("subscribe", error: "Workspace session limit reached (2)")
        #expect(refused.contains("close 2") && refused.last == "GET /workspaces/w1/sessions", "\(refused)")
        let sessions =
            #"{"sessions":[{"id":"s1","status":"ready","lastActivity":1},{"id":"other","status":"ready","lastActivity":2},{"id":"s3","status":"ready","lastActivity":4},{"id":"s2","status":"ready","lastActivity":3}]}"#
        #expect(
            oppi.answers("GET /workspaces/w1/sessions", 200, sessions) == ["POST /workspaces/w1/sessions/s2/stop"],
            "neither its own, nor another client's, nor one that was used later")
        #expect(
            oppi.answers("POST /workspaces/w1/sessions/s2/stop", 200, "{}") == ["open 3 ws://127.0.0.1:7749/stream"])
        #expect(oppi.follows(3).last == "3 > prompt s1 r1 Hi")
    }

    @Test("where no session can give its place, the message waits, and says why it was not sent")
    func noPlace() {
        var oppi = OppiConversation.live(
            facts: [Fact("session:oppi:ses_1", Array("w1\ns1\nr0\n1".utf8))])
        _ = oppi.sends("r1", "Hi")
        _ = oppi.keeps()
        var lines: [String] = []
        for channel in 2..<60 {
            _ = oppi.opens(channel)
            _ = oppi.hears(#"{"type":"stream_connected","userName":"shed"}"#, on: channel)
            lines += oppi.replies("subscribe", error: "Global session limit reached (5)", on: channel)
            _ = oppi.answers("GET /workspaces/w1/sessions", 200, #"{"sessions":[]}"#)
            lines += oppi.waits(5_100)
            _ = oppi.hears(#"{"type":"pong"}"#, on: 1)
        }
        let said = lines.filter { $0.contains("Global session limit reached (5)") && $0.contains("not sent") }
        #expect(said.count == 1, "\(lines)")
    }

    @Test("a silent run is subscribed to again, so that the server does not take its session for idle")
    func silentRun() {
        var oppi = OppiConversation.running()
        var lines: [String] = []
        for _ in 0..<600 {
            lines += Self.second(&oppi)
            _ = oppi.state("busy")
        }
        #expect(lines.filter { $0 == "2 > subscribe s1 full since 2" }.count == 3, "\(lines)")
        #expect(oppi.says("text_delta", #""delta":"still""#) == [#"r1 oppi:ses_1 append "still""#])
    }

    // MARK: Tools

    @Test("the end of a long output is called that")
    func longOutput() {
        var oppi = OppiConversation.running(result: "command_result")
        _ = oppi.says("tool_start", #""tool":"bash","toolCallId":"c1","args":{"command":"cat x"}"#)
        _ = oppi.answers(text: "")
        let lines = oppi.says(
            "tool_output",
            #""toolCallId":"c1","output":"the last line","mode":"replace","truncated":true,"totalBytes":143360"#)
        #expect(lines.contains { $0.contains("[The end of 140 KB of output]") }, "\(lines)")
    }
}
