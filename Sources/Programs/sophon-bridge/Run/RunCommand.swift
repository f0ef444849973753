import BridgeService
import Commands
import Files
import FoundationEssentials
import Glibc
import Locking
import OSThreads
import Vocabulary

/// `run`: the edges of the live bridge, its lock, its signals and its exit.
struct RunCommand: Command {
    static let declaration = CommandDeclaration(
        name: "run", summary: "the bridge: carries the agent's runs to the phone, and the user's words back",
        options: [
            .config,
            .stateDirectory,
            .anyFileSystem,
            .logLevel,
            .metrics,
            .init("record", "DIR", "write every frame to recordings there, without secrets"),
        ],
        hidden: [.init("time-scale", "N", "let the clocks of decisions run N times faster, for tests")],
        examples: ["sophon-bridge run", "SOPHON_BOT_TOKEN=… OPENCLAW_TOKEN=… sophon-bridge run --json"])
    static let conduct = Output.Conduct.service

    /// Also the delay before a sleep of the machine is noticed: at most 5 s (DESIGN.md#links-and-watchdogs).
    private static let statusInterval = Duration.seconds(4)
    private static let confirmPatience = Duration.seconds(10)

    private let command: ParsedCommand
    private let output: Output

    init(_ command: ParsedCommand, _ output: Output) {
        self.command = command
        self.output = output
    }

    func run() throws {
        // Block the signals before any thread begins, so that all inherit the mask.
        SignalWatcher.block()
        output.event("starting", [("version", .string(HelpText.version))])
        let loaded = try CommandConfiguration.load(command, output)
        var configuration = loaded.configuration
        let directories = [configuration.configDirectory, configuration.stateDirectory].compactMap(\.self)
        if let fault = directories.lazy.compactMap({ PrivateFile.fault(ofDirectory: $0) }).first {
            throw FileError(.foreign, fault)
        }
        for warning in Set(directories).sorted().compactMap({ PrivateFile.warning(ofDirectory: $0) }) {
            output.say(warning)
        }
        let fileSystem = StateFileSystem.look(
            at: configuration.stateDirectory, isAllowed: configuration.anyFileSystem)
        if case .refusal(let words) = fileSystem { throw CommandFailure(code: .unexpected, message: words) }
        let lock = try InstanceLock(directory: configuration.stateDirectory)
        let wake = try RunBell()
        let output = output
        let log = Log(
            Log.Settings(
                level: configuration.log.level, format: configuration.log.format,
                hasColor: configuration.terminal.color && isatty(STDERR_FILENO) == 1,
                hasPriority: ServiceManager.readsErrors(stream: ProcessInfo.processInfo.environment["JOURNAL_STREAM"])),
            clock: SystemClock(), hiding: output.secrets, sink: { output.log($0) })
        let board = StatusBoard(
            version: HelpText.version, pid: getpid(), connections: configuration.connections, clock: SystemClock())
        let endpoint = try MetricsEndpoint(configuration, board, output, log)
        let report = RunReport(output, log, connections: configuration.connections)
        let edges = try RunEdges(loaded, output: output, log: log, scale: try scale(), meter: endpoint?.meter)
        board.tell(journalRemedy: edges.journalRemedy)
        if case .warning(let words) = fileSystem {
            board.tell(fileSystem: words)
            log.warning("the state directory", [("remedy", .text(words))])
        }
        LeftConnections(configuration).tell(output, log)
        LeftConnections(configuration).endAgents(log)
        let connections = try edges.connections { event in
            board.tell(event)
            report.tell(event)
            endpoint?.meter.tell(event)
            if event.changesStatus { wake.ring(.news) }
        }
        let signals = try SignalWatcher { wake.ring($0 == .stop ? .stop : .reload) }
        let supervision = RunSupervision()
        if endpoint != nil || supervision.patience != nil {
            let pulse = Pulse(
                every: supervision.pace, clock: SystemClock(), alarm: try SystemAlarm(),
                beat: { supervision.tellOfLife() },
                takeLocks: { for connection in connections { connection.takeLocks() } })
            supervision.keep(pulse)
            endpoint?.watch(connections, pulse)
        }
        for connection in connections { try connection.start() }
        let status = { supervision.tell(write(board, connections, configuration.stateDirectory, log, endpoint)) }
        let reload = RunReload(command, output, log)
        let devices = RunDevices(configuration, log)
        devices.look(connections)
        let end = wait(wake, report, status) {
            supervision.reload {
                guard let taken = reload.run(from: edges.loaded, connections, edges) else { return }
                configuration = taken
            }
        } tick: {
            for connection in connections { connection.housekeep() }
            edges.boundLogs()
            devices.look(connections)
        }
        supervision.stopping()
        // The relay ended the process: wait for the agent to confirm aborts and denials. The next start resumes the others.
        if end != nil { _ = Pace.wait(atMost: Self.confirmPatience) { !connections.contains(where: \.owesAgent) } }
        endpoint?.ends()
        shutDown(connections, configuration)
        edges.close()
        endpoint?.stop()
        supervision.stop()
        log.flush(all: true)
        status()
        output.event("shutdown")
        withExtendedLifetime((lock, signals)) {}
        if let end { throw end }
    }

