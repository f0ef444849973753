import Agents
import BridgeService
import Commands
import ConfigurationFile
import Dispatch
import FoundationEssentials
import Glibc
import Simulator
import Vocabulary

/// `demo --agent KIND`: the phone page, with a real agent behind the real live bridge. What the bridge keeps lies in a
/// temporary directory, and goes with it.
struct DemoAgent {
    private static let housekeeping = DispatchTimeInterval.seconds(5)

    private let command: ParsedCommand
    private let output: Output

    init(_ command: ParsedCommand, _ output: Output) {
        self.command = command
        self.output = output
    }

    func run(_ simulator: RelaySimulator, until end: DispatchSemaphore) throws {
        let directory = try Self.makeDirectory()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let loaded = try configuration(simulator, directory)
        // A server that was to outlive the bridge has no next one here.
        defer { _ = LivingChildren.end(LivingChildren(in: loaded.configuration.stateDirectory).all) }
        let output = output
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
        log.flush(all: true)
        output.event("shutdown")
        if let failure = report.lastStop { throw failure }
    }

    /// With an unpredictable name, for its owner alone: it holds the device key. A directory that exists already could belong to
    /// another user.
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

    /// The agent as the environment has it; the relay in this process; nothing of the user's own bridge.
    private func configuration(_ simulator: RelaySimulator, _ directory: String) throws -> LoadedConfiguration {
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
            guard command.switches.contains("plain") else { return loaded }
            for index in loaded.configuration.connections.indices {
                loaded.configuration.connections[index].encryption = .off
            }
            return loaded
        } catch {
            for fault in error.faults { output.say("config: \(fault)") }
            throw CommandFailure(code: .usage, message: "the environment has a fault")
        }
    }
}
