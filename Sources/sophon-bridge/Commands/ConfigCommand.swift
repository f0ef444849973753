import BridgeModel
import BridgeService
import Commands
import FoundationEssentials

/// `config check|show|example`: what is in force, where it came from, and all that is wrong with it at once.
struct ConfigCommand {
    private let command: ParsedCommand
    private let output: Output

    init(_ command: ParsedCommand, _ output: Output) {
        self.command = command
        self.output = output
    }

    func run() throws {
        switch command.operands.first {
        case "check":
            let loaded = try load()
            let names = loaded.configuration.connections.map(\.name.text)
            output.event("config_ok", [("connections", .number(names.count))])
            output.line(
                "ok: \(names.count == 1 ? "1 connection" : "\(names.count) connections"), \(names.joined(separator: ", "))"
            )
        case "show": show(try load())
        default:
            output.event("config_example", [("text", .string(ConfigurationExample.text))])
            output.raw(ConfigurationExample.text)
        }
    }

    private func load() throws -> LoadedConfiguration {
        var flags: [String: (name: String, text: String)] = [:]
        for (path, name) in [("state_dir", "state-dir"), ("log.level", "log-level")] {
            if let text = command.values[name] { flags[path] = (name, text) }
        }
        if command.json { flags["json"] = ("json", "true") }
        var sources = ConfigurationSources(flags: flags, environment: ProcessInfo.processInfo.environment)
        do throws(ConfigurationError) {
            try sources.readFile(named: command.values["config"])
            return try ConfigurationLoader.load(sources)
        } catch {
            for fault in error.faults {
                output.event(
                    "config_fault",
                    [
                        ("path", .string(fault.path)), ("found", .string(fault.found)),
                        ("expected", .string(fault.expected)), ("remedy", .string(fault.remedy)),
                    ])
                output.say("config: \(fault)")
            }
            let count = error.faults.count
            throw CommandFailure(
                code: .usage,
                message: count == 1 ? "the configuration has a fault" : "the configuration has \(count) faults")
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
