import AgentProtocols
import BridgeCore
import BridgeModel
import BridgeService
import Commands
import FoundationEssentials
import Glibc
import Locking
import Recording
import RelayRules
import Simulator

/// `demo`: the main job, offline. Recorded runs go through the real pipeline to a relay in this process, and the terminal
/// shows what the phone would.
struct DemoCommand {
    private let command: ParsedCommand
    private let output: Output

    init(_ command: ParsedCommand, _ output: Output) {
        self.command = command
        self.output = output
    }

    func run() throws {
        let speed = try Pace.speed(command.values["speed"], default: .times(4), try: "sophon-bridge demo --help")
        let simulator = RelaySimulator()
        do { try simulator.start() } catch { throw CommandFailure(code: .unexpected, message: "\(error)") }
        defer { simulator.stop() }
        output.event(
            "listening",
            [
                ("base_url", .string(simulator.baseURL)), ("token", .string(simulator.bridgeToken)),
                ("user_token", .string(simulator.userToken)),
            ])
        output.line("relay simulator on \(simulator.baseURL); recorded runs go through the real bridge to it\n")
        let transcript = Transcript(output)
        simulator.onEvent { transcript.show($0) }
        let session = ReplaySession(
            relay: RelayAddress(baseURL: simulator.baseURL, token: simulator.bridgeToken), output: output)
        let user = SimulatorUser(simulator: simulator)
        user.forwardDecisions(to: session.runner)
        for run in DemoRuns.all {
            output.line("── \(run.name) ──")
            try session.play(text: run.lines, name: run.name, user, speed)
            _ = Pace.wait(atMost: .seconds(30)) { session.runner.ask { $0.openTurns == 0 } }
            output.line("")
        }
        let summary = try session.finish()
        for end in summary.ends { output.event("turn_ended", ReplayCommand.members(end)) }
        session.report(summary, breaches: simulator.breaches.count)
        guard simulator.breaches.isEmpty, summary.leftOpen == 0 else {
            throw CommandFailure(code: .unexpected, message: "the demo broke the relay's rules: \(simulator.breaches)")
        }
        if !command.switches.contains("once"), isatty(STDOUT_FILENO) == 1 { waitForEnd() }
    }

    private func waitForEnd() {
        output.say("the simulator stays until Ctrl-C")
        while true { pause() }
    }
}

/// What the phone shows, as lines on a terminal, while it grows.
private final class Transcript: Sendable {
    private struct EventData: Decodable {
        var role: String?
        var text: String?
        var delta: String?
        var kind: String?
        var status_label: String?
        var command: String?
        var title: String?
        var decision: String?
    }

    private let output: Output
    private let isMidLine = Locked(false)
    private let streamed = Locked("")

    init(_ output: Output) { self.output = output }

    func show(_ event: PhoneEvent) {
        guard !output.json, let data = try? JSONDecoder().decode(EventData.self, from: Data(event.data)) else { return }
        switch event.type {
        case "message_added" where data.role == "user": line("you    \(data.text ?? "")")
        case "message_added": streamed.withLock { $0 = "" }
        case "message_delta": grow(data.delta ?? "")
        case "message_finalized": finalize(data.text ?? "")
        case "task_created": line("  tool   \(data.status_label ?? data.kind ?? "")")
        case "task_completed", "task_failed", "task_cancelled": line("  tool   \(event.type.dropFirst(5))")
        case "approval_requested": line("  asks   \(data.title ?? ""): \(data.command ?? "") — the demo taps Allow")
        case "approval_resolved": line("  tap    \(data.decision ?? "")")
        default: break
        }
    }

    private func grow(_ text: String) {
        let begins = isMidLine.withLock { isMidLine in
            defer { isMidLine = true }
            return !isMidLine
        }
        streamed.withLock { $0 += text }
        output.raw((begins ? "agent  " : "") + text)
    }

    private func finalize(_ text: String) {
        let shown = streamed.withLock { $0 }
        // What the end holds beyond what was streamed; all of it, where it says something else.
        if text.utf8.starts(with: shown.utf8) {
            let rest = String(text.utf8.dropFirst(shown.utf8.count)) ?? ""
            if !rest.isEmpty { grow(rest) }
            line(nil)
        } else {
            line("agent  \(text)   (the end replaces the preview)")
        }
    }

    /// Ends a line that is being streamed, and prints one.
    private func line(_ text: String?) {
        let wasMidLine = isMidLine.withLock { isMidLine in
            defer { isMidLine = false }
            return isMidLine
        }
        if wasMidLine { output.raw("\n") }
        if let text { output.line(text) }
    }
}
