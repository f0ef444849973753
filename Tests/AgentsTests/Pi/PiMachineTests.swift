import AgentKit
import Pi
import Testing
import Vocabulary

@Suite("pi, live")
struct PiMachineTests {
    @Test(
        "the first message starts a process, which is asked for its state; its file is kept before the prompt is written"
    )
    func firstMessage() {
        var pi = PiConversation()
        #expect(pi.sends("r1", "hello") == ["start 1 "])
        #expect(pi.spawns() == [#"1 > {"type":"get_state","id":"sb-1"}"#])
        #expect(
            pi.says(PiSays.state(1, #""sessionFile":"/s/1","isStreaming":false"#)) == ["keep session:pi-ses_1=/s/1"])
        #expect(pi.keeps() == [#"1 > {"type":"prompt","id":"sb-2","message":"hello","streamingBehavior":"followUp"}"#])
        #expect(pi.says(PiSays.accepted(2)) == ["send r1 accepted as r1"])
        #expect(pi.says(PiSays.started) == ["r1 pi-ses_1 started"])
        #expect(pi.says(PiSays.said("Hi")) == ["r1 pi-ses_1 segment ended \"Hi\""])
        #expect(pi.says(PiSays.ended) == [])
        #expect(pi.waits(250) == ["r1 pi-ses_1 finished stop run -"])
    }

    @Test("a later process is started with the session file of the earlier one")
    func sessionFile() {
        var pi = PiConversation(facts: [Fact("session:pi-ses_1", Array("/s/9".utf8))])
        #expect(pi.sends("r1", "hello") == ["start 1 --session /s/9"])
        _ = pi.spawns()
        // The same file needs no second row.
        #expect(pi.says(PiSays.state(1, #""sessionFile":"/s/9""#)).first?.contains("prompt") == true)
    }

    @Test("a file that cannot be kept refuses the message, and nothing is prompted")
    func fullDisk() {
        var pi = PiConversation()
        _ = pi.sends("r1", "hello")
        _ = pi.spawns()
        _ = pi.says(PiSays.state(1, #""sessionFile":"/s/1""#))
        let lines = pi.keeps(false)
        #expect(lines.count == 1 && lines[0].hasPrefix("send r1 not made"))
    }

    @Test("a second message waits until the run before it has ended, also while its end is being decided")
    func oneAtATime() {
        var pi = PiConversation.ready()
        #expect(pi.sends("r1", "one").count == 1)
        #expect(pi.sends("r2", "two") == [])
        _ = pi.says(PiSays.accepted(3))
        _ = pi.says(PiSays.started)
        _ = pi.says(PiSays.ended)
        let lines = pi.waits(250)
        #expect(lines.count == 2 && lines[0] == "r1 pi-ses_1 finished stop run -" && lines[1].contains("two"))
    }

    @Test("a failure wins over success, in either order", arguments: [true, false])
    func failureWins(failureFirst: Bool) {
        var pi = PiConversation.ready()
        _ = pi.sends("r1", "one")
        let failure = #"{"id":"sb-3","type":"response","command":"prompt","success":false,"error":"no model"}"#
        let answers = failureFirst ? [failure, PiSays.accepted(3)] : [PiSays.accepted(3), failure]
        let lines = answers.flatMap { pi.says($0) }
        #expect(lines.last == "send r1 refused \"no model\"")
        #expect(pi.sends("r2", "two").count == 1)
    }

    @Test("a program that is not there refuses the message at once, and is tried again at the next one")
    func notFound() {
        var pi = PiConversation()
        _ = pi.sends("r1", "hello")
        #expect(
            pi.failsToStart("pi: no such program")
                == ["send r1 not made \"pi could not be started: pi: no such program\""])
        #expect(pi.sends("r2", "again") == ["start 2 "])
    }

    @Test(
        "one that exits at once is started three times, with a back-off, then the message is refused with its last words"
    )
    func exitsAtOnce() {
        var pi = PiConversation()
        _ = pi.sends("r1", "hello")
        _ = pi.spawns()
        #expect(pi.exits(1, words: "no API key") == [])
        #expect(pi.waits(1_300) == ["start 2 "])
        _ = pi.spawns(2)
        #expect(pi.exits(1, words: "no API key", 2) == [])
        #expect(pi.waits(2_600) == ["start 3 "])
        _ = pi.spawns(3)
        #expect(
            pi.exits(1, words: "no API key", 3)
                == [#"send r1 not made "pi could not be started: its process ended with code 1: no API key""#])
        #expect(pi.waits(100_000) == [])
    }

    @Test("a process that ends in mid-run takes the run with it: its prompt is not repeated")
    func diesInRun() {
        var pi = PiConversation.going()
        let lines = pi.exits(137)
        #expect(lines.count == 1 && lines[0].hasPrefix("r1 pi-ses_1 failed"))
        #expect(pi.waits(600_000) == [])
        #expect(pi.sends("r2", "two") == ["start 2 --session /s/1"])
    }

    @Test("a process that ends right after the loop's end leaves the run finished")
    func diesAfterEnd() {
        var pi = PiConversation.going()
        _ = pi.says(PiSays.ended)
        #expect(pi.exits(0) == ["r1 pi-ses_1 finished stop run -"])
    }

    @Test("Stop: abort, then the run's end and the answer")
    func stops() {
        var pi = PiConversation.going()
        #expect(pi.aborts("r1") == [#"1 > {"type":"abort","id":"sb-4"}"#])
        _ = pi.says(PiSays.said("half", stop: "aborted"))
        _ = pi.says(PiSays.ended)
        #expect(
            pi.says(#"{"id":"sb-4","type":"response","command":"abort","success":true}"#) == [
                #"1 > {"type":"get_state","id":"sb-5"}"#
            ])
        #expect(pi.waits(250) == ["r1 pi-ses_1 finished aborted run -", "stop of r1 answered"])
        // A queued message must not reach the next run.
        #expect(pi.says(PiSays.state(5, #""isStreaming":false,"pendingMessageCount":1"#)) == ["end 1"])
    }

    @Test("a Stop that pi ignores ends the process, and the run with it")
    func ignoresAbort() {
        var pi = PiConversation.going()
        _ = pi.aborts("r1")
        let lines = pi.waits(15_000)
        #expect(lines.contains("kill 1"))
        #expect(lines.filter { $0 == "stop of r1 answered" }.count == 1)
        #expect(pi.sends("r2", "two") == ["start 2 --session /s/1"])
    }

    @Test("a Stop before the prompt was written takes the message back")
    func stopsEarly() {
        var pi = PiConversation()
        _ = pi.sends("r1", "one")
        #expect(pi.aborts("r1") == ["stop of r1 answered"])
        _ = pi.spawns()
        _ = pi.says(PiSays.state(1, #""sessionFile":"/s/1""#))
        #expect(pi.keeps() == [])
    }

    @Test("a prompt that is a command runs nothing: pi says that it is idle")
    func command() {
        var pi = PiConversation.ready()
        _ = pi.sends("r1", "/reload")
        _ = pi.says(PiSays.accepted(3))
        #expect(pi.waits(10_000) == [#"1 > {"type":"get_state","id":"sb-4"}"#])
        #expect(pi.says(PiSays.state(4, #""isStreaming":false,"isCompacting":false"#)) == ["send r1 runs nothing"])
    }

    @Test("a long silence is asked about; no answer ends the process")
    func neverAnswers() {
        var pi = PiConversation.going()
        #expect(pi.waits(60_000) == [#"1 > {"type":"get_state","id":"sb-4"}"#])
        #expect(pi.waits(30_000) == ["kill 1", #"r1 pi-ses_1 failed agentGone "pi does not answer any more""#])
    }

    @Test("an end that was lost in noise is found by asking twice, and the text is that of the session")
    func lostEnd() {
        var pi = PiConversation.going()
        #expect(pi.waits(60_000).count == 1)
        #expect(pi.says(PiSays.state(4, #""isStreaming":false"#)) == [])
        #expect(pi.waits(1_000) == [#"1 > {"type":"get_state","id":"sb-5"}"#])
        #expect(pi.says(PiSays.state(5, #""isStreaming":false"#)) == [#"1 > {"type":"get_messages","id":"sb-6"}"#])
        let messages =
            #"[{"role":"user","content":"one"},{"role":"assistant","content":[{"type":"text","text":"Hi"}],"stopReason":"stop"}]"#
        #expect(
            pi.says(PiSays.messages(6, messages)) == ["r1 pi-ses_1 finished stop run \"Hi\""])
    }

    @Test("noise before a record on its line is survived, other noise is noted")
    func noise() {
        var pi = PiConversation.ready()
        _ = pi.sends("r1", "one")
        _ = pi.says(PiSays.accepted(3))
        #expect(pi.says("\u{1B}]777;notify\u{07}" + PiSays.started) == ["r1 pi-ses_1 started"])
        #expect(pi.says("hello") == ["note pi wrote a line that is no record"])
    }

    @Test("much noise is noted once in ten seconds, with its count")
    func muchNoise() {
        var pi = PiConversation.ready()
        #expect(pi.says("hello") == ["note pi wrote a line that is no record"])
        for _ in 0..<1_000 { #expect(pi.says("hello") == []) }
        _ = pi.waits(10_000)
        #expect(pi.says("hello") == ["note pi wrote 1001 lines that are no records"])
    }

    @Test("a line that is too long fails the run")
    func longLine() {
        var pi = PiConversation.ready()
        _ = pi.sends("r1", "one")
        let lines = pi.skips(100_000_000)
        #expect(lines.contains("kill 1"))
        #expect(lines.last == #"r1 pi-ses_1 failed agentGone "pi wrote 100000000 bytes on one line""#)
    }

    @Test("a history that is longer than a line may be fails its question alone")
    func longHistory() {
        var pi = PiConversation.after("r1", "one")
        _ = pi.looksUp("r1")
        _ = pi.spawns()
        _ = pi.says(PiSays.state(1, #""sessionFile":"/s/1""#))
        let lines = pi.skips(100_000_000)
        #expect(!lines.contains("kill 1"), "\(lines)")
        #expect(lines.contains { $0.hasPrefix("looked up r1 failed") }, "\(lines)")
        #expect(pi.sends("r2", "two").first?.contains(#""message":"two""#) == true)
    }

    @Test("a row with the same words that is older than the prompt is another prompt's")
    func olderTwin() {
        var pi = PiConversation.after("r1", "one", receivedAt: 10_000)
        _ = pi.looksUp("r1")
        _ = pi.spawns()
        _ = pi.says(PiSays.state(1, #""sessionFile":"/s/1""#))
        let messages =
            #"[{"role":"user","content":"one","timestamp":1770000005000},{"role":"assistant","content":"Old","stopReason":"stop"}]"#
        #expect(pi.says(PiSays.messages(2, messages)).first?.hasPrefix("looked up r1 failed") == true)
    }

    @Test("a run of an earlier process is found in the session, by the text that began it")
    func earlierRun() {
        var pi = PiConversation.after("r1", "one")
        #expect(pi.looksUp("r1") == ["start 1 --session /s/1"])
        _ = pi.spawns()
        #expect(pi.says(PiSays.state(1, #""sessionFile":"/s/1""#)) == [#"1 > {"type":"get_messages","id":"sb-2"}"#])
        let messages =
            #"[{"role":"user","content":"one"},{"role":"assistant","content":"Hi","stopReason":"stop"},{"role":"user","content":"two"}]"#
        #expect(
            pi.says(PiSays.messages(2, messages)) == ["looked up r1 finished stop run \"Hi\""])
    }

    @Test("of a run that was tried again, the session keeps the failed attempt, and the answer does not")
    func earlierRetry() {
        var pi = PiConversation.after("r1", "one")
        _ = pi.looksUp("r1")
        _ = pi.spawns()
        _ = pi.says(PiSays.state(1, #""sessionFile":"/s/1""#))
        let messages =
            #"[{"role":"assistant","content":"Old","stopReason":"stop"},{"role":"user","content":"one"},"#
            + #"{"role":"assistant","content":"Lost","stopReason":"error"},"#
            + #"{"role":"assistant","content":"Kept","stopReason":"stop"}]"#
        #expect(
            pi.says(PiSays.messages(2, messages)) == ["looked up r1 finished stop run \"Kept\""])
    }

    // MARK: Runs of extensions

    private func user(_ text: String, _ role: String = "user") -> String {
        #"{"type":"message_start","message":{"role":"\#(role)","content":[{"type":"text","text":"\#(text)"}]}}"#
    }

    @Test("a run that an extension began just before our prompt is not ours", arguments: ["user", "custom"])
    func extensionFirst(_ role: String) {
        var pi = PiConversation.ready()
        _ = pi.sends("r1", "one")
        #expect(pi.says(PiSays.started) == [])
        let theirs = pi.says(user("remember this", role))
        #expect(theirs.count == 1 && !theirs[0].hasPrefix("r1 ") && theirs[0].hasSuffix("started"), "\(theirs)")
        #expect(pi.says(PiSays.accepted(3)) == ["send r1 accepted as r1"])
        var queued = pi
        #expect(pi.says(PiSays.said("Theirs")).allSatisfy { !$0.hasPrefix("r1 ") })
        _ = pi.says(PiSays.ended)
        _ = pi.waits(300)
        #expect(pi.says(PiSays.started) == ["r1 pi-ses_1 started"])
        // The queued prompt begins within the same loop.
        let ours = queued.says(user("one"))
        #expect(ours.count == 2 && ours[1] == "r1 pi-ses_1 started", "\(ours)")
    }

    @Test("a loop that begins before the answer to our prompt is ours if it says our words")
    func loopFirst() {
        var pi = PiConversation.ready()
        _ = pi.sends("r1", "one")
        #expect(pi.says(PiSays.started) == [])
        #expect(pi.says(user("one")) == ["r1 pi-ses_1 started"])
        #expect(pi.says(PiSays.accepted(3)) == [])
    }

    @Test("a dialog is a card; its answer goes back and settles it")
    func dialog() {
        var pi = PiConversation.ready()
        _ = pi.sends("r1", "one")
        _ = pi.says(PiSays.started)
        #expect(
            pi.says(
                #"{"type":"extension_ui_request","id":"d1","method":"confirm","title":"Sure?","message":"rm","timeout":5000}"#
            ).count == 1)
        #expect(
            pi.decides("d1", .approve) == [
                #"1 > {"type":"extension_ui_response","id":"d1","confirmed":true}"#,
                "- pi-ses_1 approval settled d1 decided(Vocabulary.ApprovalDecision.approve)",
            ])
        #expect(pi.decides("d1", .deny) == ["- - approval settled d1 unknown"])
    }

    @Test("a dialog that is not answered in its time expires")
    func dialogEnds() {
        var pi = PiConversation.ready()
        _ = pi.sends("r1", "one")
        _ = pi.says(PiSays.started)
        _ = pi.says(#"{"type":"extension_ui_request","id":"d1","method":"confirm","title":"Sure?","timeout":5000}"#)
        #expect(pi.waits(5_000) == ["- pi-ses_1 approval settled d1 expired"])
    }

    @Test("an idle process ends after ten minutes, and the next message continues its session")
    func idle() {
        var pi = PiConversation.ready()
        #expect(pi.waits(599_000) == [])
        #expect(pi.waits(1_000) == ["end 1"])
        #expect(pi.exits(0) == [])
        #expect(pi.sends("r1", "one") == ["start 2 --session /s/1"])
    }

    @Test("a process that does not end by itself is killed")
    func staysIdle() {
        var pi = PiConversation.ready()
        _ = pi.waits(600_000)
        #expect(pi.waits(3_000) == ["kill 1"])
        #expect(pi.sends("r1", "one") == ["start 2 --session /s/1"])
    }

    @Test("shutting down ends every child")
    func shutDown() {
        var pi = PiConversation.ready()
        #expect(pi.shutsDown() == ["leave 1"])
    }

    @Test("messages that no process has had are handed back at the end of the bridge, the last one first")
    func handedBack() {
        var pi = PiConversation()
        _ = pi.sends("r1", "one")
        _ = pi.sends("r2", "two")
        _ = pi.spawns()
        #expect(pi.shutsDown() == ["send r2 never left", "send r1 never left", "leave 1"])
        #expect(pi.says(PiSays.state(1, #""sessionFile":"/s/1""#)).filter { $0.contains("prompt") } == [])
    }

    @Test("a message that waits for a place is handed back without its card")
    func handedBackFromWait() {
        var pi = PiConversation()
        _ = pi.sends("r1", "one")
        _ = pi.waitsForPlace(behind: 8)
        let said = pi.shutsDown()
        #expect(said.contains("send r1 never left"), "\(said)")
        #expect(said.contains { $0.contains("place-r1") && $0.contains("completed") }, "\(said)")
    }
}
