import Agents
import BridgeService
import ConfigurationFile
import FoundationEssentials
import Testing

/// Loads a configuration from a file's text and the environment, which always has `HOME`.
func load(
    _ text: String? = nil, environment: [String: String] = [:], flags: [String: (name: String, text: String)] = [:],
    startedIn currentDirectory: String? = nil
) throws(ConfigurationError) -> LoadedConfiguration {
    try ConfigurationLoader.load(
        ConfigurationSources(
            flags: flags, environment: ["HOME": "/home/ada"].merging(environment) { $1 },
            file: text.map { .init(name: "bridge.json", bytes: Array($0.utf8)) }, currentDirectory: currentDirectory),
        agents: .all)
}

func faults(_ text: String?, environment: [String: String] = [:]) -> [ConfigurationFault] {
    do throws(ConfigurationError) {
        _ = try load(text, environment: environment)
        return []
    } catch { return error.faults }
}

/// Runs the body with a file that is removed afterwards.
func withFile(_ text: String, body: (String) throws -> Void) throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "config-\(UUID().uuidString)").path
    try Data(text.utf8).write(to: URL(filePath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    try body(path)
}

/// A configuration of one connection with these members.
func connection(_ members: String) -> String { #"{"connections": [{\#(members)}]}"# }
