import AgentKit
import Oppi
import Testing
import Vocabulary

/// Messages that go into a run, and the fate of those that no run took up (oppi.md#retries-compaction-queue).
@Suite("Oppi's steered runs")
struct OppiSteersTests {
    private static let history = OppiRecoveryTests.history
    private static let rows = [
        ("user", "Hi"), ("assistant", "Looking."), ("toolCall", ""), ("toolResult", ""), ("user", "Faster"),
        ("assistant", "Done."),
    ]

    /// The run `r1` with `r2` written into it.
    private static func steered(_ result: String = "command_result", text: String = "Faster") -> OppiConversation {
        var oppi = OppiConversation.running(result: result)
        _ = oppi.sends("r2", text)
        _ = oppi.keeps()
        _ = oppi.replies("steer")
        return oppi
    }

    // MARK: The trace

    @Test("the answer of a steered run goes on behind what steered it, where its frames are lost")
    func lostOutsideRing() {
        var oppi = Self.steered()
        _ = oppi.answers(text: "Looking.")
        oppi.loses(current: 900, isWhole: false, status: "ready")
        let lines = oppi.answers(Self.history, 200, OppiRecoveryTests.trace(Self.rows))
        #expect(lines.contains(#"r1 oppi:ses_1 finished stop run "Looking.\n\nDone.""#), "\(lines)")
    }

    @Test("a message that was refused and became a prompt of its own ends the answer before it")
    func refusedSteer() {
        var oppi = OppiConversation.running()
        _ = oppi.sends("r2", "Faster")
        _ = oppi.keeps()
        _ = oppi.replies("steer", error: "Steer requires an active streaming turn")
        oppi.loses(current: 900, isWhole: false, status: "ready")
        let lines = oppi.answers(Self.history, 200, OppiRecoveryTests.trace(Self.rows))
        #expect(!lines.contains { $0.contains("Done.") }, "\(lines)")
    }

    /// The process has died, and the next one has the fact that it kept.
    private static func restarted(status: String) -> [String] {
        var before = OppiConversation.running()
        let kept = before.sends("r2", "Faster").first { $0.hasPrefix("keep") } ?? ""
        let value = kept.split(separator: "=", maxSplits: 1).last.map { $0.split(separator: " ") } ?? []
        // The moment of the prompt is of this process.
        let parts = [value[0], value[1], value[2], "\(OppiConversation.wall - 5_000)", value[4], value[5]]
        let fact = Fact("session:oppi:ses_1", Array(parts.map { String($0) }.joined(separator: "\n").utf8))
        var oppi = OppiConversation(facts: [fact], turns: [OppiRecoveryTests.earlier(isAccepted: true)])
        _ = oppi.greets()
        _ = oppi.answers(OppiRecoveryTests.events, 200, OppiRecoveryTests.missed(9, status: status))
        let rows = status == "busy" ? Self.rows.dropLast() : Self.rows[...]
        return oppi.answers(history, 200, OppiRecoveryTests.trace(Array(rows), status: status)) + oppi.waits(6_000)
    }

    @Test("so it does for the next process, which knows what steered it by a mark")
    func restart() {
        let over = Self.restarted(status: "ready")
        #expect(over.contains(#"r1 oppi:ses_1 finished stop run "Looking.\n\nDone.""#), "\(over)")
        let busy = Self.restarted(status: "busy")
        #expect(busy.contains("open 2 ws://127.0.0.1:7749/stream"), "\(busy)")
        #expect(!busy.contains { $0.contains("finished") }, "\(busy)")
    }

    // MARK: The agent's queue

