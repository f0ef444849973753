import AgentKit
import Agents
import BridgeService
import ConfigurationFile
import FoundationEssentials
import Testing

@Suite("The example of a configuration")
struct ConfigurationExampleTests {
    /// Keys for flags and the environment only: they find the file, or concern the person who types the command.
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

    /// The tables of docs/CONFIGURATION.md: the cell with variables and options, by key.
    private func rows() throws -> [String: String] {
        let page = try text(of: "docs/CONFIGURATION.md")
        let rows = page.matches(of: /^\| `([a-z][^`]*)` \| ([^|]*) \|/.anchorsMatchLineEndings())
        return Dictionary(uniqueKeysWithValues: rows.map { (String($0.output.1), String($0.output.2)) })
    }

    @Test("the page of the configuration has a row for every key", arguments: kinds)
    func pageKeys(kind: String) throws {
        let rows = try rows()
        for setting in try load(environment: ["SOPHON_AGENT": kind]).settings
        where !Self.keysOutsideTheFile.contains(setting.path) {
            #expect(rows[setting.path.replacing("[0]", with: "[]")] != nil, "\(setting.path)")
        }
    }

    @Test("the page names for each key the variables that set it, and no others")
    func pageVariables() throws {
        var variables: [String: Set<String>] = [:]
        for kind in Self.kinds {
            for (path, names) in try load(environment: ["SOPHON_AGENT": kind]).variables {
                let key = path == "workspace" ? "workspaces" : path.replacing("[0]", with: "[]")
                variables[key, default: []].formUnion(names)
            }
        }
        #expect(variables["connections[].agent.url"]?.count == 3)
        for (key, cell) in try rows() {
            let named = cell.matches(of: /`([A-Z][A-Z0-9_]+)`/).map { String($0.output.1) }
            #expect(Set(named) == variables[key] ?? [], "\(key)")
        }
        let page = try text(of: "docs/CONFIGURATION.md")
        for name in variables.values.joined() {
            #expect(page.contains("| `\(name)`") || page.contains(", `\(name)`"), "\(name)")
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
