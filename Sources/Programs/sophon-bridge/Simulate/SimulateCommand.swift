import Commands
import Glibc
import RelayRules
import Simulator
import Vocabulary

/// `simulate`
struct SimulateCommand: Command {
    static let declaration = CommandDeclaration(
        name: "simulate", summary: "the relay simulator alone, for developing against",
        options: [
            .init("listen", "ADDRESS:PORT", "where to listen (127.0.0.1:8787)"),
            .init("token", "TOKEN", "the bridge's token (one is given)"),
            .init(
                "fault", "KIND[:COUNT]", "plan a misfortune; may be repeated; `--fault help` lists the kinds",
                repeats: true),
            .init("fault-rate", "0..1", "misfortunes at random: how many of the calls, connections and updates"),
            .init("fault-seed", "N", "the same seed gives the same misfortunes (1)"),
            .init(
                "state", "FILE",
                "keep chats and all else in this file, whose folder is made, and go on from it (memory only)"),
            .init(
                "strict", nil,
                "refuse what the relay's sample connectors do against its rules (accepted with a warning)"),
            .init("no-limits", nil, "rate limits so wide that nothing is refused, for load"),
        ],
        examples: [
            "sophon-bridge simulate", "sophon-bridge simulate --listen 127.0.0.1:0 --json",
            "sophon-bridge simulate --fault 429:3 --fault reply_lost",
            "sophon-bridge simulate --fault-rate 0.05 --fault-seed 7",
            "sophon-bridge simulate --state relay.json",
        ])
    static let conduct = Output.Conduct.service

    private let command: ParsedCommand
    private let output: Output

    init(_ command: ParsedCommand, _ output: Output) {
        self.command = command
        self.output = output
    }

    func run() throws {
        let faults = try PlannedFaults(command)
        guard !faults.wantsHelp else { return PlannedFaults.list(to: output) }
        var settings = RelaySimulator.Settings()
        settings.relay.acceptsSamples = !command.switches.contains("strict")
        if command.switches.contains("no-limits") { settings.relay = settings.relay.withoutLimits }
        settings.listen = command.values["listen"] ?? "127.0.0.1:8787"
        settings.trouble = { [output] in output.say($0) }
        if let token = command.values["token"] { settings.relay.bridgeToken = token }
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGINT)
        sigaddset(&signals, SIGTERM)
        // Block the signals before any thread begins, so that only `sigwait` below ever sees them.
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        let simulator = try SimulatorStateFile.simulator(settings, keptIn: command.values["state"], output)
        faults.plan(on: simulator)
        do { try simulator.start() } catch { throw CommandFailure(starting: error) }
        output.event(
            "listening",
            [
                ("base_url", .string(simulator.baseURL)), ("socket_url", .string(simulator.socketURL)),
                ("token", .string(simulator.bridgeToken)),
                ("user_token", .string(simulator.userToken)), ("phone_url", .string(simulator.phoneURL)),
            ])
        output.line("relay simulator on \(simulator.baseURL)")
        output.line("bridge token  \(simulator.bridgeToken)")
        output.line("user token    \(simulator.userToken)")
        output.line("bridge socket \(simulator.socketURL)")
        output.line("phone page    \(simulator.phoneURL)")
        output.line("")
        output.line("write as the user (and GET \(simulator.baseURL)/v1/simulator lists what else there is):")
        output.line(
            "  curl -H 'Authorization: Bearer \(simulator.userToken)' -d '{\"text\":\"Hello\"}' "
                + "\(simulator.baseURL)/v1/simulator/sessions")
        output.line("Ctrl-C ends it")
        var caught: Int32 = 0
        sigwait(&signals, &caught)
        // A second signal ends the process at once.
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        let failure = simulator.stop()
        report(simulator)
        if let failure {
            throw CommandFailure(
                code: .unexpected, message: "\(failure); the file lacks what came after it was last written")
        }
    }

    private func report(_ simulator: RelaySimulator) {
        let warnings = simulator.warnings
        let warned = warnings.reduce(0) { $0 + $1.count }
        output.event(
            "shutdown", [("breaches", .number(simulator.breaches.count)), ("warnings", .number(warned))])
        output.say(
            "\(Counted.words(simulator.tally.calls.values.reduce(0, +), "bridge call")), "
                + "\(Counted.words(simulator.breaches.count, "breach", plural: "breaches")) of the relay's rules"
                + (warned > 0 ? ", \(Counted.words(warned, "warning"))" : ""))
        for warning in warnings {
            output.say(
                "warning \(warning.code.rawValue) in \(warning.count) \(warning.method): \(warning.code.sentence)")
        }
    }
}
