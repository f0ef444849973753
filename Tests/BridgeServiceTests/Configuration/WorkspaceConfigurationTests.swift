import BridgeCore
import BridgeService
import ConfigurationFile
import Testing
import Vocabulary

@Suite("Workspaces in the configuration")
struct WorkspaceConfigurationTests {
    private static let pi = #""connections": [{"agent": {"kind": "pi"}}]"#

    private func workspaces(
        _ text: String? = nil, environment: [String: String] = [:], startedIn directory: String? = "/srv/site"
    ) throws -> Workspaces? {
        let environment = text == nil ? environment.merging(["SOPHON_AGENT": "pi"]) { $1 } : environment
        return try load(text, environment: environment, startedIn: directory).configuration.connections[0].workspaces
    }

    @Test("the first that is named is the default one, unless another is said to be")
    func named() throws {
        let two = #""workspaces": {"// note": 1, "site": "~/site", "api": "/srv/api"}"#
        #expect(
            try workspaces("{\(two), \(Self.pi)}")
                == Workspaces(
                    standard: Workspace(name: "site", folder: "/home/ada/site"),
                    others: [Workspace(name: "api", folder: "/srv/api")]))
        let chosen = try workspaces(#"{\#(two), "default_workspace": "api", \#(Self.pi)}"#)
        #expect(chosen?.standard == Workspace(name: "api", folder: "/srv/api"))
        #expect(chosen?.all.count == 2)
    }

    @Test("without any it is what the variable says, else where the program was started")
    func unnamed() throws {
        #expect(try workspaces() == Workspaces(standard: Workspace(folder: "/srv/site")))
        let environment = ["SOPHON_WORKSPACE": "~/garden"]
        #expect(try workspaces(environment: environment) == Workspaces(standard: Workspace(folder: "/home/ada/garden")))
        let file = #"{"workspaces": {"site": "~/site"}, \#(Self.pi)}"#
        #expect(try workspaces(file, environment: environment)?.all.map(\.name) == ["site"])
        #expect(try workspaces(startedIn: nil) == nil)
    }

    @Test("a folder that pi's own keys name is that of all its chats, and not beside workspaces")
    func directory() throws {
        let agent = #""connections": [{"agent": {"kind": "pi", "directory": "~/garden"}}]"#
        #expect(try workspaces("{\(agent)}") == Workspaces(standard: Workspace(folder: "/home/ada/garden")))
        let both = #"{"workspaces": {"site": "~/site"}, \#(agent)}"#
        #expect(faults(both).map(\.path) == ["connections[0].agent.directory"])
    }

    @Test("agents that have no use for them have none, and no fault of them")
    func others() throws {
        #expect(try load(startedIn: "/srv/site").configuration.connections[0].workspaces == nil)
        #expect(faults(nil, environment: ["SOPHON_WORKSPACE": "/home/ada"]) == [])
    }

    @Test(
        "what holds more than work is refused",
        arguments: [
            "/", "~/", "/home", "/home/ada/", "~/.config/sophon", "~/.config", "~/.local/state/sophon/x",
            "~/.local/state",
        ])
    func refused(folder: String) {
        let found = faults(#"{"workspaces": {"site": "\#(folder)"}, \#(Self.pi)}"#)
        #expect(found.map(\.path) == ["workspaces.site"], "\(found)")
        let environment = ["SOPHON_WORKSPACE": folder, "SOPHON_AGENT": "pi"]
        #expect(faults(nil, environment: environment).map(\.path) == ["workspace"])
    }

    @Test("where the program was started is no fault: messages say what to do")
    func implicit() throws { #expect(try workspaces(startedIn: "/home/ada")?.standard.folder == "/home/ada") }

    @Test(
        "faults are named where they are",
        arguments: [
            (#"{"workspaces": {}}"#, "workspaces"), (#"{"workspaces": ["~/site"]}"#, "workspaces"),
            (#"{"workspaces": {"my site": "~/site"}}"#, "workspaces.my site"),
            (#"{"workspaces": {"site": "site"}}"#, "workspaces.site"),
            (#"{"workspaces": {"site": "~/a", "Site": "~/b"}}"#, "workspaces.Site"),
            (#"{"workspaces": {"site": "~/a"}, "default_workspace": "api"}"#, "default_workspace"),
            (#"{"default_workspace": "api"}"#, "default_workspace"),
        ])
    func faulty(text: String, path: String) {
        let found = faults(text)
        #expect(found.map(\.path) == [path], "\(found)")
    }
}
