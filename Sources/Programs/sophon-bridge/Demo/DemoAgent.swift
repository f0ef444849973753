import AgentKit
import Agents
import BridgeService
import Commands
import ConfigurationFile
import Dispatch
import Files
import FoundationEssentials
import Glibc
import Locking
import Sealing
import Simulator
import Vocabulary

/// `demo --agent KIND`: the phone page, with a real agent behind the real live bridge. The bridge's state lies in a temporary directory, and
/// is removed with it.
struct DemoAgent {
    private static let housekeeping = DispatchTimeInterval.seconds(5)
    private static let removals = 100
    private static let lastGrace = Duration.milliseconds(200)
    private static let examinePatience = DispatchTimeInterval.seconds(3)

    private let command: ParsedCommand
    private let output: Output
    private let directory: String
    /// Lock of the cleanup: main and signal thread may run it at once.
    private let leaving = Locked(())

    init(_ command: ParsedCommand, _ output: Output) throws(CommandFailure) {
        self.command = command
        self.output = output
        directory = try Self.makeDirectory()
    }

    /// Ends the agents that would outlive the bridge, since no next bridge follows, and removes the directory with its keys.
    private func leaveNothing() {
        leaving.withLock { _ in
            _ = LivingChildren.end(LivingChildren(in: directory + "/state").all)
            // A file that the bridge makes meanwhile fails one removal.
            for _ in 0..<Self.removals where FileManager.default.fileExists(atPath: directory) {
                try? FileManager.default.removeItem(atPath: directory)
            }
        }
    }

    /// Cleans up likewise for a person who does not wait, from another thread.
    func leaveAtOnce() {
        _ = LivingChildren.end(LivingChildren(in: directory + "/state").all, grace: Self.lastGrace)
        leaveNothing()
    }

    func run(_ simulator: RelaySimulator, until end: DispatchSemaphore) throws {
        defer { leaveNothing() }
        let loaded = try configuration(simulator)
        let output = output
        try checkWorkspaces(loaded.configuration)
        let examined = examine(loaded.configuration)
        let log = Log(
            Log.Settings(level: .warning, hasColor: loaded.configuration.terminal.color && isatty(STDERR_FILENO) == 1),
            clock: SystemClock(), hiding: output.secrets, sink: { output.log($0) })
        let report = RunReport(output, log, connections: loaded.configuration.connections)
        let edges = try RunEdges(loaded, output: output, log: log, scale: 1)
        let connections = try edges.connections { event in
            report.tell(event)
            if report.lastStop != nil { end.signal() }
        }
        for connection in connections { try connection.start() }
        while end.wait(timeout: .now() + Self.housekeeping) == .timedOut {
            for connection in connections { connection.housekeep() }
        }
        for connection in connections { connection.closeLinks() }
        _ = Pace.wait(atMost: loaded.configuration.limits.stopFlush) { connections.allSatisfy(\.isQuiet) }
        for connection in connections { connection.stop() }
        edges.close()
        _ = examined.wait(timeout: .now() + Self.examinePatience)
        log.flush(all: true)
        output.event("shutdown")
        if let failure = report.lastStop { throw failure }
    }

    /// Another folder needs another start of the demo.
    private func checkWorkspaces(_ configuration: Configuration) throws(CommandFailure) {
        let folders = WorkspaceFolders(of: configuration)
        for finding in configuration.connections.flatMap({ DoctorFinding.workspaces(of: $0, folders) }) {
            guard finding.outcome == .failed else { continue }
            throw CommandFailure(code: .usage, message: finding.message)
        }
    }

    /// Runs the checks of `doctor` on the agent, in parallel with the bridge, which would report a missing program only at the first message.
    /// A check may block for as long as the agent.
    private func examine(_ configuration: Configuration) -> DispatchGroup {
        let (group, output) = (DispatchGroup(), output)
        DispatchQueue.global().async(group: group) {
            let failed = Locked(false)
            let tell = { (finding: DoctorFinding) in
                let words = VisibleText.value(finding.lineOfOne)
                guard finding.outcome == .failed else { return output.line(words) }
                failed.withLock { $0 = true }
                output.say(words)
            }
            for connection in configuration.connections {
                DoctorAgent(connection, configuration).check({ output.secrets.cover($0) }, tell)
            }
            if failed.withLock({ $0 }) { output.say("the demo goes on: once that is done, write on the page") }
        }
        return group
    }

    /// Makes the directory under an unpredictable name, for its owner alone: it holds the device key. A directory that exists already could
    /// belong to another user.
    private static func makeDirectory() throws(CommandFailure) -> String {
        let place = FileManager.default.temporaryDirectory
        var template = Array(place.appending(path: "sophon-demo-XXXXXX").path.utf8CString)
        guard mkdtemp(&template) != nil else {
            let reason = String(cString: strerror(errno))
            throw CommandFailure(
                code: .unexpected,
                message:
                    "cannot make a directory in \(place.path): \(reason); set TMPDIR to one where this user may write")
        }
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The agent as the environment sets it, the relay in this process, and none of the user's own bridge.
    private func configuration(_ simulator: RelaySimulator) throws -> LoadedConfiguration {
        var variables = ProcessInfo.processInfo.environment
        variables["SOPHON_BASE_URL"] = simulator.baseURL
        variables["SOPHON_BOT_TOKEN"] = simulator.bridgeToken
        variables["SOPHON_TOKEN"] = nil
        variables["SOPHON_AGENT"] = command.values["agent"]
        variables["SOPHON_STATE_DIR"] = directory + "/state"
        variables["SOPHON_CONFIG_DIR"] = directory + "/config"
        do throws(ConfigurationError) {
            var loaded = try ConfigurationLoader.load(
                ConfigurationSources(environment: variables, currentDirectory: CommandConfiguration.currentDirectory),
                agents: .all)
            let isPlain = command.switches.contains("plain")
            for index in loaded.configuration.connections.indices {
                if isPlain { loaded.configuration.connections[index].encryption = .off }
                // Every page belongs to the same person, since its address has the secret.
                loaded.configuration.connections[index].devices = .trust
            }
            return loaded
        } catch {
            for fault in error.faults { output.say("config: \(fault)") }
            throw CommandFailure(code: .usage, message: "the environment has a fault")
        }
    }
}