    @Test("what steered a run that failed is taken up with the next prompt, and ends nothing of it")
    func leftOver() {
        var oppi = Self.steered()
        _ = oppi.says("error", #""error":"quota exhausted""#)
        _ = oppi.answers(text: "")
        _ = oppi.says("agent_end")
        _ = oppi.waits(2_100)
        _ = oppi.state("ready")
        _ = oppi.sends("r3", "Third")
        _ = oppi.keeps()
        _ = oppi.accepts("r3")
        var lines = oppi.says("agent_start") + oppi.says("message_end", #""role":"user","content":"Third""#)
        lines += oppi.says("message_end", #""role":"user","content":"Faster""#)
        lines += oppi.answers(text: "Both done")
        #expect(!lines.contains { $0.contains("finished") }, "\(lines)")
        lines = oppi.ends()
        #expect(lines == ["r3 oppi:ses_1 finished stop run -"], "\(lines)")
    }

    @Test("another client's message that the agent had in its queue ends nothing before the first words")
    func leftOverOfAnother() {
        var oppi = OppiConversation.running(result: "command_result")
        #expect(oppi.says("message_end", #""role":"user","content":"Theirs, from before""#) == [])
        _ = oppi.answers(text: "For both")
        #expect(oppi.says("message_end", #""role":"user","content":"Theirs""#).first?.contains("finished") == true)
    }

    @Test("a skill that steers is written out by the agent, and ends nothing", arguments: OppiMachineTests.dialects)
    func skill(_ result: String) {
        var oppi = Self.steered(result, text: "/skill:x now")
        _ = oppi.answers(text: "First.")
        #expect(oppi.says("message_end", #""role":"user","content":"<skill name=\"x\"> now""#) == [])
        #expect(oppi.answers(text: "Second.") == [#"r1 oppi:ses_1 segment ended "Second.""#])
        #expect(oppi.ends() == ["r1 oppi:ses_1 finished stop run -"])
    }

    @Test("a skill that is written into the run again hides one message, and another client's ends the run")
    func writtenAgain() {
        var oppi = OppiConversation.running(result: "command_result")
        _ = oppi.sends("r2", "/skill:x now")
        #expect(oppi.keeps() == ["2 > steer s1 r2 /skill:x now"])
        #expect(oppi.waits(9_000).contains("2 > steer s1 r2 /skill:x now"))
        _ = oppi.replies("steer")
        _ = oppi.answers(text: "First.")
        #expect(oppi.says("message_end", #""role":"user","content":"<skill name=\"x\"> now""#) == [])
        #expect(oppi.says("message_end", #""role":"user","content":"Theirs""#).first?.contains("finished") == true)
    }

    @Test("a skill behind another client's run begins ours")
    func skillBehind() {
        var oppi = OppiConversation.idle()
        _ = oppi.says("agent_start")
        _ = oppi.says("message_end", #""role":"user","content":"Theirs""#)
        _ = oppi.state("busy")
        _ = oppi.sends("r2", "/skill:x now")
        _ = oppi.keeps()
        _ = oppi.accepts("r2")
        _ = oppi.answers(text: "For them")
        let lines = oppi.says("message_end", #""role":"user","content":"<skill name=\"x\"> now""#)
        #expect(lines.contains("r2 oppi:ses_1 started"), "\(lines)")
    }

    // MARK: Behind a run that fails

    /// The run of the other client failed, so the agent keeps the messages queued behind it.
    private static func queued(_ result: String) -> (OppiConversation, [String]) {
        var oppi = OppiConversation.idle(result: result)
        oppi.queuesBehindAnother()
        if result == "command_result" { _ = oppi.says("error", #""error":"quota exhausted""#) }
        _ = oppi.answers(text: "")
        var lines = oppi.says("agent_end")
        for _ in 0..<40
        where !lines.contains(where: { $0.contains("get_queue") || $0.contains("r2 oppi:ses_1 failed") }) {
            _ = oppi.hears(#"{"type":"git_status"}"#, on: 1)
            lines += oppi.waits(1_000) + oppi.state("ready")
            guard lines.last?.contains("view=full") == true else { continue }
            lines += oppi.answers(history, 200, OppiRecoveryTests.trace([("user", "Theirs")]))
        }
        return (oppi, lines)
    }

    private static func queue(_ others: String = "") -> String {
        #""data":{"version":3,"steering":[\#(others)],"followUp":[{"id":"q1","message":"Ours","createdAt":1}]}"#
    }

    @Test("a message behind a run that failed is taken out of the agent's queue before it counts as not begun")
    func takenOut() {
        var (oppi, lines) = Self.queued("command_result")
        #expect(lines.last == "2 > get_queue s1", "\(lines)")
        #expect(oppi.replies("get_queue", data: Self.queue()) == ["2 > set_queue s1 base 3"])
        lines = oppi.replies("set_queue")
        lines += oppi.answers(Self.history, 200, OppiRecoveryTests.trace([("user", "Theirs")]))
        #expect(lines.contains { $0.contains(#"r2 oppi:ses_1 failed agentGone "it never began"#) }, "\(lines)")
    }

    @Test("one that cannot be taken out without another client's is said to be there still")
    func cannotBeTakenOut() {
        var (oppi, lines) = Self.queued("command_result")
        lines = oppi.replies("get_queue", data: Self.queue(#"{"id":"q0","message":"Other","createdAt":1}"#))
        lines += oppi.answers(Self.history, 200, OppiRecoveryTests.trace([("user", "Theirs")]))
        #expect(lines.contains { $0.hasPrefix("r2 oppi:ses_1 failed queued") }, "\(lines)")
        #expect(!lines.contains { $0.contains("set_queue") })
    }

    @Test("the seed dialect has no way to take it out, and the bubble says so")
    func cannotInSeed() {
        let (_, lines) = Self.queued("rpc_result")
        #expect(lines.contains { $0.hasPrefix("r2 oppi:ses_1 failed queued") }, "\(lines)")
    }
}
