import AgentKit
import Oppi
import Testing
import Vocabulary

/// A loop that fails and begins again, with losses, restarts, messages and stops in between
/// (oppi.md#retries-compaction-queue).
@Suite("Oppi between two attempts")
struct OppiAttemptsTests {
    private static let history = OppiRecoveryTests.history
    private static let events = OppiRecoveryTests.events
    private static let ready = OppiRecoveryTests.trace([("user", "Hi")])

    /// The loop has failed, and the agent compacts an overflow.
    private static func compacting(behind words: String = "", _ result: String) -> OppiConversation {
        var oppi = OppiConversation.running(result: result)
        if result == "command_result" { _ = oppi.says("error", #""error":"context length exceeded""#) }
        _ = oppi.answers(text: words)
        _ = oppi.says("agent_end")
        _ = oppi.state("ready")
        _ = oppi.says("compaction_start", #""reason":"overflow""#)
        return oppi
    }

    // MARK: A loss

    @Test(
        "a loss while an overflow is compacted gives nothing up, neither the run nor its stop",
        arguments: OppiMachineTests.dialects, ["", "Some words"])
    func lossInCompaction(result: String, words: String) {
        var oppi = Self.compacting(behind: words, result)
        #expect(oppi.aborts("r1") == [])
        oppi.loses(status: "ready")
        #expect(oppi.answers(Self.history, 200, Self.ready) == ["open 3 ws://127.0.0.1:7749/stream"])
        var lines = oppi.follows(3)
        for _ in 0..<22 { lines += oppi.waits(1_000) + oppi.state("ready", on: 3) }
        #expect(!lines.contains { $0.hasPrefix("r1") || $0.hasPrefix("stop of") }, "\(lines)")
        _ = oppi.says("compaction_end", #""aborted":false,"willRetry":true"#, on: 3)
        #expect(oppi.says("agent_start", on: 3).contains("3 > stop s1"))
    }

    @Test("a compaction whose end was missed with the socket is not waited for longer than it may take")
    func compactionEndMissed() {
        var oppi = Self.compacting("command_result")
        oppi.loses(status: "ready")
        _ = oppi.answers(Self.history, 200, Self.ready)
        var lines = oppi.follows(3)
        for _ in 0..<610 { lines += Self.second(&oppi, 3) }
        #expect(lines.contains { $0.hasPrefix("r1 oppi:ses_1 failed") }, "\(lines)")
    }

    private static func second(_ oppi: inout OppiConversation, _ channel: Int) -> [String] {
        _ = oppi.hears(#"{"type":"git_status"}"#, on: 1)
        return oppi.waits(1_000) + oppi.state("ready", on: channel)
    }

    // MARK: A restart

    /// A process that starts between two attempts of `r1`.
    private static func restarted(
        _ result: String, text: String? = "Hi", isStopping: Bool = false, ring: [(String, String)],
        rows: [(String, String)], trace: String? = nil
    ) -> (OppiConversation, [String]) {
        let own = Fact("session:oppi:ses_1", Array("w1\ns1\nr1\n\(OppiConversation.wall - 5_000)".utf8))
        let turn = EarlierTurn(
            session: OppiConversation.chat, runs: [.init(RunID("r1"), text: text)], isAccepted: true,
            isStopping: isStopping, receivedAt: .zero, decisions: [], detached: [])
        var oppi = OppiConversation(result: result, facts: [own], turns: [turn])
        _ = oppi.greets()
        _ = oppi.replies("subscribe", on: 1)
        let frames = ring.map { oppi.frame($0.0, $0.1) }
        var lines = oppi.answers(
            events, 200,
            #"{"events":[\#(frames.joined(separator: ","))],"currentSeq":\#(oppi.sequence),"session":{"id":"s1","status":"ready"},"catchUpComplete":true}"#
        )
        lines += oppi.answers(history, 200, trace ?? OppiRecoveryTests.trace(rows))
        return (oppi, lines)
    }

    private static func failed(_ result: String) -> [(String, String)] {
        let error = [("error", #""error":"overloaded""#)]
        return [("agent_start", ""), ("message_end", #""role":"user","content":"Hi""#)]
            + (result == "command_result" ? error : [])
            + [("message_end", #""role":"assistant","content":"Five words""#), ("agent_end", "")]
    }

    private static let words = [("user", "Hi"), ("assistant", "Five words")]

    @Test("a restart between two attempts waits for the next one", arguments: OppiMachineTests.dialects)
    func restart(_ result: String) {
        var (oppi, lines) = Self.restarted(result, ring: Self.failed(result), rows: Self.words)
        #expect(lines.last == "open 2 ws://127.0.0.1:7749/stream", "\(lines)")
        lines = oppi.follows(2) + oppi.answers(Self.history, 200, OppiRecoveryTests.trace(Self.words))
        lines += oppi.waits(result == "command_result" ? 14_000 : 2_500)
        #expect(!lines.contains { $0.contains("finished") || $0.contains("failed") }, "\(lines)")
        _ = oppi.says("agent_start")
        #expect(oppi.answers(text: "The answer").last == #"r1 oppi:ses_1 segment ended "The answer""#)
    }

    @Test("a stop from before a restart is owed to the next attempt")
    func restartBehindStop() {
        var (oppi, lines) = Self.restarted(
            "command_result", isStopping: true, ring: Self.failed("command_result"), rows: Self.words)
        lines += oppi.follows(2) + oppi.answers(Self.history, 200, OppiRecoveryTests.trace(Self.words))
        #expect(!lines.contains { $0.contains("finished") || $0.contains("stop of") }, "\(lines)")
        _ = oppi.says("agent_start")
        #expect(oppi.says("tool_start", #""tool":"bash","toolCallId":"c1","args":{}"#).contains("2 > stop s1"))
    }

    @Test("an attempt that began again while the bridge was away is no end, though the trace still says ready")
    func restartWithinAttempt() {
        let ring = Self.failed("rpc_result") + [("agent_start", "")]
        var (oppi, lines) = Self.restarted("rpc_result", ring: ring, rows: Self.words)
        #expect(lines.last == "open 2 ws://127.0.0.1:7749/stream", "\(lines)")
        lines += oppi.follows(2, status: "busy")
        lines += oppi.answers(Self.history, 200, OppiRecoveryTests.trace(Self.words)) + oppi.waits(5_000)
        #expect(!lines.contains { $0.contains("finished") || $0.contains("failed") }, "\(lines)")
        #expect(oppi.answers(text: "The answer").last == #"r1 oppi:ses_1 segment ended "The answer""#)
    }

    @Test("a loop that no trace has yet is ours by the ring's word")
    func restartAtFirstWord() {
        let ring = [("agent_start", ""), ("message_end", #""role":"user","content":"Hi""#)]
        var (oppi, lines) = Self.restarted("command_result", ring: ring, rows: [])
        lines += oppi.follows(2, status: "busy")
        lines += oppi.answers(Self.history, 200, OppiRecoveryTests.trace([], status: "busy"))
        lines += oppi.answers(text: "Well.")
        #expect(lines.last == #"r1 oppi:ses_1 segment ended "Well.""#, "\(lines)")
        #expect(!lines.contains { $0.hasPrefix("oppi:ses_1-") }, "\(lines)")
    }

    @Test("another client's loop in the same words is not ours, and no Stop of ours ends it")
    func restartBesideTwin() {
        let ring = [("agent_start", ""), ("message_end", #""role":"user","content":"Hi""#)]
        let long =
            #"{"session":{"id":"s1","status":"busy"},"trace":[{"id":"e0","type":"user","timestamp":"2026-02-01T02:40:00.000Z","text":"Hi"}]}"#
        var (oppi, lines) = Self.restarted("command_result", isStopping: true, ring: ring, rows: [], trace: long)
        lines += oppi.follows(2, status: "busy") + oppi.answers(Self.history, 200, long)
        lines += oppi.answers(text: "For them")
        #expect(!lines.contains { $0.hasPrefix("r1 ") || $0.contains("> stop") }, "\(lines)")
    }

    @Test("a message that followed another run is begun by no later one that the server names so")
    func restartSealedBehindAnother() {
        var (oppi, _) = Self.restarted("rpc_result", text: nil, ring: [], rows: [])
        _ = oppi.follows(2) + oppi.answers(Self.history, 200, OppiRecoveryTests.trace([]))
        _ = oppi.says("agent_start")
        _ = oppi.hears(
            #"{"type":"turn_ack","command":"follow_up","clientTurnId":"r1","stage":"started","sessionId":"s1"}"#, on: 2)
        _ = oppi.says("message_end", #""role":"user","content":"Theirs""#)
        #expect(!oppi.answers(text: "For them").contains { $0.hasPrefix("r1 ") })
    }

    @Test("a late beginning of a sealed message is known by its name, and gets the stop that it is owed")
    func restartSealed() {
        var (oppi, lines) = Self.restarted("rpc_result", text: nil, isStopping: true, ring: [], rows: [])
        lines += oppi.follows(2) + oppi.answers(Self.history, 200, OppiRecoveryTests.trace([]))
        #expect(!lines.contains { $0.contains("finished") || $0.contains("stop of") }, "\(lines)")
        _ = oppi.says("agent_start")
        _ = oppi.hears(
            #"{"type":"turn_ack","command":"prompt","clientTurnId":"r1","stage":"started","sessionId":"s1"}"#, on: 2)
        let begun = oppi.says("message_end", #""role":"user","content":"Hi""#)
        #expect(begun.contains("2 > stop s1"), "\(begun)")
    }

    @Test("another client's words behind a sealed message are no part of its answer")
    func restartSealedBesideOthers() {
        var (oppi, _) = Self.restarted("rpc_result", text: nil, ring: [], rows: [])
        _ = oppi.follows(2) + oppi.answers(Self.history, 200, OppiRecoveryTests.trace([]))
        _ = oppi.says("agent_start")
        _ = oppi.hears(
            #"{"type":"turn_ack","command":"prompt","clientTurnId":"r1","stage":"started","sessionId":"s1"}"#, on: 2)
        _ = oppi.says("message_end", #""role":"user","content":"Hi""#)
        #expect(oppi.answers(text: "Ours").last == #"r1 oppi:ses_1 segment ended "Ours""#)
        _ = oppi.says("message_end", #""role":"user","content":"Theirs""#)
        #expect(!oppi.answers(text: "For them").contains { $0.hasPrefix("r1 ") })
    }

    @Test("where no other attempt follows a restart, the failure is said")
    func restartBehindFailure() {
        var (oppi, lines) = Self.restarted(
            "command_result", ring: Self.failed("command_result"), rows: Self.words)
        _ = oppi.follows(2)
        _ = oppi.answers(Self.history, 200, OppiRecoveryTests.trace(Self.words))
        lines = oppi.waits(16_000)
        #expect(lines.first?.hasPrefix(#"r1 oppi:ses_1 failed other "overloaded""#) == true, "\(lines)")
    }

    @Test("a run that was stopped elsewhere while nobody listened is no answer")
    func stoppedUnheard() {
        let ring = [
            ("agent_start", ""), ("message_end", #""role":"user","content":"Hi""#),
            ("stop_requested", #""source":"user""#), ("message_end", #""role":"assistant","content":"Half of""#),
            ("agent_end", ""), ("stop_confirmed", #""source":"user""#),
        ]
        var (oppi, lines) = Self.restarted(
            "command_result", ring: ring, rows: [("user", "Hi"), ("assistant", "Half of")])
        lines += oppi.waits(6_000)
        #expect(lines.contains { $0.contains("failed other \"it was stopped elsewhere") }, "\(lines)")
    }

    @Test("a failure without words while nobody listened has its cause")
    func failedWithoutWords() {
        let ring = [
            ("agent_start", ""), ("message_end", #""role":"user","content":"Hi""#),
            ("message_end", #""role":"assistant","content":"Looking.""#),
            ("tool_start", #""tool":"bash","toolCallId":"c1","args":{}"#),
            ("tool_end", #""tool":"bash","toolCallId":"c1""#),
            ("error", #""error":"quota exhausted""#), ("message_end", #""role":"assistant","content":"""#),
            ("agent_end", ""),
        ]
        let rows = [("user", "Hi"), ("assistant", "Looking."), ("toolCall", ""), ("toolResult", "")]
        var (oppi, lines) = Self.restarted("command_result", ring: ring, rows: rows)
        lines += oppi.follows(2) + oppi.answers(Self.history, 200, OppiRecoveryTests.trace(rows))
        for _ in 0..<10 {
            lines += oppi.waits(2_000)
            lines += oppi.answers(Self.history, 200, OppiRecoveryTests.trace(rows))
        }
        #expect(lines.contains { $0.contains("failed other \"quota exhausted\"") }, "\(lines)")
    }

    // MARK: Another message

    @Test(
        "a message between two attempts waits for the next one, and gives nothing up", arguments: [true, false])
    func messageBetween(compacts: Bool) {
        var oppi = OppiConversation.running(result: "command_result")
        _ = oppi.says("error", #""error":"overloaded""#)
        _ = oppi.answers(text: "Five words")
        _ = oppi.says("agent_end")
        _ = oppi.state("ready")
        _ = oppi.says(
            compacts ? "compaction_start" : "retry_start",
            compacts ? #""reason":"overflow""# : #""attempt":1,"delayMs":8000,"errorMessage":"overloaded""#)
        var lines = oppi.sends("r2", "Faster") + oppi.waits(6_000) + oppi.state("ready") + oppi.waits(1_500)
        #expect(lines.isEmpty, "\(lines)")
        if compacts { _ = oppi.says("compaction_end", #""aborted":false,"willRetry":true"#) }
        lines = oppi.says("agent_start") + oppi.keeps()
        #expect(lines.last == "2 > steer s1 r2 Faster", "\(lines)")
    }

    // MARK: Stops

    @Test("a run that is deaf to stops ends with its session, and what waits is let go")
    func deafToStops() {
        var oppi = OppiConversation.running(result: "command_result")
        #expect(oppi.aborts("r1") == ["2 > stop s1"])
        _ = oppi.sends("r2", "Next")
        var lines: [String] = []
        for _ in 0..<3 {
            lines += oppi.says("stop_requested", #""source":"user""#) + oppi.state("stopping") + oppi.replies("stop")
            lines += oppi.waits(8_000) + oppi.says("stop_requested", #""source":"server""#)
            _ = oppi.hears(#"{"type":"git_status"}"#, on: 1)
            lines += oppi.waits(5_000) + oppi.state("busy")
            lines += oppi.says("stop_failed", #""source":"server","reason":"Stop timed out""#)
            lines += oppi.waits(2_500)
        }
        #expect(
            lines.filter { $0.hasPrefix("2 >") && !$0.contains("get_state") }
                == ["2 > stop s1", "2 > stop s1", "2 > stop_session s1"], "\(lines)")
        _ = oppi.says("stop_requested", #""source":"user""#)
        lines = oppi.state("stopping") + oppi.says("stop_confirmed", #""source":"user""#)
        #expect(lines.first == "r1 oppi:ses_1 finished aborted run -", "\(lines)")
        lines = oppi.says("session_ended", #""reason":"stopped""#) + oppi.keeps()
        #expect(lines.contains("close 2") && lines.last == "open 3 ws://127.0.0.1:7749/stream", "\(lines)")
    }

    @Test("a run that does not stop is not kept alive")
    func deafIsNotRenewed() {
        var oppi = OppiConversation.running()
        var lines = oppi.aborts("r1") + oppi.replies("stop")
        for _ in 0..<300 {
            _ = oppi.hears(#"{"type":"git_status"}"#, on: 1)
            lines += oppi.waits(1_000)
            for command in ["stop", "stop_session"] where lines.last == "2 > \(command) s1" {
                lines += oppi.replies(command)
            }
            if lines.last?.contains("view=full") == true {
                lines += oppi.answers(Self.history, 200, OppiRecoveryTests.trace([("user", "Hi")], status: "busy"))
            }
            _ = oppi.state("busy")
        }
        #expect(!lines.contains { $0.contains("> subscribe") }, "\(lines)")
    }
}
