import BridgeService
import Commands
import ConfigurationFile
import Vocabulary

/// `config check|show|example`: the values in force, their origins, and all faults at once.
struct ConfigCommand: Command {
    static let declaration = CommandDeclaration(
        name: "config", summary: "check the configuration, show what is in force, or print an example",
        operands: "check|show|example", actions: ["check", "show", "example"],
        options: [
            .config,
            .stateDirectory,
            .logLevel,
        ],
        examples: ["sophon-bridge config check --config bridge.json", "sophon-bridge config show --json"])

    private let command: ParsedCommand
    private let output: Output

    init(_ command: ParsedCommand, _ output: Output) {
        self.command = command
        self.output = output
    }

    func run() throws {
        switch command.operands.first {
        case "check":
            let loaded = try CommandConfiguration.load(command, output)
            let names = loaded.configuration.connections.map(\.name.text)
            output.event("config_ok", [("connections", .number(names.count))])
            output.line(
                "ok: \(Counted.words(names.count, "connection")), \(names.joined(separator: ", "))"
            )
        case "show": show(try CommandConfiguration.load(command, output))
        default:
            let text = EmbeddedFile.configurationExample.text
            output.event("config_example", [("text", .string(text))])
            output.raw(text)
        }
    }

    private func show(_ loaded: LoadedConfiguration) {
        let width = loaded.settings.map(\.path.count).max() ?? 0
        for setting in loaded.settings {
            let value: JSONText
            let words: String
            switch setting.shown {
            case .value(let text): (value, words) = (text, text.text)
            case .secret: (value, words) = (.string("(hidden)"), "(hidden)")
            case .unset: (value, words) = (JSONText(unchecked: "null"), "not set")
            }
            output.event(
                "config_value",
                [("path", .string(setting.path)), ("value", value), ("origin", .string(setting.origin.description))])
            let path = setting.path + String(repeating: " ", count: width - setting.path.count)
            output.line("\(path)  \(words)  (\(setting.origin))")
        }
    }
}
