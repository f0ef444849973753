/// What a command takes: the one place that its parser, its help and its completion are made from.
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
    package var actions: [String]
    /// What must follow such a word, by the word.
    package var subjects: [String: String]
    package var options: [Option]
    /// For tests: accepted, and not listed in the help.
    package var hidden: [Option]
    package var examples: [String]

    package init(
        name: String, summary: String, operands: String? = nil, actions: [String] = [],
        subjects: [String: String] = [:], options: [Option] = [],
        hidden: [Option] = [], examples: [String]
    ) {
        self.name = name
        self.summary = summary
        self.operands = operands
        self.actions = actions
        self.subjects = subjects
        self.options = options
        self.hidden = hidden
        self.examples = examples
    }

    /// With those that every command has.
    package var shownOptions: [Option] { options + [.json, .help] }
}

extension CommandDeclaration.Option {
    package static let json = Self("json", nil, "events as JSON lines on standard output")
    package static let help = Self("help", nil, "this text")
    package static let config = Self(
        "config", "FILE", "the configuration ($SOPHON_CONFIG_DIR/bridge.json or ~/.config/sophon/bridge.json)")
    package static let stateDirectory = Self(
        "state-dir", "DIR", "where the durable state lies (~/.local/state/sophon)")
    package static let anyFileSystem = Self(
        "any-filesystem", nil, "the durable state may lie on a network's or another machine's file system")
    package static let logLevel = Self("log-level", "error|warning|info|debug", "how much is logged (info)")
    package static let metrics = Self(
        "metrics", "ADDRESS:PORT|unix:PATH", "serve metrics and health there, such as 127.0.0.1:9464 (nowhere)")
    package static let connection = Self(
        "connection", "NAME", "which connection of the configuration, where there are several")
}
