import BridgeService
import Commands
import Files
import Glibc
import Journal
import Vocabulary

/// `status`: what the running bridge has left in its state directory, and whether it still runs.
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
        let isRunning = try InstanceLock.holder(directory: directory) != .nobody
        var status = try StatusFile.read(in: directory)
        if isRunning { status?.count(openTurns: Self.openTurns(in: directory)) }
        let wall = SystemClock().wallMilliseconds
        let health = Health(
            status: status, isLocked: isRunning, isStateWritable: access(directory, W_OK | X_OK) == 0,
            wallMilliseconds: wall)
        let children = LivingChildren(in: directory).outliving
        tell(status, health, children, isRunning: isRunning)
        if command.switches.contains("healthy") {
            for finding in health.findings { output.say(finding.message) }
            if let code = health.exitCode { output.leave(code) }
            return output.line("healthy")
        }
        if let status {
            let lines = StatusText.lines(
                status, isRunning: isRunning, wallMilliseconds: wall, hour: { SystemClock().hour(ofWall: $0) })
            for line in lines { output.line(line) }
        } else {
            output.line(
                isRunning ? "running; it has not said yet how it is" : "not running, and no bridge has run here")
        }
        guard !children.isEmpty else { return }
        output.line("")
        output.line("agents that live on when the bridge ends; sophon-bridge service stop ends both")
        for child in children { output.line("  \(child.words)") }
    }

    /// Nothing where the journal cannot be read: what the bridge has written counts then.
    private static func openTurns(in directory: String) -> [ConnectionName: Int] {
        guard let summary = try? JournalReader(directory: directory).summary() else { return [:] }
        return Dictionary(summary.connections.map { ($0.name, $0.openTurns) }) { first, _ in first }
    }

    private func tell(
        _ status: BridgeStatus?, _ health: Health, _ children: [LivingChildren.Child], isRunning: Bool
    ) {
        let faults = health.findings.map {
            #"{"fault":"\#($0.fault.rawValue)","message":\#(JSONText.string($0.message).text)}"#
        }
        var members: [(String, JSONText)] = [
            ("running", .flag(isRunning)), ("healthy", .flag(health.isHealthy)),
            ("ready", .flag(isRunning && status?.ready == true)),
            ("faults", JSONText(unchecked: "[\(faults.joined(separator: ","))]")),
        ]
        members.append(("processes", .list(children.map(\.json))))
        if let status {
            members.append(
                ("status", JSONText(unchecked: String(decoding: StatusFile.bytes(of: status), as: UTF8.self))))
        }
        output.event("status", members)
    }
}

extension Health {
    /// The worst of what was found, nil where nothing was: a dead token needs a person, an unreachable relay may come back.
    fileprivate var exitCode: ExitCode? {
        let faults = Set(findings.map(\.fault))
        if faults.isEmpty { return nil }
        if !faults.isDisjoint(with: [.notRunning, .stale, .journal]) { return .unexpected }
        return faults.contains(.relayStopped) ? .tokenRefused : .relayUnreachable
    }
}
