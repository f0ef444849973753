import AgentKit
import Testing
import Vocabulary

/// pi's actions before it accepts a prompt, and frames that it leaves out behind one.
@Suite("pi, slow to take a prompt or to end")
struct PiPatienceTests {
    private static func compacts(_ phase: String, _ more: String = "") -> String {
        #"{"type":"compaction_\#(phase)","reason":"threshold"\#(more)}"#
    }

    private static func ask(_ id: String) -> String {
        #"{"type":"extension_ui_request","id":"\#(id)","method":"confirm","title":"Sure?","message":"rm"}"#
    }

    /// Answers every look at the state within this time.
    private static func answers(_ pi: inout PiConversation, for milliseconds: Int64, _ state: String) -> [String] {
        var said: [String] = []
        for _ in 0..<(milliseconds / 1_000) {
            let lines = pi.waits(1_000)
            for line in lines where line.contains("get_state") {
                guard let id = line.firstMatch(of: /"sb-(\d+)"/).flatMap({ Int($0.output.1) }) else { continue }
                said += pi.says(PiSays.state(id, state))
            }
            said += lines.filter { !$0.contains("get_state") }
        }
        return said
    }

    /// A prompt `r1` is written, with the request id `sb-3`.
    private static func prompted() -> PiConversation {
        var pi = PiConversation.ready()
        _ = pi.sends("r1", "one")
        return pi
    }

    // MARK: Before a prompt

