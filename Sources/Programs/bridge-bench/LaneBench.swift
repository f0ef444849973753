import BridgeCore
import BridgeService
import FoundationEssentials
import Glibc
import Locking
import RelayProtocol
import Transport
import Vocabulary

/// One lane through the whole delivery, with its buckets.
enum LaneBench {
    /// Two posts for each tool: a lane holds 512.
    private static let tools = 250
    private static let lanes = 8

    /// Calls per second of one lane: cards of tools, which nothing paces, posted at once. A first pass, not measured, writes the bodies, so
    /// that the bare loop can send the same.
    static func calls(url: String, bodies: String) throws {
        let lines = Locked<[UInt8]>([])
        _ = try seconds(url) { call in lines.withLock { $0 += RelayEncoder.body(of: call) + [10] } }
        try Data(lines.withLock { $0 }).write(to: URL(filePath: bodies))
        print(Double(lanes * 2 * tools) / (try seconds(url) { _ in }))
    }

    /// Seconds of all lanes, one after another, each from its first card to its last answer.
    private static func seconds(_ url: String, sent: @escaping @Sendable (RelayCall) -> Void) throws -> Double {
        // The lane itself notes the moment: a poll in a tight loop would take the processor and the lock from it.
        let lastAnswer = Locked(Instant.zero)
        let runner = try runner(url) { call in
            lastAnswer.withLock { $0 = SystemClock().now }
            sent(call)
        }
        defer { runner.stop() }
        var seconds = 0.0
        for lane in 0..<lanes {
            open(lane, runner)
            var delivered = lane * (2 * tools + 1) + 1
            while runner.ask({ $0.tally.delivered }) < delivered { usleep(500) }
            var begin = Instant.zero
            runner.tell { bridge, now in
                for tool in 0..<tools { use(tool: tool, of: lane, bridge: &bridge, at: now) }
                begin = SystemClock().now
            }
            delivered += 2 * tools
            while runner.ask({ $0.tally.delivered }) < delivered { usleep(5_000) }
            seconds += (lastAnswer.withLock { $0 } - begin).seconds
        }
        return seconds
    }

    private static func use(tool number: Int, of lane: Int, bridge: inout Bridge, at now: Instant) {
        let run = RunID("run_\(lane)")
        let call = ToolCallID("call_\(lane)_\(number)")
        let arguments = JSONText(unchecked: #"{"command":"ls -l /var/log | tail -n 20"}"#)
        let start = ToolStart(call: call, name: "exec", title: "exec command=ls", arguments: arguments)
        bridge.agentSays(RunSignal(run: run, session: nil, event: .tool(.started(start))), at: now)
        let result = ToolResult(call: call, status: .completed, result: .string("twenty lines of text"))
        bridge.agentSays(RunSignal(run: run, session: nil, event: .tool(.finished(result))), at: now)
    }

    /// A hundred tokens, evenly, 25 a second. Logs the moments at which they were emitted, for comparison with the relay's.
    static func latency(url: String, log: String) throws {
        let runner = try runner(url) { _ in }
        defer { runner.stop() }
        open(0, runner)
        let run = RunID("run_0")
        try untilDelivered(1, of: runner)
        var moments = ""
        for number in 0..<100 {
            usleep(40_000)
            // Keep one delta for each token, even if the machine stalled so long that two would be joined.
            try untilDelivered(number + 1, of: runner)
            moments += "\(SystemClock().now.nanoseconds)\n"
            runner.tell { bridge, now in
                bridge.agentSays(RunSignal(run: run, session: nil, event: .text(.append("token \(number) "))), at: now)
            }
        }
        try untilDelivered(101, of: runner)
        try Data(moments.utf8).write(to: URL(filePath: log))
    }

    /// Polls twice a millisecond, since the measured work runs in other threads. Throws if the relay takes nothing for 30 seconds.
    private static func untilDelivered(_ count: Int, of runner: BridgeRunner) throws {
        let end = SystemClock().now + .seconds(30)
        while runner.ask({ $0.tally.delivered }) < count {
            guard SystemClock().now < end else { throw NotDelivered(count: count) }
            usleep(500)
        }
    }

    private struct NotDelivered: Error { var count: Int }

    private static func runner(_ url: String, sending: @escaping @Sendable (RelayCall) -> Void) throws -> BridgeRunner {
        BridgeRunner(
            settings: BridgeSettings(), relay: RelayAddress(baseURL: url, token: "token"),
            edges: BridgeRunner.Edges(
                http: CurlClient(), clock: SystemClock(), alarm: try SystemAlarm(), random: SystemRandom()),
            observe: { _ in },
            answered: { attempt, _ in if case .fresh(let call) = attempt.payload { sending(call) } })
    }

    private static func open(_ lane: Int, _ runner: BridgeRunner) {
        runner.tell { bridge, now in
            bridge.turnBegins(
                TurnOpening(
                    id: TurnID("turn_\(lane)"), session: SessionID("ses_1"),
                    interaction: InteractionID("int_\(lane)"), agentSession: AgentSession("agent_\(lane)"),
                    run: RunID("run_\(lane)"), message: nil, receivedAt: now,
                    windowEnds: now + .seconds(1_800)), at: now)
        }
    }
}
