import AgentKit
import Agents
import BridgeService
import Commands
import ConfigurationFile
import Crypto
import Dispatch
import FoundationEssentials
import Glibc
import Locking
import Sealing
import Simulator
import Vocabulary

/// `demo --agent KIND`: the phone page, with a real agent behind the real live bridge. What the bridge keeps lies in a
/// temporary directory, and goes with it.
struct DemoAgent {
    private static let housekeeping = DispatchTimeInterval.seconds(2)

    private let command: ParsedCommand
    private let output: Output
    private let directory: String

    init(_ command: ParsedCommand, _ output: Output) throws(CommandFailure) {
        self.command = command
        self.output = output
        directory = try Self.makeDirectory()
    }

    /// Ends what was to outlive the bridge, which has no next one here, and removes the directory with its keys.
    func leaveNothing() {
        _ = LivingChildren.end(LivingChildren(in: directory + "/state").all)
        try? FileManager.default.removeItem(atPath: directory)
    }

    func run(_ simulator: RelaySimulator, until end: DispatchSemaphore) throws {
        defer { leaveNothing() }
        let loaded = try configuration(simulator)
        let output = output
        examine(loaded.configuration)
        let log = Log(
            Log.Settings(level: .warning, hasColor: loaded.configuration.terminal.color && isatty(STDERR_FILENO) == 1),
            clock: SystemClock(), hiding: output.secrets, sink: { output.log($0) })
        let report = RunReport(output, log, connections: loaded.configuration.connections)
        let edges = try RunEdges(loaded, output: output, log: log, scale: 1)
        let holdsPage = Locked(false)
        let connections = try edges.connections { event in
            if case .keys(_, .deviceHeld) = event { return holdsPage.withLock { $0 = true } }
            report.tell(event)
            if report.lastStop != nil { end.signal() }
        }
        for connection in connections { try connection.start() }
        while end.wait(timeout: .now() + Self.housekeeping) == .timedOut {
            for connection in connections { connection.housekeep() }
            guard holdsPage.withLock({ $0 }), allowPages(connections, loaded.configuration) else { continue }
            holdsPage.withLock { $0 = false }
        }
        for connection in connections { connection.closeLinks() }
        _ = Pace.wait(atMost: loaded.configuration.limits.stopFlush) { connections.allSatisfy(\.isQuiet) }
        for connection in connections { connection.stop() }
        edges.close()
        log.flush(all: true)
        output.event("shutdown")
        if let failure = report.lastStop { throw failure }
    }

    /// What `doctor` finds of the agent: a program that is missing is not started before the first message.
    private func examine(_ configuration: Configuration) {
        let secrets = output.secrets
        for connection in configuration.connections {
            DoctorAgent(connection, configuration).check({ secrets.cover($0) }) { finding in
                let words = VisibleText.value(finding.line)
                if finding.outcome == .failed { output.say(words) } else { output.line(words) }
            }
        }
        output.line("")
    }

    /// A page that opens later, in another browser, is held like any phone. It is of the same person: its address has the secret. False: the keys
    /// on the disk do not name it yet.
    private func allowPages(_ connections: [LiveConnection], _ configuration: Configuration) -> Bool {
        var isThere = false
        for (connection, settings) in zip(connections, configuration.connections) {
            let files = KeyFiles(settings.name, in: configuration)
            let opened = try? files.look(at: settings, token: settings.relay.token, library: OpenSSLSealing())
            for device in opened?.ring.book.devices.values.filter({ $0.standing == .held }) ?? [] {
                isThere = true
                connection.carryOut(DeviceOrders.Order(.allow, device, of: settings.name)) { _, _ in }
                output.line("another page was opened, and may read the chats from here on")
            }
        }
        return isThere
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
