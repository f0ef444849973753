import AgentKit
import BridgeService
import ConfigurationFile
import Glibc
import OpenClaw
import Oppi
import Pi
import Testing
import Vocabulary

@Suite("The configuration")
struct ConfigurationLoaderTests {
    @Test("works from the environment alone")
    func environmentAlone() throws {
        let environment = [
            "SOPHON_BASE_URL": "https://relay.example.com/", "SOPHON_TOKEN": "t-1", "SOPHON_AGENT": "oppi",
            "OPPI_URL": "http://10.0.0.2:7749", "OPPI_TOKEN": "o-1", "OPPI_WORKSPACE": "garden",
            "SOPHON_STATE_DIR": "/var/lib/sophon", "SOPHON_HOST_LABEL": "shed",
        ]
        let configuration = try load(environment: environment).configuration
        #expect(configuration.connections.count == 1)
        #expect(configuration.connections[0].relay.address.description == "https://relay.example.com")
        #expect(configuration.connections[0].relay.token?.text == "t-1")
        let oppi = try #require(configuration.connections[0].agent.values as? OppiValues)
        #expect(oppi.address.description == "http://10.0.0.2:7749")
        #expect(oppi.token?.text == "o-1")
        #expect(oppi.workspace == "garden")
        #expect(configuration.stateDirectory == "/var/lib/sophon")
        #expect(configuration.hostLabel == "shed")
    }

