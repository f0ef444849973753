import AgentKit
import Agents
import BridgeService
import Commands
import ConfigurationFile
import Dispatch
import Glibc
import RelayRules
import Simulator
import Vocabulary

/// `demo`: the main job, offline. Recorded runs go through the real pipeline to a relay in this process; the phone page and the terminal
/// show what the phone would.
struct DemoCommand: Command {
    static let declaration = CommandDeclaration(
        name: "demo", summary: "the phone page, and recorded runs played against a relay in this process",
        options: [
            .init("once", nil, "end with the runs, also on a terminal"),
            .init("stay", nil, "stay until a signal, also without a terminal; the runs wait for the page"),
            .init("speed", "1|4|10|max", "how fast the runs are played (1 where it stays, else 4)"),
            .init("plain", nil, "turn encryption off, as with old versions of the app"),
            .init(
                "agent", liveAgents.joined(separator: "|"),
                "a real agent instead of recorded runs, found through its usual variables (OPENCLAW_URL, OPPI_INVITE, PI_COMMAND, "
                    + "CODEX_COMMAND, CLAUDE_COMMAND); it works in SOPHON_WORKSPACE, else where the demo is started"
            ),
            .init("listen", "ADDRESS:PORT", "where to listen (127.0.0.1, any port)"),
        ],
        examples: [
            "sophon-bridge demo", "sophon-bridge demo --once --speed max --json",
            "OPENCLAW_URL=ws://127.0.0.1:18789 sophon-bridge demo --agent openclaw",
            "PI_COMMAND=\"pi --mode rpc\" sophon-bridge demo --agent pi",
            "SOPHON_WORKSPACE=~/site sophon-bridge demo --agent codex", "sophon-bridge demo --agent claude",
        ])
    /// How long the runs wait for the page on a terminal.
    private static let patience = Duration.seconds(60)
    private static let liveAgents = AgentRegistry.all.plugins.filter(\.isLive).map(\.kind.rawValue)
    static let conduct = Output.Conduct.show

    private let command: ParsedCommand
    private let output: Output
    /// True if the demo ends at a signal, false if it ends with its runs.
    private let stays: Bool
    /// True if the agent is a real one, which must obey nobody but the person in front of it.
    private let hasAgent: Bool
    private let isTerminal = isatty(STDOUT_FILENO) == 1

    init(_ command: ParsedCommand, _ output: Output) {
        self.command = command
        self.output = output
        hasAgent = command.values["agent"] != nil
        let isAsked = command.switches.contains("stay") || isatty(STDOUT_FILENO) == 1
        stays = hasAgent || (isAsked && !command.switches.contains("once"))
    }

    func run() throws {
        let speed = try Pace.speed(
            command.values["speed"], default: stays ? .times(1) : .times(4), try: "sophon-bridge demo --help")
        try checkOptions()
        // Block the signals before any thread begins, so that all inherit the mask.
        if stays { SignalWatcher.block() }
        let simulator = RelaySimulator(settings: try settings())
        do { try simulator.start() } catch { throw CommandFailure(starting: error) }
        defer { simulator.stop() }
        announce(simulator)
        let isPlain = command.switches.contains("plain")
        let keys = hasAgent || isPlain ? nil : try DemoKeys(simulator)
        let transcript = DemoTranscript(output, keys) { simulator.readerCount > 0 }
        simulator.onEvent { transcript.show($0) }
        if hasAgent {
            let agent = try DemoAgent(command, output)
            return try agent.run(simulator, until: try end { agent.leaveAtOnce() })
        }
        try play(simulator, speed, keys)
    }

    private func checkOptions() throws(UsageError) {
        let agent = command.values["agent"]
        let example = "sophon-bridge demo --agent \(agent ?? "")"
        if let agent, !Self.liveAgents.contains(agent) {
            throw UsageError(
                "--agent is \"\(agent)\", expected one that this version runs: "
                    + Self.liveAgents.joined(separator: ", "),
                try: "sophon-bridge demo --agent \(Self.liveAgents[0])")
        }
        if hasAgent, command.switches.contains("once") {
            throw UsageError(
                "--once ends with the recorded runs, and with --agent there are none", try: example)
        }
        if hasAgent, command.values["speed"] != nil {
            throw UsageError(
                "--speed is that of recorded runs, and with --agent there are none; the agent has its own",
                try: example)
        }
        if command.switches.contains("stay"), command.switches.contains("once") {
            throw UsageError("--stay and --once say opposite things", try: "sophon-bridge demo --once")
        }
    }

