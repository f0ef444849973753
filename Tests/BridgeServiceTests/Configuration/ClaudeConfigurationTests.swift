import BridgeService
import ConfigurationFile
import Testing
import Vocabulary

@Suite("The configuration of Claude Code")
struct ClaudeConfigurationTests {
    private static let agent = ["SOPHON_AGENT": "claude"]

    private func shown(_ environment: [String: String]) throws -> [String: String] {
        let settings = try load(environment: Self.agent.merging(environment) { $1 }).settings
        return settings.reduce(into: [:]) { values, setting in
            let key = setting.path.split(separator: ".").last.map(String.init) ?? ""
            guard setting.path.contains("agent") else { return }
            values[key] = if case .value(let text) = setting.shown { text.text } else { "null" }
        }
    }

    @Test("without any setting the program of that name asks as it is made to")
    func defaults() throws {
        let values = try shown([:])
        #expect(values["command"] == #"["claude"]"# && values["permission_mode"] == #""default""#)
        #expect(values["model"] == "null")
    }

    @Test("its variables name program, mode and model")
    func variables() throws {
        let values = try shown([
            "CLAUDE_COMMAND": "/opt/claude --debug", "CLAUDE_PERMISSION_MODE": "plan", "CLAUDE_MODEL": "opus",
        ])
        #expect(values["command"] == #"["/opt/claude","--debug"]"# && values["permission_mode"] == #""plan""#)
        #expect(values["model"] == #""opus""#)
    }

    @Test(
        "a mode in which nobody is asked is refused, with the reason; other words are, too",
        arguments: [("bypassPermissions", "nothing would reach the phone"), ("yolo", "default, acceptEdits, plan")])
    func modes(mode: String, words: String) throws {
        let found = faults(nil, environment: Self.agent.merging(["CLAUDE_PERMISSION_MODE": mode]) { $1 })
        #expect(found.count == 1 && found[0].expected.contains(words))
    }

    @Test("a model's name is no flag, and one word", arguments: ["-x", "a b", ""])
    func models(name: String) throws {
        let found = faults(#"{"connections":[{"agent":{"kind":"claude","model":"\#(name)"}}]}"#)
        #expect(found.count == 1)
    }
}
