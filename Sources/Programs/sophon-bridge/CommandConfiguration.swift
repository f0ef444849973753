import AgentKit
import Agents
import BridgeService
import Commands
import ConfigurationFile
import FoundationEssentials
import Glibc
import Vocabulary

/// The configuration of a command, from its options, the environment and the file.
enum CommandConfiguration {
    /// Options that set a value of the configuration, with the value's path.
    private static let paths = [
        "state-dir": "state_dir", "log-level": "log.level", "host-label": "host_label", "record": "record_dir",
        "metrics": "metrics",
    ]
    private static let directories: Set = ["state-dir", "record"]
    private static let switches = ["json": "json", "manual": "manual_pair", "any-filesystem": "any_filesystem"]

    /// Nil if the directory was deleted, or this user may not know its path.
    static var currentDirectory: String? {
        guard let path = getcwd(nil, 0) else { return nil }
        defer { free(path) }
        return String(cString: path)
    }

    /// Shows every fault before it throws.
    static func load(_ command: ParsedCommand, _ output: Output) throws -> LoadedConfiguration {
        var flags: [String: (name: String, text: String)] = [:]
        let here = currentDirectory
        for (name, path) in paths {
            guard let text = command.values[name] else { continue }
            flags[path] = (
                name, directories.contains(name) ? ConfigurationSources.absolute(text, from: here) : text
            )
        }
        for (name, path) in switches where command.switches.contains(name) { flags[path] = (name, "true") }
        var sources = ConfigurationSources(
            flags: flags, environment: ProcessInfo.processInfo.environment, currentDirectory: here)
        do throws(ConfigurationError) {
            try sources.readFile(named: command.values["config"])
            let loaded = try ConfigurationLoader.load(sources, agents: .all)
            if let file = sources.file { try tellOfFile(file.name, loaded, output) }
            for stray in loaded.strayVariables {
                output.say("config: \(stray.name) is set, and nothing reads it; did you mean \(stray.near)?")
            }
            return loaded
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

    /// Refuses a file that others may write, since it names programs to run, and warns of one that others may read if it holds secrets.
    private static func tellOfFile(
        _ path: String, _ loaded: LoadedConfiguration, _ output: Output
    ) throws(ConfigurationError) {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return }
        guard status.st_mode & S_IWOTH == 0 else {
            throw ConfigurationError(faults: [
                ConfigurationFault(
                    path: "", found: "\(path), which every user of this machine may write",
                    expected: "a file that they may not",
                    remedy: "run: chmod o-w \(path)")
            ])
        }
        let holdsSecret = loaded.settings.contains { setting in
            guard setting.shown == .secret, case .file = setting.origin else { return false }
            return true
        }
        guard holdsSecret, status.st_mode & (S_IRGRP | S_IROTH) != 0 else { return }
        output.say("config: \(path) holds secrets and others may open it; run: chmod 600 \(path)")
    }
}

/// One connection of the configuration and the folder of its credentials, for the commands that deal with them.
struct ConnectionOfCommand {
    let connection: Configuration.Connection
    let directory: String
    /// Origin of a token that is set already, in words, or nil if the saved one is used.
    let tokenOrigin: String?

    init(_ command: ParsedCommand, in loaded: LoadedConfiguration) throws {
        let connections = loaded.configuration.connections
        let names = connections.map(\.name.text)
        let index: Int?
        if let name = command.values["connection"] {
            index = names.firstIndex(of: name)
        } else {
            index = names.count == 1 ? 0 : nil
        }
        let advice = "sophon-bridge \(command.name) --connection \(names.first ?? "NAME")"
        guard let index else {
            let found = command.values["connection"].map { "there is no connection \($0)" }
            throw UsageError(
                "\(found ?? "there are several connections"); the configuration has \(names.joined(separator: ", "))",
                try: advice)
        }
        guard let directory = loaded.configuration.configDirectory else {
            throw CommandFailure(
                code: .usage, message: "nobody knows where credentials are kept: set HOME or SOPHON_CONFIG_DIR")
        }
        connection = connections[index]
        self.directory = directory
        let setting = loaded.settings.first { $0.path == "connections[\(index)].relay.token" }
        tokenOrigin = connection.relay.token == nil ? nil : setting?.origin.description ?? "the configuration"
    }
}