    @Test("a compaction of two minutes before the prompt is taken is waited for, and pi is asked each 10 s")
    func compactsFirst() {
        var pi = Self.prompted()
        #expect(pi.says(Self.compacts("start")) == ["r1 pi-ses_1 alive, compacting"])
        #expect(pi.waits(10_000) == [#"1 > {"type":"get_state","id":"sb-4"}"#])
        _ = pi.says(PiSays.state(4, #""isStreaming":false,"isCompacting":true"#))
        #expect(Self.answers(&pi, for: 110_000, #""isStreaming":false,"isCompacting":true"#) == [])
        #expect(pi.says(Self.compacts("end", #","willRetry":false"#)) == [])
        #expect(pi.says(PiSays.accepted(3)) == ["send r1 accepted as r1"])
        #expect(pi.says(PiSays.started) == ["r1 pi-ses_1 started"])
    }

    @Test("a compaction during which pi answers nothing is waited for too")
    func compactsInSilence() {
        var pi = Self.prompted()
        _ = pi.says(Self.compacts("start"))
        #expect(!pi.waits(200_000).contains("kill 1"))
        #expect(pi.says(PiSays.accepted(3)) == ["send r1 accepted as r1"])
    }

    @Test("an extension that asks before the prompt is taken waits for the person")
    func asksFirst() {
        var pi = Self.prompted()
        #expect(pi.says(Self.ask("d1")).first?.hasPrefix("r1 pi-ses_1 approval requested d1") == true)
        #expect(!pi.waits(300_000).contains("kill 1"))
        #expect(pi.decides("d1", .approve).first?.contains(#""confirmed":true"#) == true)
        #expect(pi.says(PiSays.accepted(3)) == ["send r1 accepted as r1"])
    }

    @Test("any frame is a sign of life")
    func anyFrame() {
        var pi = Self.prompted()
        for _ in 0..<20 {
            #expect(!pi.waits(50_000).contains("kill 1"))
            _ = pi.says(#"{"type":"extension_ui_request","id":"s","method":"setStatus","statusKey":"k"}"#)
        }
    }

    @Test("no frame and no answer for 60 s ends the process")
    func silent() {
        var pi = Self.prompted()
        #expect(pi.waits(59_000) == [#"1 > {"type":"get_state","id":"sb-4"}"#])
        #expect(pi.waits(1_000) == ["kill 1", #"r1 pi-ses_1 failed agentGone "pi does not answer any more""#])
    }

    @Test("a prompt that is not taken within half an hour is given up")
    func halfAnHour() {
        var pi = Self.prompted()
        _ = pi.says(Self.compacts("start"))
        let busy = #""isStreaming":false,"isCompacting":true"#
        #expect(Self.answers(&pi, for: 1_799_000, busy) == [])
        let end = Self.answers(&pi, for: 1_000, busy)
        #expect(
            end == ["kill 1", #"r1 pi-ses_1 failed agentGone "pi did not take this message within 30 minutes""#])
    }

    @Test("a command that has been answered and asks a person is not over")
    func commandAsks() {
        var pi = Self.prompted()
        _ = pi.says(PiSays.accepted(3))
        _ = pi.says(Self.ask("d1"))
        #expect(Self.answers(&pi, for: 60_000, #""isStreaming":false,"isCompacting":false"#) == [])
        _ = pi.decides("d1", .approve)
        let idle = #""isStreaming":false,"isCompacting":false"#
        #expect(Self.answers(&pi, for: 12_000, idle) == ["send r1 runs nothing"])
    }

    // MARK: Dialogs that no run waits for

    /// An extension asked within `r1`, and the run ended without an answer.
    private static func leaves(_ pi: inout PiConversation) -> [String] {
        _ = pi.says(ask("d1"))
        _ = pi.says(PiSays.said("Hi"))
        _ = pi.says(PiSays.ended)
        return pi.waits(250)
    }

    @Test("a dialog ends with its run: it is cancelled, and its place is not held for a person")
    func dialogOutlivesRun() {
        var pi = PiConversation.going()
        pi.showsIdle = true
        #expect(
            Self.leaves(&pi) == [
                "r1 pi-ses_1 finished stop run -", #"1 > {"type":"extension_ui_response","id":"d1","cancelled":true}"#,
                "- pi-ses_1 approval settled d1 cancelled", "1 asks nobody", "idle 1",
            ])
        #expect(pi.decides("d1", .approve).contains("- - approval settled d1 unknown"))
    }

    @Test("a command behind a dialog that its run did not wait for is over as any other")
    func commandBehindDialog() {
        var pi = PiConversation.going()
        _ = Self.leaves(&pi)
        _ = pi.sends("r2", "/reload")
        _ = pi.says(PiSays.accepted(4))
        let idle = #""isStreaming":false,"isCompacting":false"#
        #expect(Self.answers(&pi, for: 12_000, idle) == ["send r2 runs nothing"])
    }

    @Test("a process that is stuck behind a dialog that its run did not wait for is ended")
    func stuckBehindDialog() {
        var pi = PiConversation.going()
        _ = Self.leaves(&pi)
        _ = pi.sends("r2", "two")
        #expect(pi.waits(60_000).contains("kill 1"))
    }

    // MARK: Stop

    @Test("a Stop before the loop has begun ends the process, because pi would carry the prompt out afterwards")
    func stopsBeforeLoop() {
        for isTaken in [false, true] {
            var pi = Self.prompted()
            if isTaken { _ = pi.says(PiSays.accepted(3)) }
            _ = pi.says(Self.compacts("start"))
            #expect(pi.aborts("r1") == [#"1 > {"type":"abort","id":"sb-4"}"#])
            _ = pi.says(#"{"id":"sb-4","type":"response","command":"abort","success":true}"#)
            _ = pi.says(PiSays.state(5, #""isStreaming":false,"isCompacting":true"#))
            let said = pi.waits(2_000)
            #expect(said == ["r1 pi-ses_1 finished aborted run -", "stop of r1 answered", "kill 1"])
            #expect(pi.sends("r2", "two") == ["start 2 --session /s/1"])
        }
    }

    @Test("a loop that begins behind a Stop is stopped at once")
    func stopsBeginning() {
        var pi = Self.prompted()
        _ = pi.aborts("r1")
        _ = pi.says(#"{"id":"sb-4","type":"response","command":"abort","success":true}"#)
        _ = pi.says(PiSays.accepted(3))
        let said = pi.says(PiSays.started)
        #expect(said == ["r1 pi-ses_1 started", #"1 > {"type":"abort","id":"sb-6"}"#])
    }

    // MARK: Lost ends

    @Test("a retry that was promised and does not come ends the run within about a minute")
    func lostRetry() {
        var pi = PiConversation.going()
        _ = pi.says(PiSays.said("", stop: "error"))
        _ = pi.says(#"{"type":"agent_end","messages":[],"willRetry":true}"#)
        let said = Self.answers(&pi, for: 65_000, #""isStreaming":false,"isCompacting":false"#)
        #expect(said.count == 1 && said[0].hasPrefix("r1 pi-ses_1 failed"), "\(said)")
        #expect(pi.sends("r2", "two").first?.contains(#""message":"two""#) == true)
    }

    @Test("a retry that is announced for later is waited for")
    func lateRetry() {
        var pi = PiConversation.going()
        _ = pi.says(PiSays.said("", stop: "error"))
        _ = pi.says(PiSays.ended)
        _ = pi.says(#"{"type":"auto_retry_start","attempt":1,"delayMs":120000,"errorMessage":"429"}"#)
        #expect(Self.answers(&pi, for: 119_000, #""isStreaming":false,"isCompacting":false"#) == [])
        #expect(pi.says(PiSays.started).first == "r1 pi-ses_1 started")
    }

    @Test("a run whose end was lost ends also where another loop has begun behind it")
    func lostEndBehindLoop() {
        var pi = PiConversation.going()
        _ = pi.says(PiSays.started)
        _ = pi.says(PiSays.ended)
        _ = pi.waits(250)
        let said = Self.answers(&pi, for: 65_000, #""isStreaming":false,"isCompacting":false"#)
        let id = said.last?.firstMatch(of: /get_messages","id":"sb-(\d+)"/).flatMap { Int($0.output.1) }
        let messages =
            #"[{"role":"user","content":"one"},{"role":"assistant","content":[{"type":"text","text":"Hi"}],"stopReason":"stop"}]"#
        #expect(pi.says(PiSays.messages(id ?? 0, messages)) == ["r1 pi-ses_1 finished stop run \"Hi\""], "\(said)")
    }

    @Test("an extension's loop whose end was lost holds no prompt up")
    func lostEndOfExtension() {
        var pi = PiConversation.ready()
        _ = pi.says(PiSays.started)
        #expect(pi.sends("r1", "one") == [])
        let said = Self.answers(&pi, for: 65_000, #""isStreaming":false,"isCompacting":false"#)
        #expect(said.contains { $0.contains(#""message":"one""#) }, "\(said)")
    }

    @Test("a prompt is not written into a compaction behind a run")
    func compactsBehind() {
        var pi = PiConversation.going()
        _ = pi.says(PiSays.said("Hi"))
        _ = pi.says(PiSays.ended)
        #expect(
            pi.says(#"{"type":"auto_compaction_start","reason":"threshold"}"#) == ["r1 pi-ses_1 finished stop run -"])
        #expect(pi.sends("r2", "two") == [])
        let said = pi.says(#"{"type":"auto_compaction_end","willRetry":false}"#)
        #expect(said.first?.contains(#""message":"two""#) == true)
    }

    @Test("a prompt whose pictures pi has noted behind it is found in the session")
    func notedPictures() {
        var pi = PiConversation.after("r1", "one")
        _ = pi.looksUp("r1")
        _ = pi.spawns()
        _ = pi.says(PiSays.state(1, #""sessionFile":"/s/1""#))
        let note = #"\n\n[Image: original 4032x3024, displayed at 2000x1500.]"#
        let messages =
            #"[{"role":"user","content":"one\#(note)"},{"role":"assistant","content":"Hi","stopReason":"stop"}]"#
        #expect(pi.says(PiSays.messages(2, messages)) == ["looked up r1 finished stop run \"Hi\""])
    }
}
