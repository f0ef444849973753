import BridgeService
import ConfigurationFile
import FoundationEssentials
import Testing

@Suite("Where the configuration is looked for")
struct ConfigurationSourcesTests {
    @Test("a file that is named must be there")
    func named() throws {
        var sources = ConfigurationSources(environment: ["HOME": "/nowhere"])
        #expect(throws: ConfigurationError.self) { try sources.readFile(named: "/nowhere/bridge.json") }
        #expect(throws: ConfigurationError.self) { try sources.readFile(named: "/") }
        try withFile("{}") { path in
            try sources.readFile(named: path)
            #expect(sources.file == .init(name: path, bytes: Array("{}".utf8)))
        }
    }

    @Test("the usual file may be absent")
    func absent() throws {
        var sources = ConfigurationSources(environment: ["HOME": "/nowhere"])
        try sources.readFile(named: nil)
        #expect(sources.file == nil)
    }

    @Test("the configuration directory goes over the home directory")
    func directory() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "config-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: directory) }
        try Data("{}".utf8).write(to: directory.appending(path: "bridge.json"))
        var sources = ConfigurationSources(environment: ["HOME": "/nowhere", "SOPHON_CONFIG_DIR": directory.path])
        try sources.readFile(named: nil)
        #expect(sources.file?.bytes == Array("{}".utf8))
    }

    @Test(
        "SOPHON_JSON is known before anything is read",
        arguments: [("1", true), ("yes", true), ("0", false), ("", false), ("x", false)])
    func json(word: String, means: Bool) {
        #expect(ConfigurationSources(environment: ["SOPHON_JSON": word]).wantsJSON == means)
    }

    @Test(
        "a path of the command line is taken from the working directory",
        arguments: [
            ("rec", "/a/b/rec"), ("./rec/", "/a/b/rec"), ("../rec", "/a/b/../rec"), (".", "/a/b"), ("/rec", "/rec"),
            ("~/rec", "~/rec"),
        ])
    func absolute(path: String, expected: String) {
        #expect(ConfigurationSources.absolute(path, from: "/a/b") == expected)
        #expect(ConfigurationSources.absolute(path, from: nil) == path)
        #expect(ConfigurationSources.absolute("rec", from: "/") == "/rec")
    }

    @Test("only a file that is not there is to be written")
    func remedies() {
        func remedy(_ name: String) -> String? {
            var sources = ConfigurationSources()
            do throws(ConfigurationError) { try sources.readFile(named: name) } catch {
                return error.faults.first?.remedy
            }
            return nil
        }
        #expect(remedy("/not/there.json")?.contains("config example >") == true)
        #expect(remedy("/")?.contains("config example >") == false)
    }

    @Test("a file without an end is not read to it")
    func endless() {
        var sources = ConfigurationSources()
        let error = #expect(throws: ConfigurationError.self) { try sources.readFile(named: "/dev/zero") }
        #expect(error?.faults.first?.found.contains("over") == true)
    }
}
