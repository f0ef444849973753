import AgentKit
import OpenClaw
import Testing
import Vocabulary
import Worlds

@Suite("A gateway that is not read for a while")
struct OpenClawPauseTests {
    @Test("silence says nothing while nothing is read, and counts anew afterwards")
    func silence() {
        let talk = OpenClawConversation()
        talk.goLive()
        talk.clear()
        talk.isPaused = true
        talk.pass(600)
        #expect(talk.orders.isEmpty)
        talk.isPaused = false
        talk.pass(50)
        #expect(!talk.orders.contains { if case .close = $0 { true } else { false } })
        talk.pass(20)
        #expect(talk.orders.contains(.close(code: 4000, reason: "tick timeout")))
    }

    @Test("a request keeps the time that its answer had left")
    func requests() {
        let talk = OpenClawConversation()
        talk.goLive()
        talk.send()
        talk.clear()
        talk.pass(10)
        talk.isPaused = true
        talk.pass(300)
        #expect(talk.orders.isEmpty)
        talk.isPaused = false
        talk.pass(4)
        #expect(talk.orders.isEmpty)
        talk.pass(2)
        #expect(talk.orders.contains(.note(.requestFailed(method: "chat.send", code: "no answer in time"))))
    }

    @Test("one that was asked during the pause has its own time, and not the pause's too")
    func askedMeanwhile() {
        let talk = OpenClawConversation()
        talk.goLive()
        talk.isPaused = true
        talk.pass(300)
        talk.send()
        talk.pass(5)
        talk.clear()
        talk.isPaused = false
        talk.pass(14)
        #expect(talk.orders.isEmpty)
        talk.pass(2)
        #expect(talk.orders.contains(.note(.requestFailed(method: "chat.send", code: "no answer in time"))))
    }

    @Test("a socket that is lost while it is not read is lost like any other")
    func lost() {
        let talk = OpenClawConversation()
        talk.goLive()
        talk.isPaused = true
        talk.close(1006)
        talk.isPaused = false
        talk.goLive()
        talk.clear()
        talk.pass(70)
        #expect(talk.orders.contains(.close(code: 4000, reason: "tick timeout")))
    }

    // MARK: Ends that wait for another frame

    private typealias Talk = OpenClawConversation

    /// Pauses reading, and demands that nothing is observed.
    private static func pause(_ talk: OpenClawConversation, _ seconds: Double = 40) {
        talk.clear()
        talk.isPaused = true
        talk.pass(seconds)
        #expect(talk.observations == [])
        #expect(talk.methods == [])
        talk.isPaused = false
        talk.clear()
    }

    private static func going(_ era: GatewayEra) -> OpenClawConversation {
        let talk = Talk(era: era)
        talk.goLiveWithRun()
        talk.lifecycle("r1", #""phase":"start""#)
        talk.assistant("r1", "Mi")
        return talk
    }

    private static let error = #""phase":"error","error":"HTTP 500""#
    private static let atRest = #","sessionInfo":{"activeRunIds":[]}"#

    private static func fails(_ talk: OpenClawConversation) {
        let words = #""errorMessage":"HTTP 500""#
        talk.event("chat", #"{"runId":"r1","sessionKey":"\#(Talk.key)","seq":1,"state":"error",\#(words)}"#)
    }

    @Test("an end that may be explained by the next frame waits for it", arguments: [true, false])
    func held(isExplained: Bool) {
        let talk = Talk(era: .e3)
        talk.goLiveWithRun()
        talk.lifecycle("r1", #""phase":"start""#)
        talk.chat("aborted", nil)
        Self.pause(talk)
        talk.pass(0.9)
        #expect(talk.observations == [])
        if isExplained { Self.fails(talk) } else { talk.pass(0.2) }
        let failure = RunEvent.failed(RunFailure(message: "HTTP 500"))
        #expect(talk.observations == [.said("r1", isExplained ? failure : .finished(RunEnd(reason: .aborted)))])
    }

    @Test("a failed attempt is the last one only where no other one is read")
    func lastError() {
        let talk = Self.going(.e3)
        talk.lifecycle("r1", #""phase":"finishing","error":"HTTP 500""#)
        talk.lifecycle("r1", Self.error)
        Self.pause(talk)
        talk.lifecycle("r1", #""phase":"start""#)
        talk.clear()
        talk.pass(20)
        #expect(talk.observations == [])
    }

    @Test("a terminal frame behind a failed attempt of an early gateway is near it, however late it is read")
    func attemptFailed() {
        let talk = Self.going(.e1)
        talk.lifecycle("r1", Self.error)
        Self.pause(talk)
        Self.fails(talk)
        #expect(talk.observations == [])
    }

    @Test("an early gateway is asked whether an end was one for as long as ever")
    func doubted() {
        let talk = Self.going(.e2)
        talk.goesOn = true
        talk.chat("final", "Mi")
        #expect(talk.allSent.last?.method == "agent.wait")
        Self.pause(talk, 70)
        talk.answer("agent.wait", #"{"runId":"r1","status":"timeout"}"#)
        #expect(talk.observations == [])
        #expect(talk.methods == ["agent.wait"])
    }

    @Test("a message that waits for another run is not given up before the frames of that run are read")
    func orphaned() {
        let talk = Talk(era: .e2)
        talk.goLive()
        talk.lifecycle("desk", #""phase":"start""#)
        talk.send()
        talk.answer("chat.send", #"{"runId":"r1","status":"started"}"#)
        talk.chat("final", nil)
        talk.lifecycle("desk", #""phase":"end""#)
        talk.chat("final", "Desk.", run: "desk")
        talk.answer("chat.history", Talk.history([]))
        talk.pass(10)
        Self.pause(talk)
        talk.pass(4)
        #expect(talk.observations == [])
        talk.lifecycle("own-1", #""phase":"start""#)
        talk.wrote(Talk.row("user", "Hello?"))
        talk.assistant("own-1", "Mine.")
        #expect(talk.observations == [.said("r1", .text(.segment("Mine.")))])
    }

    @Test("a run whose gateway was restarted is not given up before it is read that it goes on")
    func dead() {
        let talk = Self.going(.e3)
        talk.close(1006)
        talk.pass(2)
        talk.gatewayBegan = talk.now
        talk.goLive()
        let ours = Talk.row("user", "Hello?", key: "r1:user")
        talk.answer("chat.history", Talk.history([ours], more: Self.atRest))
        talk.pass(10)
        Self.pause(talk)
        talk.pass(4)
        #expect(talk.methods == [])
        talk.pass(2)
        #expect(talk.methods == ["chat.history"])
    }

    @Test("a message behind a stopped run waits until it is read that the agent let go of that")
    func teardown() {
        let talk = Self.going(.e3)
        talk.command(.abort(session: Talk.session, run: RunID("r1")))
        talk.answer("chat.abort", #"{"ok":true,"aborted":true,"runIds":["r1"]}"#)
        talk.chat("aborted", "Mi")
        talk.send("r2", text: "Next?")
        Self.pause(talk)
        talk.pass(2.9)
        #expect(talk.methods == [])
        talk.pass(0.2)
        #expect(talk.methods == ["chat.send"])
    }
}