    private func scale() throws -> Int {
        guard let text = command.values["time-scale"] else { return 1 }
        guard let scale = Int(text), (1...10_000).contains(scale) else {
            throw UsageError(
                "--time-scale takes a number from 1 to 10000, not \(text)", try: "sophon-bridge run --help")
        }
        return scale
    }

    /// Returns when a signal ends the process, or no connection is left. Writes changes of the status soon, and often enough to show readers
    /// that the bridge lives.
    private func wait(
        _ wake: RunBell, _ report: RunReport, _ status: () -> Void, reload: () -> Void, tick: () -> Void
    ) -> CommandFailure? {
        var isAtRest = false
        while true {
            status()
            let rung = wake.wait(atMost: Self.statusInterval)
            if rung.contains(.stop) { return nil }
            if let failure = report.lastStop { return failure }
            if rung.contains(.reload) { reload() }
            if rung.isEmpty, !isAtRest {
                isAtRest = true
                ResidentCode.giveBack()
            }
            tick()
        }
    }

    private func write(
        _ board: StatusBoard, _ connections: [LiveConnection], _ directory: String, _ log: Log,
        _ endpoint: MetricsEndpoint?
    ) -> BridgeStatus {
        let status = board.status { name in
            connections.first { $0.name == name }?.work
        } sealing: { name in
            connections.first { $0.name == name }?.sealing
        } waiting: { name in
            connections.first { $0.name == name }?.waiting
        }
        do {
            try StatusFile.write(status, in: directory, hiding: output.secrets)
            endpoint?.wroteStatus(true)
        } catch {
            endpoint?.wroteStatus(false)
            log.warning("the status cannot be written", [("reason", .text(error.message))])
        }
        return status
    }

    /// Delivers what is due, up to a time limit. A second signal ends this at once.
    private func shutDown(_ connections: [LiveConnection], _ configuration: Configuration) {
        // One limit for both waits: a disk that is slow to store denials leaves less time for deliveries.
        let clock = SystemClock()
        let end = clock.now + configuration.limits.stopFlush
        if configuration.onStop == .close {
            for connection in connections { connection.closeTurns() }
            _ = Pace.wait(atMost: end - clock.now) { connections.allSatisfy(\.turnsAreClosed) }
        }
        for connection in connections { connection.closeLinks() }
        _ = Pace.wait(atMost: end - clock.now) { connections.allSatisfy(\.isQuiet) }
        for connection in connections { connection.stop() }
    }
}

/// Wakes the main thread from any other, with reasons; idle otherwise.
private final class RunBell: Sendable {
    enum Reason: Hashable { case stop, reload, news }

    private let wakeUp = WakeUp()
    private let rung = Locked<Set<Reason>>([])

    init() throws(CommandFailure) {
        guard wakeUp.descriptor < 0 else { return }
        throw CommandFailure(
            code: .unexpected,
            message:
                "the process has no descriptor left to be woken by: \(String(cString: strerror(errno))); raise the "
                + "limit of open files (`ulimit -n`, LimitNOFILE=)")
    }

    func ring(_ reason: Reason) {
        rung.withLock { _ = $0.insert(reason) }
        wakeUp.raise()
    }

    func wait(atMost limit: Duration) -> Set<Reason> {
        // Wait before taking the reasons: one that comes between wakes the next wait.
        wakeUp.wait(atMost: limit)
        return rung.withLock { reasons in
            defer { reasons = [] }
            return reasons
        }
    }
}

extension LiveEvent {
    /// True if the event changes a fact that readers of the status wait for.
    fileprivate var changesStatus: Bool {
        switch self {
        case .agentConnected, .agentLost, .relayConnected, .relayLost, .ready, .journalFailed, .journalWorks, .stopped,
            .mended, .memory, .interference, .keys, .keyFiles, .askUnanswered, .anotherBridge, .stuck:
            true
        case .turnBegan, .turnEnded, .callFailed, .deliveryNote, .turnNote, .unknownFrames, .remedy, .note, .restored,
            .notice:
            false
        }
    }
}
