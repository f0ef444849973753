import AgentKit
import Agents
import BridgeCore
import BridgeService
import Commands
import FoundationEssentials
import Glibc
import LocalServer
import Recording
import RelayRules
import Simulator
import Transport
import Vocabulary

/// `replay FILE…`
struct ReplayCommand: Command {
    static let declaration = CommandDeclaration(
        name: "replay", summary: "play recordings through the whole pipeline to a relay", operands: "FILE…",
        options: [
            .init("to", "simulator|URL", "where the calls go (simulator)"),
            .init("token", "TOKEN", "the relay's token, with a URL; or set SOPHON_BOT_TOKEN"),
            .init(
                "agent", AgentRegistry.all.kinds.map(\.rawValue).joined(separator: "|"),
                "what the recording comes from, where it does not say itself"),
            .init("speed", "1|10|max", "how fast: as recorded, ten times, as fast as can be (max)"),
            .init("expect", "FILE", "compare the calls with this golden file; exit 1 where they differ"),
            .init("rewrite", nil, "with --expect: write the golden file instead"),
        ],
        examples: [
            "sophon-bridge replay run.jsonl --speed 10",
            "sophon-bridge replay run.jsonl --expect run.golden",
        ])

    private let command: ParsedCommand
    private let output: Output
    private static let advice = "sophon-bridge replay --help"

    init(_ command: ParsedCommand, _ output: Output) {
        self.command = command
        self.output = output
    }

    func run() throws {
        guard !command.operands.isEmpty else {
            throw UsageError("replay needs a recording: a file of JSON lines", try: "sophon-bridge replay run.jsonl")
        }
        let speed = try Pace.speed(command.values["speed"], default: .unlimited, try: Self.advice)
        let agent = try namedAgent()
        do {
            if let target = command.values["to"], target != "simulator" { return try play(to: target, speed, agent) }
            if let golden = command.values["expect"] { return try compare(with: golden, agent) }
            try playToSimulator(speed, agent)
        } catch let error as RecordingError {
            let isUnreadable = [.nothingRead, .empty].contains(error.code)
            throw CommandFailure(code: isUnreadable ? .unexpected : .usage, message: "\(error)")
        }
    }

    private func namedAgent() throws -> (any AgentPlugin)? {
        guard let name = command.values["agent"] else { return nil }
        guard let agent = AgentRegistry.all[kind: AgentKind(rawValue: name)] else {
            throw UsageError(
                "--agent is \"\(name)\", expected \(AgentRegistry.all.kindNames)",
                try: Self.advice)
        }
        return agent
    }

    // MARK: Golden files

    private func compare(with golden: String, _ agent: (any AgentPlugin)?) throws {
        var lines: [String] = []
        for file in command.operands { lines += try VirtualReplay.play(file: file, as: agent, of: .all).lines }
        let text = lines.map { $0 + "\n" }.joined()
        if command.switches.contains("rewrite") {
            do { try Data(text.utf8).write(to: URL(filePath: golden), options: .atomic) } catch {
                throw CommandFailure(code: .unexpected, message: "\(golden) cannot be written: \(error)")
            }
            return output.say("wrote \(lines.count) calls to \(golden)")
        }
        let expected = try Self.read(golden)
        try judge(CallComparison.differences(expected, lines), count: lines.count, golden)
    }

