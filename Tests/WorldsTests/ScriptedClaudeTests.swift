import Testing
import Vocabulary
import Worlds

@Suite("The scripted Claude Code, by its frames")
struct ScriptedClaudeTests {
    private final class Stage {
        let time = VirtualTime()
        let claude: ScriptedClaude
        let network: DoubleNetwork

        init(_ habits: ScriptedClaude.Habits = .init(), seed: UInt64 = 1) {
            claude = ScriptedClaude(time, habits, seed: seed)
            claude.scripts = ScriptedClaudeTests.scripts
            network = DoubleNetwork(claude, time, seed: seed)
        }

        func program(_ more: String...) -> ProgramTalk {
            let flags = [
                "claude", "-p", "--input-format=stream-json", "--output-format=stream-json", "--verbose",
                "--permission-prompt-tool=stdio", "--permission-mode=default",
            ]
            return ProgramTalk(network, flags + more)
        }

        func run(milliseconds: Int64 = 10_000) {
            let end = time.now + .milliseconds(milliseconds)
            while time.step(until: end) {}
        }
    }

    private static func prompt(_ text: String, _ key: String) -> String {
        #"{"type":"user","uuid":"\#(key)","message":{"role":"user","content":"\#(text)"}}"#
    }

    private static func control(_ subtype: String, _ id: String) -> String {
        #"{"type":"control_request","request_id":"\#(id)","request":{"subtype":"\#(subtype)"}}"#
    }

    private static func answer(_ id: String, _ body: String) -> String {
        #"{"type":"control_response","response":{"subtype":"success","request_id":"\#(id)","response":\#(body)}}"#
    }

    private static let hello = GatewayScript((5, .says("Hel")), (5, .says("lo.")), (5, .finishes))
    private static let slow = GatewayScript((5, .says("Slow")), (5_000, .says("er")), (5, .finishes))
    private static let remove: GatewayScript = GatewayScript(
        (5, .says("I ask.")), (5, .callsTool(id: "t1", command: "rm a")),
        (1, .asksApproval(id: "a1", command: "rm a")), (5, .toolReturns(id: "t1", output: "gone")),
        (5, .says("As you decided.")), (5, .finishes))
    private static let scripts: [String: GatewayScript] = ["Hello": hello, "Slow": slow, "Remove": remove]

    private static func place(of mark: String, in talk: ProgramTalk) -> Int? {
        talk.heard.firstIndex { (line: String) -> Bool in line.contains(mark) }
    }

    private static func hears(_ mark: String, _ talk: ProgramTalk) -> Bool { place(of: mark, in: talk) != nil }

