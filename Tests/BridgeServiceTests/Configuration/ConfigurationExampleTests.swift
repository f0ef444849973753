import AgentKit
import Agents
import BridgeService
import ConfigurationFile
import FoundationEssentials
import Testing

@Suite("The example of a configuration")
struct ConfigurationExampleTests {
    /// What only flags and the environment can set: how the file is found, or what belongs to the one who types the command.
    private static let keysOutsideTheFile = ["config_dir", "workspace", "json", "no_color", "manual_pair"]

    private static let kinds = AgentRegistry.all.kinds.map(\.rawValue)

    private func text(of file: String) throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        return try String(contentsOf: root.appending(path: file), encoding: .utf8)
    }

    @Test("it sets everything to what holds without it")
    func defaults() throws {
        #expect(try load(text(of: "bridge.example.json")).configuration == load().configuration)
    }

    @Test("the table in the README names every key and every variable", arguments: kinds)
    func table(kind: String) throws {
        let readme = try text(of: "README.md")
        for setting in try load(environment: ["SOPHON_AGENT": kind]).settings
        where !Self.keysOutsideTheFile.contains(setting.path) {
            let key = setting.path.split(separator: ".").last.map(String.init) ?? ""
            #expect(readme.contains("\(key)`"), "\(setting.path)")
        }
        for name in [
            "SOPHON_BASE_URL", "SOPHON_BOT_TOKEN", "SOPHON_TOKEN", "SOPHON_CONFIG_DIR", "SOPHON_STATE_DIR",
            "SOPHON_HOST_LABEL", "SOPHON_AGENT", "SOPHON_MANUAL_PAIR", "SOPHON_JSON", "NO_COLOR",
            "OPENCLAW_URL", "OPENCLAW_TOKEN", "OPENCLAW_STATE_DIR", "OPPI_URL", "OPPI_TOKEN", "OPPI_WORKSPACE",
            "SOPHON_WORKSPACE", "SOPHON_NOTIFY_COMMAND", "SOPHON_NOTIFY_WEBHOOK", "SOPHON_NOTIFY_TOKEN",
            "PI_COMMAND", "CODEX_COMMAND", "CODEX_URL", "CODEX_TOKEN", "CLAUDE_COMMAND", "CLAUDE_PERMISSION_MODE",
            "CLAUDE_MODEL",
        ] {
            #expect(readme.contains("`\(name)`"))
        }
    }

    @Test("it names every key that any agent has", arguments: kinds)
    func complete(kind: String) throws {
        let settings = try load(environment: ["SOPHON_AGENT": kind]).settings
        let example = try text(of: "bridge.example.json")
        for setting in settings where !Self.keysOutsideTheFile.contains(setting.path) {
            let key = setting.path.split(separator: ".").last.map(String.init) ?? ""
            #expect(example.contains("\"\(key)\":"), "\(setting.path)")
        }
    }
}
