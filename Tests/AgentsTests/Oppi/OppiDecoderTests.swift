import Oppi
import Testing
import Vocabulary

@Suite("Frames of Oppi")
struct OppiDecoderTests {
    private var oppi = Conversation(OppiPlugin())
    private var sequence = 0

    /// A frame of the one session, sequenced if oppi.md#classes says so.
    private mutating func hears(_ type: String, _ members: String = "") -> [String] {
        let durable = [
            "agent_start", "agent_end", "message_end", "tool_start", "tool_end", "stop_requested", "stop_confirmed",
            "stop_failed", "session_ended", "error",
        ]
        if durable.contains(type) { sequence += 1 }
        let number = durable.contains(type) ? #","seq":\#(sequence)"# : ""
        return oppi.receives(
            #"{"type":"\#(type)","sessionId":"s"\#(number)\#(members.isEmpty ? "" : "," + members)}"#)
    }

    /// Includes the time in which a retry would follow.
    private mutating func ends() -> [String] { hears("agent_end") + oppi.waits(200) }

    private mutating func says(_ text: String) -> [String] {
        hears("message_end", #""role":"assistant","content":"\#(text)""#)
    }

    @Test("a prompt is answered, runs and ends with what it cost")
    mutating func run() {
        _ = hears("state", #""session":{"id":"s","status":"ready","tokens":{"input":10,"output":5}}"#)
        let prompt = #"{"type":"prompt","sessionId":"s","message":"Hi","requestId":"r1","clientTurnId":"t1"}"#
        #expect(oppi.sends(prompt) == [#"prompt oppi-s-1 s "Hi""#])
        #expect(hears("turn_ack", #""command":"prompt","clientTurnId":"t1","stage":"accepted""#) == [])
        #expect(
            hears("rpc_result", #""command":"prompt","requestId":"r1","success":true"#)
                == ["send oppi-s-1 accepted as oppi-s-1"])
        #expect(hears("agent_start") == [])
        #expect(hears("message_end", #""role":"user","content":"Hi""#) == ["oppi-s-1 s started"])
        #expect(hears("thinking_delta", #""delta":"Hm""#) == [])
        #expect(hears("text_delta", #""delta":"Hel""#) == [#"oppi-s-1 s append "Hel""#])
        #expect(says("Hello") == [#"oppi-s-1 s segment ended "Hello""#])
        _ = hears("state", #""session":{"id":"s","status":"busy","tokens":{"input":30,"output":9}}"#)
        #expect(ends() == ["oppi-s-1 s finished stop run - tokens=20+4"])
    }

    @Test("a refused prompt says why, in either dialect", arguments: ["rpc_result", "command_result"])
    mutating func refused(result: String) {
        _ = oppi.sends(#"{"type":"prompt","sessionId":"s","message":"Hi","requestId":"r1"}"#)
        #expect(
            hears(result, #""command":"prompt","requestId":"r1","success":false,"error":"Session not active: s""#)
                == [#"send oppi-s-1 refused "Session not active: s""#])
        // A second answer means nothing.
        #expect(hears(result, #""command":"prompt","requestId":"r1","success":true"#) == [])
    }

    @Test("behind a thousand prompts without an answer the answer to the newest is heard")
    mutating func manyUnanswered() {
        for number in 1...1_001 {
            _ = oppi.sends(#"{"type":"prompt","sessionId":"s","message":"Hi","requestId":"r\#(number)"}"#)
        }
        #expect(
            hears("rpc_result", #""command":"prompt","requestId":"r1001","success":true"#)
                == ["send oppi-s-1001 accepted as oppi-s-1001"])
    }

    @Test("a prompt that was taken and then refused by an error fails without a run")
    mutating func refusedLate() {
        _ = oppi.sends(#"{"type":"prompt","sessionId":"s","message":"Hi","requestId":"r1"}"#)
        _ = hears("command_result", #""command":"prompt","requestId":"r1","success":true"#)
        #expect(hears("error", #""error":"No API key""#) == [#"oppi-s-1 s failed other "No API key""#])
    }

    @Test("an error about one of our frames is no error of the run")
    mutating func ownError() {
        _ = hears("agent_start")
        #expect(oppi.receives(#"{"type":"error","sessionId":"s","error":"not subscribed"}"#) == [])
        _ = says("Done.")
        #expect(ends() == ["oppi-s-1 s finished stop run -"])
    }

    @Test("an end after an error waits for a retry, and a retry is the same run")
    mutating func retry() {
        _ = hears("agent_start")
        #expect(hears("error", #""error":"529 overloaded""#) == [])
        _ = says("")
        #expect(hears("agent_end") == [])
        #expect(oppi.nextDeadline == 2_000)
        #expect(hears("state", #""session":{"id":"s","status":"ready"}"#) == [])
        #expect(
            hears("retry_start", #""attempt":1,"maxAttempts":3,"delayMs":2000,"errorMessage":"529 overloaded""#)
                == [#"oppi-s-1 s retrying "529 overloaded""#])
        #expect(oppi.waits(2_000) == [])
        #expect(hears("agent_start") == ["oppi-s-1 s started"])
        #expect(hears("retry_end", #""success":true,"attempt":1"#) == [])
        _ = says("Now.")
        #expect(ends() == ["oppi-s-1 s finished stop run -"])
    }

    @Test("an error behind the last message leaves the answer whole, and the run ends well", arguments: [false, true])
    mutating func errorBehind(isHead: Bool) {
        if isHead { _ = hears("command_result", #""command":"subscribe","requestId":"q","success":true"#) }
        _ = hears("agent_start")
        _ = says("All of it.")
        _ = hears("error", #""error":"Extension error: the notifier is away""#)
        #expect(ends() == ["oppi-s-1 s finished stop run -"])
    }

    @Test("two errors, one before and one behind the last message, are a failure, and so is one behind a tool")
    mutating func errorBeforeAndBehind() {
        _ = hears("agent_start")
        _ = hears("error", #""error":"529 overloaded""#)
        _ = says("Half of")
        _ = hears("error", #""error":"529 overloaded""#)
        _ = hears("agent_end")
        #expect(oppi.waits(1_999) == [])
        #expect(oppi.waits(1) == [#"oppi-s-1 s failed other "529 overloaded""#])
        _ = hears("agent_start")
        _ = says("I look.")
        _ = hears("tool_start", #""tool":"read","toolCallId":"c1","args":{}"#)
        _ = hears("tool_end", #""tool":"read","toolCallId":"c1""#)
        _ = hears("error", #""error":"Stream aborted""#)
        _ = hears("agent_end")
        #expect(oppi.waits(2_000).last == #"oppi-s-2 s failed other "Stream aborted""#)
    }

    @Test("an end after an error that nothing follows is a failure after two seconds")
    mutating func failure() {
        _ = hears("agent_start")
        _ = hears("error", #""error":"529 overloaded""#)
        _ = says("")
        _ = hears("agent_end")
        #expect(oppi.waits(1_999) == [])
        #expect(oppi.waits(1) == [#"oppi-s-1 s failed other "529 overloaded""#])
    }

    @Test("retries that are used up are a failure with the last reason")
    mutating func usedUp() {
        _ = hears("agent_start")
        _ = says("")
        _ = hears("agent_end")
        _ = hears("retry_start", #""attempt":3,"maxAttempts":3,"delayMs":8000,"errorMessage":"529""#)
        #expect(
            hears("retry_end", #""success":false,"attempt":3,"finalError":"gave up""#)
                == [#"oppi-s-1 s failed other "gave up""#])
    }

    @Test("retries that are used up name the error also where the last attempt has ended without one")
    mutating func usedUpInSilence() {
        _ = hears("agent_start")
        _ = says("")
        _ = hears("agent_end")
        _ = hears("retry_start", #""attempt":1,"maxAttempts":1,"delayMs":1,"errorMessage":"529""#)
        _ = hears("agent_start")
        _ = says("")
        #expect(hears("agent_end") == [])
        #expect(
            hears("retry_end", #""success":false,"attempt":1,"finalError":"gave up""#)
                == [#"oppi-s-1 s failed other "gave up""#])
        #expect(oppi.waits(2_000) == [])
    }

    @Test("what the run said before the message that failed stays in its answer")
    mutating func saidBeforeRetry() {
        _ = hears("agent_start")
        _ = says("First.")
        _ = says("Second.")
        _ = says("")
        _ = hears("agent_end")
        _ = hears("retry_start", #""attempt":1,"maxAttempts":3,"delayMs":1,"errorMessage":"529""#)
        #expect(
            hears("agent_start") == ["oppi-s-1 s started", #"oppi-s-1 s segment ended "First.\n\nSecond.""#])
        _ = ends()
        #expect(hears("agent_start") == ["oppi-s-2 s started"])
    }

    @Test("a context that has overflowed is compacted, and the run goes on")
    mutating func overflow() {
        _ = hears("agent_start")
        _ = hears("error", #""error":"context length exceeded""#)
        _ = says("")
        _ = hears("agent_end")
        #expect(hears("compaction_start", #""reason":"overflow""#) == [])
        #expect(oppi.waits(60_000) == [])
        #expect(
            hears("compaction_end", #""aborted":false,"willRetry":true"#)
                == [#"oppi-s-1 s retrying "the context overflowed""#])
        #expect(hears("agent_start") == ["oppi-s-1 s started"])
    }

    @Test("a compaction without a retry, or after a good end, leaves the verdict as it was")
    mutating func compaction() {
        _ = hears("agent_start")
        _ = says("")
        _ = hears("agent_end")
        _ = hears("compaction_start", #""reason":"overflow""#)
        #expect(hears("compaction_end", #""aborted":true,"willRetry":false"#) == ["oppi-s-1 s finished stop run -"])
        _ = hears("agent_start")
        _ = says("Done.")
        #expect(ends() == ["oppi-s-2 s finished stop run -"])
        #expect(hears("compaction_start", #""reason":"threshold""#) == [])
        #expect(hears("compaction_end", #""aborted":false,"willRetry":false"#) == [])
    }

    @Test("an error from which the agent recovers is no failure")
    mutating func recovered() {
        _ = hears("agent_start")
        _ = hears("error", #""error":"An extension threw""#)
        _ = hears("text_delta", #""delta":"All is well.""#)
        _ = says("All is well.")
        #expect(ends() == ["oppi-s-1 s finished stop run -"])
    }

    @Test("without the error frame of head, an empty message at the end is an end without text")
    mutating func empty() {
        _ = hears("agent_start")
        _ = says("")
        _ = hears("agent_end")
        #expect(oppi.waits(2_000) == ["oppi-s-1 s finished stop run -"])
    }

    @Test("a held verdict is told before what comes next")
    mutating func heldOrder() {
        _ = hears("agent_start")
        _ = says("")
        _ = hears("agent_end")
        #expect(hears("agent_start") == ["oppi-s-1 s finished stop run -", "oppi-s-2 s started"])
    }

    @Test("a stopped run is aborted, whatever it had said", arguments: ["", "So far"])
    mutating func stopped(text: String) {
        _ = hears("agent_start")
        #expect(oppi.sends(#"{"type":"stop","sessionId":"s","requestId":"r2"}"#) == ["stop sent s -"])
        #expect(hears("stop_requested", #""source":"user""#) == [])
        _ = says(text)
        #expect(ends() == ["oppi-s-1 s finished aborted run -"])
        #expect(hears("stop_confirmed", #""source":"user""#) == [])
    }

    @Test("a stop that no end follows ends the run when it is confirmed; so does the session's end")
    mutating func stopWithoutEnd() {
        _ = hears("agent_start")
        _ = hears("stop_requested", #""source":"user""#)
        #expect(hears("stop_confirmed", #""source":"user""#) == ["oppi-s-1 s finished aborted run -"])
        _ = hears("agent_start")
        #expect(
            hears("session_ended", #""reason":"terminated""#) == [#"oppi-s-2 s failed agentGone "terminated""#])
        // Sequence numbers restart with the next activation.
        sequence = 0
        #expect(hears("agent_start") == ["oppi-s-3 s started"])
    }

    @Test("a frame that was seen already is not told again")
    mutating func repeats() {
        _ = hears("agent_start")
        _ = says("One")
        sequence = 1
        #expect(says("One") == [])
        #expect(ends() == ["oppi-s-1 s finished stop run -"])
    }

    @Test("after a smaller number on connecting, the numbers begin anew")
    mutating func activation() {
        sequence = 40
        _ = hears("agent_start")
        _ = says("a")
        _ = ends()
        #expect(hears("connected", #""session":{"id":"s"},"currentSeq":0"#) == [])
        sequence = 0
        #expect(hears("agent_start") == ["oppi-s-2 s started"])
    }

    @Test("after a lost link the additions of a cut message have no place; its end has")
    mutating func hole() {
        _ = hears("agent_start")
        _ = hears("text_delta", #""delta":"Start ""#)
        #expect(oppi.receives(#"{"_ws":"close","code":1006}"#) == ["link lost"])
        #expect(oppi.receives(#"{"type":"stream_connected","userName":"host"}"#) == ["link back"])
        #expect(hears("text_delta", #""delta":"with beets""#) == [])
        #expect(says("Start with beets") == [#"oppi-s-1 s segment ended "Start with beets""#])
        #expect(hears("text_delta", #""delta":"Then""#) == [#"oppi-s-1 s append "Then""#])
    }

    @Test("the history closes a run whose end was missed, and leaves a busy one open")
    mutating func history() {
        _ = hears("agent_start")
        _ = oppi.receives(#"{"_ws":"close"}"#)
        _ = oppi.receives(#"{"type":"stream_connected","userName":"host"}"#)
        _ = oppi.sends(#"{"_http":{"method":"GET","path":"/workspaces/w/sessions/s?view=full"}}"#)
        let rows =
            #"[{"type":"user","text":"Q"},{"type":"assistant","text":"One"},{"type":"toolCall"},{"type":"assistant","text":"Two"}]"#
        func answer(_ status: String) -> String {
            #"{"_http":{"status":200,"body":{"session":{"status":"\#(status)"},"trace":\#(rows)}}}"#
        }
        #expect(oppi.receives(answer("busy")) == ["looked up oppi-s-1 running -"])
        _ = oppi.sends(#"{"_http":{"method":"GET","path":"/workspaces/w/sessions/s"}}"#)
        #expect(oppi.receives(answer("ready")) == [#"looked up oppi-s-1 finished stop run "One\n\nTwo""#])
        // Nothing requested this one.
        #expect(oppi.receives(answer("ready")) == [])
    }

    @Test("sessions do not disturb one another")
    mutating func sessions() {
        _ = hears("agent_start")
        #expect(
            oppi.receives(#"{"type":"agent_start","seq":1,"sessionId":"other"}"#) == ["oppi-other-1 other started"])
        _ = says("Mine")
        #expect(ends() == ["oppi-s-1 s finished stop run -"])
        #expect(
            oppi.receives(#"{"type":"text_delta","delta":"x","sessionId":"other"}"#)
                == [#"oppi-other-1 other append "x""#])
    }

    @Test("a state that tells of a child session does not count as the parent's")
    mutating func childState() {
        _ = hears("state", #""session":{"id":"s","tokens":{"input":1,"output":1}}"#)
        _ = hears("agent_start")
        _ = hears("state", #""session":{"id":"child","tokens":{"input":900,"output":900}}"#)
        _ = says("x")
        #expect(ends() == ["oppi-s-1 s finished stop run -"])
    }

    @Test("what is known and means nothing to a run says nothing and is not counted")
    mutating func quiet() {
        for type in [
            "turn_start", "turn_end", "turn_ack", "compaction_start", "compaction_end", "stop_failed",
            "extension_ui_notification", "git_status", "queue_state", "queue_item_started", "session_deleted",
            "connected", "state",
        ] {
            #expect(hears(type) == [], "\(type)")
        }
        #expect(oppi.unknown.counts.isEmpty)
    }

    @Test("what is unknown is counted by name, what is malformed by number, and neither does harm")
    mutating func unknown() {
        _ = hears("agent_start")
        for _ in 0..<3 { #expect(hears("agent_dreams") == []) }
        for frame in ["", "{", "[1]", "7", #"{"sessionId":"s"}"#, #"{"type":5,"sessionId":"s"}"#, "\u{0}"] {
            #expect(oppi.receives(frame) == [])
        }
        #expect(oppi.unknown.counts == ["frame agent_dreams": 3])
        #expect(oppi.unknown.malformed == 7)
        #expect(hears("text_delta", #""delta":"on""#) == [#"oppi-s-1 s append "on""#])
    }

    @Test(
        "fields that are missing or of another kind say nothing wrong",
        arguments: [
            "text_delta", "tool_start", "tool_output", "tool_end", "permission_request", "permission_expired",
            "retry_end", "message_end", "rpc_result",
        ])
    mutating func poor(type: String) {
        _ = hears("agent_start")
        #expect(hears(type) == [])
        #expect(
            hears(type, #""delta":1,"toolCallId":[],"id":{},"success":"no","role":7,"content":{},"requestId":2"#) == [])
    }
}
