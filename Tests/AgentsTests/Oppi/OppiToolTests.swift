import Oppi
import Testing
import Vocabulary

@Suite("Tools, permissions and dialogs of Oppi")
struct OppiToolTests {
    private var oppi = Conversation(OppiPlugin())
    private static let run = "oppi-s-1 s"

    private mutating func hears(_ type: String, _ members: String = "") -> [String] {
        oppi.receives(#"{"type":"\#(type)","sessionId":"s"\#(members.isEmpty ? "" : "," + members)}"#)
    }

    private mutating func beginsInHead() {
        _ = hears("command_result", #""command":"subscribe","success":true"#)
        _ = hears("agent_start")
    }

    private static func start(_ arguments: String) -> String {
        #""tool":"bash","toolCallId":"c","args":\#(arguments)"#
    }

    @Test(
        "a call of the seed dialect is told at once, its outputs append, its end has a status",
        arguments: [false, true])
    mutating func seed(fails: Bool) {
        _ = hears("agent_start")
        #expect(
            hears("tool_start", Self.start(#"{"command":"ls"}"#))
                == [#"\#(Self.run) tool started c call bash title="bash command=ls" arguments={"command":"ls"}"#])
        #expect(
            hears("tool_output", #""toolCallId":"c","output":"a""#)
                == [#"\#(Self.run) tool progress c call append output="a""#])
        let end = #""tool":"bash","toolCallId":"c","details":{"exitCode":0},"isError":\#(fails)"#
        #expect(
            hears("tool_end", end)
                == [
                    #"\#(Self.run) tool finished c call bash \#(fails ? "failed" : "completed") result={"exitCode":0}"#
                        + (fails ? #" error="bash failed""# : "")
                ])
    }

    @Test("calls without an id are told apart by their order, and of head each one is told once")
    mutating func nameless() {
        _ = hears("agent_start")
        let first = hears("tool_start", #""seq":2,"tool":"bash","args":{}"#)
        #expect(first == [#"\#(Self.run) tool started nameless-2 call bash title="bash" arguments={}"#])
        #expect(hears("tool_start", #""seq":3,"tool":"bash","args":{}"#).count == 1)
        let output = #"\#(Self.run) tool progress nameless-2 call append output="a""#
        #expect(hears("tool_output", #""output":"a""#) == [output])
        #expect(
            hears("tool_end", #""seq":4,"tool":"bash""#) == ["\(Self.run) tool finished nameless-2 call bash completed"]
        )
        #expect(
            hears("tool_end", #""seq":5,"tool":"bash""#) == ["\(Self.run) tool finished nameless-3 call bash completed"]
        )
        _ = hears("command_result", #""command":"subscribe","success":true"#)
        #expect(hears("tool_start", #""seq":6,"tool":"read","args":{}"#) == [])
        #expect(hears("tool_start", #""seq":7,"tool":"read","args":{"path":"a"}"#) == [])
        #expect(hears("message_end", #""seq":8,"role":"assistant","content":"x""#).count == 2)
        #expect(hears("tool_start", #""seq":9,"tool":"read","args":{"path":"a"}"#) == [])
        #expect(
            hears("tool_end", #""seq":10,"tool":"read""#) == [
                "\(Self.run) tool finished nameless-6 call read completed"
            ])
    }

    @Test("a call of the head dialect is told once, when its message is whole, with its last arguments")
    mutating func head() {
        beginsInHead()
        #expect(hears("tool_start", Self.start("{}")) == [])
        #expect(hears("tool_output", #""toolCallId":"c","mode":"replace","output":"ls -"# + #"l""#) == [])
        #expect(hears("tool_start", Self.start(#"{"command":"ls -l"}"#)) == [])
        #expect(
            hears("message_end", #""role":"assistant","content":"Look.""#) == [
                #"\#(Self.run) segment ended "Look.""#,
                #"\#(Self.run) tool started c call bash title="bash command=ls -l" arguments={"command":"ls -l"}"#,
            ])
        #expect(hears("tool_start", Self.start(#"{"command":"ls -l"}"#)) == [])
        #expect(
            hears("tool_output", #""toolCallId":"c","mode":"replace","output":"tail""#)
                == [#"\#(Self.run) tool progress c call output="tail""#])
    }

    @Test(
        "output or an end shows that a call runs, even if its message was missed",
        arguments: ["tool_output", "tool_end"])
    mutating func shownByOutput(type: String) {
        beginsInHead()
        _ = hears("tool_start", Self.start("{}"))
        let lines = hears(type, #""tool":"bash","toolCallId":"c","output":"x""#)
        #expect(lines.count == 2)
        #expect(lines.first == #"\#(Self.run) tool started c call bash title="bash" arguments={}"#)
    }

    @Test("a call that was never written to its end is never told")
    mutating func neverRan() {
        beginsInHead()
        _ = hears("tool_start", Self.start("{}"))
        #expect(hears("stop_requested", #""source":"user""#) == [])
        #expect(hears("agent_end") == ["\(Self.run) finished aborted run -"])
        #expect(hears("agent_start") == ["oppi-s-2 s started"])
        #expect(hears("message_end", #""role":"assistant","content":"x""#) == [#"oppi-s-2 s segment ended "x""#])
    }

    @Test("an image among the outputs is nothing a card could show")
    mutating func image() {
        _ = hears("agent_start")
        _ = hears("tool_start", Self.start("{}"))
        #expect(hears("tool_output", #""toolCallId":"c","output":"data:image/png;base64,AAAA""#) == [])
    }

    @Test("a permission names the newest open call of its tool with equal input")
    mutating func permission() {
        _ = hears("agent_start")
        for (call, path) in [("a", "x"), ("b", "x"), ("d", "y")] {
            _ = hears("tool_start", #""tool":"rm","toolCallId":"\#(call)","args":{"path":"\#(path)"}"#)
        }
        func asks(_ id: String, _ path: String) -> String {
            #""id":"\#(id)","tool":"rm","input":{"path":"\#(path)"},"displaySummary":"rm \#(path)","reason":"Deletes""#
        }
        func text(_ id: String) -> String {
            #"\#(Self.run) approval requested \#(id) permission medium "Allow rm?" message="Deletes""#
        }
        #expect(hears("permission_request", asks("p1", "x")) == [text("p1") + #" command="{\"path\":\"x\"}" call="b""#])
        #expect(hears("permission_request", asks("p1", "x")) == [], "it comes on every socket")
        #expect(hears("permission_request", asks("p2", "z")) == [text("p2") + #" command="{\"path\":\"z\"}""#])
        #expect(
            hears("permission_expired", #""id":"p1","reason":"Approval timeout""#) == [
                "\(Self.run) approval settled p1 expired"
            ])
        #expect(hears("permission_cancelled", #""id":"p1""#) == ["\(Self.run) approval settled p1 cancelled"])
    }

    @Test("behind a thousand permissions the newest is still told once")
    mutating func manyPermissions() {
        func asks(_ number: Int) -> String { #""id":"p\#(number)","tool":"rm","reason":"Deletes""# }
        for number in 1...1_001 { #expect(hears("permission_request", asks(number)).count == 1) }
        #expect(hears("permission_request", asks(1_001)) == [])
    }

    @Test(
        "our answer to a permission is a decision",
        arguments: [
            (#""action":"allow""#, "approve"), (#""action":"allow","scope":"once""#, "approve"),
            (#""action":"allow","scope":"session""#, "approveAlways"), (#""action":"deny""#, "deny"),
            (#""action":"maybe""#, "deny"),
        ])
    mutating func answer(members: String, decision: String) {
        #expect(
            oppi.sends(#"{"type":"permission_response","id":"p1",\#(members)}"#) == ["decision sent p1 \(decision)"])
    }

    @Test("a dialog of yes and no is an approval; in a recording an ask is counted")
    mutating func dialogs() {
        _ = hears("agent_start")
        #expect(
            hears("extension_ui_request", #""id":"d1","method":"confirm","title":"Sure?","message":"All of it""#)
                == [#"\#(Self.run) approval requested d1 dialog medium "Sure?" message="All of it""#])
        #expect(hears("extension_ui_request", #""id":"d2","method":"ask","questions":[]"#) == [])
        #expect(oppi.unknown.counts == ["dialog ask": 1])
        #expect(
            oppi.sends(#"{"type":"extension_ui_response","sessionId":"s","id":"d1","confirmed":true}"#)
                == ["decision sent d1 approve"])
    }

    @Test("a choice or a text that is asked for is a question, with its answer")
    mutating func questions() {
        _ = hears("agent_start")
        #expect(
            hears("extension_ui_request", #""id":"d1","method":"select","title":"Which?","options":["a","b","c"]"#)
                == [#"\#(Self.run) asked d1 "Which?" option="a" option="b" option="c""#])
        _ = hears("extension_ui_request", #""id":"d2","method":"input","title":"Name?""#)
        for (id, answer, read) in [
            ("d1", #""value":"b""#, #"choices(["b"])"#), ("d2", #""cancelled":true"#, "declined"),
        ] {
            #expect(
                oppi.sends(#"{"type":"extension_ui_response","sessionId":"s","id":"\#(id)",\#(answer)}"#)
                    == ["answer sent \(id) \(read)"])
        }
    }
}
