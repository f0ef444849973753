/// Declaration of a command: the one source of its parser, its help and its completion.
package struct CommandDeclaration: Sendable {
    package struct Option: Sendable {
        package var name: String
        /// Name of the value in the help, or nil for a switch.
        package var value: String?
        package var help: String
        /// True if the option may be given several times.
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
    /// Positional arguments, such as `FILE…`, or nil if none are allowed.
    package var operands: String?
    /// Allowed first words, if they are few; exactly one is required.
    package var actions: [String]
    /// Argument that must follow such a word, by the word.
    package var subjects: [String: String]
    package var options: [Option]
    /// Options for tests: accepted, and not listed in the help.
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

    /// The command's options and those of every command.
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
