import AgentKit
import OpenClaw
import Testing
import Vocabulary
import Worlds

@Suite("What a card of OpenClaw's says")
struct OpenClawAskTests {
    private typealias Talk = OpenClawConversation

    private static func entry(
        _ talk: OpenClawConversation, _ request: String, id: String = "ap-1", expires: Bool = true
    ) -> String {
        let end = expires ? #","createdAtMs":\#(talk.wall),"expiresAtMs":\#(talk.wall + 120_000)"# : ""
        return #"{"id":"\#(id)","request":{"sessionKey":"\#(Talk.key)",\#(request)}\#(end)}"#
    }

    private static func requests(_ talk: OpenClawConversation) -> [ApprovalRequest] {
        talk.observations.compactMap { observation in
            guard case .signal(let signal) = observation, case .approvalRequested(let request) = signal.event else {
                return nil
            }
            return request
        }
    }

    private static func asked(_ request: String, plugin: Bool = false, era: GatewayEra = .e3) -> ApprovalRequest? {
        let talk = Talk(era: era)
        talk.goLiveWithRun()
        talk.event(
            plugin ? "plugin.approval.requested" : "exec.approval.requested",
            entry(talk, request, id: plugin ? "plugin:1" : "ap-1"))
        return requests(talk).last
    }

    private static func lines(_ request: ApprovalRequest?) -> [String] {
        request?.facts.lines.map { "\($0.label): \($0.value)" } ?? []
    }

