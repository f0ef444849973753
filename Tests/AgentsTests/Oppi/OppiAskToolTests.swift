import AgentKit
import Oppi
import Testing
import Vocabulary

/// The tool `ask` as the server carries it: clients see its questions before it runs, and all clients hear its end
/// (oppi.md#extension-dialogs).
@Suite("Oppi's tool ask")
struct OppiAskToolTests {
    private static let options = #"[{"value":"a","label":"One"},{"value":"b","label":"Two"}]"#

    private static func asks(_ id: String, _ oppi: inout OppiConversation, _ questions: String? = nil) -> [String] {
        let one = #"[{"id":"q","question":"Which?","options":\#(options)}]"#
        return oppi.says("extension_ui_request", #""id":"\#(id)","method":"ask","questions":\#(questions ?? one)"#)
    }

    private static func permission(_ oppi: inout OppiConversation) -> [String] {
        let timeout = OppiConversation.wall + 120_000
        return oppi.hears(
            #"{"type":"permission_request","id":"p1","sessionId":"s1","tool":"ask","input":{"questions":[]},"displaySummary":"ask","reason":"Ask?","timeoutAt":\#(timeout),"expires":true}"#,
            on: 2)
    }

    private static let head = "command_result"
    private static let answer = #"2 > extension_ui_response s1 d1 {"q":"Two"}"#

    @Test("an answer waits for the permission of the tool that asks")
    func behindPermission() {
        var oppi = OppiConversation.running(result: Self.head)
        _ = Self.asks("d1", &oppi)
        _ = Self.permission(&oppi)
        #expect(oppi.answers(question: "d1#0", .choices(["b"])) == [])
        #expect(oppi.decides("p1", .approve) == ["1 > permission_response p1 allow once"])
        let lines = oppi.replies("permission_response", on: 1)
        #expect(lines.contains(Self.answer), "\(lines)")
    }

    @Test("where the tool is denied its questions are over, and nothing is sent")
    func denied() {
        var oppi = OppiConversation.running(result: Self.head)
        _ = Self.asks("d1", &oppi)
        _ = Self.permission(&oppi)
        _ = oppi.answers(question: "d1#0", .choices(["b"]))
        _ = oppi.decides("p1", .deny)
        let lines = oppi.replies("permission_response", on: 1)
        #expect(lines.contains("r1 oppi:ses_1 question settled d1#0 unknown"), "\(lines)")
        #expect(!lines.contains(Self.answer))
    }

    @Test("a question whose tool is over waits for no answer")
    func toolIsOver() {
        var oppi = OppiConversation.running(result: Self.head)
        _ = Self.asks("d1", &oppi)
        let lines = oppi.says("tool_end", #""tool":"ask","toolCallId":"c1""#)
        #expect(lines.first == "r1 oppi:ses_1 question settled d1#0 unknown", "\(lines)")
        var ours = OppiConversation.running(result: Self.head)
        _ = Self.asks("d1", &ours)
        _ = ours.answers(question: "d1#0", .choices(["b"]))
        #expect(
            ours.says("tool_end", #""tool":"ask","toolCallId":"c1""#).first
                == "r1 oppi:ses_1 question settled d1#0 answered")
    }

    @Test("two that are open at once end with their session, since the agent gets neither answer")
    func twoAtOnce() {
        var oppi = OppiConversation.running(result: Self.head)
        _ = Self.asks("d1", &oppi)
        let lines = Self.asks("d2", &oppi)
        #expect(lines.first == "2 > stop_session s1", "\(lines)")
        #expect(lines.contains("r1 oppi:ses_1 question settled d1#0 cancelled"))
        #expect(lines.contains { $0.contains("failed other \"it asked twice at once") })
        #expect(!lines.contains { $0.contains("answered") })
    }

    @Test("one that a subscription shows takes the place of one that had ended meanwhile")
    func shownAgain() {
        var oppi = OppiConversation.running(result: Self.head)
        _ = Self.asks("d1", &oppi)
        oppi.loses()
        _ = oppi.answers(
            OppiRecoveryTests.history, 200, OppiRecoveryTests.trace([("user", "Hi")], status: "busy"))
        let other =
            #"{"type":"extension_ui_request","sessionId":"s1","id":"d2","method":"ask","questions":[{"id":"q","question":"And?","options":\#(Self.options)}]}"#
        let lines = oppi.follows(3, status: "busy", replay: [other])
        #expect(lines.contains { $0.contains("question settled d1#0 unknown") }, "\(lines)")
        #expect(lines.contains { $0.contains("asked d2#0") } && !lines.contains { $0.contains("stop_session") })
    }

    @Test("eleven questions are asked, and two of one name once")
    func many() {
        var oppi = OppiConversation.running(result: Self.head)
        let list = (0..<11).map { #"{"id":"q\#($0)","question":"Which?","options":\#(Self.options)}"# }
        let lines = Self.asks("d1", &oppi, "[\(list.joined(separator: ","))]")
        #expect(lines.count == 11 && lines.allSatisfy { $0.contains("asked d1#") }, "\(lines)")
        var twice = OppiConversation.running(result: Self.head)
        let one = #"{"id":"q","question":"Which?","options":\#(Self.options)}"#
        #expect(Self.asks("d1", &twice, "[\(one),\(one)]").count == 1)
        #expect(twice.answers(question: "d1#0", .choices(["b"])).first == Self.answer)
    }

    @Test("names and values that are no strings are what the server's language makes of them")
    func otherValues() {
        var oppi = OppiConversation.running(result: Self.head)
        let question =
            #"[{"id":1,"question":"Which?","options":[{"value":1,"label":"One"},{"value":true,"label":"Two"},{"label":"Three"}]}]"#
        _ = Self.asks("d1", &oppi, question)
        #expect(
            oppi.answers(question: "d1#0", .choices(["true"])).first == #"2 > extension_ui_response s1 d1 {"1":"Two"}"#)
        var alone = OppiConversation.running(result: Self.head)
        _ = Self.asks("d1", &alone, question)
        #expect(
            alone.answers(question: "d1#0", .choices(["Three"])).first
                == #"2 > extension_ui_response s1 d1 {"1":"Three"}"#)
    }

    @Test(
        "a part of a label is found by its units, as the server finds it",
        arguments: [("काम करें", "काम कर"), ("1️⃣ Ship now", "1"), ("👍🏽", "👍"), ("❤️", "❤"), ("İptal", "I")])
    func units(label: String, part: String) {
        var oppi = OppiConversation.running(result: Self.head)
        let options = #"[{"value":"x","label":"\#(label)"},{"value":"y","label":"\#(part)"}]"#
        _ = Self.asks("d1", &oppi, #"[{"id":"q","question":"Which?","options":\#(options)}]"#)
        let lines = oppi.answers(question: "d1#0", .choices(["y"]))
        #expect(lines.first?.contains("question settled d1#0 mistaken") == true, "\(lines)")
    }

    // MARK: In doubt

    @Test(
        "a yes close to the end of a dialog's time, or behind a pause of reading, is in doubt",
        arguments: [true, false])
    func inDoubt(pauses: Bool) {
        var oppi = OppiConversation.running(result: Self.head)
        if pauses {
            oppi.pauses()
            _ = oppi.waits(20_000)
            oppi.resumes()
        }
        _ = oppi.says(
            "extension_ui_request", #""id":"d1","method":"confirm","title":"Sure?","message":"Really","timeout":10000"#)
        if !pauses { _ = oppi.waits(8_000) }
        #expect(
            oppi.decides("d1", .approve, subject: .dialog).first == "2 > extension_ui_response s1 d1 confirmed true")
        let lines = oppi.replies("unsubscribe")
        #expect(lines.first?.contains("approval settled d1") == true && lines[0].contains("inDoubt"), "\(lines)")
    }

    // MARK: Beside

    @Test("a call that is still written when its message fails never runs, and has no card", arguments: [true, false])
    func unwritten(stops: Bool) {
        var oppi = OppiConversation.running(result: Self.head)
        _ = oppi.says("tool_start", #""tool":"bash","toolCallId":"c1","args":{"command":"rm -rf /tm"}"#)
        _ = stops ? oppi.says("stop_requested", #""source":"user""#) : oppi.says("error", #""error":"overloaded""#)
        let lines = oppi.answers(text: "I will") + oppi.says("agent_end")
        #expect(!lines.contains { $0.contains("tool") }, "\(lines)")
    }

    @Test("another client's refused prompt says nothing of a message that waits")
    func refusalOfAnother() {
        var oppi = OppiConversation.idle(result: Self.head)
        oppi.queuesBehindAnother()
        let busy = #""error":"Agent is already processing. Specify streamingBehavior""#
        #expect(oppi.says("error", busy) == [])
        _ = oppi.answers(text: "For them")
        let lines = oppi.says("message_end", #""role":"user","content":"Ours""#)
        #expect(lines.contains("r2 oppi:ses_1 started"), "\(lines)")
    }

    // MARK: Places

    private static func lacksPlace(_ sessions: String) -> (OppiConversation, [String]) {
        let facts = ["1", "2"].map { number in
            Fact("session:oppi:ses_\(number)", Array("w1\ns\(number)\nr0\n\(number)".utf8))
        }
        var oppi = OppiConversation.live(facts: facts)
        _ = oppi.sends("r1", "Hi")
        _ = oppi.keeps()
        _ = oppi.opens(2)
        _ = oppi.hears(#"{"type":"stream_connected","userName":"shed"}"#, on: 2)
        _ = oppi.replies("subscribe", error: "Workspace session limit reached (2)")
        let lines = oppi.answers("GET /workspaces/w1/sessions", 200, #"{"sessions":[\#(sessions)]}"#)
        return (oppi, lines)
    }

    @Test("a session that was at work a moment ago keeps its place, and so does the parent of one that is there")
    func keepsPlace() {
        let now = OppiConversation.wall
        let recent = #"{"id":"s2","status":"ready","lastActivity":\#(now - 2_000)}"#
        #expect(Self.lacksPlace(recent).1 == [])
        let parent =
            #"{"id":"s2","status":"ready","lastActivity":1},{"id":"c1","status":"ready","parentSessionId":"s2","lastActivity":2}"#
        #expect(Self.lacksPlace(parent).1 == [])
        let stop = "POST /workspaces/w1/sessions/s2/stop"
        #expect(Self.lacksPlace(#"{"id":"s2","status":"ready","lastActivity":\#(now - 100_000)}"#).1 == [stop])
    }

    @Test("a message for the session that gives its place waits until that is done")
    func messageMeanwhile() {
        var (oppi, _) = Self.lacksPlace(#"{"id":"s2","status":"ready","lastActivity":1}"#)
        _ = oppi.sends("r9", "Me too", in: AgentSession("oppi:ses_2"))
        #expect(oppi.keeps() == [])
        let lines = oppi.answers("POST /workspaces/w1/sessions/s2/stop", 200, "{}")
        #expect(lines.filter { $0.hasPrefix("open") }.count == 2, "\(lines)")
    }
}
