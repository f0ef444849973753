import AgentKit
import OpenClaw
import Testing
import Vocabulary
import Worlds

/// Two messages in one session: the rows after an approval of the first run come behind the second
/// (openclaw.md#approvals).
@Suite("Follow-ups in the history of an OpenClaw session")
struct OpenClawFollowUpTests {
    private typealias Talk = OpenClawConversation

    private static let stop = #","stopReason":"stop""#
    private static let over = #","sessionInfo":{"hasActiveRun":false,"activeRunIds":[]}"#

    private static func row(_ text: String, of run: String) -> String {
        Talk.row("assistant", text, more: stop, mark: #""runId":"\#(run)""#)
    }

    private static func followUp(_ approval: String) -> String { "exec-approval-followup:\(approval):nonce:n1" }

    private static let asked = [Talk.row("user", "Hello?", key: "r1"), row("May I?", of: "r1")]
    private static let second = Talk.row("user", "Second?", key: "r2")
    private static let rows =
        asked + [second, row("Yes.", of: "r2"), row("Rebooted.", of: followUp("ap-1"))]

    private static let whole = RunEnd(
        rows: ["May I?", "Rebooted."].map { RunEnd.Row($0, beginsParagraph: true) }, includesFollowUp: true)

    /// The first run has ended with its question, and the second is under way.
    private static func live(_ era: GatewayEra, endsFirst: Bool = true) -> OpenClawConversation {
        let talk = Talk(era: era)
        talk.goLiveWithRun()
        talk.event(
            "agent",
            """
            {"runId":"r1","seq":5,"stream":"tool","sessionKey":"\(Talk.key)","data":{"phase":"result","name":"exec",\
            "toolCallId":"c1","result":{"details":{"status":"approval-pending","approvalId":"ap-1"}}}}
            """)
        if endsFirst { talk.chat("final", "May I?") }
        talk.send("r2", text: "Second?")
        talk.answer("chat.send", #"{"runId":"r2","status":"started"}"#)
        talk.clear()
        return talk
    }

    private static func ask(_ talk: OpenClawConversation, _ run: String, _ history: String) -> Observation? {
        talk.lookUp(run)
        talk.answer("chat.history", history)
        return talk.observations.last
    }

    @Test("the newest gateways name a row's run: a follow-up belongs to the run that asked, wherever it stands")
    func named() {
        let talk = Self.live(.e4)
        let history = Talk.history(Self.rows, more: Self.over)
        #expect(Self.ask(talk, "r1", history) == .lookedUp(RunID("r1"), .ended(Self.whole)))
        #expect(Self.ask(talk, "r2", history) == .lookedUp(RunID("r2"), .ended(RunEnd(text: "Yes."))))
    }

    @Test("a follow-up that nobody knows is not that of a run that has not ended yet")
    func strange() {
        let talk = Talk(era: .e4)
        talk.goLiveWithRun("r2")
        let rows = [Self.second, Self.row("Rebooted.", of: Self.followUp("ap-1")), Self.row("Yes.", of: "r2")]
        let said = Self.ask(talk, "r2", Talk.history(rows, more: Self.over))
        #expect(said == .lookedUp(RunID("r2"), .ended(RunEnd(text: "Yes."))))
    }

    @Test("another client's run that went on at the same time is not ours")
    func foreign() {
        let talk = Self.live(.e4)
        let rows =
            [
                Self.second, Talk.row("user", "Private?", key: "p1"), Self.row("Psst.", of: "p1"),
                Self.row("Yes.", of: "r2"),
            ]
        let said = Self.ask(talk, "r2", Talk.history(rows, more: Self.over))
        #expect(said == .lookedUp(RunID("r2"), .ended(RunEnd(text: "Yes."))))
    }

    @Test("the approvals of an earlier process are known by its journal", arguments: [true, false])
    func adopted(_ isKnown: Bool) {
        let talk = Talk(era: .e4)
        talk.session.adopt(
            RunID("r1"), in: Talk.session, text: "Hello?", stage: .accepted,
            approvals: isKnown ? [ApprovalID("ap-1")] : [], sentAtMilliseconds: talk.wall - 5_000, at: talk.now,
            wallMilliseconds: talk.wall)
        talk.goLive()
        talk.answer("chat.history", Talk.history(Self.rows, more: Self.over))
        let end = isKnown ? Self.whole : RunEnd(text: "May I?")
        #expect(talk.observations.last == .lookedUp(RunID("r1"), .ended(end)))
    }

    @Test("a follow-up that began unseen is followed from there")
    func underWay() {
        let talk = Self.live(.e4)
        let next = Self.followUp("ap-1")
        let more = #","sessionInfo":{"activeRunIds":["\#(next)"]},"inFlightRun":{"runId":"\#(next)","text":"Reboo"}"#
        talk.lookUp("r1")
        talk.answer("chat.history", Talk.history(Self.asked + [Self.second], more: more))
        #expect(
            talk.observations == [
                .said(next, .started), .lookedUp(RunID("r1"), .running(text: nil)),
            ])
    }

    @Test("a follow-up that began unseen, behind an end that nobody heard, comes after what the run said")
    func underWayBehindAnUnheardEnd() {
        let talk = Self.live(.e4, endsFirst: false)
        let next = Self.followUp("ap-1")
        let more = #","sessionInfo":{"activeRunIds":["\#(next)"]},"inFlightRun":{"runId":"\#(next)","text":"Reboo"}"#
        talk.lookUp("r1")
        talk.answer("chat.history", Talk.history(Self.asked + [Self.second], more: more))
        #expect(
            talk.observations == [
                .lookedUp(RunID("r1"), .ended(RunEnd(text: "May I?"))), .said(next, .started),
            ])
    }