    private static func read(_ golden: String) throws -> [String] {
        guard let data = try? Data(contentsOf: URL(filePath: golden)) else {
            throw CommandFailure(
                code: .usage, message: "\(golden) cannot be read; write it first with --expect \(golden) --rewrite")
        }
        return String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    private func judge(_ differences: [String], count: Int, _ golden: String) throws {
        for difference in differences.prefix(20) { output.line(difference) }
        guard differences.isEmpty else {
            let more = differences.count > 20 ? " in \(differences.count) places, of which 20 are shown" : ""
            throw CommandFailure(code: .unexpected, message: "the calls differ from \(golden)\(more)")
        }
        output.say("\(count) calls, as expected")
    }

    // MARK: Relays

    private func playToSimulator(_ speed: ReplaySpeed, _ agent: (any AgentPlugin)?) throws {
        let simulator = RelaySimulator()
        do { try simulator.start() } catch { throw CommandFailure(code: .unexpected, message: "\(error)") }
        defer { simulator.stop() }
        let session = try ReplaySession(
            relay: RelayAddress(baseURL: simulator.baseURL, token: simulator.bridgeToken), output: output)
        let user = SimulatorUser(simulator: simulator)
        user.forwardDecisions(to: session.runner)
        for file in command.operands { try session.play(file, agent, user, speed) }
        let summary = try session.finish()
        for end in summary.ends {
            let text = simulator.sessions.first { $0.id == end.session.text }?.messages
                .last { $0.role == .agent && $0.interaction == end.interaction?.text }?.text
            output.event("turn_ended", Self.members(end) + (text.map { [("text", .string($0))] } ?? []))
            output.line("\(end.outcome): \((text ?? "").split(separator: "\n").joined(separator: " ⏎ ").prefix(100))")
        }
        let breaches = simulator.breaches
        for breach in breaches.prefix(20) {
            output.event("error", [("code", .string(breach.code.rawValue)), ("message", .string(breach.sentence))])
            output.say("breach \(breach.code.rawValue) in \(breach.method): \(breach.sentence)")
        }
        session.report(summary, breaches: breaches.count)
        guard breaches.isEmpty, summary.leftOpen == 0 else {
            throw CommandFailure(
                code: .unexpected,
                message: "\(breaches.count) breaches of the relay's rules, \(summary.leftOpen) turns left open")
        }
    }

    static func members(_ end: ReplaySummary.End) -> [(String, JSONText)] {
        [
            ("turn", .string(end.turn.text)), ("outcome", .string(end.outcome)),
            ("session_id", .string(end.session.text)),
        ]
            + (end.interaction.map { [("interaction_id", .string($0.text))] } ?? [])
    }

    private func play(to target: String, _ speed: ReplaySpeed, _ agent: (any AgentPlugin)?) throws {
        guard target.hasPrefix("http://") || target.hasPrefix("https://") else {
            throw UsageError("--to is \"\(target)\", expected simulator, http://… or https://…", try: Self.advice)
        }
        let environment = ProcessInfo.processInfo.environment
        guard let token = command.values["token"] ?? environment["SOPHON_BOT_TOKEN"] ?? environment["SOPHON_TOKEN"]
        else {
            throw UsageError("a relay needs a token: give --token or set SOPHON_BOT_TOKEN", try: Self.advice)
        }
        let golden = command.values["expect"]
        if golden != nil, command.switches.contains("rewrite") {
            throw UsageError("--rewrite needs no relay: leave --to out", try: Self.advice)
        }
        let expected = try golden.map(Self.read)
        let session = try ReplaySession(
            relay: RelayAddress(baseURL: target, token: token), output: output, keepsCalls: expected != nil)
        let address = target.hasSuffix("/") ? String(target.dropLast()) : target
        let user = RemoteUser(http: session.http, address: address, token: token)
        for file in command.operands { try session.play(file, agent, user, speed) }
        let summary = try session.finish()
        for end in summary.ends { output.event("turn_ended", Self.members(end)) }
        session.report(summary, breaches: nil)
        if let code = summary.connectionStopped {
            throw CommandFailure(
                code: .tokenRefused, message: "the relay will not have this token any more (\(code)); pair again")
        }
        guard summary.leftOpen == 0, summary.deadLetters == 0 else {
            throw CommandFailure(
                code: .relayUnreachable, message: "\(summary.leftOpen) turns could not be ended at \(target)")
        }
        if let golden, let expected, let calls = session.calls {
            let comparison = CallComparison(expected: expected, found: calls.lines)
            try judge(comparison.differences, count: comparison.count, golden)
        }
    }
}
