import BridgeCore
import BridgeService
import ConfigurationFile
import Testing
import Vocabulary

@Suite("The configuration of asks")
struct AskConfigurationTests {
    private static func asks(_ members: String) throws -> Configuration.Asks {
        try load(connection(members)).configuration.connections[0].asks
    }

    private static func rules(_ count: Int) -> String {
        let rules = (0..<count).map { #"{"match": "rule \#($0)", "severity": "high"}"# }
        return #""severity": [\#(rules.joined(separator: ", "))]"#
    }

    @Test("an ask that nobody answers is held for 12 hours, and no rule is added, unless the file says otherwise")
    func defaults() throws {
        let usual = try load().configuration
        #expect(usual.connections[0].asks == Configuration.Asks())
        #expect(usual.connections[0].asks.whenUnanswered == .hold)
        #expect(usual.limits.unanswered == .seconds(12 * 3_600))
        #expect(try Self.asks(#""when_unanswered": "deny""#).whenUnanswered == .deny)
        for (text, value) in [("1m", Duration.seconds(60)), ("24h", .seconds(86_400)), ("90s", .seconds(90))] {
            #expect(try load(#"{"limits": {"unanswered": "\#(text)"}}"#).configuration.limits.unanswered == value)
        }
    }

    @Test("the texts of rules stand as they are: nothing in them names a variable or a file")
    func texts() throws {
        let environment = ["HOME": "/home/ada", "KEY": "s3cret"]
        let text = connection(
            #""severity": [{"match": "${KEY}", "severity": "high"}, {"match": "@/etc/passwd", "severity": "critical"}, "#
                + #"{"//": "a comment", "match": " a.*\n", "severity": "critical"}]"#)
        let loaded = try load(text, environment: environment)
        #expect(
            loaded.configuration.connections[0].asks.severity == [
                SeverityMatch("${KEY}", .high), SeverityMatch("@/etc/passwd", .critical),
                SeverityMatch(" a.*\n", .critical),
            ])
        #expect(!"\(loaded)".contains("s3cret"))
    }

    @Test("config show has each key with its source")
    func origins() throws {
        let text =
            "{\"connections\": [{\"when_unanswered\": \"deny\",\n\"severity\": [{\"match\": \"a\\\"b\", \"severity\": \"high\"}]}]}"
        func settings(_ text: String?) throws -> [String: SettingInForce] {
            Dictionary(uniqueKeysWithValues: try load(text).settings.map { ($0.path, $0) })
        }
        let (usual, set) = (try settings(nil), try settings(text))
        #expect(usual["connections[0].severity"]?.shown == .value(JSONText(unchecked: "[]")))
        #expect(usual["connections[0].severity"]?.origin == .fallback)
        #expect(usual["connections[0].when_unanswered"]?.shown == .value(.string("hold")))
        #expect(usual["limits.unanswered"]?.shown == .value(.string("12h")))
        #expect(set["connections[0].when_unanswered"]?.origin == .file("bridge.json", line: 1))
        #expect(set["connections[0].severity"]?.origin == .file("bridge.json", line: 2))
        #expect(
            set["connections[0].severity"]?.shown
                == .value(JSONText(unchecked: #"[{"match":"a\"b","severity":"high"}]"#)))
    }

    @Test(
        "each of these is one fault",
        arguments: [
            (connection(#""when_unanswered": "wait""#), "connections[0].when_unanswered"),
            (connection(#""when_unanswered": true"#), "connections[0].when_unanswered"),
            (#"{"limits": {"quiet": "59s"}}"#, "limits.quiet"), (#"{"limits": {"quiet": "25h"}}"#, "limits.quiet"),
            (#"{"limits": {"stuck": "299s"}}"#, "limits.stuck"), (#"{"limits": {"stuck": 0}}"#, "limits.stuck"),
            (#"{"limits": {"unanswered": "59s"}}"#, "limits.unanswered"),
            (#"{"limits": {"unanswered": "25h"}}"#, "limits.unanswered"),
            (#"{"limits": {"unanswered": 3600}}"#, "limits.unanswered"),
            (connection(#""severity": "sudo""#), "connections[0].severity"),
            (connection(#""severity": {"match": "a", "severity": "high"}"#), "connections[0].severity"),
            (connection(rules(101)), "connections[0].severity"),
            (connection(#""severity": ["sudo"]"#), "connections[0].severity[0]"),
            (connection(#""severity": [null]"#), "connections[0].severity[0]"),
            (connection(#""severity": [{"match": "", "severity": "high"}]"#), "connections[0].severity[0].match"),
            (connection(#""severity": [{"severity": "high"}]"#), "connections[0].severity[0].match"),
            (connection(#""severity": [{"match": "a"}]"#), "connections[0].severity[0].severity"),
            (connection(#""severity": [{"match": "a", "severity": "low"}]"#), "connections[0].severity[0].severity"),
            (
                connection(#""severity": [{"match": "a", "severity": "high", "mach": "b"}]"#),
                "connections[0].severity[0].mach"
            ),
        ])
    func single(text: String, path: String) { #expect(faults(text).map(\.path) == [path]) }

    @Test("100 rules are taken, of 1 to 1,000 bytes each")
    func bounds() throws {
        #expect(try Self.asks(Self.rules(100)).severity.count == 100)
        func rule(_ text: String) -> String { connection(#""severity": [{"match": "\#(text)", "severity": "high"}]"#) }
        #expect(faults(rule(String(repeating: "é", count: 500))).isEmpty)
        #expect(
            faults(rule(String(repeating: "é", count: 500) + "x")).map(\.description) == [
                "connections[0].severity[0].match is a text of 1001 bytes, expected a text of 1 to 1,000 bytes; "
                    + "change line 1 of bridge.json"
            ])
    }

    @Test("all faults of all rules are reported together, each with its line and what to do")
    func together() {
        let text = """
            {"limits": {"unanswered": "2 days"},
             "connections": [{"when_unanswered": "wait", "severity": [
              {"match": 7, "severity": "critical"},
              {"match": "fine", "severity": "high"},
              {"match": "git push",
               "severity": "severe"}]}]}
            """
        #expect(
            Set(faults(text).map(\.description)) == [
                "limits.unanswered is \"2 days\", expected a time from 1m to 24h, such as \"1500ms\" or \"10s\"; "
                    + "change line 1 of bridge.json",
                "connections[0].when_unanswered is \"wait\", expected hold or deny; change line 2 of bridge.json",
                "connections[0].severity[0].match is 7, expected a text of 1 to 1,000 bytes; change line 3 of bridge.json",
                "connections[0].severity[2].severity is \"severe\", expected high or critical; "
                    + "change line 6 of bridge.json",
            ])
    }

    @Test("no variable of the environment sets any of them")
    func environment() throws {
        let environment = [
            "SOPHON_WHEN_UNANSWERED": "deny", "SOPHON_SEVERITY": "[]", "SOPHON_UNANSWERED": "1m", "UNANSWERED": "1m",
        ]
        #expect(try load(environment: environment).configuration == load().configuration)
    }

    @Test("a bridge is given the user's home and its own folders besides")
    func settings() throws {
        let text = #"""
            {"limits": {"unanswered": "3h"}, "state_dir": "/var/lib/sophon", "connections": [{"name": "a",
             "relay": {"token": "t-1"}, "when_unanswered": "deny", "severity": [{"match": "apply", "severity": "critical"}]},
             {"name": "b", "relay": {"token": "t-2"}}]}
            """#
        let configuration = try load(text).configuration
        let settings = configuration.connections.map { configuration.askSettings(of: $0, home: "/home/ada") }
        var expected = AskSettings()
        expected.whenAsked = .refuse
        expected.patience = .seconds(3 * 3_600)
        expected.home = "/home/ada"
        expected.ownFolders = ["/home/ada/.config/sophon", "/var/lib/sophon"]
        #expect(settings[1] == expected)
        expected.whenUnanswered = .deny
        expected.severity = [SeverityMatch("apply", .critical)]
        #expect(settings[0] == expected)
    }
}
