import BridgeService
import Commands
import Vocabulary

/// `status`: the report that the running bridge left in its state directory, and whether it still runs.
struct StatusCommand: Command {
    static let declaration = CommandDeclaration(
        name: "status", summary: "what is connected, running and waiting, and what you can do about it",
        options: [
            .init(
                "healthy", nil, "say only what is wrong, and exit with 0, 1, 20 (relay away) or 23 (token refused)"),
            .config,
            .stateDirectory,
        ],
        examples: ["sophon-bridge status", "sophon-bridge status --healthy --json"])

    private let command: ParsedCommand
    private let output: Output

    init(_ command: ParsedCommand, _ output: Output) {
        self.command = command
        self.output = output
    }

    func run() throws {
        let directory = try CommandConfiguration.load(command, output).configuration.stateDirectory
        let reading = try StatusReading(directory)
        output.event("status", reading.members)
        if command.switches.contains("healthy") {
            for finding in reading.health.findings { output.say(finding.message) }
            if let code = reading.health.exitCode { output.leave(code) }
            return output.line("healthy")
        }
        if let status = reading.status {
            let lines = StatusText.lines(
                status, isRunning: reading.isRunning, wallMilliseconds: reading.wall,
                hour: { SystemClock().hour(ofWall: $0) })
            for line in lines { output.line(line) }
        } else {
            output.line(reading.isRunning ? StatusText.hasNotSaid : StatusText.neverRan)
        }
        let children = reading.outliving
        guard !children.isEmpty else { return }
        output.line("")
        output.line("agents that live on when the bridge ends; sophon-bridge service stop ends both")
        for child in children { output.line("  \(child.words)") }
    }
}

extension Health {
    /// Code of the worst finding, or nil without one. A dead token needs a person; an unreachable relay may come back.
    fileprivate var exitCode: ExitCode? {
        let faults = Set(findings.map(\.fault))
        if faults.isEmpty { return nil }
        if !faults.isDisjoint(with: [.notRunning, .stale, .journal]) { return .unexpected }
        return faults.contains(.relayStopped) ? .tokenRefused : .relayUnreachable
    }
}
