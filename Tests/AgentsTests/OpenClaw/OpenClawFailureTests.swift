import AgentKit
import OpenClaw
import Testing
import Vocabulary
import Worlds

/// Failed attempts, and when the last of them is known as such (openclaw.md#order-of-frames-in-one-run).
@Suite("A failed run of an OpenClaw gateway")
struct OpenClawFailureTests {
    private typealias Talk = OpenClawConversation
    private static let user = Talk.row("user", "Hello?")
    private static let failed = Talk.row(
        "assistant", "I begin,", more: #","stopReason":"error","errorMessage":"500 server_error""#)
    private static let failure = RunFailure(message: "HTTP 500", text: "I begin,")

    /// The run spoke, and its attempt failed a second ago.
    private static func attempted(_ era: GatewayEra) -> OpenClawConversation {
        let talk = Talk(era: era)
        talk.goLiveWithRun()
        talk.lifecycle("r1", #""phase":"start""#)
        talk.assistant("r1", "I begin,")
        fails(talk, era)
        talk.clear()
        talk.pass(1)
        return talk
    }

    private static func fails(_ talk: OpenClawConversation, _ era: GatewayEra) {
        talk.lifecycle("r1", #""phase":"error","error":"HTTP 500""#)
        if era == .e1 {
            let words = #""errorMessage":"HTTP 500""#
            talk.event(
                "chat", #"{"runId":"r1","sessionKey":"\#(Talk.key)","seq":1,"state":"error",\#(words)}"#)
        }
    }

    private static func waits(_ talk: OpenClawConversation, _ status: String) {
        talk.answer("agent.wait", #"{"runId":"r1","status":"\#(status)"}"#)
    }

    @Test(
        "a run that is over is told with its cause long before the gateway tells it", arguments: [GatewayEra.e1, .e2])
    func over(_ era: GatewayEra) {
        let talk = Self.attempted(era)
        #expect(talk.methods == ["chat.history"])
        talk.answer("chat.history", Talk.history([Self.user, Self.failed]))
        Self.waits(talk, "ok")
        talk.answer("chat.history", Talk.history([Self.user, Self.failed]))
        #expect(talk.observations == [.said("r1", .failed(Self.failure))])
    }

    @Test("where its session was reset, what failed is the last that is known", arguments: [GatewayEra.e1, .e2])
    func reset(_ era: GatewayEra) {
        let talk = Self.attempted(era)
        talk.answer("chat.history", Talk.history([]))
        Self.waits(talk, "ok")
        talk.answer("chat.history", Talk.history([]))
        #expect(talk.observations == [.said("r1", .failed(RunFailure(message: "HTTP 500")))])
    }

    @Test("a run that tries again is left alone, and asked about again", arguments: [GatewayEra.e1, .e2])
    func again(_ era: GatewayEra) {
        let talk = Self.attempted(era)
        talk.answer("chat.history", Talk.history([Self.user, Self.failed]))
        Self.waits(talk, "timeout")
        #expect(talk.observations == [])
        talk.clear()
        talk.pass(2)
        #expect(talk.methods == ["chat.history"])
        talk.lifecycle("r1", #""phase":"start""#)
        talk.assistant("r1", "Now it works.")
        talk.answer("chat.history", Talk.history([Self.user, Self.failed]))
        Self.waits(talk, "timeout")
        talk.clear()
        talk.pass(20)
        #expect(talk.methods == [])
        #expect(talk.observations == [])
    }

    @Test("where the newer gateway announces an end without words after an error, the error is its cause")
    func announcedLate() {
        let talk = Talk(era: .e3)
        talk.goLiveWithRun()
        talk.lifecycle("r1", #""phase":"start""#)
        talk.assistant("r1", "I begin,")
        talk.lifecycle("r1", #""phase":"error","error":"Context overflow""#)
        talk.clear()
        talk.chat("aborted", nil)
        #expect(talk.observations == [.said("r1", .failed(RunFailure(message: "Context overflow")))])
    }

    /// The gateway's own terminal frame comes 15 s later (2026.7.2, an overflow).
    @Test(
        "the newer gateway's lifecycle error behind its attempts is the end, unless another attempt begins",
        arguments: [true, false])
    func lastError(_ beginsAgain: Bool) {
        let talk = Talk(era: .e3)
        talk.goLiveWithRun()
        talk.lifecycle("r1", #""phase":"start""#)
        talk.lifecycle("r1", #""phase":"finishing","error":"Context overflow","aborted":false"#)
        talk.lifecycle("r1", #""phase":"error","error":"Context overflow","aborted":false"#)
        talk.clear()
        if beginsAgain { talk.lifecycle("r1", #""phase":"start""#) }
        talk.clear()
        talk.pass(1)
        let end = RunFailure(message: "Context overflow")
        #expect(talk.observations == (beginsAgain ? [] : [.said("r1", .failed(end))]))
    }

    @Test("a Stop after an error is a Stop")
    func stopped() {
        let talk = Talk(era: .e3)
        talk.goLiveWithRun()
        talk.lifecycle("r1", #""phase":"start""#)
        talk.lifecycle("r1", #""phase":"finishing","error":"HTTP 503""#)
        talk.command(.abort(session: Talk.session, run: RunID("r1")))
        talk.clear()
        talk.chat("aborted", nil)
        #expect(talk.observations == [.said("r1", .finished(RunEnd(reason: .aborted)))])
    }
}
