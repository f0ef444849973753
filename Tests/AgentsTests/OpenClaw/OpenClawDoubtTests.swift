import AgentKit
import OpenClaw
import Testing
import Vocabulary
import Worlds

/// Messages whose arrival, whose Stop or whose run's name is unknown at first.
@Suite("Messages in doubt on an OpenClaw link")
struct OpenClawDoubtTests {
    private typealias Talk = OpenClawConversation
    private static let stop = AgentCommand.abort(session: Talk.session, run: RunID("r1"))

    // MARK: Stopped on the way

    @Test("a stop that overtook its message is sent again when the message was taken")
    func overtaken() {
        let talk = Talk()
        talk.goLive()
        talk.send()
        talk.command(Self.stop)
        talk.answer("chat.abort", #"{"ok":true,"aborted":false,"runIds":[]}"#)
        talk.clear()
        talk.answer("chat.send", #"{"runId":"r1","status":"started"}"#)
        #expect(talk.methods == ["chat.abort"])
        #expect(talk.observations == [.accepted("r1")])
    }

    @Test("a stop follows its message into the run that took it")
    func adopted() {
        let talk = Talk()
        talk.goLive()
        talk.send()
        talk.command(Self.stop)
        talk.clear()
        talk.answer("chat.send", #"{"runId":"other","status":"in_flight"}"#)
        #expect(talk.sent.map(\.params) == [#"{"sessionKey":"agent:main:phone-1","runId":"other"}"#])
    }

    @Test("a stopped message is not sent again when its answer does not come")
    func unanswered() {
        let talk = Talk()
        talk.goLive()
        talk.send()
        talk.command(Self.stop)
        talk.answer("chat.abort", #"{"ok":true,"aborted":false,"runIds":[]}"#)
        talk.clear()
        talk.pass(15)
        #expect(talk.methods == ["chat.history"])
    }

    @Test(
        "a message that the gateway put off is dropped by a stop, before and after the refusal",
        arguments: [true, false])
    func putOff(_ stopsFirst: Bool) {
        let talk = Talk()
        talk.goLive()
        talk.send()
        if stopsFirst { talk.command(Self.stop) }
        talk.answer(
            "chat.send", nil, error: #"{"code":"UNAVAILABLE","message":"x","retryable":true,"retryAfterMs":3000}"#)
        if !stopsFirst { talk.command(Self.stop) }
        #expect(talk.observations.last == .sendAnswered(asked: RunID("r1"), .noRun))
        talk.clear()
        talk.pass(10)
        #expect(!talk.methods.contains("chat.send"))
    }

    // MARK: Under another name

    @Test("the history of an adopted run is found by the text where rows have no key")
    func adoptedRows() {
        let talk = Talk(era: .e3)
        talk.goLive()
        talk.send()
        talk.answer("chat.send", #"{"runId":"other","status":"in_flight"}"#)
        talk.close(1006)
        talk.pass(2)
        talk.goLive()
        talk.answer(
            "chat.history",
            Talk.history([Talk.row("user", "Hello?"), Talk.row("assistant", "Hi.", more: #","stopReason":"stop""#)]))
        #expect(talk.observations.last == .lookedUp(RunID("other"), .ended(RunEnd(text: "Hi."))))
    }

    // MARK: Unknown arrival

    @Test("frames of the run are its answer: after a loss it is looked up, not sent again")
    func heard() {
        let talk = Talk()
        talk.goLive()
        talk.send()
        talk.chat("delta", "Hi")
        talk.close(1006)
        talk.pass(2)
        talk.goLive()
        #expect(!talk.methods.contains("chat.send"))
        #expect(talk.methods.last == "chat.history")
        #expect(talk.observations.contains(.accepted("r1")))
    }

    @Test("a history that cannot be had is no reason to send again")
    func noHistory() {
        let talk = Talk()
        talk.goLive()
        talk.send()
        talk.close(1006)
        talk.pass(5)
        talk.gatewayBegan = talk.now
        talk.goLive()
        talk.answer("chat.history", nil, error: #"{"code":"UNAVAILABLE","message":"disk"}"#)
        #expect(!talk.methods.contains("chat.send"))
        guard case .sendAnswered(_, .refused)? = talk.observations.last else {
            Issue.record("the message is neither sent nor refused")
            return
        }
    }

    @Test("the end and the answer in one read lose nothing, in either order", arguments: [true, false])
    func atOnce(_ endsFirst: Bool) {
        let talk = Talk()
        talk.goLive()
        talk.send()
        talk.clear()
        if endsFirst { talk.chat("final", "Hi.") }
        talk.answer("chat.send", #"{"runId":"r1","status":"started"}"#)
        if !endsFirst { talk.chat("final", "Hi.") }
        let end = Observation.said("r1", .finished(RunEnd(text: "Hi.")))
        #expect(talk.observations == (endsFirst ? [end, .accepted("r1")] : [.accepted("r1"), end]))
    }

    @Test("the same failure told twice does not undo the attempt after it")
    func staleFailure() {
        let talk = Talk()
        talk.goLiveWithRun()
        func lifecycle(_ phase: String, _ seq: Int) {
            talk.event(
                "agent",
                #"{"runId":"r1","seq":\#(seq),"stream":"lifecycle","sessionKey":"\#(Talk.key)","data":{"phase":"\#(phase)"}}"#
            )
        }
        lifecycle("start", 1)
        lifecycle("error", 2)
        lifecycle("start", 3)
        lifecycle("error", 2)
        lifecycle("start", 3)
        #expect(
            talk.observations == [.said("r1", .started), .said("r1", .retrying(reason: "")), .said("r1", .started)])
    }

    // MARK: From a journal

    @Test("a run accepted by an earlier process is looked up and followed")
    func adoptedAccepted() {
        let talk = Talk(era: .e4)
        talk.adopt(secondsAgo: 600, .accepted)
        talk.goLive()
        #expect(talk.methods.suffix(1) == ["chat.history"])
        talk.answer(
            "chat.history",
            Talk.history([Talk.row("user", "Hello?", key: "r1")], more: #","inFlightRun":{"runId":"r1","text":"So"}"#))
        #expect(talk.observations.last == .lookedUp(RunID("r1"), .running(text: nil)))
        talk.clear()
        // Text since the loss is unknown, so the machine requests the history.
        talk.chat("final", "So it is.")
        #expect(talk.observations == [])
        talk.answer(
            "chat.history", Talk.history([Talk.row("user", "Hello?", key: "r1"), Talk.row("assistant", "So it is.")]))
        #expect(talk.observations == [.said("r1", .finished(RunEnd(text: "So it is.")))])
    }

    @Test("a message handed over by an earlier process is sent again only to the process that must know its key")
    func adoptedHandedOver() {
        let young = Talk()
        young.adopt(secondsAgo: 60, .handedOver)
        young.goLive()
        #expect(young.methods.last == "chat.send")
        young.answer("chat.send", #"{"runId":"r1","status":"in_flight"}"#)
        #expect(young.observations.last == .accepted("r1"))

        let old = Talk()
        old.adopt(secondsAgo: 290, .handedOver)
        let restarted = Talk()
        restarted.adopt(secondsAgo: 60, .handedOver)
        restarted.gatewayBegan = restarted.now - .seconds(30)
        let clockWentBack = Talk()
        clockWentBack.adopt(secondsAgo: -60, .handedOver)
        for talk in [old, restarted, clockWentBack] {
            talk.goLive()
            #expect(!talk.methods.contains("chat.send"))
            talk.answer("chat.history", Talk.history([]))
            talk.answer("agent.wait", #"{"status":"timeout"}"#)
            #expect(talk.methods.last == "chat.send")
        }
    }
}
