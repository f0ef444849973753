import AgentKit
import OpenClaw
import Testing
import Vocabulary
import Worlds

/// Messages that arrive while another client's run is at work in their session.
@Suite("A busy OpenClaw session")
struct OpenClawBusyTests {
    private typealias Talk = OpenClawConversation
    private static let stop = AgentCommand.abort(session: Talk.session, run: RunID("r1"))
    private static let over = #","stopReason":"stop""#
    private static let deskRow = Talk.row("user", "Desk?", key: "desk:user")
    private static let ourRow = Talk.row("user", "Hello?", key: "r1:user")
    private static let deskAnswer = Talk.row("assistant", "Desk.", more: over)
    private static let ourAnswer = Talk.row("assistant", "Mine.", more: over)

    private static func atWork(_ runs: String...) -> String {
        #","sessionInfo":{"activeRunIds":[\#(runs.map { "\"\($0)\"" }.joined(separator: ","))]}"#
    }

    private static func segment(_ text: String) -> Observation { .said("r1", .text(.segmentEnded(text))) }

    private static func isEnded(_ talk: OpenClawConversation) -> Bool {
        talk.observations.contains {
            switch $0 {
            case .signal(let signal):
                switch signal.event {
                case .finished, .failed: signal.run == RunID("r1")
                default: false
                }
            case .lookedUp(_, .ended), .lookedUp(_, .failed), .lookedUp(_, .unknown): true
            default: false
            }
        }
    }

