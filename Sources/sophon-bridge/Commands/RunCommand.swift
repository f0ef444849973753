import BridgeModel
import BridgeService
import Commands
import Files
import FoundationEssentials
import Glibc
import Locking

/// `run`: the edges of the live bridge, its signals and its exit.
struct RunCommand {
    private let command: ParsedCommand
    private let output: Output

    init(_ command: ParsedCommand, _ output: Output) {
        self.command = command
        self.output = output
    }

    func run() throws {
        output.event("starting", [("version", .string(HelpText.version))])
        let loaded = try CommandConfiguration.load(command, output)
        let configuration = loaded.configuration
        let signals = Signals.blocked()
        try PrivateFile.makeDirectory(configuration.stateDirectory)
        let report = RunReport(output: output, connections: configuration.connections.count)
        let edges = try RunEdges(loaded, output: output, scale: try scale(), record: command.values["record"])
        let connections = try edges.connections { report.tell($0) }
        for connection in connections { try connection.start() }
        let end = wait(signals, report)
        shutDown(connections, signals, configuration.limits.stopFlush)
        edges.close()
        output.event("shutdown")
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

    /// Until somebody wants the process to end, or no connection is left.
    private func wait(_ signals: Signals, _ report: RunReport) -> CommandFailure? {
        while true {
            switch signals.next(within: .milliseconds(200)) {
            case SIGINT, SIGTERM: return nil
            default: if let failure = report.lastStop { return failure }
            }
        }
    }

    /// What is to be delivered is delivered, if that does not take too long; a second signal ends it at once.
    private func shutDown(_ connections: [LiveConnection], _ signals: Signals, _ patience: Duration) {
        let clock = SystemClock()
        let until = clock.now + patience
        for connection in connections { connection.closeLinks() }
        while clock.now < until, !connections.allSatisfy(\.isQuiet) {
            let caught = signals.next(within: .milliseconds(10))
            if caught == SIGINT || caught == SIGTERM { exit(ExitCode.unexpected.rawValue) }
        }
        for connection in connections { connection.stop() }
    }
}

/// The signals that end or reload a long-running command. Blocked before any thread begins, so that only `next` sees them.
struct Signals {
    private let set: sigset_t

    static func blocked() -> Signals {
        var set = sigset_t()
        sigemptyset(&set)
        for signal in [SIGINT, SIGTERM, SIGHUP] { sigaddset(&set, signal) }
        pthread_sigmask(SIG_BLOCK, &set, nil)
        return Signals(set: set)
    }

    /// Nil: none came in that time.
    func next(within duration: Duration) -> Int32? {
        var set = set
        let nanoseconds = Int(duration.nanoseconds)
        var limit = timespec(tv_sec: nanoseconds / 1_000_000_000, tv_nsec: nanoseconds % 1_000_000_000)
        let caught = sigtimedwait(&set, nil, &limit)
        return caught > 0 ? caught : nil
    }
}