    private static func results(_ talk: ProgramTalk) -> [String] {
        talk.heard.filter { (line: String) -> Bool in line.contains(#""type":"result""#) }
    }

    @Test("a turn of text, in the order of the real one")
    func text() {
        let stage = Stage()
        let talk = stage.program("--session-id=s1")
        talk.send(Self.control("initialize", "1"))
        talk.send(Self.prompt("Hello", "u1"))
        stage.run()
        let marks: [String] = [
            #""current_permission_mode":"default""#, #""state":"queued""#, #""state":"started""#, #""subtype":"init""#,
            #""message_start""#, #""text":"Hel""#, #""text":"lo.""#, #""type":"assistant""#, #""message_stop""#,
            #""user_message_uuids":["u1"]"#, #""state":"completed""#,
        ]
        var places: [Int] = []
        for mark: String in marks { places.append(Self.place(of: mark, in: talk) ?? -1) }
        #expect(places == places.sorted())
        #expect(!places.contains(-1))
        #expect(stage.claude.finished == ["Hello"] && stage.claude.begun == ["Hello": 1])
        #expect(stage.claude.breaches == [] && !stage.claude.isBusy)
    }

    @Test("a question, allowed or denied", arguments: [true, false])
    func question(isYes: Bool) {
        let stage = Stage()
        let talk = stage.program("--session-id=s1")
        talk.send(Self.prompt("Remove", "u1"))
        stage.run()
        #expect(Self.hears("can_use_tool", talk) && stage.claude.isBusy)
        let yes = #"{"behavior":"allow","updatedInput":{"command":"rm a"}}"#
        talk.send(Self.answer("a1", isYes ? yes : #"{"behavior":"deny","message":"Not that."}"#))
        stage.run()
        #expect(stage.claude.decided == [AgentDecided("a1", isYes: isYes)])
        #expect(stage.claude.executed.count == (isYes ? 1 : 0))
        #expect(Self.hears("Not that.", talk) == !isYes)
        #expect(Self.results(talk).count == 1 && stage.claude.breaches == [])
    }

    @Test("an interrupt in text, at a question, and before the turn has begun", arguments: ["Slow", "Remove", "Hello"])
    func interrupt(text: String) {
        let stage = Stage()
        let talk = stage.program("--session-id=s1")
        talk.send(Self.prompt(text, "u1"))
        if text != "Hello" { stage.run(milliseconds: 1_000) }
        talk.send(Self.control("interrupt", "2"))
        stage.run()
        let end = Self.results(talk).first ?? ""
        #expect(end.contains(text == "Remove" ? "aborted_tools" : "aborted_streaming"))
        #expect(Self.hears("control_cancel_request", talk) == (text == "Remove"))
        #expect(stage.claude.asked.last == AgentAsked(.abort, text) && !stage.claude.isBusy)
    }

    @Test("prompts that meet text become one, and no uuid runs twice")
    func merges() {
        let stage = Stage()
        let talk = stage.program("--session-id=s1")
        talk.send(Self.prompt("Slow", "u1"))
        stage.run(milliseconds: 500)
        for (text, key) in [("Remove", "u2"), ("Hello", "u3"), ("Hello", "u3")] { talk.send(Self.prompt(text, key)) }
        stage.run()
        let ends: [Bool] = Self.results(talk).map { (line: String) -> Bool in line.contains(#"["u2","u3"]"#) }
        #expect(ends == [false, true])
        #expect(stage.claude.isLost("Remove") && stage.claude.begun["Hello"] == 1)
    }

    @Test("an orphan is denied, works on, and its session can be resumed afterwards")
    func orphan() {
        let stage = Stage()
        let talk = stage.program("--session-id=s1")
        talk.send(Self.prompt("Remove", "u1"))
        stage.run(milliseconds: 1_000)
        talk.leave()
        stage.run()
        let rows = String(decoding: stage.claude.transcript(of: "s1") ?? [], as: UTF8.self)
        #expect(rows.contains("stream closed before response received"))
        #expect(rows.contains("As you decided."))
        #expect(stage.claude.executed == [] && stage.claude.holder(of: "s1") == nil)
        let again = stage.program("--resume=s1")
        again.send(Self.prompt("Remove", "u1"))
        again.send(Self.prompt("Hello", "u2"))
        stage.run()
        #expect(Self.results(again).count == 1 && Self.hears(#""u1","state":"completed""#, again))
        #expect(stage.claude.begun == ["Remove": 1, "Hello": 1] && stage.claude.breaches == [])
    }

    @Test("an unknown session, and an id that is in use, end the program")
    func refusals() {
        let stage = Stage()
        let unknown = stage.program("--resume=s9")
        stage.run()
        #expect(unknown.hasEnded && unknown.heard.count == 1)
        let first = stage.program("--session-id=s1")
        first.send(Self.prompt("Hello", "u1"))
        stage.run()
        let second = stage.program("--session-id=s1")
        stage.run()
        #expect(second.hasEnded && second.heard == [])
    }

    /// A program whose helper asks, behind the turn that started it.
    private static func helping() -> (stage: Stage, talk: ProgramTalk) {
        var habits = ScriptedClaude.Habits()
        habits.helpers = 1
        habits.tellsStates = true
        let stage = Stage(habits)
        let talk = stage.program("--session-id=s1")
        talk.send(prompt("Hello", "u1"))
        stage.run()
        return (stage, talk)
    }

    /// Name of the ask of a helper, or of a turn that no prompt began.
    private static func ownAsk(in talk: ProgramTalk) -> String? {
        talk.heard.first { $0.contains(#""request_id":"own-"#) }?
            .split(separator: #""request_id":""#).last.map { String($0.prefix { $0 != "\"" }) }
    }

    @Test("a helper asks beside the turns, its end starts a turn, and only then the session is idle")
    func helper() {
        let (stage, talk) = Self.helping()
        #expect(Self.results(talk).count == 1 && stage.claude.isBusy)
        #expect(Self.hears(#""agent_id":"agent-own-"#, talk) && !Self.hears(#""state":"idle""#, talk))
        talk.send(Self.answer(Self.ownAsk(in: talk) ?? "", #"{"behavior":"allow","updatedInput":{"command":"x"}}"#))
        stage.run()
        #expect(stage.claude.executed.count == 1 && Self.results(talk).count == 2)
        #expect(Self.results(talk).last?.contains("task-notification") == true)
        #expect(talk.heard.last?.contains(#""state":"idle""#) == true)
        #expect(stage.claude.ownTurns["s1"]?.read == 1 && !stage.claude.isBusy && stage.claude.breaches == [])
    }

    @Test("an interrupt ends a helper unless it spares helpers", arguments: [true, false])
    func helperInterrupted(spares: Bool) {
        let (stage, talk) = Self.helping()
        let more = #""interrupt","spare_background_tasks":\#(spares)"#
        talk.send(#"{"type":"control_request","request_id":"2","request":{"subtype":\#(more)}}"#)
        stage.run()
        #expect(Self.hears("control_cancel_request", talk) == !spares)
        #expect(Self.hears(#""status":"stopped""#, talk) == !spares && stage.claude.isBusy == spares)
    }

    @Test("without a reader a helper is denied, its turn comes, and the program leaves")
    func helperLeft() {
        let (stage, talk) = Self.helping()
        talk.leave()
        stage.run()
        let rows = String(decoding: stage.claude.transcript(of: "s1") ?? [], as: UTF8.self)
        #expect(rows.contains("task_notification") && rows.contains(ScriptedClaude.ownWords))
        #expect(stage.claude.executed == [] && stage.claude.holder(of: "s1") == nil && !stage.claude.isBusy)
    }

    @Test("a prompt that waits behind a turn can be taken back")
    func takenBack() {
        let stage = Stage()
        let talk = stage.program("--session-id=s1")
        talk.send(Self.prompt("Slow", "u1"))
        stage.run(milliseconds: 500)
        talk.send(Self.prompt("Hello", "u2"))
        for key in ["u2", "u1"] {
            let request = #"{"subtype":"cancel_async_message","message_uuid":"\#(key)"}"#
            talk.send(#"{"type":"control_request","request_id":"\#(key)","request":\#(request)}"#)
        }
        stage.run()
        let said: [Bool] = [true, false].map { Self.hears(#""cancelled":\#($0)"#, talk) }
        #expect(said == [true, true] && Self.hears(#""u2","state":"cancelled""#, talk))
        #expect(stage.claude.begun == ["Slow": 1] && Self.results(talk).count == 1)
    }

    @Test("with every habit each prompt is answered once", arguments: UInt64(1)...20)
    func habits(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let stage = Stage(ScriptedClaude.Habits.drawn(using: &random), seed: seed)
        let talk = stage.program("--session-id=s1")
        for number in 1...3 {
            talk.send(Self.prompt("Hello", "u\(number)"))
            stage.run()
        }
        let spoken: [String] = talk.heard.filter { (line: String) -> Bool in line.contains(#""type":"assistant""#) }
        let texts: [String] = spoken.filter { (line: String) -> Bool in line.contains(#""text":"Hello.""#) }
        #expect(texts.count == 3 && stage.claude.breaches == [] && !stage.claude.isBusy)
        #expect(stage.claude.begun == ["Hello": 3])
    }
}
