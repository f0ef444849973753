/// What a command takes: the one place that its parser and its help are made from.
package struct CommandDeclaration: Sendable {
    package struct Option: Sendable {
        package var name: String
        /// The value's name in the help; nil: the option is a switch.
        package var value: String?
        package var help: String
        /// It may be given several times.
        package var repeats: Bool

        package init(_ name: String, _ value: String? = nil, _ help: String, repeats: Bool = false) {
            self.name = name
            self.value = value
            self.help = help
            self.repeats = repeats
        }
    }

    package var name: String
    package var summary: String
    /// The positional arguments, such as `FILE…`; nil: none are allowed.
    package var operands: String?
    /// The allowed words, where they are few; exactly one is required.
    package var actions: [String] = []
    package var options: [Option]
    /// For tests: accepted, and not listed in the help.
    package var hidden: [Option] = []
    package var examples: [String]

    package static let json = Option("json", nil, "events as JSON lines on standard output")
    package static let help = Option("help", nil, "this text")
    private static let configFile = Option(
        "config", "FILE", "the configuration ($SOPHON_CONFIG_DIR/bridge.json or ~/.config/sophon/bridge.json)")

    private static let stateDirectory = Option(
        "state-dir", "DIR", "where the durable state lies (~/.local/state/sophon)")

    package static let all: [CommandDeclaration] = [
        CommandDeclaration(
            name: "run", summary: "the bridge: carries the agent's runs to the phone, and the user's words back",
            operands: nil,
            options: [
                configFile,
                stateDirectory,
                Option("log-level", "error|warning|info|debug", "how much is logged (info)"),
                Option("record", "DIR", "write every frame to recordings there, without secrets"),
            ],
            hidden: [Option("time-scale", "N", "let the clocks of decisions run N times faster, for tests")],
            examples: ["sophon-bridge run", "SOPHON_BOT_TOKEN=… OPENCLAW_TOKEN=… sophon-bridge run --json"]),
        CommandDeclaration(
            name: "record", summary: "run, and write every frame to recordings in a directory, without secrets",
            operands: "DIR", options: [configFile, stateDirectory],
            examples: ["sophon-bridge record ~/recordings"]),
        CommandDeclaration(
            name: "demo", summary: "the phone page, and recorded runs played against a relay in this process",
            operands: nil,
            options: [
                Option("once", nil, "end with the runs, also on a terminal"),
                Option("stay", nil, "stay until a signal, also without a terminal; the runs wait for the page"),
                Option("speed", "1|4|10|max", "how fast the runs are played (1 where it stays, else 4)"),
                Option("agent", "openclaw", "instead of recorded runs, a real agent at OPENCLAW_URL"),
                Option("listen", "ADDRESS:PORT", "where to listen (127.0.0.1, any port)"),
            ],
            examples: [
                "sophon-bridge demo", "sophon-bridge demo --once --speed max --json",
                "OPENCLAW_URL=ws://127.0.0.1:18789 sophon-bridge demo --agent openclaw",
            ]),
        CommandDeclaration(
            name: "replay", summary: "play recordings through the whole pipeline to a relay", operands: "FILE…",
            options: [
                Option("to", "simulator|URL", "where the calls go (simulator)"),
                Option("token", "TOKEN", "the relay's token, with a URL; or set SOPHON_BOT_TOKEN"),
                Option("agent", "openclaw|oppi|pi", "what the recording comes from, where it does not say itself"),
                Option("speed", "1|10|max", "how fast: as recorded, ten times, as fast as can be (max)"),
                Option("expect", "FILE", "compare the calls with this golden file; exit 1 where they differ"),
                Option("rewrite", nil, "with --expect: write the golden file instead"),
            ],
            examples: [
                "sophon-bridge replay run.jsonl --speed 10",
                "sophon-bridge replay run.jsonl --expect run.golden",
            ]),
        CommandDeclaration(
            name: "simulate", summary: "the relay simulator alone, for developing against", operands: nil,
            options: [
                Option("listen", "ADDRESS:PORT", "where to listen (127.0.0.1:8787)"),
                Option("token", "TOKEN", "the bridge's token (one is given)"),
                Option(
                    "fault", "KIND[:COUNT]", "plan a misfortune; may be repeated; `--fault help` lists the kinds",
                    repeats: true),
                Option("fault-rate", "0..1", "misfortunes at random: how many of the calls, connections and updates"),
                Option("fault-seed", "N", "the same seed gives the same misfortunes (1)"),
                Option("state", "FILE", "keep chats and all else in this file, and go on from it (memory only)"),
                Option(
                    "strict", nil,
                    "refuse what the relay's sample connectors do against its rules (accepted with a warning)"),
                Option("no-limits", nil, "rate limits so wide that nothing is refused, for load"),
            ],
            examples: [
                "sophon-bridge simulate", "sophon-bridge simulate --listen 127.0.0.1:0 --json",
                "sophon-bridge simulate --fault 429:3 --fault reply_lost",
                "sophon-bridge simulate --fault-rate 0.05 --fault-seed 7",
                "sophon-bridge simulate --state relay.json",
            ]),
        CommandDeclaration(
            name: "pair", summary: "get a token from the relay, confirmed in a browser or on the phone", operands: nil,
            options: [
                Option("code", "CODE", "a code that the phone shows (the relay makes one)"),
                Option("manual", nil, "show the address instead of opening a browser"),
                Option("host-label", "NAME", "what the phone calls this machine (its own name)"),
                Option("connection", "NAME", "which connection of the configuration, where there are several"),
                configFile,
            ],
            examples: ["sophon-bridge pair", "sophon-bridge pair --code 9FP9SVT"]),
        CommandDeclaration(
            name: "logout", summary: "delete the token that pairing has saved", operands: nil,
            options: [
                Option("connection", "NAME", "which connection of the configuration, where there are several"),
                configFile,
            ],
            examples: ["sophon-bridge logout", "sophon-bridge logout --connection work"]),
        CommandDeclaration(
            name: "doctor", summary: "check everything from the configuration to both live handshakes; change nothing",
            operands: nil, options: [configFile, stateDirectory],
            examples: ["sophon-bridge doctor", "sophon-bridge doctor --json"]),
        CommandDeclaration(
            name: "status", summary: "what is connected, running and waiting, and what you can do about it",
            operands: nil,
            options: [
                Option(
                    "healthy", nil, "say only what is wrong, and exit with 0, 1, 20 (relay away) or 23 (token refused)"),
                configFile,
                stateDirectory,
            ],
            examples: ["sophon-bridge status", "sophon-bridge status --healthy --json"]),
        CommandDeclaration(
            name: "config", summary: "check the configuration, show what is in force, or print an example",
            operands: "check|show|example", actions: ["check", "show", "example"],
            options: [
                configFile,
                stateDirectory,
                Option("log-level", "error|warning|info|debug", "how much is logged (info)"),
            ],
            examples: ["sophon-bridge config check --config bridge.json", "sophon-bridge config show --json"]),
        CommandDeclaration(
            name: "explain", summary: "the life of one message, turn, call, approval or run, from the journal",
            operands: "ID", options: [configFile, stateDirectory],
            examples: ["sophon-bridge explain int_4Xw2", "sophon-bridge explain msg_17 --json"]),
        CommandDeclaration(
            name: "journal", summary: "look into, check, copy out or tidy the durable state",
            operands: "inspect|verify|export|clean", actions: ["inspect", "verify", "export", "clean"],
            options: [
                Option(
                    "connection", "NAME", "with clean: forget all that is kept of a connection no longer configured"),
                configFile, stateDirectory,
            ],
            examples: ["sophon-bridge journal inspect", "sophon-bridge journal export > journal.jsonl"]),
        CommandDeclaration(
            name: "service", summary: "keep the bridge running as a systemd unit of this user",
            operands: "install|uninstall|status|restart|logs",
            actions: ["install", "uninstall", "status", "restart", "logs"],
            options: [
                Option("dry-run", nil, "say what would be done; install prints the unit"),
                Option("follow", nil, "with logs: go on as new lines come"),
                configFile,
            ],
            examples: ["sophon-bridge service install", "sophon-bridge service logs --follow"]),
        CommandDeclaration(
            name: "completion", summary: "print what a shell needs to complete this command line",
            operands: "bash|zsh|fish", actions: CompletionScript.shells, options: [],
            examples: [
                "sophon-bridge completion bash > ~/.local/share/bash-completion/completions/sophon-bridge",
                "sophon-bridge completion fish > ~/.config/fish/completions/sophon-bridge.fish",
            ]),
    ]
}
