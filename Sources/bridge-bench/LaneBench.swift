import BridgeCore
import BridgeModel
import BridgeService
import FoundationEssentials
import Glibc
import Locking
import RelayProtocol
import Transport

/// One lane through the whole delivery, buckets and all.
enum LaneBench {
    private static let run = RunID("run")

    /// Calls per second of one lane: the cards of two thousand tools, which nothing paces. Writes the bodies it sent, so that
    /// the bare loop can send the same.
    static func calls(url: String, bodies: String) throws {
        let sent = Locked<[RelayCall]>([])
        let runner = runner(url) { call in sent.withLock { $0.append(call) } }
        defer { runner.stop() }
        open(runner)
        runner.tell { bridge, now in
            for number in 0..<2_000 {
                let call = ToolCallID("call_\(number)")
                let arguments = JSONText(unchecked: #"{"command":"ls -l /var/log | tail -n 20"}"#)
                let start = ToolStart(call: call, name: "exec", title: "exec command=ls", arguments: arguments)
                bridge.agentSays(RunSignal(run: run, session: nil, event: .tool(.started(start))), at: now)
                let result = ToolResult(call: call, status: .completed, result: .string("twenty lines of text"))
                bridge.agentSays(RunSignal(run: run, session: nil, event: .tool(.finished(result))), at: now)
            }
        }
        let begin = SystemClock().now
        while runner.ask({ $0.tally.delivered }) < 4_001 { usleep(500) }
        let seconds = (SystemClock().now - begin).seconds
        var lines: [UInt8] = []
        for call in sent.withLock({ $0 }) { lines += RelayEncoder.body(of: call) + [10] }
        try Data(lines).write(to: URL(filePath: bodies))
        print(4_000 / seconds)
    }

    /// 25 tokens a second, evenly, a hundred of them: the moments at which they were told, for comparison with the relay's.
    static func latency(url: String, log: String) throws {
        let runner = runner(url) { _ in }
        defer { runner.stop() }
        open(runner)
        while runner.ask({ $0.tally.delivered }) < 1 { usleep(500) }
        var moments = ""
        for number in 0..<100 {
            usleep(40_000)
            moments += "\(SystemClock().now.nanoseconds)\n"
            runner.tell { bridge, now in
                bridge.agentSays(RunSignal(run: run, session: nil, event: .text(.append("token \(number) "))), at: now)
            }
        }
        while runner.ask({ $0.tally.delivered }) < 101 { usleep(500) }
        try Data(moments.utf8).write(to: URL(filePath: log))
    }

    private static func runner(_ url: String, sending: @escaping @Sendable (RelayCall) -> Void) -> BridgeRunner {
        BridgeRunner(
            settings: BridgeSettings(), relay: RelayAddress(baseURL: url, token: "token"),
            edges: BridgeRunner.Edges(
                http: CurlClient(), clock: SystemClock(), alarm: SystemAlarm(), random: SystemRandom(),
                store: MemoryStore()),
            observe: { _ in },
            answered: { attempt, _ in if case .fresh(let call) = attempt.payload { sending(call) } })
    }

    private static func open(_ runner: BridgeRunner) {
        runner.tell { bridge, now in
            bridge.turnBegins(
                TurnOpening(
                    id: TurnID("turn"), session: SessionID("ses_1"), interaction: InteractionID("int_1"),
                    agentSession: AgentSession("agent"), run: run, message: nil, receivedAt: now,
                    windowEnds: now + .seconds(1_800)), at: now)
        }
    }
}
