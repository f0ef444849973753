import AgentKit
import Agents
import BridgeCore
import BridgeService
import Commands
import Links
import Recording
import Transport
import Vocabulary

/// One bridge for all recordings of a command, on real edges.
final class ReplaySession: Sendable {
    let runner: BridgeRunner
    let http: CurlClient
    /// The posted calls, for a comparison.
    let calls: CallLog?
    private let log = ReplayLog()
    private let output: Output
    private let begun = SystemClock().now
    /// How long the last calls may take after the last frame.
    private static let patience = Duration.seconds(60)

    init(
        relay: RelayAddress, output: Output, keepsCalls: Bool = false, sealer: TurnSealer? = nil
    ) throws(ThreadFault) {
        let http = CurlClient()
        let log = log
        self.http = http
        calls = keepsCalls ? CallLog(http) : nil
        self.output = output
        var settings = BridgeSettings()
        settings.withdrawsCards = false
        // How much text is dropped before an end depends on the speed of the relay and of this machine, so drop none in a comparison.
        if keepsCalls { settings.delivery.textHold = Self.patience }
        var edges = BridgeRunner.Edges(
            http: calls ?? http, clock: SystemClock(), alarm: try SystemAlarm(), random: SystemRandom())
        edges.sealer = sealer
        runner = BridgeRunner(
            settings: settings, relay: relay, edges: edges,
            observe: { log.observe($0) },
            answered: { attempt, answer in
                guard case .refused(let refusal) = answer.outcome else { return }
                // Name every failed call with its request id, and no user text.
                output.say(
                    "relay refused \(attempt.name): \(refusal.status) \(refusal.code) \(refusal.message) \(answer.request?.text ?? "")"
                )
            })
    }

    func play(_ file: String, _ named: (any AgentPlugin)?, _ user: any ReplayUser, _ speed: ReplaySpeed) throws {
        let agent = try named ?? AgentRegistry.all.recognised(in: file)
        let pace = Pace(speed)
        try play(try RecordingReader(file: file), agent, file, user) { pace.wait(for: $0) }
    }

    func play(text: String, name: String, _ user: any ReplayUser, pause: (Int64) -> Bool) throws {
        let agent = try AgentRegistry.all.recognised(in: try RecordingReader(text: text, name: name), name: name)
        try play(try RecordingReader(text: text, name: name), agent, name, user, pause: pause)
    }

    private func play(
        _ reader: RecordingReader, _ agent: any AgentPlugin, _ name: String, _ user: any ReplayUser,
        pause: (Int64) -> Bool
    ) throws {
        let replay = Replay(runner: runner, log: log, agent: agent, name: name, user: user, clock: SystemClock())
        try replay.play(reader, pause: pause)
    }

    func finish() throws -> ReplaySummary {
        let log = log
        let runner = runner
        _ = Pace.wait(atMost: Self.patience) { runner.isAtRest || log.connectionStopped }
        runner.stop()
        http.close()
        let state = runner.ask { (tally: $0.tally, open: $0.openTurns) }
        return log.result(tally: state.tally, openTurns: state.open, seconds: (SystemClock().now - begun).seconds)
    }

    func report(_ summary: ReplaySummary, breaches: Int?) {
        output.event(
            "summary",
            [
                ("frames", .number(summary.frames)), ("turns", .number(summary.ends.count)),
                ("calls", .number(summary.calls)), ("deltas", .number(summary.deltas)),
                ("joined", .number(summary.joined)),
                ("refusals", .number(summary.refusals)), ("retries", .number(summary.retries)),
                ("unknown_frames", .number(summary.unknown.values.reduce(0, +))),
                ("malformed", .number(summary.malformed)),
            ] + (breaches.map { [("breaches", .number($0))] } ?? []))
        let tenths = Int((summary.seconds * 10).rounded())
        output.say(
            "\(Counted.words(summary.frames, "frame")), \(Counted.words(summary.ends.count, "turn")); "
                + "\(Counted.words(summary.calls, "call")) (\(Counted.words(summary.deltas, "delta")), "
                + "\(Counted.words(summary.joined, "text")) joined), \(Counted.words(summary.refusals, "refusal")), "
                + Counted.words(summary.retries, "retry", plural: "retries")
                + (breaches.map { ", " + Counted.words($0, "breach", plural: "breaches") } ?? "")
                + "; \(tenths / 10).\(tenths % 10) s")
        for (name, count) in summary.unknown.sorted(by: { $0.key < $1.key }) { output.say("unknown \(name): \(count)") }
        if summary.malformed > 0 { output.say("\(Counted.words(summary.malformed, "frame")) could not be read") }
    }
}
