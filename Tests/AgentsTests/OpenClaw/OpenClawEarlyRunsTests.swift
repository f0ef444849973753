import AgentKit
import OpenClaw
import Testing
import Vocabulary
import Worlds

/// Gaps in the reports of early gateways about their runs (openclaw.md#seen-on-running-gateways).
@Suite("A run of an early OpenClaw gateway")
struct OpenClawEarlyRunsTests {
    private typealias Talk = OpenClawConversation
    private static let over = #","stopReason":"stop""#
    private static let user = Talk.row("user", "Hello?")

    private static func row(_ role: String, _ text: String, at milliseconds: Int64, more: String = "") -> String {
        Talk.row(role, text, more: #","timestamp":\#(milliseconds)"# + more)
    }

    private static func isEnded(_ talk: OpenClawConversation) -> Bool {
        talk.observations.contains {
            guard case .signal(let signal) = $0 else { return false }
            switch signal.event {
            case .finished, .failed: return true
            default: return false
            }
        }
    }

    private static func begins(_ talk: OpenClawConversation, _ run: String = "r1") {
        talk.send(run)
        talk.answer("chat.send", #"{"runId":"\#(run)","status":"started"}"#)
    }

    @Test("is not answered by an earlier message of the same words", arguments: [GatewayEra.e1, .e2])
    func sameWords(_ era: GatewayEra) {
        let talk = Talk(era: era)
        talk.goLiveWithRun()
        talk.lifecycle("r1", #""phase":"start""#)
        let first = talk.wall
        talk.chat("final", "The first answer.")
        talk.pass(10)
        Self.begins(talk, "r2")
        talk.close(1006)
        talk.pass(2)
        talk.goLive()
        let old = [
            Self.row("user", "Hello?", at: first),
            Self.row("assistant", "The first answer.", at: first + 100, more: Self.over),
        ]
        talk.answer("chat.history", Talk.history(old))
        talk.answer("agent.wait", #"{"runId":"r2","status":"timeout"}"#)
        #expect(talk.observations.last == .lookedUp(RunID("r2"), .running(text: nil)))
        talk.clear()
        talk.lookUp("r2")
        let new = [
            Self.row("user", "Hello?", at: first + 12_000),
            Self.row("assistant", "The second answer.", at: first + 12_500, more: Self.over),
        ]
        talk.answer("chat.history", Talk.history(old + new))
        #expect(talk.observations.last == .lookedUp(RunID("r2"), .ended(RunEnd(text: "The second answer."))))
    }

    @Test("that was stopped leaves its session free, though no frame says that it ended")
    func stoppedIsOver() {
        let talk = Talk(era: .e1)
        talk.goLiveWithRun("r0")
        talk.lifecycle("r0", #""phase":"start""#)
        talk.assistant("r0", "Mi")
        talk.command(.abort(session: Talk.session, run: RunID("r0")))
        talk.answer("chat.abort", #"{"ok":true,"aborted":true,"runIds":["r0"]}"#)
        talk.chat("aborted", "Mi", run: "r0")
        talk.pass(5)
        talk.lifecycle("desk", #""phase":"start""#)
        Self.begins(talk)
        talk.chat("final", nil)
        talk.lifecycle("desk", #""phase":"end""#)
        talk.chat("final", "Desk.", run: "desk")
        talk.lifecycle("own-1", #""phase":"start""#)
        talk.clear()
        talk.lifecycle("own-1", #""phase":"end""#)
        talk.chat("final", "Mine.", run: "own-1")
        talk.pass(1)
        talk.answer("chat.history", Talk.history([Self.user, Talk.row("assistant", "Mine.", more: Self.over)]))
        #expect(
            talk.observations.last == .said("r1", .finished(RunEnd(text: "Mine."))))
    }

    @Test("goes on behind its end where the gateway tries again, and ends with that attempt")
    func triesAgain() {
        let talk = Talk(era: .e2)
        talk.goesOn = true
        talk.goLiveWithRun()
        talk.lifecycle("r1", #""phase":"start""#)
        talk.assistant("r1", "I will check.")
        talk.lifecycle("r1", #""phase":"end""#)
        talk.clear()
        talk.chat("final", "I will check.")
        #expect(talk.sent.map(\.params) == [#"{"runId":"r1","timeoutMs":1000}"#])
        talk.answer("agent.wait", #"{"runId":"r1","status":"timeout"}"#)
        #expect(!Self.isEnded(talk))
        let word = talk.allSent.last?.id ?? ""
        func says(_ stream: String, _ data: String, _ seq: Int) {
            talk.event("agent", #"{"runId":"r1","seq":\#(seq),"stream":"\#(stream)","data":{\#(data)}}"#)
        }
        says("lifecycle", #""phase":"start""#, 1)
        says("assistant", #""text":"Nothing is wrong.","delta":"Nothing is wrong.""#, 2)
        talk.answer(id: word, #"{"runId":"r1","status":"ok"}"#)
        #expect(!Self.isEnded(talk))
        says("lifecycle", #""phase":"end""#, 3)
        talk.clear()
        talk.pass(1)
        let rows = [
            Self.user, Talk.row("assistant", "I will check.", more: Self.over),
            Talk.row(
                "user", "The previous assistant turn only described the plan. Do not restate the plan. Act now."),
            Talk.row("assistant", "Nothing is wrong.", more: Self.over),
        ]
        talk.answer("chat.history", Talk.history(rows))
        guard case .signal(let signal)? = talk.observations.last, case .finished(let end) = signal.event else {
            Issue.record("\(talk.methods) \(talk.observations)")
            return
        }
        #expect(end.rows.map(\.text).last == "Nothing is wrong.")
    }

    @Test("whose next attempt is long in coming lives", arguments: [GatewayEra.e1, .e2])
    func compacts(_ era: GatewayEra) {
        let talk = Talk(era: era)
        talk.goLiveWithRun()
        talk.lifecycle("r1", #""phase":"start""#)
        talk.lifecycle("r1", #""phase":"error","error":"Context overflow""#)
        if era == .e1 {
            talk.event(
                "chat",
                #"{"runId":"r1","sessionKey":"\#(Talk.key)","seq":1,"state":"error","errorMessage":"Context overflow"}"#
            )
        }
        for second in 0..<40 {
            talk.pass(1)
            if era == .e2, second == 15 {
                talk.event("sessions.changed", #"{"sessionKey":"\#(Talk.key)","phase":"error","runId":"r1"}"#)
            }
            if talk.methods.last == "chat.history" { talk.answer("chat.history", Talk.history([Self.user])) }
            if talk.methods.last == "agent.wait" { talk.answer("agent.wait", #"{"runId":"r1","status":"timeout"}"#) }
            #expect(!Self.isEnded(talk))
            talk.clear()
        }
        talk.lifecycle("r1", #""phase":"start""#)
        talk.assistant("r1", "The whole answer.")
        #expect(talk.observations.last == .said("r1", .text(.segment("The whole answer."))))
    }

    @Test("is known by its words, also where the gateway put a large picture elsewhere")
    func largePicture() {
        let talk = Talk(era: .e2)
        talk.goLiveWithRun()
        talk.close(1006)
        talk.pass(2)
        talk.goLive()
        let row = Talk.row("user", #"Hello?\n[media attached: media://inbound/a.png]"#)
        talk.answer("chat.history", Talk.history([row, Talk.row("assistant", "Hi.", more: Self.over)]))
        #expect(talk.observations.last == .lookedUp(RunID("r1"), .ended(RunEnd(text: "Hi."))))
    }

    @Test("that wrote more rows than a page has is answered by those that are there")
    func manyRows() {
        let talk = Talk(era: .e2)
        talk.goLiveWithRun()
        talk.close(1006)
        talk.pass(2)
        talk.goLive()
        let tools = Array(repeating: Talk.row("toolResult", "done"), count: 220)
        let page = Talk.history(tools + [Talk.row("assistant", "Hi.", more: Self.over)])
        talk.answer("chat.history", page)
        guard case .lookedUp(_, .ended(let end))? = talk.observations.last else {
            Issue.record("\(String(describing: talk.observations.last))")
            return
        }
        #expect(end.truncated)
        #expect(end.text == "Hi.")
    }

    @Test("has a long answer once, where its row is cut and its end is whole")
    func cutRow() {
        let talk = Talk(era: .e1)
        talk.goLiveWithRun()
        talk.close(1006)
        talk.pass(2)
        talk.goLive()
        talk.answer("chat.history", Talk.history([]))
        talk.answer("agent.wait", #"{"runId":"r1","status":"timeout"}"#)
        let whole = String(repeating: "word ", count: 4_000) + "end."
        talk.chat("final", whole)
        let cut = String(whole.prefix(12_000)) + #"\n...(truncated)..."#
        talk.answer("chat.history", Talk.history([Self.user, Talk.row("assistant", cut, more: Self.over)]))
        guard case .signal(let signal)? = talk.observations.last, case .finished(let end) = signal.event else {
            Issue.record("\(talk.observations)")
            return
        }
        #expect(end.text == whole)
    }

    @Test("that its gateway broke off has failed, and nobody stopped it")
    func timedOut() {
        let talk = Talk(era: .e2)
        talk.goLiveWithRun()
        talk.lifecycle("r1", #""phase":"start""#)
        talk.assistant("r1", "I copy it.")
        talk.clear()
        talk.wrote(Talk.row("assistant", "", more: #","stopReason":"aborted""#))
        talk.lifecycle("r1", #""phase":"end""#)
        talk.chat("final", "I copy it.")
        guard case .signal(let signal)? = talk.observations.last, case .failed(let failure) = signal.event else {
            Issue.record("\(talk.observations)")
            return
        }
        #expect(failure.kind == .timeout)
    }

    @Test("that its gateway broke off without a frame has failed")
    func timedOutSilently() {
        let talk = Talk(era: .e1)
        talk.goLiveWithRun()
        talk.lifecycle("r1", #""phase":"start""#)
        talk.passTicking(61)
        let rows = [Self.user, Talk.row("assistant", "I copy it.", more: #","stopReason":"toolUse""#)]
        talk.answer("chat.history", Talk.history(rows))
        talk.answer("agent.wait", #"{"runId":"r1","status":"ok"}"#)
        talk.clear()
        talk.answer("chat.history", Talk.history(rows))
        guard case .signal(let signal)? = talk.observations.last, case .failed(let failure) = signal.event else {
            Issue.record("\(talk.observations)")
            return
        }
        #expect(failure.kind == .timeout)
        #expect(failure.text == "I copy it.")
    }

    @Test("that the gateway began itself cannot be stopped, and the person reads that")
    func unstoppable() {
        let talk = Talk(era: .e2)
        talk.goLive()
        talk.lifecycle("desk", #""phase":"start""#)
        Self.begins(talk)
        talk.chat("final", nil)
        talk.lifecycle("desk", #""phase":"end""#)
        talk.chat("final", "Desk.", run: "desk")
        talk.answer("chat.history", Talk.history([]))
        talk.lifecycle("own-1", #""phase":"start""#)
        talk.wrote(Self.user)
        talk.clear()
        talk.command(.abort(session: Talk.session, run: RunID("r1")))
        talk.answer("chat.abort", #"{"ok":true,"aborted":false,"runIds":[]}"#)
        #expect(!talk.observations.contains(.abortAnswered(RunID("r1"))))
        talk.answer("chat.history", Talk.history([Self.user]))
        talk.answer("agent.wait", #"{"runId":"own-1","status":"timeout"}"#)
        let failures = talk.observations.compactMap { said -> RunFailure.Kind? in
            guard case .signal(let signal) = said, case .failed(let failure) = signal.event else { return nil }
            return failure.kind
        }
        #expect(failures == [.unstoppable])
    }

    @Test("has words for the gateway taken out, where a row is all that tells them")
    func directives() {
        let talk = Talk(era: .e2)
        talk.goLiveWithRun()
        talk.lifecycle("r1", #""phase":"start""#)
        talk.assistant("r1", "I ask.")
        talk.event(
            "agent",
            """
            {"runId":"r1","seq":5,"stream":"tool","sessionKey":"\(Talk.key)","data":{"phase":"result","name":"exec",\
            "toolCallId":"c1","result":{"details":{"status":"approval-pending","approvalId":"ap-1"}}}}
            """)
        talk.clear()
        talk.wrote(Talk.row("assistant", "[[reply_to_current]] Behind it.", more: Self.over))
        let said = talk.observations.compactMap { said -> String? in
            guard case .signal(let signal) = said, case .text(.segment(let text)) = signal.event else { return nil }
            return text
        }
        #expect(said == ["Behind it."])
    }
}