    @Test("pi is a command: a text is cut at its spaces, a list is taken as it is")
    func command() throws {
        let environment = ["SOPHON_AGENT": "pi", "PI_COMMAND": "pi --mode rpc --model acme/quill-2"]
        #expect(
            try load(environment: environment).configuration.connections[0].agent.values as? PiValues
                == PiValues(command: ["pi", "--mode", "rpc", "--model", "acme/quill-2"]))
        let file = connection(#""agent": {"kind": "pi", "command": ["/opt/my pi/pi", "--mode", "rpc"]}"#)
        #expect(
            try load(file).configuration.connections[0].agent.values as? PiValues
                == PiValues(command: ["/opt/my pi/pi", "--mode", "rpc"]))
    }

    @Test("a flag goes over the environment, the environment over the file, the file over the default")
    func precedence() throws {
        let file = #"{"state_dir": "/from/file"}"#
        let environment = ["SOPHON_STATE_DIR": "/from/environment"]
        let flags = ["state_dir": (name: "state-dir", text: "/from/flag")]
        #expect(try load().configuration.stateDirectory == "/home/ada/.local/state/sophon")
        #expect(try load(environment: ["XDG_STATE_HOME": "/x"]).configuration.stateDirectory == "/x/sophon")
        #expect(try load(file).configuration.stateDirectory == "/from/file")
        #expect(try load(file, environment: environment).configuration.stateDirectory == "/from/environment")
        #expect(try load(file, environment: environment, flags: flags).configuration.stateDirectory == "/from/flag")
        #expect(try load(file, environment: ["SOPHON_STATE_DIR": ""]).configuration.stateDirectory == "/from/file")
    }

    @Test("any file system is allowed by true in the file, and by a word in the environment or a flag before that")
    func anyFileSystem() throws {
        let file = #"{"any_filesystem": true}"#
        let flags = ["any_filesystem": (name: "any-filesystem", text: "true")]
        #expect(try !load().configuration.anyFileSystem)
        #expect(try load(file).configuration.anyFileSystem)
        #expect(try !load(file, environment: ["SOPHON_ANY_FILESYSTEM": "0"]).configuration.anyFileSystem)
        #expect(try load(environment: ["SOPHON_ANY_FILESYSTEM": "0"], flags: flags).configuration.anyFileSystem)
        #expect(faults(#"{"any_filesystem": 1}"#).map(\.path) == ["any_filesystem"])
    }

    @Test("every value knows where it came from, and a secret is not shown")
    func origins() throws {
        try withFile("s3cret\n") { path in
            let text = #"""
                {"connections": [{"relay": {"token": "${MY_TOKEN}"},
                  "agent": {"token": "@\#(path)"}, "mirror": "all"}],
                 "log": {"level": "debug"}}
                """#
            let loaded = try load(
                text, environment: ["MY_TOKEN": "t-9"], flags: ["log.level": (name: "log-level", text: "error")])
            func setting(_ path: String) -> SettingInForce? { loaded.settings.first { $0.path == path } }
            let relay = "connections[0].relay"
            #expect(setting("\(relay).token")?.origin == .variable("MY_TOKEN", file: "bridge.json", line: 1))
            #expect(setting("\(relay).token")?.shown == .secret)
            #expect(setting("\(relay).base_url")?.origin == .fallback)
            #expect(
                setting("connections[0].agent.token")?.origin == .contents(of: path, by: .file("bridge.json", line: 2)))
            #expect(setting("connections[0].mirror")?.origin == .file("bridge.json", line: 2))
            #expect(setting("connections[0].mirror")?.shown == .value(.string("all")))
            #expect(setting("log.level")?.origin == .flag("log-level"))
            #expect(setting("host_label")?.shown == .unset)
            #expect(loaded.configuration.connections[0].relay.token?.text == "t-9")
            let agent = try #require(loaded.configuration.connections[0].agent.values as? OpenClawValues)
            #expect(agent.token?.text == "s3cret")
            #expect(!"\(loaded)".contains("t-9"))
            #expect(!"\(loaded)".contains("s3cret"))
        }
    }

    @Test("a variable of the environment may name a file as the configuration does")
    func fileOfVariable() throws {
        try withFile("s3cret\n") { path in
            let loaded = try load("{}", environment: ["SOPHON_BOT_TOKEN": "@\(path)"])
            #expect(loaded.configuration.connections[0].relay.token?.text == "s3cret")
            let setting = loaded.settings.first { $0.path == "connections[0].relay.token" }
            #expect(setting?.origin == .contents(of: path, by: .environment("SOPHON_BOT_TOKEN")))
            #expect(setting?.privateVariable == "SOPHON_BOT_TOKEN")
        }
        let fault = faults(nil, environment: ["SOPHON_BOT_TOKEN": "@/nowhere/token"]).first
        #expect(fault?.path == "connections[0].relay.token")
        #expect(fault?.remedy == "change /nowhere/token, or set SOPHON_BOT_TOKEN to another value, or unset it")
    }

    @Test("a pipe is refused as the file of a value: its writer may never come")
    func pipe() throws {
        try withFile("") { path in
            let pipe = path + ".pipe"
            #expect(mkfifo(pipe, 0o600) == 0)
            defer { unlink(pipe) }
            let fault = faults(nil, environment: ["SOPHON_BOT_TOKEN": "@\(pipe)"]).first
            #expect(fault?.found.contains("is no ordinary file") == true)
        }
    }

    @Test("no agent inherits a variable that held a secret, whichever connection named it")
    func withheld() throws {
        let text = #"""
            {"connections": [{"name": "a", "relay": {"token": "${HOUSE}"}, "agent": {"kind": "openclaw"}},
              {"name": "b", "relay": {"token": "t-2"}, "agent": {"kind": "pi", "env": {"ACME_KEY": "k"}}}],
             "host_label": "${LABEL}"}
            """#
        let loaded = try load(text, environment: ["HOUSE": "t-1", "LABEL": "shed", "EDITOR": "vi"])
        for connection in loaded.configuration.connections {
            let withheld = Set(connection.agent.withheld)
            #expect(withheld == ["HOUSE", "LABEL", "OPENCLAW_TOKEN", "OPPI_TOKEN", "OPPI_INVITE", "CODEX_TOKEN"])
        }
    }

    @Test("the environment alone says how the one who types is spoken to")
    func terminal() throws {
        let usual = try load().configuration
        #expect(usual.terminal == Configuration.Terminal())
        #expect(usual.configDirectory == "/home/ada/.config/sophon")
        let environment = [
            "SOPHON_JSON": "1", "NO_COLOR": "0", "SOPHON_MANUAL_PAIR": "no",
            "SOPHON_CONFIG_DIR": "~/sophon",
        ]
        let found = try load(environment: environment).configuration
        #expect(found.terminal.json && !found.terminal.color)
        #expect(!found.terminal.manualPair)
        #expect(found.configDirectory == "/home/ada/sophon")
        #expect(
            Set(faults(nil, environment: ["SOPHON_JSON": "maybe", "SOPHON_CONFIG_DIR": "here"]).map(\.path))
                == ["json", "config_dir"])
        #expect(faults(#"{"json": true}"#).map(\.path) == ["json"])
    }

    @Test("OpenClaw's own files are where it says they are")
    func openClawFiles() throws {
        func directory(_ environment: [String: String]) throws -> String? {
            let values = try load(environment: environment).configuration.connections[0].agent.values
            return (values as? OpenClawValues)?.stateDirectory
        }
        #expect(try directory([:]) == "/home/ada/.openclaw")
        #expect(try directory(["OPENCLAW_STATE_DIR": "/srv/openclaw"]) == "/srv/openclaw")
    }

    @Test("a state directory from XDG_STATE_HOME says so, and a relative one is ignored")
    func baseDirectory() throws {
        let settings = try load(environment: ["XDG_STATE_HOME": "/x"]).settings
        #expect(settings.first { $0.path == "state_dir" }?.origin == .environment("XDG_STATE_HOME"))
        #expect(
            try load(environment: ["XDG_STATE_HOME": "x"]).configuration.stateDirectory
                == "/home/ada/.local/state/sophon")
    }

    @Test("a secret under the wrong key is not shown in the fault")
    func misplaced() {
        let found = faults(#"{"on_stop": "${MY_TOKEN}"}"#, environment: ["MY_TOKEN": "t-9"])
        #expect(found.map(\.path) == ["on_stop"])
        #expect(!"\(found)".contains("t-9"))
    }

    @Test("all faults are told together, each with its place")
    func together() {
        let text = #"""
            {"connections": [{"name": "a b", "when_bussy": "wait",
              "relay": {"base_url": "htp://x", "token": 7, "http2": "yes"},
              "agent": {"kind": "openklaw"}, "mirror": "some"}],
             "limits": {"relay_connections": 1.5, "relay_call": "10 minutes"}, "on_stop": 1}
            """#
        #expect(
            Set(faults(text).map(\.path)) == [
                "connections[0].name", "connections[0].when_bussy", "connections[0].relay.base_url",
                "connections[0].relay.token", "connections[0].relay.http2", "connections[0].agent.kind",
                "connections[0].mirror", "limits.relay_connections", "limits.relay_call", "on_stop",
            ])
    }

    @Test("a fault says what was found, what was expected and what to do")
    func sentence() {
        let fault = faults(connection(#""relay": {"base_url": "htp://x"}"#)).first
        #expect(
            fault?.description
                == "connections[0].relay.base_url is \"htp://x\", expected an address that begins with https:// or "
                + "http://; change line 1 of bridge.json, or set SOPHON_BASE_URL")
        #expect(faults(connection(#""mirorr": "all""#)).first?.expected == "mirror")
        #expect(faults(nil, environment: ["SOPHON_AGENT": "x"]).first?.remedy.contains("SOPHON_AGENT") == true)
    }

    @Test(
        "each of these is one fault",
        arguments: [
            ("[]", ""), (#"{"connections": []}"#, "connections"), (#"{"connections": {}}"#, "connections"),
            (#"{"connections": [3]}"#, "connections[0]"), (#"{"log": "debug"}"#, "log"),
            (#"{"state_dir": "here"}"#, "state_dir"), (#"{"host_label": ""}"#, "host_label"),
            (#"{"host_label": "two\nlines"}"#, "host_label"), (#"{"host_label": "a${B}"}"#, "host_label"),
            (#"{"host_label": "${NOT_SET}"}"#, "host_label"), (#"{"host_label": "@/not/there"}"#, "host_label"),
            (#"{"host_label": "@/"}"#, "host_label"), (#"{"host_label": "@/dev/zero"}"#, "host_label"),
            (#"{"allow_plain": [1]}"#, "allow_plain"), (#"{"limits": {"relay_call": "0s"}}"#, "limits.relay_call"),
            (#"{"limits": {"relay_call": 10}}"#, "limits.relay_call"),
            (#"{"limits": {"stop_flush": "99999999999999999999s"}}"#, "limits.stop_flush"),
            (#"{"limits": {"relay_connections": 0}}"#, "limits.relay_connections"),
            (connection(#""relay": {"token": ""}"#), "connections[0].relay.token"),
            (connection(#""relay": {"ca_file": "/not/there.pem"}"#), "connections[0].relay.ca_file"),
            (connection(#""relay": {"base_url": "https://a:b@c"}"#), "connections[0].relay.base_url"),
            (connection(#""relay": {"base_url": "wss://c"}"#), "connections[0].relay.base_url"),
            (connection(#""agent": {"workspace": "w"}"#), "connections[0].agent.workspace"),
            (connection(#""agent": {"kind": "pi", "url": "ws://127.0.0.1"}"#), "connections[0].agent.url"),
            (connection(#""agent": {"kind": "pi", "command": ["pi", "${KEY}"]}"#), "connections[0].agent.command"),
            (#"{"allow_plain": ["@/etc/hostname"]}"#, "allow_plain"), (#"{"record_dir": "here"}"#, "record_dir"),
            (connection(#""agent": {"kind": "oppi", "state_dir": "/x"}"#), "connections[0].agent.state_dir"),
            (connection(#""agent": {"kind": "pi", "command": []}"#), "connections[0].agent.command"),
        ])
    func single(text: String, path: String) {
        #expect(faults(text).map(\.path) == [path])
    }

    @Test("no secret stands in a fault", arguments: ["a secret", "geheim-ö", "https://u:a secret@h"])
    func hidden(secret: String) {
        let found = faults(
            connection(#""relay": {"token": "\#(secret) ", "base_url": "https://u:\#(secret)@h"}"#),
            environment: ["OPENCLAW_TOKEN": "\(secret)\n"])
        #expect(found.count == 3)
        #expect(!"\(found)".contains(secret))
    }

    @Test("without HOME the state directory must be told")
    func homeless() {
        #expect(faults(nil, environment: ["HOME": ""]).map(\.path) == ["state_dir"])
        #expect(faults(nil, environment: ["HOME": "", "SOPHON_STATE_DIR": "/s"]).isEmpty)
    }

    @Test("a file that is no JSON is told with its line")
    func noJSON() {
        let found = faults("{\n  \"log\": {]\n}")
        #expect(found.count == 1)
        #expect(
            found.first?.description
                == "bridge.json is not valid JSON: found ], expected a key in double quotes; "
                + "look at line 2, column 11 of bridge.json")
        #expect(
            faults("[]").first?.description
                == "bridge.json is a list, expected an object in braces; change line 1 of bridge.json")
    }

    // MARK: Plain text on the wire

    @Test(
        "nothing goes unencrypted beyond private networks",
        arguments: [
            connection(#""relay": {"base_url": "http://relay.example.com"}"#),
            connection(#""agent": {"url": "ws://8.8.8.8:18789"}"#),
            connection(#""agent": {"kind": "oppi", "url": "http://potting-shed:7749"}"#),
        ])
    func plain(text: String) { #expect(faults(text).map(\.remedy).contains { $0.contains("to allow_plain") }) }

    @Test("a host that is allowed by name may be plain, and another one not")
    func allowed() {
        func file(_ host: String) -> String {
            #"{"allow_plain": ["Relay.lan"], "connections": [{"relay": {"base_url": "http://\#(host)"}}]}"#
        }
        #expect(faults(file("relay.lan:8080")).isEmpty)
        #expect(faults(file("other.lan")).count == 1)
    }

    // MARK: What was meant

    @Test("an agent of a mistyped kind has one fault, and its other keys none")
    func mistypedKind() {
        let found = faults(connection(#""agent": {"kind": "codx", "command": ["codex"], "sandbox": "read-only"}"#))
        #expect(found.map(\.path) == ["connections[0].agent.kind"])
        let unknown = faults(connection(#""agent": {"kind": "codx", "comand": ["codex"]}"#))
        #expect(unknown.map(\.path) == ["connections[0].agent.comand", "connections[0].agent.kind"])
    }

    @Test("an empty file is told as one", arguments: ["", " \n"])
    func empty(text: String) {
        #expect(faults(text).first?.description.hasPrefix("bridge.json is empty, expected an object") == true)
    }

    @Test(
        "a variable that is named almost as one of the bridge's is told with that name",
        arguments: [
            ("SOPHON_BOTTOKEN", "SOPHON_BOT_TOKEN"), ("SOPHON_AGNET", "SOPHON_AGENT"),
            ("SOPHON_NOTIFY_WEBHOK", "SOPHON_NOTIFY_WEBHOOK"), ("SOPHON_WORKSPACES", "SOPHON_WORKSPACE"),
            ("SOPHON_BRIDGE", nil), ("SOPHON_YES", nil), ("SOPHON_TOKEN", nil), ("SOPHONBOT_TOKEN", nil),
        ] as [(String, String?)])
    func strays(name: String, near: String?) throws {
        let strays = try load(environment: [name: "/x"]).strayVariables
        #expect(strays.map(\.near) == [near].compactMap(\.self))
        #expect(strays.allSatisfy { $0.name == name })
        // A variable that the file names is intended.
        let file = #"{"host_label": "${\#(name)}"}"#
        #expect(try load(file, environment: [name: "/x"]).strayVariables.isEmpty)
    }

    // MARK: Several connections

    @Test("each has its own name and its own token")
    func repeats() {
        let found = faults(
            #"{"connections": [{"name": "a", "relay": {"token": "t"}}, {"name": "a", "relay": {"token": "t"}}]}"#)
        #expect(found.map(\.path) == ["connections[1].name", "connections[1].relay.token"])
    }

    @Test("a variable that fits several of them must be named where it is meant")
    func ambiguous() throws {
        func file(_ token: String) -> String {
            #"{"connections": [{"name": "a", "relay": {"token": \#(token)}}, {"name": "b", "relay": {"token": "t-2"}}]}"#
        }
        let environment = [
            "SOPHON_BOT_TOKEN": "t-1", "SOPHON_BASE_URL": "https://r.example", "OPPI_URL": "http://[::1]",
        ]
        #expect(faults(file("null"), environment: environment).map(\.path) == ["connections"])
        let named = try load(file(#""${SOPHON_BOT_TOKEN}""#), environment: environment).configuration
        #expect(named.connections.map(\.relay.token?.text) == ["t-1", "t-2"])
        #expect(named.connections.map(\.relay.address.host) == ["r.example", "r.example"])
    }

    @Test(
        "metrics take an address in digits with a port, or a socket",
        arguments: [
            ("127.0.0.1:9464", "127.0.0.1:9464"), ("0.0.0.0:1", "0.0.0.0:1"), ("[::1]:65535", "[::1]:65535"),
            ("unix:/run/sophon/m.sock", "unix:/run/sophon/m.sock"), ("unix:~/m.sock", "unix:/home/ada/m.sock"),
        ])
    func metrics(text: String, place: String) throws {
        let environment = ["HOME": "/home/ada", "SOPHON_METRICS": text]
        #expect(try load(environment: environment).configuration.metrics == place)
        #expect(
            try load(#"{"metrics": "\#(text)"}"#, environment: ["HOME": "/home/ada"]).configuration.metrics == place)
        #expect(try load().configuration.metrics == nil)
    }

    @Test(
        "anything else is no place for metrics",
        arguments: [
            "localhost:9464", "9464", ":9464", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536",
            "127.0.0.1:+80", "127.0.0.1: 80", "127.0.0.1:80x", "::1:80", "[127.0.0.1]:80", "[::1]", "[fe80::1%lo]:80",
            "example.com:80", "http://127.0.0.1:80", "unix:", "unix:m.sock", "unix:@m", "unix:/run/", "unix://",
            "127.0.0.1:80,127.0.0.1:81", "256.0.0.1:80", "unix:/" + String(repeating: "x", count: 107),
        ])
    func noMetrics(text: String) {
        #expect(throws: ConfigurationError.self) { try load(environment: ["SOPHON_METRICS": text]) }
    }
}
