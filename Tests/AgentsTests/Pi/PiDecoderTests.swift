import Pi
import Testing
import Vocabulary

@Suite("Lines of pi")
struct PiDecoderTests {
    private var pi = Conversation(PiPlugin())

    private static func end(_ text: String, _ stop: String = "stop", error: String? = nil) -> String {
        #"{"type":"message_end","message":\#(message(text, stop, error: error))}"#
    }

    private static func message(_ text: String, _ stop: String, error: String? = nil) -> String {
        let failure = error.map { #","errorMessage":"\#($0)""# } ?? ""
        return #"{"role":"assistant","content":[{"type":"text","text":"\#(text)"}],"model":"m","provider":"p","#
            + #""usage":{"input":10,"output":2,"cost":{"total":0.001}},"stopReason":"\#(stop)"\#(failure)}"#
    }

    private static func ends(_ messages: String = "", _ more: String = "") -> String {
        #"{"type":"agent_end","messages":[\#(messages)]\#(more)}"#
    }

    private mutating func begins() { _ = pi.receives(#"{"type":"agent_start"}"#) }

    @Test("a prompt is answered, runs, and ends when nothing follows for 250 ms")
    mutating func run() {
        #expect(pi.sends(#"{"id":"1","type":"prompt","message":"Hi"}"#) == [#"prompt pi-run-1 pi "Hi""#])
        #expect(
            pi.receives(#"{"id":"1","type":"response","command":"prompt","success":true}"#)
                == ["send pi-run-1 accepted as pi-run-1"])
        #expect(pi.receives(#"{"type":"agent_start"}"#) == ["pi-run-1 pi started"])
        #expect(pi.receives(#"{"type":"turn_start"}"#) == [])
        #expect(pi.receives(#"{"type":"message_start","message":{"role":"assistant","content":[]}}"#) == [])
        #expect(
            pi.receives(#"{"type":"message_update","assistantMessageEvent":{"type":"text_delta","delta":"Hel"}}"#)
                == [#"pi-run-1 pi append "Hel""#])
        #expect(
            pi.receives(#"{"type":"message_update","assistantMessageEvent":{"type":"thinking_delta","delta":"x"}}"#)
                == [])
        #expect(pi.receives(Self.end("Hello")) == [#"pi-run-1 pi segment ended "Hello""#])
        #expect(pi.receives(Self.ends(Self.message("Hello", "stop"))) == [])
        #expect(pi.waits(249) == [])
        #expect(pi.waits(1) == [#"pi-run-1 pi finished stop run - tokens=10+2 cost=1000e-6 model="m""#])
    }

    @Test("a delta behind the end of its message changes nothing, and the next message is heard")
    mutating func lateDelta() {
        func delta(_ text: String) -> String {
            #"{"type":"message_update","assistantMessageEvent":{"type":"text_delta","delta":"\#(text)"}}"#
        }
        let start = #"{"type":"message_start","message":{"role":"assistant","content":[]}}"#
        begins()
        _ = pi.receives(start)
        #expect(pi.receives(delta("Hel")).count == 1)
        _ = pi.receives(Self.end("Hello", "toolUse"))
        #expect(pi.receives(delta("lo")) == [])
        _ = pi.receives(#"{"type":"message_start","message":{"role":"toolResult","content":[]}}"#)
        #expect(pi.receives(delta("lo")) == [])
        _ = pi.receives(start)
        #expect(pi.receives(delta("Bye")) == [#"pi-run-1 pi append "Bye""#])
        _ = pi.receives(Self.end("Bye", "error"))
        begins()
        #expect(pi.receives(delta("Again")).count == 1)
    }

    @Test("a failure of a prompt wins, in whatever order the two answers come, until its run begins")
    mutating func twoAnswers() {
        let good = #"{"id":"1","type":"response","command":"prompt","success":true}"#
        let bad = #"{"id":"1","type":"response","command":"prompt","success":false,"error":"busy"}"#
        _ = pi.sends(#"{"id":"1","type":"prompt","message":"Hi"}"#)
        #expect(pi.receives(bad) == [#"send pi-run-1 refused "busy""#])
        #expect(pi.receives(good) == [])
        var other = Conversation(PiPlugin())
        _ = other.sends(#"{"id":"1","type":"prompt","message":"Hi"}"#)
        #expect(other.receives(good) == ["send pi-run-1 accepted as pi-run-1"])
        #expect(other.receives(bad) == [#"send pi-run-1 refused "busy""#])
        var late = Conversation(PiPlugin())
        _ = late.sends(#"{"id":"1","type":"prompt","message":"Hi"}"#)
        _ = late.receives(good)
        _ = late.receives(#"{"type":"agent_start"}"#)
        #expect(late.receives(bad) == [])
    }

    @Test("an answer to another command says nothing of the prompt")
    mutating func otherAnswers() {
        _ = pi.sends(#"{"id":"1","type":"prompt","message":"Hi"}"#)
        #expect(pi.receives(#"{"type":"response","command":"parse","success":false,"error":"x"}"#) == [])
        #expect(pi.receives(#"{"id":"2","type":"response","command":"get_state","success":true}"#) == [])
    }

    @Test("a message sent into a running loop begins no run")
    mutating func queued() {
        begins()
        #expect(pi.sends(#"{"id":"2","type":"prompt","message":"And?","streamingBehavior":"followUp"}"#) == [])
        #expect(pi.sends(#"{"id":"3","type":"steer","message":"No"}"#) == [])
    }

    @Test(
        "how the last message stopped is how the run ended",
        arguments: [
            ("stop", "finished stop run -"), ("length", "finished length run -"), ("aborted", "finished aborted run -"),
            ("error", #"failed other "529""#),
        ])
    mutating func stops(reason: String, line: String) {
        begins()
        _ = pi.receives(Self.end("x", reason, error: reason == "error" ? "529" : nil))
        _ = pi.receives(Self.ends())
        #expect(pi.waits(250) == ["pi-run-1 pi \(line)"])
    }

    @Test("a loop that died by exception is told by its last line alone")
    mutating func died() {
        begins()
        _ = pi.receives(Self.ends(Self.message("", "error", error: "boom")))
        #expect(pi.waits(250).first?.hasPrefix(#"pi-run-1 pi failed other "boom""#) == true)
    }

    @Test("an attempt that fails behind words begins again without them")
    mutating func retryBehindWords() {
        begins()
        _ = pi.receives(Self.end("Five words that are lost", "error", error: "529"))
        _ = pi.receives(Self.ends())
        #expect(
            pi.receives(#"{"type":"auto_retry_start","attempt":1,"delayMs":2000,"errorMessage":"529"}"#)
                == [#"pi-run-1 pi retrying "529""#])
        let begun = pi.receives(#"{"type":"agent_start"}"#)
        #expect(begun == ["pi-run-1 pi started"], "nothing of the failed attempt is said again")
        #expect(pi.receives(Self.end("The answer")) == [#"pi-run-1 pi segment ended "The answer""#])
    }

    @Test("a retry that follows at once is the same run, and its verdict is that of the last attempt")
    mutating func retry() {
        begins()
        _ = pi.receives(Self.end("", "error", error: "529"))
        _ = pi.receives(Self.ends())
        #expect(
            pi.receives(#"{"type":"auto_retry_start","attempt":1,"delayMs":2000,"errorMessage":"529"}"#)
                == [#"pi-run-1 pi retrying "529""#])
        #expect(pi.waits(2_000) == [])
        #expect(pi.receives(#"{"type":"agent_start"}"#) == ["pi-run-1 pi started"])
        _ = pi.receives(Self.end("", "error", error: "529"))
        _ = pi.receives(Self.ends())
        _ = pi.receives(#"{"type":"auto_retry_start","errorMessage":"529"}"#)
        #expect(
            pi.receives(#"{"type":"auto_retry_end","success":false,"finalError":"Retry cancelled"}"#)
                == [#"pi-run-1 pi failed other "Retry cancelled""#])
    }

    @Test("what was said before the message that failed stays in the answer of the run that is tried again")
    mutating func retryKeepsText() {
        begins()
        _ = pi.receives(Self.end("I look.", "toolUse"))
        _ = pi.receives(Self.end("Half", "error", error: "529"))
        _ = pi.receives(Self.ends())
        _ = pi.receives(#"{"type":"auto_retry_start","errorMessage":"529"}"#)
        #expect(
            pi.receives(#"{"type":"agent_start"}"#) == ["pi-run-1 pi started", #"pi-run-1 pi segment ended "I look.""#])
    }

    @Test(
        "an overflow is compacted and tried again, under either name",
        arguments: [("auto_compaction_start", "auto_compaction_end"), ("compaction_start", "compaction_end")])
    mutating func overflow(start: String, end: String) {
        begins()
        _ = pi.receives(Self.ends())
        #expect(
            pi.receives(#"{"type":"\#(start)","reason":"overflow"}"#)
                == [#"pi-run-1 pi retrying "the context overflowed""#])
        #expect(pi.receives(#"{"type":"\#(end)","willRetry":true}"#) == [])
        #expect(pi.receives(#"{"type":"agent_start"}"#) == ["pi-run-1 pi started"])
        _ = pi.receives(Self.ends())
        _ = pi.receives(#"{"type":"\#(start)","reason":"overflow"}"#)
        #expect(
            pi.receives(#"{"type":"\#(end)","willRetry":false,"errorMessage":"too long"}"#)
                == [#"pi-run-1 pi failed contextLength "too long""#])
    }

    @Test("a whole answer stays one where an overflow is compacted behind it and nothing is tried again")
    mutating func overflowBehindAnswer() {
        begins()
        _ = pi.receives(Self.end("Done"))
        _ = pi.receives(Self.ends())
        _ = pi.receives(#"{"type":"compaction_start","reason":"overflow"}"#)
        #expect(
            pi.receives(#"{"type":"compaction_end","reason":"overflow","willRetry":false}"#)
                == ["pi-run-1 pi finished stop run -"])
    }

    @Test("kinds of events that are not known decide nothing behind the end of a loop, in the first run either")
    mutating func unknownBehindEnd() {
        begins()
        _ = pi.receives(Self.end("", "error", error: "too long"))
        _ = pi.receives(Self.ends("", #","willRetry":false"#))
        #expect(pi.receives(#"{"type":"entry_appended"}"#) == [])
        #expect(pi.waits(1_000) == [])
        #expect(pi.receives(#"{"type":"compaction_start","reason":"overflow"}"#).count == 1)
        #expect(pi.receives(#"{"type":"compaction_end","willRetry":true}"#) == [])
        #expect(pi.receives(#"{"type":"agent_start"}"#) == ["pi-run-1 pi started"])
    }

    @Test("so do unknown kinds of the earlier line")
    mutating func unknownBehindEarlyEnd() {
        begins()
        _ = pi.receives(Self.end("", "error", error: "too long"))
        _ = pi.receives(Self.ends())
        #expect(pi.receives(#"{"type":"entry_appended"}"#) == [])
        #expect(
            pi.receives(#"{"type":"auto_compaction_start","reason":"overflow"}"#)
                == [#"pi-run-1 pi retrying "the context overflowed""#])
    }

    @Test("an attempt whose end is lost in noise is tried again in the same run")
    mutating func lostAttempt() {
        begins()
        _ = pi.receives(Self.end("", "error", error: "529"))
        #expect(
            pi.receives(#"{"type":"auto_retry_start","errorMessage":"529"}"#) == [#"pi-run-1 pi retrying "529""#])
        #expect(pi.receives(#"{"type":"agent_start"}"#) == ["pi-run-1 pi started"])
    }

    @Test("a compaction that only makes room comes after the end")
    mutating func threshold() {
        begins()
        _ = pi.receives(Self.end("Done"))
        _ = pi.receives(Self.ends())
        #expect(
            pi.receives(#"{"type":"auto_compaction_start","reason":"threshold"}"#) == [
                "pi-run-1 pi finished stop run -"
            ])
    }

    @Test("where the process says itself that nothing follows, that is the end, not silence")
    mutating func settled() {
        begins()
        _ = pi.receives(Self.ends())
        #expect(pi.receives(#"{"type":"agent_settled"}"#) == ["pi-run-1 pi finished stop run -"])
        begins()
        _ = pi.receives(Self.ends())
        #expect(pi.waits(29_000) == [])
        #expect(pi.receives(#"{"type":"compaction_start","reason":"threshold"}"#) == [])
        #expect(pi.receives(#"{"type":"agent_settled"}"#) == ["pi-run-2 pi finished stop run -"])
        begins()
        _ = pi.receives(Self.ends())
        #expect(pi.waits(30_000) == ["pi-run-3 pi finished stop run -"])
    }

    @Test("a retry that the end promises is waited for, and a promise not kept is a failure")
    mutating func promised() {
        begins()
        _ = pi.receives(Self.end("", "error", error: "529"))
        #expect(pi.receives(Self.ends("", #","willRetry":true"#)) == [#"pi-run-1 pi retrying "529""#])
        #expect(pi.waits(60_000) == [])
        #expect(pi.receives(#"{"type":"agent_settled"}"#) == [#"pi-run-1 pi failed other "529""#])
    }

    @Test("tools are told by start, by accumulated output and by end")
    mutating func tools() {
        begins()
        let call = #""toolCallId":"c|1","toolName":"bash""#
        #expect(
            pi.receives(#"{"type":"tool_execution_start",\#(call),"args":{"command":"ls"}}"#)
                == [#"pi-run-1 pi tool started c|1 call bash title="bash command=ls" arguments={"command":"ls"}"#])
        #expect(
            pi.receives(
                #"{"type":"tool_execution_update",\#(call),"partialResult":{"content":[{"type":"text","text":"a"}]}}"#)
                == [#"pi-run-1 pi tool progress c|1 call output="a""#])
        #expect(
            pi.receives(
                #"{"type":"tool_execution_end",\#(call),"isError":true,"result":{"content":[{"type":"text","text":"no"}]}}"#
            )
                == [#"pi-run-1 pi tool finished c|1 call bash failed result="no" error="no""#])
    }

    @Test(
        "an answer to a dialog is a decision",
        arguments: [
            (#""confirmed":true"#, "approve"), (#""confirmed":false"#, "deny"), (#""cancelled":true"#, "deny"),
            (#""value":"Allow""#, "approve"), (#""value":"Block""#, "deny"), (#""value":"""#, "deny"),
        ])
    mutating func dialogs(answer: String, decision: String) {
        begins()
        #expect(
            pi.receives(#"{"type":"extension_ui_request","id":"d","method":"confirm","title":"Sure?","timeout":5000}"#)
                == [#"pi-run-1 pi approval requested d dialog medium "Sure?" message="" expires=5000"#])
        #expect(
            pi.sends(#"{"type":"extension_ui_response","id":"d",\#(answer)}"#) == ["decision sent d \(decision)"])
        // The second answer has no effect.
        #expect(pi.sends(#"{"type":"extension_ui_response","id":"d",\#(answer)}"#) == [])
    }

    @Test("notices say nothing; dialogs that no person can answer are counted")
    mutating func notices() {
        for method in ["notify", "setStatus", "setWidget", "setTitle", "set_editor_text", "select", "wizard"] {
            #expect(pi.receives(#"{"type":"extension_ui_request","id":"x","method":"\#(method)"}"#) == [])
        }
        #expect(pi.unknown.counts == ["dialog select": 1, "dialog wizard": 1])
    }

    @Test(
        "an answer to a question is what was chosen, written or not",
        arguments: [
            ("select", #""value":"b""#, #"choices(["b"])"#), ("input", #""value":"b""#, #"text("b")"#),
            ("select", #""cancelled":true"#, "declined"),
        ])
    mutating func answers(method: String, answer: String, read: String) {
        begins()
        _ = pi.receives(#"{"type":"extension_ui_request","id":"d","method":"\#(method)","options":["a","b","c"]}"#)
        #expect(pi.sends(#"{"type":"extension_ui_response","id":"d",\#(answer)}"#) == ["answer sent d \(read)"])
        #expect(pi.sends(#"{"type":"extension_ui_response","id":"d",\#(answer)}"#) == [])
    }

    @Test("a process that ends in a run is a lost link; its file tells what became of the run")
    mutating func exit() {
        _ = pi.sends(#"{"id":"1","type":"prompt","message":"Q"}"#)
        begins()
        #expect(pi.receives(#"{"_proc":"exit","code":1}"#) == ["link lost"])
        #expect(pi.sends(#"{"_proc":"spawn"}"#) == ["link back"])
        _ = pi.sends(#"{"id":"9","type":"get_messages"}"#)
        let rows = #"{"role":"user","content":"Q"},"# + Self.message("All of it", "stop")
        #expect(
            pi.receives(
                #"{"id":"9","type":"response","command":"get_messages","success":true,"data":{"messages":[\#(rows)]}}"#)
                == [#"looked up pi-run-1 finished stop run "All of it""#])
    }

    @Test("an end that waits for silence is told before the process is lost")
    mutating func exitWhileSettling() {
        begins()
        _ = pi.receives(Self.end("Done"))
        _ = pi.receives(Self.ends())
        #expect(pi.receives(#"{"_proc":"exit","code":0}"#) == ["pi-run-1 pi finished stop run -", "link lost"])
        #expect(pi.sends(#"{"_proc":"spawn"}"#) == ["link back"])
    }

    @Test("a prompt that its process took along begins no run of the next process")
    mutating func exitBeforeRun() {
        #expect(pi.sends(#"{"_proc":"spawn"}"#) == [])
        _ = pi.sends(#"{"id":"1","type":"prompt","message":"Q"}"#)
        #expect(pi.receives(#"{"_proc":"exit","code":1}"#) == ["link lost"])
        #expect(pi.sends(#"{"_proc":"spawn"}"#) == ["link back"])
        #expect(pi.receives(#"{"type":"agent_start"}"#) == ["pi-run-2 pi started"])
    }

    @Test("what is unknown is counted by name, what is malformed by number, and neither does harm")
    mutating func unknown() {
        begins()
        #expect(pi.receives(#"{"type":"agent_dreams"}"#) == [])
        for frame in ["", "no JSON", "{", "[]", #"{"id":"1"}"#, #"{"type":{}}"#] { #expect(pi.receives(frame) == []) }
        for frame in [
            #"{"type":"message_end"}"#, #"{"type":"message_update"}"#, #"{"type":"tool_execution_start"}"#,
            #"{"type":"response"}"#, #"{"type":"message_end","message":{"role":"toolResult"}}"#,
        ] { #expect(pi.receives(frame) == []) }
        #expect(pi.unknown.counts == ["event agent_dreams": 1])
        #expect(pi.unknown.malformed == 6)
        #expect(pi.receives(Self.end("Still here")) == [#"pi-run-1 pi segment ended "Still here""#])
    }

    @Test("names that come from outside are counted up to a bound")
    mutating func manyNames() {
        for number in 0..<300 { _ = pi.receives(#"{"type":"new_\#(number)"}"#) }
        #expect(pi.unknown.counts.count == 101)
        #expect(pi.unknown.counts["event (other)"] == 200)
    }
}
