import AgentKit
import Testing
import Vocabulary
import Worlds

@Suite("An OpenClaw link that was lost")
struct OpenClawRecoveryTests {
    private typealias Talk = OpenClawConversation

    /// Live with an accepted run, lost, and live again.
    private static func back(_ era: GatewayEra, restarted: Bool = false) -> OpenClawConversation {
        let talk = Talk(era: era)
        talk.goLiveWithRun()
        talk.close(1006)
        #expect(talk.observations == [.linkLost])
        talk.pass(5)
        if restarted { talk.gatewayBegan = talk.now }
        talk.goLive()
        return talk
    }

    private static let question = Talk.row("user", "Hello?", key: "r1")

    @Test("what is missing is asked for in the documented order")
    func order() {
        let talk = Self.back(.e3)
        #expect(
            talk.methods == [
                "sessions.subscribe", "sessions.messages.subscribe", "exec.approval.list", "plugin.approval.list",
                "chat.history",
            ])
        #expect(
            talk.sent.last?.params == #"{"sessionKey":"agent:main:phone-1","limit":1000,"maxChars":500000}"#)
        #expect(talk.observations == [.linkBack])
        // The core requests the same at once, and one answer serves both.
        talk.lookUp()
        #expect(talk.methods.filter { $0 == "chat.history" }.count == 1)
    }

    @Test("the newest gateways name the run that goes on; the text beside it is joined as `chat` joins, and is none")
    func inFlight() {
        let talk = Self.back(.e4)
        talk.clear()
        talk.answer(
            id: talk.allSent.last?.id ?? "",
            Talk.history([Self.question], more: #","inFlightRun":{"runId":"r1","text":"So far"}"#))
        #expect(talk.observations == [.lookedUp(RunID("r1"), .running(text: nil))])
        talk.clear()
        // A delta is no text of the run either if messages may be missing.
        talk.chat("delta", "So far so good")
        #expect(talk.observations == [])
        talk.event(
            "agent",
            #"{"runId":"r1","sessionKey":"\#(Talk.key)","seq":9,"stream":"assistant","data":{"text":"so good"}}"#)
        #expect(talk.observations == [.said("r1", .text(.segment("so good")))])
    }

    @Test(
        "the rows of a run that goes on have the messages that a lost link did not bring",
        arguments: [GatewayEra.e3, .e4])
    func ended(_ era: GatewayEra) {
        let talk = Self.back(era)
        talk.clear()
        let rows = [
            Self.question, Talk.row("assistant", "Let me look.", more: #","stopReason":"toolUse""#),
            Talk.row("assistant", "There is one. ", more: #","stopReason":"toolUse""#),
        ]
        talk.answer(
            id: talk.allSent.last?.id ?? "",
            Talk.history(rows, more: #","sessionInfo":{"activeRunIds":["r1"]},"inFlightRun":{"runId":"r1"}"#))
        #expect(
            talk.observations == [
                .lookedUp(RunID("r1"), .running(text: "Let me look.\n\nThere is one."))
            ])
    }

    @Test("older ones are asked to wait: still running, over, or failed", arguments: [GatewayEra.e1, .e2, .e3])
    func wait(_ era: GatewayEra) {
        let rows = Talk.history([Self.question, Talk.row("assistant", "Let me look.")])
        func ask() -> OpenClawConversation {
            let talk = Self.back(era)
            talk.answer("chat.history", rows)
            #expect(talk.sent.last?.method == "agent.wait")
            #expect(talk.sent.last?.params == #"{"runId":"r1","timeoutMs":500}"#)
            talk.clear()
            return talk
        }
        func answer(_ talk: OpenClawConversation, _ payload: String) {
            talk.answer(id: talk.allSent.last?.id ?? "", payload)
        }
        let running = ask()
        answer(running, #"{"runId":"r1","status":"timeout"}"#)
        #expect(running.observations == [.lookedUp(RunID("r1"), .running(text: nil))])

        let failed = ask()
        answer(failed, #"{"runId":"r1","status":"error","error":"overloaded"}"#)
        #expect(
            failed.observations == [
                .lookedUp(RunID("r1"), .failed(RunFailure(message: "overloaded", text: "Let me look.")))
            ])

        let over = ask()
        answer(over, #"{"runId":"r1","status":"ok"}"#)
        #expect(over.methods == ["chat.history"])
        over.answer(
            "chat.history",
            Talk.history([Self.question, Talk.row("assistant", "Let me look."), Talk.row("assistant", "It is full.")]))
        let ended = ["Let me look.", "It is full."].map { RunEnd.Row($0, beginsParagraph: true) }
        #expect(RunEnd(rows: ended).text == "Let me look.\n\nIt is full.")
        #expect(over.observations == [.lookedUp(RunID("r1"), .ended(RunEnd(rows: ended)))])
    }

    @Test("a row that says it stopped is the end, without waiting")
    func stoppedRow() {
        let talk = Self.back(.e2)
        talk.answer(
            "chat.history",
            Talk.history([Self.question, Talk.row("assistant", "Done.", more: #","stopReason":"stop""#)]))
        #expect(talk.observations.last == .lookedUp(RunID("r1"), .ended(RunEnd(text: "Done."))))
        #expect(!talk.methods.contains("agent.wait"))
    }

    private static func died(_ text: String?) -> RunLookup {
        .failed(RunFailure(kind: .agentGone, message: "its gateway was restarted", text: text))
    }

    @Test(
        "a run that died with its gateway is said to be dead at once, with what was written down",
        arguments: [GatewayEra.e1, .e2], ["Half", nil])
    func restarted(_ era: GatewayEra, _ text: String?) {
        let talk = Self.back(era, restarted: true)
        let rows = text.map { [Self.question, Talk.row("assistant", $0)] } ?? []
        talk.answer("chat.history", Talk.history(rows))
        #expect(talk.observations.last == .lookedUp(RunID("r1"), Self.died(text)))
        #expect(!talk.methods.contains("agent.wait"))
    }

    @Test("an answer that was whole before its gateway died is one", arguments: GatewayEra.allCases)
    func wholeBeforeRestart(_ era: GatewayEra) {
        let talk = Self.back(era, restarted: true)
        let whole = Talk.row("assistant", "Whole.", more: #","stopReason":"stop""#)
        talk.answer("chat.history", Talk.history([Self.question, whole]))
        #expect(talk.observations.last == .lookedUp(RunID("r1"), .ended(RunEnd(text: "Whole."))))
    }

    @Test(
        "a newer gateway is given its time to go on by itself, and then the run is dead",
        arguments: [GatewayEra.e3, .e4])
    func resumable(_ era: GatewayEra) {
        let talk = Self.back(era, restarted: true)
        let half = Talk.history([Self.question, Talk.row("assistant", "Half")])
        talk.answer("chat.history", half)
        #expect(talk.observations.last == .lookedUp(RunID("r1"), .running(text: nil)))
        talk.clear()
        talk.pass(14)
        #expect(talk.methods == [])
        talk.pass(2)
        talk.answer("chat.history", half)
        guard case .failed(let failure) = Self.died("Half") else { return }
        #expect(talk.observations == [.said("r1", .failed(failure))])
    }

    @Test("a silent run that no row knows yet goes on where its gateway is the same", arguments: [GatewayEra.e1, .e2])
    func silent(_ era: GatewayEra) {
        let talk = Self.back(era)
        talk.answer("chat.history", Talk.history([]))
        talk.answer("agent.wait", #"{"status":"timeout"}"#)
        #expect(talk.observations.last == .lookedUp(RunID("r1"), .running(text: nil)))
    }

    @Test("the first era takes no length of rows, and is asked without")
    func refusesLength() {
        let talk = Self.back(.e1)
        talk.clear()
        let refusal =
            #"{"code":"INVALID_REQUEST","message":"invalid chat.history params: at root: unexpected property 'maxChars'"}"#
        talk.answer("chat.history", nil, error: refusal)
        #expect(talk.sent.map(\.params) == [#"{"sessionKey":"agent:main:phone-1","limit":1000}"#])
        #expect(talk.notes.isEmpty)
        talk.clear()
        talk.lookUp("r9")
        #expect(talk.sent.map(\.params) == [#"{"sessionKey":"agent:main:phone-1","limit":1000}"#])
    }

    @Test(
        "rows that were cut are fetched in full where the gateway can, and flagged where not",
        arguments: [GatewayEra.e3, .e4])
    func cutRows(_ era: GatewayEra) {
        let talk = Self.back(era)
        let cut = Talk.row(
            "assistant", "Long...(truncated)...", more: #","stopReason":"stop""#, mark: #""id":"m2""#)
        talk.answer("chat.history", Talk.history([Self.question, cut]))
        guard era == .e4 else {
            let end = RunEnd(text: "Long...(truncated)...", truncated: true)
            #expect(talk.observations.last == .lookedUp(RunID("r1"), .ended(end)))
            return
        }
        #expect(
            talk.sent.last?.params == #"{"sessionKey":"agent:main:phone-1","messageId":"m2","maxChars":2000000}"#)
        talk.answer("chat.message.get", #"{"ok":true,"message":\#(Talk.row("assistant", "Long and whole."))}"#)
        #expect(talk.observations.last == .lookedUp(RunID("r1"), .ended(RunEnd(text: "Long and whole."))))
    }

    @Test("a row that is too large to be fetched stays flagged, and its mark is no text")
    func omitted() {
        let talk = Self.back(.e4)
        let row = Talk.row(
            "assistant", "[chat.history omitted: message too large]", mark: #""id":"m2","truncated":true"#)
        talk.answer(
            "chat.history",
            Talk.history(
                [Self.question, Talk.row("assistant", "First."), row], more: #","sessionInfo":{"activeRunIds":[]}"#))
        talk.answer("chat.message.get", #"{"ok":false,"unavailableReason":"oversized"}"#)
        #expect(talk.observations.last == .lookedUp(RunID("r1"), .ended(RunEnd(text: "First.", truncated: true))))
    }

    @Test("a message without a key in the history is known by its text and its time")
    func byText() {
        let talk = Self.back(.e1)
        let old = Talk.row("user", "Hello?", more: #","timestamp":1760000000000"#)
        let new = Talk.row("user", " Hello? ", more: #","timestamp":1770000000500"#)
        let end = #","stopReason":"stop""#
        talk.answer(
            "chat.history",
            Talk.history([old, Talk.row("assistant", "Old.", more: end), new, Talk.row("assistant", "New.", more: end)])
        )
        #expect(talk.observations.last == .lookedUp(RunID("r1"), .ended(RunEnd(text: "New."))))
    }

    // MARK: Unanswered messages

    private static func unanswered(away: Double, restarted: Bool = false) -> OpenClawConversation {
        let talk = Talk()
        talk.goLive()
        talk.send()
        talk.close(1006)
        talk.pass(away)
        if restarted { talk.gatewayBegan = talk.now }
        talk.goLive()
        return talk
    }

    @Test("an unanswered message is sent again under the same key while the gateway must know it")
    func resend() {
        let talk = Self.unanswered(away: 20)
        #expect(talk.sent.last?.method == "chat.send")
        #expect(
            talk.sent.last?.params
                == #"{"sessionKey":"agent:main:phone-1","message":"Hello?","idempotencyKey":"r1"}"#)
        talk.answer("chat.send", #"{"runId":"r1","status":"in_flight"}"#)
        #expect(talk.observations.last == .accepted("r1"))
    }

    @Test(
        "after five minutes, or another process, the history is asked first", arguments: [(20.0, true), (301, false)])
    func historyFirst(_ away: Double, _ restarted: Bool) {
        let talk = Self.unanswered(away: away, restarted: restarted)
        #expect(!talk.methods.contains("chat.send"))
        talk.clear()
        talk.answer(id: talk.allSent.last?.id ?? "", Talk.history([Self.question]))
        talk.answer("agent.wait", #"{"status":"timeout"}"#)
        #expect(talk.observations.first == .accepted("r1"))
        #expect(!talk.methods.contains("chat.send"))

        let lost = Self.unanswered(away: away, restarted: restarted)
        lost.answer("chat.history", Talk.history([]))
        lost.answer("agent.wait", #"{"status":"timeout"}"#)
        #expect(lost.sent.last?.method == "chat.send")
    }

    // MARK: Look-ups asked for by the core

    @Test("a look-up for an absent link is answered when it is back")
    func later() {
        let talk = Talk(era: .e4)
        talk.start()
        talk.lookUp("old")
        #expect(talk.observations == [])
        talk.goLive()
        talk.answer(
            "chat.history",
            Talk.history(
                [Talk.row("user", "x", key: "old"), Talk.row("assistant", "y")],
                more: #","sessionInfo":{"activeRunIds":[]}"#))
        #expect(talk.observations.last == .lookedUp(RunID("old"), .ended(RunEnd(text: "y"))))
    }

    @Test("a look-up that the gateway refuses or never answers is unknown", arguments: [true, false])
    func noHistory(_ refused: Bool) {
        let talk = Talk()
        talk.goLive()
        talk.lookUp()
        if refused {
            talk.answer("chat.history", nil, error: #"{"code":"INVALID_REQUEST","message":"no such session"}"#)
        } else {
            talk.pass(20)
            talk.event("tick", "{}")
            talk.pass(10)
        }
        #expect(talk.observations.last == .lookedUp(RunID("r1"), .unknown))
    }

    @Test("what stands after the end of a run is its follow-up's, also where rows do not say whose they are")
    func followUpAfterEnd() {
        let talk = Self.back(.e2)
        let end = #","stopReason":"stop""#
        talk.answer(
            "chat.history",
            Talk.history([
                Self.question, Talk.row("assistant", "May", more: #","stopReason":"toolUse""#),
                Talk.row("assistant", " I?", more: end), Talk.row("assistant", "Done.", more: end),
            ]))
        let rows = ["May", "I?", "Done."].map { RunEnd.Row($0, beginsParagraph: true) }
        let whole = RunEnd(rows: rows, includesFollowUp: true)
        #expect(whole.text == "May\n\nI?\n\nDone.")
        #expect(talk.observations.last == .lookedUp(RunID("r1"), .ended(whole)))
    }

    @Test("an early gateway's end tells its last segment: those that were missed come from the history")
    func missedSegments() {
        let talk = Self.back(.e1)
        talk.answer("chat.history", Talk.history([Self.question]))
        talk.answer("agent.wait", #"{"status":"timeout"}"#)
        talk.clear()
        talk.chat("final", "Two.")
        #expect(talk.observations == [])
        #expect(talk.methods == ["chat.history"])
        talk.answer("chat.history", Talk.history([Talk.row("user", "Hello?"), Talk.row("assistant", "One.")]))
        let rows = ["One.", "Two."].map { RunEnd.Row($0, beginsParagraph: true) }
        #expect(talk.observations == [.said("r1", .finished(RunEnd(rows: rows)))])
    }

    @Test("where the history cannot be had, an early gateway's end stands as it was told", arguments: [true, false])
    func missedForGood(_ refused: Bool) {
        let talk = Self.back(.e1)
        talk.answer("chat.history", Talk.history([]))
        talk.answer("agent.wait", #"{"status":"timeout"}"#)
        talk.clear()
        talk.chat("final", "Two.")
        if refused {
            talk.answer("chat.history", nil, error: #"{"code":"UNAVAILABLE","message":"x"}"#)
        } else {
            talk.pass(20)
            talk.event("tick", "{}")
            talk.pass(10)
        }
        #expect(talk.observations == [.said("r1", .finished(RunEnd(text: "Two.", scope: .segment)))])
    }

    @Test("the answer to a follow-up is known to be one")
    func followUp() {
        let talk = Talk(era: .e4)
        talk.goLive()
        talk.lookUp()
        talk.answer(
            "chat.history",
            Talk.history(
                [
                    Self.question, Talk.row("assistant", "May I?"),
                    Talk.row("assistant", "Done.", mark: #""runId":"exec-approval-followup:ap-1""#),
                ], more: #","sessionInfo":{"hasActiveRun":false}"#))
        let rows = ["May I?", "Done."].map { RunEnd.Row($0, beginsParagraph: true) }
        let end = RunEnd(rows: rows, includesFollowUp: true)
        #expect(talk.observations.last == .lookedUp(RunID("r1"), .ended(end)))
    }
}
