import BridgeService
import FoundationEssentials
import Testing

@Suite("The example of a configuration")
struct ConfigurationExampleTests {
    private var file: String {
        get throws {
            let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
                .deletingLastPathComponent().deletingLastPathComponent()
            return try String(contentsOf: root.appending(path: "bridge.example.json"), encoding: .utf8)
        }
    }

    @Test("the file and the text in the binary are the same")
    func same() throws { #expect(try file == ConfigurationExample.text) }

    @Test("it sets everything to what holds without it")
    func defaults() throws {
        #expect(try load(ConfigurationExample.text).configuration == load().configuration)
    }

    @Test("it names every key that any agent has", arguments: ["openclaw", "oppi", "pi"])
    func complete(kind: String) throws {
        let settings = try load(environment: ["SOPHON_AGENT": kind]).settings
        for setting in settings where !ConfigurationLoader.keysOutsideTheFile.contains(setting.path) {
            let key = setting.path.split(separator: ".").last.map(String.init) ?? ""
            #expect(ConfigurationExample.text.contains("\"\(key)\":"), "\(setting.path)")
        }
    }
}