    @Test("an open question whose run is known is not told as another run's")
    func listed() {
        let talk = Self.live(.e4)
        talk.close(1006)
        talk.pass(5)
        talk.goLive()
        talk.clear()
        talk.answer(
            "exec.approval.list",
            """
            [{"id":"ap-1","request":{"command":"ls","sessionKey":"\(Talk.key)"},"createdAtMs":\(talk.wall),\
            "expiresAtMs":\(talk.wall + 120_000)}]
            """)
        talk.answer("chat.history", Talk.history(Self.rows.dropLast(), more: Self.over))
        #expect(talk.observations.contains(.lookedUp(RunID("r2"), .ended(RunEnd(text: "Yes.")))))
        let paused = RunEvent.paused(PausedCall(call: nil, approval: ApprovalID("ap-1")))
        #expect(!talk.observations.contains(.said("r2", paused)))
    }

    @Test(
        "where rows have no names, one that may be another run's follow-up ends nothing",
        arguments: [GatewayEra.e2, .e3])
    func unnamed(_ era: GatewayEra) {
        let talk = Self.live(era)
        let rows = [
            Talk.row("user", "Hello?", key: "r1"), Talk.row("assistant", "May I?", more: Self.stop), Self.second,
            Talk.row("assistant", "Rebooted.", more: Self.stop),
        ]
        talk.lookUp("r2")
        talk.answer("chat.history", Talk.history(rows))
        #expect(talk.sent.last?.method == "agent.wait")
        talk.answer("agent.wait", #"{"status":"timeout"}"#)
        #expect(talk.observations == [.lookedUp(RunID("r2"), .running(text: nil))])
    }

    @Test("once the follow-up has been told, a complete row is the end of its run again")
    func told() {
        let talk = Self.live(.e2)
        talk.chat("final", "Rebooted.", run: "exec-approval-followup:ap-1")
        talk.clear()
        let said = Self.ask(
            talk, "r2", Talk.history([Self.second, Talk.row("assistant", "Yes.", more: Self.stop)]))
        #expect(said == .lookedUp(RunID("r2"), .ended(RunEnd(text: "Yes."))))
    }

    @Test(
        "what the agent says behind a command that waits is in its row alone, and goes before the follow-up",
        arguments: [true, false])
    func silenced(_ isSpoken: Bool) {
        let talk = Talk(era: .e2)
        talk.goLiveWithRun()
        talk.lifecycle("r1", #""phase":"start""#)
        talk.assistant("r1", "I ask.")
        talk.event(
            "agent",
            """
            {"runId":"r1","seq":5,"stream":"tool","sessionKey":"\(Talk.key)","data":{"phase":"start","name":"exec",\
            "toolCallId":"c1"}}
            """)
        talk.event(
            "agent",
            """
            {"runId":"r1","seq":6,"stream":"tool","sessionKey":"\(Talk.key)","data":{"phase":"result","name":"exec",\
            "toolCallId":"c1","result":{"details":{"status":"approval-pending","approvalId":"ap-1"}}}}
            """)
        talk.clear()
        if isSpoken { talk.assistant("r1", "It waits.") }
        talk.wrote(Talk.row("assistant", "It waits.", more: Self.stop))
        let said: [TextChange] = [.segmentEnded(nil), .segment("It waits.")]
        #expect(talk.observations == said.map { .said("r1", .text($0)) })
        talk.clear()
        talk.chat("final", isSpoken ? "I ask.It waits." : "I ask.")
        #expect(talk.observations == [.said("r1", .finished(RunEnd(text: "It waits.", scope: .segment)))])
    }

    @Test("where nothing waits for approval a row says nothing that its frames do not")
    func notSilenced() {
        let talk = Talk(era: .e2)
        talk.goLiveWithRun()
        talk.lifecycle("r1", #""phase":"start""#)
        talk.assistant("r1", "I ask")
        talk.clear()
        talk.wrote(Talk.row("assistant", "I ask. It waits.", more: Self.stop))
        #expect(talk.observations == [])
    }
}