    @Test("what decides beside the command is on the card", arguments: GatewayEra.allCases)
    func beside(_ era: GatewayEra) {
        let asked = Self.asked(
            #"""
            "command":"make install","cwd":"/srv/www","host":"node","nodeId":"node-7","agentId":"main","security":"full",
            "ask":"always","resolvedPath":"/srv/evil/make","commandArgv":["sh","-c","make install"],"envKeys":["LD_PRELOAD"],
            "warningText":"Runs a script.","turnSourceTo":null,"turnSourceChannel":"webchat","commandPreview":"make",
            "commandSpans":[],"toolCallId":"c1","allowedDecisions":["allow-once","deny"]
            """#, era: era)
        #expect(asked?.command == "make install" && asked?.host == "node")
        #expect(asked?.facts.folder == "/srv/www")
        #expect(asked?.message == "Runs a script.")
        #expect(
            Self.lines(asked) == [
                "node: node-7", "program: /srv/evil/make", "arguments: sh -c (the command above)",
                #"environment: ["LD_PRELOAD"]"#, "agent: main", "security: full", "ask: always",
            ])
        #expect(asked?.allowed == [.approve, .deny])
    }

    @Test("what says no more than the command is shown once")
    func once() {
        let asked = Self.asked(
            #"""
            "command":"/bin/ls -l","resolvedPath":"/bin/ls","commandArgv":["/bin/ls","-l"],"cwd":"/srv","nodeId":null,
            "systemRunPlan":{"argv":["/bin/ls","-l"],"cwd":"/srv","commandText":"/bin/ls -l","agentId":null}
            """#)
        #expect(Self.lines(asked) == [])
        let others = Self.asked(
            #"""
            "command":"ls x y","commandArgv":["ls","x y"],"cwd":"/srv",
            "systemRunPlan":{"argv":["rm","-rf","x"],"cwd":"/","mutableFileOperand":{"path":"/s.sh","sha256":"00"}}
            """#)
        #expect(
            Self.lines(others) == [
                #"arguments: ["ls","x y"]"#, #"systemRunPlan.argv: ["rm","-rf","x"]"#, #"systemRunPlan.cwd: "/""#,
                #"systemRunPlan.mutableFileOperand: {"path":"/s.sh","sha256":"00"}"#,
            ])
    }

    @Test("a node's command is on the card once, and its shell beside it")
    func node() {
        let command = String(repeating: "make all; ", count: 4_000) + #"echo "done""#
        let text = JSONText.string(command).text
        let line = JSONText.string("/bin/sh -lc \"\(command.replacing("\"", with: "\\\""))\"").text
        let members =
            #""command":\#(text),"commandArgv":["/bin/sh","-lc",\#(text)],"host":"node","systemRunPlan":{"argv":["/bin/sh","-lc",\#(text)],"commandText":\#(line)}"#
        let asked = Self.asked(members)
        #expect(asked?.command == command && asked?.isIncomplete == false)
        #expect(Self.lines(asked) == ["arguments: /bin/sh -lc (the command above)"])
        // The short form needs exactly these arguments.
        let others = Self.asked(
            #""command":"ls","commandArgv":["/srv/sh","-lc","ls"],"systemRunPlan":{"argv":["/bin/sh","-lc","ls","x"],"commandText":"/bin/sh -lc rm"}"#
        )
        #expect(
            Self.lines(others) == [
                #"arguments: ["/srv/sh","-lc","ls"]"#, #"systemRunPlan.argv: ["/bin/sh","-lc","ls","x"]"#,
                #"systemRunPlan.commandText: "/bin/sh -lc rm""#,
            ])
    }

    @Test(
        "a command that is not said can only be denied",
        arguments: [
            (#""cwd":"/""#, true), (#""command":"""#, true), (#""command":null,"commandArgv":[]"#, true),
            (#""command":{"x":1}"#, true), (#""command":"ls""#, false), (#""commandArgv":["ls"]"#, false),
            (#""systemRunPlan":{"argv":["ls"]}"#, false), (#""systemRunPlan":{"argv":[]}"#, true),
        ])
    func incomplete(_ members: String, _ isIncomplete: Bool) {
        #expect(Self.asked(members)?.isIncomplete == isIncomplete)
        #expect(Self.asked(members, plugin: true)?.isIncomplete == false)
    }

    @Test("a request without a command shows its arguments, and a warning stands beside a description")
    func odd() {
        let asked = Self.asked(#""commandArgv":["rm","-rf","/"],"description":"Cleans.","warningText":"Deletes all.""#)
        #expect(asked?.command == #"["rm","-rf","/"]"#)
        #expect(asked?.message == "Cleans.")
        #expect(Self.lines(asked) == ["warning: Deletes all."])
    }

    @Test("a member of a later version is on the card, on one line")
    func later() {
        let asked = Self.asked(#""command":"ls","zone":"a\nfolder: /","alsoRuns":{"then":["rm","-rf"]},"none":null"#)
        #expect(Self.lines(asked) == [#"alsoRuns: {"then":["rm","-rf"]}"#, #"zone: "a\nfolder: /""#])
        let twice = Self.asked(#""command":"ls","command":"rm""#)
        #expect(Self.lines(twice).first?.hasPrefix(#"request: {"sessionKey""#) == true, "\(Self.lines(twice))")
    }

    @Test("a plugin's approval has its parameters whole")
    func plugin() {
        let detail = String(repeating: "x", count: 16_000)
        let asked = Self.asked(
            #"""
            "title":"Send a mail","description":"To one reader.","detail":"\#(detail)","severity":"critical",
            "pluginId":"mail","toolName":"send","mcpTool":{"server":"mail","tool":"send"},"toolInput":{"to":"x@evil.example"},
            "actions":[{"label":"Allow","command":"/approve"}]
            """#, plugin: true)
        #expect(asked?.subject == .plugin && asked?.command == nil && asked?.message == "To one reader.")
        #expect(
            Self.lines(asked) == [
                "plugin: mail", "tool: send", #"detail: "\#(detail)""#, #"mcpTool: {"server":"mail","tool":"send"}"#,
                #"toolInput: {"to":"x@evil.example"}"#,
            ])
    }

    private static let full =
        #""command":"ls","commandArgv":["ls","-l"],"cwd":"/srv","nodeId":"n1","host":"node","agentId":"main","later":[1]"#
    /// The same members in the order of another build.
    private static let turned =
        #""later":[1],"agentId":"main","host":"node","nodeId":"n1","cwd":"/srv","commandArgv":["ls","-l"],"command":"ls""#

    @Test("the list and the event give the same card", arguments: [GatewayEra.e2, .e3, .e4])
    func listed(_ era: GatewayEra) throws {
        let event = try #require(Self.asked(Self.full, era: era))
        let talk = Talk(era: era)
        talk.goLive()
        talk.clear()
        talk.answer("exec.approval.list", "[\(Self.entry(talk, Self.turned))]")
        let list = try #require(Self.requests(talk).last)
        #expect(AskFingerprint(of: list) == AskFingerprint(of: event))
    }

    @Test(
        "after a loss it is asked again as it was, and one that differs takes no decision with it",
        arguments: [true, false])
    func again(_ isSame: Bool) {
        let talk = Talk(era: .e3)
        talk.goLiveWithRun()
        talk.event("exec.approval.requested", Self.entry(talk, Self.full))
        let first = Self.requests(talk).map { AskFingerprint(of: $0) }
        talk.close(1006)
        talk.pass(1)
        talk.goLive()
        talk.clear()
        let again = isSame ? Self.full : Self.full.replacing("/srv", with: "/")
        talk.answer("exec.approval.list", "[\(Self.entry(talk, again))]")
        #expect((Self.requests(talk).map { AskFingerprint(of: $0) } == first) == isSame)
    }

    @Test("a decision about one that another has taken the place of is dropped")
    func replaced() {
        let talk = Talk(era: .e3)
        talk.goLiveWithRun()
        talk.event("exec.approval.requested", Self.entry(talk, Self.full))
        talk.command(.resolve(approval: ApprovalID("ap-1"), subject: .exec, decision: .approve))
        talk.answer("exec.approval.resolve", nil, error: #"{"code":"UNAVAILABLE","message":"x","retryable":true}"#)
        talk.event("exec.approval.requested", Self.entry(talk, Self.full.replacing("/srv", with: "/")))
        talk.clear()
        talk.pass(10)
        #expect(!talk.methods.contains("exec.approval.resolve"))
    }

    private static func fingerprint(_ request: String) throws -> AskFingerprint {
        AskFingerprint(of: try #require(asked(request)))
    }

    private static func allow(_ talk: OpenClawConversation, shown: AskFingerprint?) {
        talk.command(.resolve(approval: ApprovalID("ap-1"), subject: .exec, decision: .approve, shown: shown))
    }

    private static func hasDecided(_ talk: OpenClawConversation) -> Bool {
        talk.methods.contains { $0.hasSuffix("approval.resolve") }
    }

    @Test(
        "after a restart a yes waits for the list, and leaves for what its card showed alone",
        arguments: [GatewayEra.e2, .e3, .e4], [true, false])
    func tappedEarly(_ era: GatewayEra, _ isSame: Bool) throws {
        let shown = try Self.fingerprint(Self.full)
        let talk = Talk(era: era)
        talk.goLive()
        let lists = talk.methods.filter { $0.hasSuffix("approval.list") }
        talk.clear()
        Self.allow(talk, shown: shown)
        #expect(!Self.hasDecided(talk), "the question was not seen")
        let now = isSame ? Self.full : Self.full.replacing("/srv", with: "/")
        for method in lists {
            talk.answer(method, method.hasPrefix("exec") ? "[\(Self.entry(talk, now))]" : "[]")
        }
        #expect(Self.hasDecided(talk) == isSame)
        talk.clear()
        talk.pass(60)
        #expect(!Self.hasDecided(talk) || isSame)
    }

    @Test("an event shows the question as well as the list")
    func shownByEvent() throws {
        let talk = Talk(era: .e3)
        talk.goLive()
        Self.allow(talk, shown: try Self.fingerprint(Self.full))
        talk.event("exec.approval.requested", Self.entry(talk, Self.full))
        #expect(Self.hasDecided(talk))
    }

    @Test("a list that does not come is asked for again, and no yes leaves without one")
    func listRefused() throws {
        let talk = Talk(era: .e3)
        talk.goLive()
        Self.allow(talk, shown: try Self.fingerprint(Self.full))
        let busy = #"{"code":"UNAVAILABLE","message":"x","retryable":true}"#
        talk.answer("exec.approval.list", nil, error: busy)
        talk.answer("plugin.approval.list", "[]")
        #expect(!Self.hasDecided(talk))
        talk.clear()
        for _ in 0..<5 {
            talk.pass(4)
            talk.event("tick", "{}")
        }
        #expect(talk.methods.contains("exec.approval.list") && !Self.hasDecided(talk), "\(talk.methods)")
        talk.answer("exec.approval.list", "[\(Self.entry(talk, Self.full))]")
        #expect(Self.hasDecided(talk))
    }

    @Test("a yes whose link was lost waits for the next list too", arguments: [true, false])
    func lostUnder(_ isSame: Bool) throws {
        let talk = Talk(era: .e3)
        talk.goLiveWithRun()
        talk.event("exec.approval.requested", Self.entry(talk, Self.full))
        Self.allow(talk, shown: try Self.fingerprint(Self.full))
        talk.close(1006)
        talk.pass(1)
        talk.goLive()
        #expect(!Self.hasDecided(talk))
        let now = isSame ? Self.full : Self.full.replacing("/srv", with: "/")
        talk.answer("exec.approval.list", "[\(Self.entry(talk, now))]")
        talk.answer("plugin.approval.list", "[]")
        #expect(Self.hasDecided(talk) == isSame)
    }

    @Test("a yes to a card that another has taken the place of meanwhile is not sent, and says nothing of the other")
    func tappedLate() throws {
        let talk = Talk(era: .e3)
        talk.goLiveWithRun()
        talk.event("exec.approval.requested", Self.entry(talk, Self.full.replacing("/srv", with: "/")))
        talk.clear()
        Self.allow(talk, shown: try Self.fingerprint(Self.full))
        #expect(talk.sent.isEmpty && talk.observations.isEmpty)
    }

    @Test("more questions than are kept make no yes leave unseen")
    func forgotten() throws {
        let talk = Talk(era: .e3)
        talk.goLiveWithRun()
        talk.answer("exec.approval.list", "[]")
        talk.answer("plugin.approval.list", "[]")
        talk.event("exec.approval.requested", Self.entry(talk, Self.full))
        for number in 0..<1_000 {
            talk.event("exec.approval.requested", Self.entry(talk, Self.full, id: "x-\(number)"))
        }
        talk.clear()
        Self.allow(talk, shown: try Self.fingerprint(Self.full))
        #expect(!Self.hasDecided(talk))
        talk.answer("exec.approval.list", "[\(Self.entry(talk, Self.full.replacing("/srv", with: "/")))]")
        talk.answer("plugin.approval.list", "[]")
        #expect(!Self.hasDecided(talk))
    }

    @Test("what is no text where a text belongs is on the card all the same")
    func noText() {
        let asked = Self.asked(
            #""command":["rm","-rf","/"],"cwd":{"path":"/"},"description":[1],"warningText":{"w":2},"title":7"#)
        #expect(asked?.command == nil)
        #expect(
            Self.lines(asked) == [
                #"warning: {"w":2}"#, #"command: ["rm","-rf","/"]"#, #"cwd: {"path":"/"}"#, "description: [1]",
                "title: 7",
            ])
    }

    @Test("what nobody answered is denied: the gateway has no other word", arguments: GatewayEra.allCases)
    func unanswered(_ era: GatewayEra) {
        let talk = Talk(era: era)
        talk.goLiveWithRun()
        talk.command(
            .resolve(approval: ApprovalID("ap-1"), subject: .exec, decision: .deny, isUnanswered: true))
        #expect(talk.sent.last?.params.contains(#""decision":"deny""#) == true)
    }

    @Test("an approval that is open for twelve hours is neither decided nor dropped, and its run is not stopped")
    func twelveHours() {
        let talk = Talk(era: .e4)
        talk.goLiveWithRun()
        talk.event("exec.approval.requested", Self.entry(talk, Self.full, expires: false))
        let history = Talk.history(
            [Talk.row("user", "Hello?", key: "r1:user")],
            more:
                #","inFlightRun":{"runId":"r1","text":"May I?"},"sessionInfo":{"hasActiveRun":true,"activeRunIds":["r1"]}"#
        )
        var methods: Set<String> = []
        for _ in 0..<(12 * 60 * 2) {
            talk.clear()
            talk.pass(30)
            talk.event("tick", "{}")
            for request in talk.sent {
                methods.insert(request.method)
                if request.method == "chat.history" { talk.answer(id: request.id, history) }
            }
            #expect(
                !talk.observations.contains { if case .signal(let signal) = $0 { signal.event.ends } else { false } })
        }
        #expect(methods.isSubset(of: ["chat.history", "agent.wait"]), "\(methods)")
        talk.command(.resolve(approval: ApprovalID("ap-1"), subject: .exec, decision: .approve))
        #expect(talk.sent.last?.method == "approval.resolve")
    }
}

extension RunEvent {
    fileprivate var ends: Bool {
        switch self {
        case .approvalSettled, .finished, .failed: true
        default: false
        }
    }
}
