import AgentKit
import OpenClaw
import Testing
import Vocabulary
import Worlds

/// A gateway of E3 that its owner or an update restarts (openclaw.md#disconnects).
@Suite("A planned restart of an OpenClaw gateway")
struct OpenClawPlannedRestartTests {
    private typealias Talk = OpenClawConversation
    private static let words = "⚠️ Gateway is restarting. Please wait a few seconds and try again."
    private static let ours = Talk.row("user", "Hello?", key: "r1:user")
    private static let interruption = Talk.row(
        "user", "[System] Your previous turn was interrupted by a gateway restart. Continue from where you left off.")

    /// The gateway's last frame of a run when it stops.
    enum Cut: CaseIterable {
        case aborted, abortedWithWords, failed

        var frame: String {
            let name = #""runId":"r1","sessionKey":"\#(OpenClawConversation.key)""#
            let said = #","message":{"role":"assistant","content":[{"type":"text","text":"Working"}]}"#
            return switch self {
            case .aborted: #"{\#(name),"state":"aborted","stopReason":"restart"}"#
            case .abortedWithWords: #"{\#(name),"state":"aborted","stopReason":"restart"\#(said)}"#
            case .failed: #"{\#(name),"state":"error","errorMessage":"\#(words)"}"#
            }
        }
    }

    private static func atWork() -> OpenClawConversation {
        let talk = Talk(era: .e3)
        talk.goLiveWithRun()
        talk.lifecycle("r1", #""phase":"start""#)
        talk.assistant("r1", "Working")
        talk.clear()
        return talk
    }

    private static func ends(_ talk: OpenClawConversation) -> Bool {
        talk.observations.contains {
            switch $0 {
            case .signal(let signal):
                switch signal.event {
                case .finished, .failed: true
                default: false
                }
            case .lookedUp(_, .ended), .lookedUp(_, .failed), .lookedUp(_, .unknown): true
            default: false
            }
        }
    }

    @Test("ends no run: the gateway goes on with it", arguments: Cut.allCases, [true, false])
    func goesOn(_ cut: Cut, _ isSameProcess: Bool) {
        let talk = Self.atWork()
        talk.event("chat", cut.frame)
        talk.pass(2)
        talk.event("shutdown", #"{"reason":"restart","restartExpectedMs":2000}"#)
        talk.close(1012)
        if !isSameProcess { talk.gatewayBegan = talk.now }
        talk.pass(3)
        talk.goLive()
        talk.answer(
            "chat.history",
            Talk.history(
                [Self.ours], more: #","sessionInfo":{"activeRunIds":[],"hasActiveRun":false,"status":"running"}"#))
        #expect(!Self.ends(talk))
        talk.lifecycle("own-1", #""phase":"start""#)
        talk.wrote(Self.interruption)
        talk.clear()
        talk.assistant("own-1", "Done.")
        #expect(talk.observations == [.said("r1", .text(.segment("Done.")))])
    }

    @Test("that no restart follows leaves the history to say what became of the run")
    func none() {
        let talk = Self.atWork()
        talk.event("chat", Cut.aborted.frame)
        talk.clear()
        talk.passTicking(60)
        #expect(talk.methods == ["chat.history"])
    }

    @Test("after a Stop is a Stop")
    func stopped() {
        let talk = Self.atWork()
        talk.command(.abort(session: Talk.session, run: RunID("r1")))
        talk.clear()
        talk.event("chat", Cut.aborted.frame)
        #expect(Self.ends(talk))
    }

    @Test("within one process leaves no answer of a tool's beginning", arguments: [true, false])
    func sameProcess(_ isAnnounced: Bool) {
        let talk = Self.atWork()
        if isAnnounced { talk.event("shutdown", "{}") }
        talk.close(isAnnounced ? 1006 : 1012)
        talk.pass(3)
        talk.goLive()
        let rows = [Self.ours, Talk.row("assistant", "Working.", more: #","stopReason":"toolUse""#)]
        talk.answer(
            "chat.history",
            Talk.history(rows, more: #","sessionInfo":{"activeRunIds":[],"hasActiveRun":false,"status":"running"}"#))
        #expect(!Self.ends(talk))
    }

    @Test("makes a message wait, however long the gateway's own runs take")
    func draining() {
        let talk = Talk(era: .e3)
        talk.goLive()
        talk.send()
        for _ in 0..<12 {
            talk.answer(
                "chat.send", nil,
                error:
                    #"{"code":"UNAVAILABLE","message":"restart","retryable":true,"retryAfterMs":1000,"details":{"reason":"gateway-restarting"}}"#
            )
            talk.pass(1)
        }
        #expect(!talk.observations.contains { if case .sendAnswered = $0 { true } else { false } })
        #expect(talk.allSent.count { $0.method == "chat.send" } == 13)
    }

    @Test(
        "leaves a row of an aborted attempt, which is no end of what goes on behind it",
        arguments: ["aborted", "error"])
    func rows(_ reason: String) {
        let talk = Self.atWork()
        talk.close(1012)
        talk.pass(3)
        talk.gatewayBegan = talk.now
        talk.goLive()
        let rows = [
            Self.ours, Talk.row("assistant", "Working.", more: #","stopReason":"toolUse""#),
            Talk.row("assistant", "", more: #","stopReason":"\#(reason)""#), Self.interruption,
            Talk.row("assistant", "Done.", more: #","stopReason":"stop""#),
        ]
        talk.answer("chat.history", Talk.history(rows, more: #","sessionInfo":{"activeRunIds":[]}"#))
        guard case .lookedUp(_, .ended(let end))? = talk.observations.last else {
            Issue.record("\(String(describing: talk.observations.last))")
            return
        }
        #expect(end.reason == .stop)
        #expect(end.rows.map(\.text) == ["Working.", "Done."])
    }
}
