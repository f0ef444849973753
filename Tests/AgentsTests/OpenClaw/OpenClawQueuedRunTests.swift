import AgentKit
import OpenClaw
import Testing
import Vocabulary
import Worlds

/// A run that took queued messages of ours, in E3: no list of the gateway has it, and its name there is the message's
/// (openclaw.md#chatsend).
@Suite("A queued run of an OpenClaw gateway")
struct OpenClawQueuedRunTests {
    private typealias Talk = OpenClawConversation
    private static let ours = Talk.row("user", "Hello?", key: "r1:user")
    private static let busy = #","sessionInfo":{"activeRunIds":[],"hasActiveRun":true}"#

    /// Our run ended without a text, the other run ended, and the next run has our row.
    private static func queued(_ row: String = ours) -> OpenClawConversation {
        let talk = Talk(era: .e3)
        talk.goLive()
        talk.lifecycle("desk", #""phase":"start""#)
        talk.send()
        talk.answer("chat.send", #"{"runId":"r1","status":"started"}"#)
        talk.clear()
        talk.chat("final", nil)
        talk.lifecycle("desk", #""phase":"end""#)
        talk.chat("final", "Desk.", run: "desk")
        talk.lifecycle("own-1", #""phase":"start""#)
        talk.wrote(row)
        talk.clear()
        return talk
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

    @Test("goes on while the gateway says that some run does", arguments: [true, false])
    func silent(_ linkIsCut: Bool) {
        let talk = Self.queued()
        talk.assistant("own-1", "Let me look.")
        if linkIsCut {
            talk.close(1006)
            talk.pass(2)
            talk.goLive()
        } else {
            talk.passTicking(61)
        }
        let look = Talk.row("assistant", "Let me look.", more: #","stopReason":"toolUse""#)
        talk.answer("chat.history", Talk.history([Self.ours, look], more: Self.busy))
        #expect(!Self.isEnded(talk))
        talk.assistant("own-1", "Done.")
        talk.clear()
        talk.chat("final", "Done.", run: "own-1")
        talk.answer(
            "chat.history",
            Talk.history(
                [Self.ours, look, Talk.row("assistant", "Done.", more: #","stopReason":"stop""#)],
                more: #","sessionInfo":{"activeRunIds":[],"hasActiveRun":false}"#))
        #expect(Self.isEnded(talk))
    }

    @Test("is stopped by the message's name, and by its own where that one is unknown", arguments: [true, false])
    func stopped(_ isQueued: Bool) {
        let talk = Self.queued()
        talk.command(.abort(session: Talk.session, run: RunID("r1")))
        #expect(talk.sent.map(\.params) == [#"{"sessionKey":"agent:main:phone-1","runId":"r1"}"#])
        talk.clear()
        talk.answer("chat.abort", #"{"ok":true,"aborted":\#(isQueued),"runIds":[]}"#)
        #expect(talk.observations.contains(.abortAnswered(RunID("r1"))) == isQueued)
        guard !isQueued else { return }
        #expect(talk.sent.map(\.params) == [#"{"sessionKey":"agent:main:phone-1","runId":"own-1"}"#])
        talk.answer("chat.abort", #"{"ok":true,"aborted":true,"runIds":["own-1"]}"#)
        #expect(talk.observations.contains(.abortAnswered(RunID("r1"))))
    }

    @Test("is known by our words where the gateway collects messages under a key of its own")
    func collected() {
        let row = Talk.row(
            "user", #"[Queued messages while agent was busy]\n\n---\nQueued #1\nHello?"#,
            key: "followup-collect:agent:main:phone-1:0a1b")
        let talk = Self.queued(row)
        talk.assistant("own-1", "Mine.")
        #expect(talk.observations == [.said("r1", .text(.segment("Mine.")))])
    }

    @Test("of more rows than a page has is answered by those that are there, or by what was streamed")
    func long() {
        let talk = Talk(era: .e3)
        talk.goLiveWithRun()
        talk.close(1006)
        talk.pass(2)
        talk.goLive()
        let rows = [
            Talk.row("assistant", "And on.", more: #","stopReason":"toolUse""#),
            Talk.row("assistant", "The end.", more: #","stopReason":"stop""#),
        ]
        talk.answer(
            "chat.history",
            Talk.history(rows, more: #","hasMore":true,"sessionInfo":{"activeRunIds":[],"hasActiveRun":false}"#))
        guard case .lookedUp(_, .ended(let end))? = talk.observations.last else {
            Issue.record("\(String(describing: talk.observations.last))")
            return
        }
        #expect(end.truncated)
        #expect(end.rows.map(\.text) == ["And on.", "The end."])
    }

    @Test("that the gateway gave up for its time is no person's Stop")
    func timeout() {
        let talk = Talk(era: .e3)
        talk.goLiveWithRun()
        talk.lifecycle("r1", #""phase":"start""#)
        talk.clear()
        talk.event(
            "chat", #"{"runId":"r1","sessionKey":"\#(Talk.key)","state":"aborted","stopReason":"timeout"}"#)
        #expect(
            talk.observations == [
                .said("r1", .failed(RunFailure(kind: .timeout, message: "the run took too long")))
            ])
    }

    @Test("whose row says in the gateway's words that there were none has no text of that")
    func wordless() {
        let talk = Talk(era: .e3)
        talk.goLiveWithRun()
        talk.close(1006)
        talk.pass(2)
        talk.goLive()
        let failed = Talk.row(
            "assistant", "The agent run failed before producing a reply.", more: #","stopReason":"error""#)
        talk.answer(
            "chat.history", Talk.history([Self.ours, failed], more: #","sessionInfo":{"activeRunIds":[]}"#))
        guard case .lookedUp(_, .failed(let failure))? = talk.observations.last else {
            Issue.record("\(String(describing: talk.observations.last))")
            return
        }
        #expect(failure.text ?? "" == "")
    }

    @Test("of the newest gateways may say additions alone")
    func additions() {
        let talk = Talk(era: .e4)
        talk.goLiveWithRun()
        func says(_ data: String) {
            talk.event(
                "agent", #"{"runId":"r1","stream":"assistant","sessionKey":"\#(Talk.key)","data":{\#(data)}}"#)
        }
        says(#""text":"Let","delta":"Let""#)
        says(#""delta":" me look.""#)
        talk.event(
            "agent",
            #"{"runId":"r1","stream":"tool","sessionKey":"\#(Talk.key)","data":{"phase":"start","name":"exec","toolCallId":"c1"}}"#
        )
        says(#""delta":"It""#)
        says(#""delta":" says hello.""#)
        let texts = talk.observations.compactMap { said -> TextChange? in
            guard case .signal(let signal) = said, case .text(let change) = signal.event else { return nil }
            return change
        }
        #expect(
            texts == [
                .segment("Let"), .append(" me look."), .segmentEnded(nil), .segment("It"), .append(" says hello."),
            ])
        talk.clear()
        talk.chat("final", "Let me look.It says hello.")
        #expect(talk.observations.last == .said("r1", .finished(RunEnd(text: "It says hello.", scope: .segment))))
    }

    @Test("of an early gateway that died with its process is lost, also where it had asked for an approval")
    func diedAsking() {
        let talk = Talk(era: .e2)
        talk.goLiveWithRun()
        talk.lifecycle("r1", #""phase":"start""#)
        talk.assistant("r1", "I ask.")
        talk.event(
            "exec.approval.requested",
            #"{"id":"ap-1","request":{"command":"ls","sessionKey":"\#(Talk.key)"},"createdAtMs":1,"expiresAtMs":\#(talk.wall + 900_000)}"#
        )
        talk.close(1006)
        talk.pass(2)
        talk.gatewayBegan = talk.now
        talk.goLive()
        talk.answer("exec.approval.list", "[]")
        talk.answer("plugin.approval.list", "[]")
        talk.answer(
            "chat.history",
            Talk.history([
                Talk.row("user", "Hello?"), Talk.row("assistant", "I ask.", more: #","stopReason":"toolUse""#),
            ]))
        guard case .lookedUp(_, .failed(let failure))? = talk.observations.last else {
            Issue.record("\(String(describing: talk.observations.last))")
            return
        }
        #expect(failure.kind == .agentGone)
    }
}
