import AgentKit
import Testing
import Vocabulary

/// Frames without content that prove the run alive (DESIGN.md#silence).
@Suite("Signs of life of runs that have nothing to show")
struct SignsOfLifeTests {
    @Test("pi thinks: once in ten seconds, and a compaction at once")
    func pi() {
        var pi = PiConversation.ready()
        _ = pi.sends("r1", "one")
        _ = pi.says(PiSays.accepted(3))
        _ = pi.says(PiSays.started)
        let thinks = #"{"type":"message_update","assistantMessageEvent":{"type":"thinking_delta","delta":"Hm"}}"#
        #expect(pi.says(thinks) == ["r1 pi-ses_1 alive, working"])
        #expect(pi.says(thinks) == [])
        #expect(pi.says(#"{"type":"turn_end"}"#) == [])
        _ = pi.waits(10_000)
        #expect(pi.says(thinks) == ["r1 pi-ses_1 alive, working"])
        #expect(
            pi.says(#"{"type":"auto_compaction_start","reason":"threshold"}"#) == ["r1 pi-ses_1 alive, compacting"])
    }

    @Test("pi at rest has no run that lives")
    func piAtRest() {
        var pi = PiConversation.ready()
        #expect(pi.says(#"{"type":"compaction_start","reason":"manual"}"#) == [])
        #expect(pi.says(#"{"type":"turn_start"}"#) == [])
    }

    @Test("Oppi thinks")
    func oppi() {
        var oppi = OppiConversation.running()
        #expect(oppi.says("thinking_delta", #""delta":"Hm""#) == ["r1 oppi:ses_1 alive, working"])
        #expect(oppi.says("thinking_delta", #""delta":"Hm""#) == [])
        #expect(oppi.says("compaction_start", #""reason":"threshold""#) == ["r1 oppi:ses_1 alive, compacting"])
    }

    @Test("Codex thinks, and a frame of another turn is no sign of this one")
    func codex() {
        var codex = CodexConversation.going()
        func thinks(_ turn: String) -> String {
            #"{"method":"item/reasoning/summaryTextDelta","params":{"threadId":"T","turnId":"\#(turn)","itemId":"r","delta":"Hm"}}"#
        }
        #expect(codex.says(thinks("V")) == [])
        #expect(codex.says(thinks("U")) == ["r1 codex:ses_1 alive, working"])
        #expect(codex.says(thinks("U")) == [])
        _ = codex.waits(10_000)
        #expect(codex.says(thinks("U")) == ["r1 codex:ses_1 alive, working"])
    }

    @Test("Codex tries its model again: that is said as often as it comes, and is no other sign of life")
    func codexRetries() {
        func fails(_ thread: String, _ turn: String) -> String {
            #"{"method":"error","params":{"threadId":"\#(thread)","turnId":"\#(turn)","error":{"message":"Reconnecting... waiting for network"},"willRetry":true}}"#
        }
        var codex = CodexConversation.going()
        #expect(codex.says(fails("T", "U")) == ["r1 codex:ses_1 alive, retrying"])
        #expect(codex.says(fails("T", "U")) == ["r1 codex:ses_1 alive, retrying"])
        #expect(codex.says(fails("T", "V")) == [])
        // The open message is abandoned first.
        _ = codex.says(
            #"{"method":"item/started","params":{"threadId":"T","turnId":"U","item":{"type":"agentMessage","id":"a"}}}"#
        )
        #expect(
            codex.says(fails("T", "U"))
                == [#"r1 codex:ses_1 segment ended """#, "r1 codex:ses_1 alive, retrying"])
        // A sub-agent's retries do not concern the chat's run.
        _ = codex.says(
            #"{"method":"item/started","params":{"threadId":"T","turnId":"U","item":{"type":"subAgentActivity","id":"s","kind":"started","agentThreadId":"C","agentPath":"/apprentice"}}}"#
        )
        #expect(codex.says(fails("C", "W")) == [])
    }

    @Test("OpenClaw thinks, and compacts")
    func openClaw() {
        let talk = OpenClawConversation()
        talk.goLiveWithRun()
        talk.clear()
        func stream(_ name: String, _ data: String) {
            talk.event(
                "agent",
                #"{"runId":"r1","stream":"\#(name)","sessionKey":"\#(OpenClawConversation.key)","data":\#(data)}"#)
        }
        stream("thinking", #"{"delta":"Hm"}"#)
        stream("thinking", #"{"delta":"Hm"}"#)
        stream("compaction", #"{"phase":"start"}"#)
        #expect(talk.observations == [.said("r1", .alive(.working)), .said("r1", .alive(.compacting))])
    }
}