    /// Our run ended at once, without a text and without having begun.
    private static func orphan(_ era: GatewayEra, deskBegan: Bool = true) -> OpenClawConversation {
        let talk = Talk(era: era)
        talk.goLive()
        if deskBegan { talk.lifecycle("desk", #""phase":"start""#) }
        talk.send()
        talk.answer("chat.send", #"{"runId":"r1","status":"started"}"#)
        if era == .e3 { talk.wrote(ourRow) }
        talk.clear()
        talk.chat("final", nil)
        return talk
    }

    private static func deskEnds(_ talk: OpenClawConversation) {
        talk.lifecycle("desk", #""phase":"end""#)
        talk.chat("final", "Desk.", run: "desk")
    }

    // MARK: Stop

    @Test("a stop of a message that waits stops the run that begins with it")
    func stopped() {
        let talk = Self.orphan(.e2)
        talk.command(Self.stop)
        talk.answer("chat.abort", #"{"ok":true,"aborted":false,"runIds":[]}"#)
        #expect(!talk.observations.contains(.abortAnswered(RunID("r1"))))
        Self.deskEnds(talk)
        talk.answer("chat.history", Talk.history([]))
        talk.clear()
        talk.lifecycle("own-1", #""phase":"start""#)
        talk.wrote(Talk.row("user", "[Mon 2026-11-23 16:37 UTC] Hello?"))
        #expect(talk.sent.map(\.params) == [#"{"sessionKey":"agent:main:phone-1","runId":"own-1"}"#])
        talk.answer("chat.abort", #"{"ok":true,"aborted":true,"runIds":["own-1"]}"#)
        #expect(talk.observations.contains(.abortAnswered(RunID("r1"))))
    }

    @Test("where no row tells it, the history says which run a stop is meant for")
    func stoppedWithoutRows() {
        let talk = Self.orphan(.e1)
        talk.command(Self.stop)
        talk.answer("chat.abort", #"{"ok":true,"aborted":false,"runIds":[]}"#)
        Self.deskEnds(talk)
        talk.answer("chat.history", Talk.history([]))
        talk.lifecycle("own-1", #""phase":"start""#)
        talk.clear()
        talk.pass(1)
        talk.answer("chat.history", Talk.history([Talk.row("user", "Hello?")]))
        #expect(talk.sent.last?.params == #"{"sessionKey":"agent:main:phone-1","runId":"own-1"}"#)
    }

    @Test("a stop of a message that another run took is answered, and leaves that run alone")
    func stoppedWithinAnother() {
        let talk = Self.orphan(.e3)
        talk.command(Self.stop)
        talk.answer("chat.abort", #"{"ok":true,"aborted":false,"runIds":[]}"#)
        talk.clear()
        talk.wrote(Self.ourRow)
        #expect(talk.observations.contains(.abortAnswered(RunID("r1"))))
        #expect(!talk.methods.contains("chat.abort"))
    }

    @Test("after a stop of a run under another name the next message waits until that is let go of")
    func stoppedAdopted() {
        let talk = Self.orphan(.e2)
        Self.deskEnds(talk)
        talk.answer("chat.history", Talk.history([]))
        talk.lifecycle("own-1", #""phase":"start""#)
        talk.wrote(Talk.row("user", "Hello?"))
        talk.assistant("own-1", "Mi")
        talk.command(Self.stop)
        talk.chat("aborted", "Mi", run: "own-1")
        talk.clear()
        talk.send("r2", text: "Next?")
        #expect(talk.methods == [])
        talk.lifecycle("own-1", #""phase":"end""#)
        #expect(talk.methods == ["chat.send"])
    }

    @Test("a stop of a run that began unseen is waited for as well")
    func stoppedUnseen() {
        let talk = Talk(era: .e2)
        talk.adopt(secondsAgo: 20, .accepted)
        talk.goLive()
        talk.answer("chat.history", Talk.history([Talk.row("user", "Hello?")]))
        talk.command(Self.stop)
        talk.chat("aborted", "Mi")
        talk.clear()
        talk.send("r2", text: "Next?")
        #expect(talk.methods == [])
        talk.pass(1)
        #expect(talk.methods == ["chat.send"])
    }

    // MARK: Reconnects and restarts

    @Test("another client's answer is not ours after a reconnect")
    func reconnected() {
        let talk = Self.orphan(.e3)
        talk.close(1006)
        talk.pass(2)
        talk.goLive()
        let rows = [Self.deskRow, Self.ourRow, Self.deskAnswer]
        talk.answer("chat.history", Talk.history(rows, more: Self.atWork("desk")))
        #expect(talk.observations.last == .lookedUp(RunID("r1"), .running(text: nil)))
        talk.clear()
        talk.wrote(Self.ourRow)
        talk.wrote(Self.ourAnswer)
        #expect(talk.observations == [Self.segment("Mine.")])
        Self.deskEnds(talk)
        talk.answer("chat.history", Talk.history(rows + [Self.ourRow, Self.ourAnswer], more: Self.atWork()))
        #expect(talk.observations.last == .said("r1", .finished(RunEnd(text: "Mine."))))
    }

    @Test("another client's answer is not ours when its run ends without having taken our message")
    func notTaken() {
        let talk = Self.orphan(.e3)
        Self.deskEnds(talk)
        talk.answer("chat.history", Talk.history([Self.deskRow, Self.ourRow, Self.deskAnswer], more: Self.atWork()))
        #expect(!Self.isEnded(talk))
    }

    @Test("what an earlier process of the bridge left waiting still waits, and is answered")
    func restarted() {
        let talk = Talk(era: .e3)
        talk.adopt(secondsAgo: 20, .accepted)
        talk.goLive()
        let rows = [Self.deskRow, Self.ourRow, Self.deskAnswer]
        talk.answer("chat.history", Talk.history(rows, more: Self.atWork("desk")))
        #expect(talk.observations.last == .lookedUp(RunID("r1"), .running(text: nil)))
        Self.deskEnds(talk)
        talk.answer("chat.history", Talk.history(rows + [Self.ourRow, Self.ourAnswer], more: Self.atWork()))
        #expect(talk.observations.last == .said("r1", .finished(RunEnd(text: "Mine."))))
    }

    @Test("an answer that was there before another client's run began is ours")
    func answeredBefore() {
        let talk = Talk(era: .e3)
        talk.adopt(secondsAgo: 20, .accepted)
        talk.goLive()
        talk.answer(
            "chat.history", Talk.history([Self.ourRow, Self.ourAnswer, Self.deskRow], more: Self.atWork("desk")))
        #expect(talk.observations.last == .lookedUp(RunID("r1"), .ended(RunEnd(text: "Mine."))))
    }

    @Test("what waits is no lost run where the gateway says no more than that its name is done with")
    func restartedUnkeyed() {
        let talk = Talk(era: .e2)
        talk.adopt(secondsAgo: 20, .accepted)
        talk.goLive()
        talk.answer("chat.history", Talk.history([]))
        talk.answer("agent.wait", #"{"runId":"r1","status":"ok"}"#)
        talk.answer("chat.history", Talk.history([]))
        #expect(talk.observations.last == .lookedUp(RunID("r1"), .running(text: nil)))
        talk.lifecycle("own-1", #""phase":"start""#)
        talk.wrote(Talk.row("user", "Hello?"))
        talk.clear()
        talk.assistant("own-1", "Mi")
        #expect(talk.observations == [.said("r1", .text(.segment("Mi")))])
    }

    @Test("a message that is sent again behind a restart, and is put behind another run, waits for its answer")
    func sentAgainBehindAnother() {
        let talk = Talk(era: .e2)
        talk.adopt(secondsAgo: 20, .handedOver)
        talk.goLive()
        talk.chat("final", nil)
        talk.answer("chat.history", Talk.history([Talk.row("user", "Desk?")]))
        talk.answer("agent.wait", #"{"runId":"r1","status":"ok"}"#)
        talk.answer("chat.send", #"{"runId":"r1","status":"started"}"#)
        talk.answer("chat.history", Talk.history([Talk.row("user", "Desk?")]))
        #expect(!Self.isEnded(talk))
        talk.lifecycle("own-1", #""phase":"start""#)
        talk.wrote(Talk.row("user", "Hello?"))
        talk.clear()
        talk.assistant("own-1", "Mi")
        #expect(talk.observations == [.said("r1", .text(.segment("Mi")))])
    }

    @Test(
        "a run that an earlier process saw begin, and that ends without words, is over",
        arguments: [GatewayEra.e2, .e3])
    func endedWithoutWords(_ era: GatewayEra) {
        let talk = Talk(era: era)
        talk.adopt(secondsAgo: 20, .accepted)
        talk.goLive()
        talk.chat("final", nil)
        let question = era == .e3 ? Self.ourRow : Talk.row("user", "Hello?")
        talk.answer("chat.history", Talk.history([question], more: era == .e3 ? Self.atWork() : ""))
        if era == .e2 {
            talk.answer("agent.wait", #"{"runId":"r1","status":"ok"}"#)
            talk.answer("chat.history", Talk.history([question]))
        }
        #expect(Self.isEnded(talk) && talk.observations.last != .lookedUp(RunID("r1"), .unknown))
    }

    // MARK: Runs at work

    @Test("any frame of another run shows that the session is busy")
    func anyFrame() {
        let talk = Talk(era: .e2)
        talk.goLive()
        talk.assistant("desk", "Des")
        talk.send()
        talk.answer("chat.send", #"{"runId":"r1","status":"started"}"#)
        talk.chat("final", nil)
        talk.pass(300)
        #expect(!Self.isEnded(talk))
    }

    @Test("a run that nobody saw begin is at work where the history says so")
    func seeded() {
        let talk = Self.orphan(.e3, deskBegan: false)
        talk.answer("chat.history", Talk.history([Self.deskRow, Self.ourRow], more: Self.atWork("desk")))
        talk.pass(50)
        #expect(!Self.isEnded(talk))
        Self.deskEnds(talk)
        talk.answer(
            "chat.history",
            Talk.history(
                [Self.deskRow, Self.ourRow, Self.deskAnswer, Self.ourRow, Self.ourAnswer], more: Self.atWork()))
        #expect(talk.observations.last == .said("r1", .finished(RunEnd(text: "Mine."))))
    }

    @Test("an empty end of a session where nothing is at work is one, a while later", arguments: [GatewayEra.e2, .e3])
    func idle(_ era: GatewayEra) {
        let talk = Self.orphan(era, deskBegan: false)
        talk.answer("chat.history", Talk.history([], more: era == .e3 ? Self.atWork() : ""))
        #expect(!Self.isEnded(talk))
        talk.passTicking(era == .e3 ? 15 : 120)
        #expect(talk.observations.last == .said("r1", .finished(RunEnd())))
    }

    @Test("an empty end of a command is one at once", arguments: [GatewayEra.e2, .e3])
    func command(_ era: GatewayEra) {
        let talk = Talk(era: era)
        talk.goLive()
        talk.send(text: "/new")
        talk.answer("chat.send", #"{"runId":"r1","status":"started"}"#)
        talk.chat("final", nil)
        #expect(talk.observations.last == .said("r1", .finished(RunEnd())))
    }

    // MARK: Whose frames

    @Test("frames before the row that says whose they are are caught up with")
    func early() {
        let talk = Self.orphan(.e2)
        Self.deskEnds(talk)
        talk.answer("chat.history", Talk.history([]))
        talk.lifecycle("own-1", #""phase":"start""#)
        talk.assistant("own-1", "Mi")
        talk.clear()
        talk.wrote(Talk.row("user", "Hello?"))
        talk.assistant("own-1", "Mine.", delta: "ne.")
        #expect(talk.observations == [.said("r1", .text(.segment("Mine.")))])
        talk.clear()
        talk.chat("final", "Mine.", run: "own-1")
        #expect(talk.methods == ["chat.history"])
    }

    @Test("the row of the acceptance takes nothing, also where it comes behind the empty end")
    func acceptance() {
        let talk = Talk(era: .e3)
        talk.goLive()
        talk.lifecycle("desk", #""phase":"start""#)
        talk.send()
        talk.answer("chat.send", #"{"runId":"r1","status":"started"}"#)
        talk.chat("final", nil)
        talk.clear()
        talk.wrote(Self.ourRow)
        talk.wrote(Self.deskAnswer)
        #expect(talk.observations == [])
        talk.wrote(Self.ourRow)
        talk.wrote(Self.ourAnswer)
        #expect(talk.observations == [Self.segment("Mine.")])
    }

    // MARK: Early gateways' follow-ups

    @Test("a run that begins long after a decision is no follow-up of it", arguments: [5.0, 2_000])
    func late(_ seconds: Double) {
        let talk = Talk(era: .e1)
        talk.goLiveWithRun()
        talk.event(
            "agent",
            """
            {"runId":"r1","seq":5,"stream":"tool","sessionKey":"\(Talk.key)","data":{"phase":"result","name":"exec",\
            "toolCallId":"c1","result":{"details":{"status":"approval-pending","approvalId":"ap-1"}}}}
            """)
        talk.chat("final", "May I?")
        talk.event("exec.approval.resolved", #"{"id":"ap-1","decision":"allow-once"}"#)
        talk.passTicking(seconds)
        talk.lifecycle("beat-1", #""phase":"start""#)
        talk.clear()
        talk.chat("final", "Rebooted.", run: "beat-1")
        if talk.methods.last == "chat.history" { talk.answer("chat.history", Talk.history([])) }
        let name = seconds < 600 ? "exec-approval-followup:ap-1" : "beat-1"
        let said = talk.observations.compactMap { if case .signal(let signal) = $0 { signal.run } else { nil } }
        #expect(said == [RunID(name)])
    }

    // MARK: Failures

    @Test("an answer without words is a failure, where the gateway says that it was stopped and then that it failed")
    func wordless() {
        let talk = Talk(era: .e3)
        talk.goLiveWithRun()
        talk.lifecycle("r1", #""phase":"start""#)
        talk.chat("aborted", nil)
        #expect(!Self.isEnded(talk))
        talk.event(
            "chat", #"{"runId":"r1","sessionKey":"\#(Talk.key)","state":"error","errorMessage":"no words"}"#)
        #expect(talk.observations.last == .said("r1", .failed(RunFailure(message: "no words"))))
    }

    @Test("one that another client stopped is told as stopped")
    func stoppedElsewhere() {
        let talk = Talk(era: .e3)
        talk.goLiveWithRun()
        talk.lifecycle("r1", #""phase":"start""#)
        talk.chat("aborted", nil)
        talk.pass(1)
        #expect(talk.observations.last == .said("r1", .finished(RunEnd(reason: .aborted))))
    }

    @Test("the row of a failed call says why, where the lifecycle does not")
    func written() {
        let talk = Talk(era: .e2)
        talk.goLiveWithRun()
        talk.lifecycle("r1", #""phase":"start""#)
        let row = Talk.row(
            "assistant", "", more: #","stopReason":"error","errorMessage":"the vendor's disk is full""#)
        talk.wrote(row)
        talk.event("sessions.changed", #"{"sessionKey":"\#(Talk.key)","phase":"error","runId":"r1"}"#)
        talk.pass(2)
        let rows = [Talk.row("user", "Hello?"), row]
        talk.answer("chat.history", Talk.history(rows))
        talk.answer("agent.wait", #"{"runId":"r1","status":"ok"}"#)
        talk.answer("chat.history", Talk.history(rows))
        #expect(talk.observations.last == .said("r1", .failed(RunFailure(message: "the vendor's disk is full"))))
    }

    @Test("what a run cost is in its rows alone")
    func usage() {
        let talk = Talk(era: .e2)
        talk.goLiveWithRun()
        talk.lifecycle("r1", #""phase":"start""#)
        for tokens in [3, 4] {
            talk.wrote(
                Talk.row("assistant", "x", more: #","model":"quill-2","usage":{"input":10,"output":\#(tokens)}"#))
        }
        talk.chat("final", "Hi.")
        guard case .signal(let signal)? = talk.observations.last, case .finished(let end) = signal.event else {
            Issue.record("no end")
            return
        }
        #expect(end.usage?.inputTokens == 20)
        #expect(end.usage?.outputTokens == 7)
        #expect(end.usage?.model == "quill-2")
    }

    @Test("a method that is not there proves no missing scope", arguments: [true, false])
    func scopes(_ isThere: Bool) {
        let talk = Talk(era: .e3)
        if !isThere { talk.lacks = ["chat.abort"] }
        talk.goLiveWithRun()
        talk.command(Self.stop)
        talk.answer("chat.abort", nil, error: #"{"code":"INVALID_REQUEST","message":"missing scope: operator.admin"}"#)
        let isSaid = talk.notes.contains { if case .missingScopes = $0 { true } else { false } }
        #expect(isSaid == isThere)
    }

    // MARK: Refused while the gateway lets go

    private static func drains(_ talk: OpenClawConversation, _ run: String) {
        talk.lifecycle(run, #""phase":"error","error":"Gateway is draining; new tasks are not accepted""#)
        talk.chat("final", "Gateway is restarting. Please wait a few seconds and try again.", run: run)
    }

    @Test("a message that did not run leaves again once, and then it has failed")
    func drained() {
        let talk = Talk(era: .e3)
        talk.goLiveWithRun()
        Self.drains(talk, "r1")
        #expect(talk.observations == [.sendAnswered(asked: RunID("r1"), .leavesAgain(as: RunID("r1.again")))])
        talk.clear()
        talk.pass(1)
        #expect(talk.methods == ["chat.send"])
        talk.answer("chat.send", #"{"runId":"r1.again","status":"started"}"#)
        talk.clear()
        Self.drains(talk, "r1.again")
        guard case .signal(let signal)? = talk.observations.last, case .failed? = Optional(signal.event) else {
            Issue.record("no failure: \(talk.observations)")
            return
        }
        #expect(talk.observations.count == 1)
    }
}