    private func settings() throws -> RelaySimulator.Settings {
        var settings = RelaySimulator.Settings()
        settings.relay.hasBridgeInside = !hasAgent
        if hasAgent {
            // The usual tokens are public: another user of this machine who finds the port could write to the agent with them, or approve its asks.
            var random = SystemRandomNumberGenerator()
            settings.relay = settings.relay.withSecretTokens(using: &random)
        }
        if let listen = command.values["listen"] { settings.listen = listen }
        settings.trouble = { [output] in output.say($0) }
        return settings
    }

    private func announce(_ simulator: RelaySimulator) {
        output.event(
            "listening",
            [
                ("base_url", .string(simulator.baseURL)), ("token", .string(simulator.bridgeToken)),
                ("user_token", .string(simulator.userToken)), ("phone_url", .string(simulator.phoneURL)),
            ])
        output.line("relay simulator on \(simulator.baseURL); all goes through the real bridge to it")
        guard stays else { return output.line("") }
        output.line("the phone page:  \(simulator.phoneURL)")
        if hasAgent { output.line("open it yourself, and show it to nobody: its address is the key to the agent") }
        if !hasAgent { output.line("the runs begin when it is open\(isTerminal ? ", or after a minute" : "")") }
        let does =
            hasAgent
            ? "write to the agent there, and decide what it asks"
            : "you tap Allow there, and what you write there starts another run"
        output.line("\(does); Ctrl-C ends it")
        output.line("")
        // Every user of this machine sees the arguments of a program, and so the secret in the address.
        guard isTerminal, !hasAgent else { return }
        _ = Browser(environment: environment.environment).open(simulator.phoneURL)
    }

    /// Semaphore that a signal raises to end the process; a second signal runs `leave` first.
    private func end(leave: @escaping @Sendable () -> Void = {}) throws -> DispatchSemaphore {
        let end = DispatchSemaphore(value: 0)
        // The watcher lives as long as the process. SIGHUP of a closed terminal ends the demo like SIGTERM.
        _ = try SignalWatcher(leave: {
            leave()
            _exit(ExitCode.unexpected.rawValue)
        }) { _ in end.signal() }
        output.whenUnreadable { end.signal() }
        return end
    }

    private func play(_ simulator: RelaySimulator, _ speed: ReplaySpeed, _ keys: DemoKeys?) throws {
        let session = try ReplaySession(
            relay: RelayAddress(baseURL: simulator.baseURL, token: simulator.bridgeToken), output: output,
            sealer: keys?.sealer)
        let desk = DemoDesk(simulator, session, speed, keys, output)
        if stays {
            let end = try end()
            // A page should see the runs from their beginning. `--stay` without a terminal means that a page is used; on a terminal the runs begin
            // without
            // one after a while.
            let patience = isTerminal ? Self.patience : .seconds(3_600)
            DispatchQueue.global().async {
                _ = Pace.wait(atMost: patience) { simulator.readerCount > 0 || desk.isClosed }
                desk.playAll()
            }
            end.wait()
        } else {
            desk.playAll()
        }
        desk.close()
        let summary = try session.finish()
        for end in summary.ends { output.event("turn_ended", ReplayCommand.members(end)) }
        session.report(summary, breaches: simulator.breaches.count)
        if let failure = desk.failure { throw failure }
        guard simulator.breaches.isEmpty, summary.leftOpen == 0 else {
            throw CommandFailure(code: .unexpected, message: "the demo broke the relay's rules: \(simulator.breaches)")
        }
        let agents = Self.liveAgents.joined(separator: "|")
        output.say("that was the demo; with your own agent: sophon-bridge demo --agent \(agents)")
    }
}
