import AgentKit
import OpenClaw
import Testing
import Vocabulary
import Worlds

@Suite("Messages and runs on an OpenClaw link")
struct OpenClawRunsTests {
    private typealias Talk = OpenClawConversation

    @Test("a message goes out under its run's name, after its session is followed", arguments: GatewayEra.allCases)
    func send(_ era: GatewayEra) {
        let talk = Talk(era: era)
        talk.goLive()
        talk.clear()
        talk.send()
        // E1 has no such events.
        #expect(talk.methods == (era == .e1 ? ["chat.send"] : ["sessions.messages.subscribe", "chat.send"]))
        #expect(era == .e1 || talk.sent.first?.params == #"{"key":"agent:main:phone-1"}"#)
        #expect(
            talk.sent.last?.params
                == #"{"sessionKey":"agent:main:phone-1","message":"Hello?","idempotencyKey":"r1"}"#)
        #expect(talk.observations == [])
        talk.answer("chat.send", #"{"runId":"r1","status":"started"}"#)
        #expect(talk.observations == [.accepted("r1")])
        talk.clear()
        talk.chat("delta", "Hi")
        let change: TextChange = era == .e1 ? .segment("Hi") : .snapshot("Hi")
        #expect(talk.observations == [.said("r1", .text(change))])
        talk.clear()
        talk.chat("final", "Hi.")
        let end = RunEnd(text: "Hi.", scope: era == .e1 ? .segment : .run)
        #expect(talk.observations == [.said("r1", .finished(end))])
        talk.clear()
        talk.send("r2")
        #expect(talk.methods == ["chat.send"])
    }

    @Test("a run of another name is adopted, and followed under that name")
    func adopted() {
        let talk = Talk()
        talk.goLive()
        talk.send()
        talk.clear()
        talk.answer("chat.send", #"{"runId":"other","status":"in_flight"}"#)
        #expect(talk.observations == [.accepted("r1", as: "other")])
        talk.clear()
        talk.pass(40)
        talk.event("tick", #"{"ts":1}"#)
        talk.pass(21)
        #expect(talk.methods == ["chat.history"])
    }

    @Test("a command that runs no agent is told as such")
    func noRun() {
        let talk = Talk()
        talk.goLive()
        talk.send(text: "/stop")
        talk.clear()
        talk.answer("chat.send", #"{"ok":true,"aborted":true,"runIds":[]}"#)
        #expect(talk.observations == [.sendAnswered(asked: RunID("r1"), .noRun)])
    }

    @Test("a refusal is told in the gateway's words, a missing scope with its remedy")
    func refused() {
        let talk = Talk(era: .e1)
        talk.goLive()
        talk.send()
        talk.clear()
        talk.answer("chat.send", nil, error: #"{"code":"INVALID_REQUEST","message":"bad attachment"}"#)
        #expect(talk.observations == [.sendAnswered(asked: RunID("r1"), .refused(message: "bad attachment"))])
        talk.send("r2")
        talk.clear()
        talk.answer("chat.send", nil, error: #"{"code":"INVALID_REQUEST","message":"missing scope: operator.write"}"#)
        guard case .sendAnswered(_, .refused(let message))? = talk.observations.last else {
            Issue.record("not refused")
            return
        }
        #expect(message.contains("openclaw devices"))
    }

    @Test("a gateway that is not ready yet gets the same message again after its own delay")
    func notReady() {
        let talk = Talk()
        talk.goLive()
        talk.send()
        talk.clear()
        let error = #"{"code":"UNAVAILABLE","message":"suspending","retryable":true,"retryAfterMs":3000}"#
        talk.answer("chat.send", nil, error: error)
        #expect(talk.observations == [])
        talk.pass(2)
        #expect(talk.methods == [])
        talk.pass(1)
        #expect(talk.methods == ["chat.send"])
        #expect(talk.sent.last?.params.contains(#""idempotencyKey":"r1""#) == true)
    }

    @Test("a key that had finished already is looked up")
    func finishedBefore() {
        let talk = Talk(era: .e4)
        talk.goLive()
        talk.send()
        talk.clear()
        talk.answer("chat.send", #"{"runId":"r1","status":"ok"}"#)
        #expect(talk.observations == [.accepted("r1")])
        talk.clear()
        talk.answer(
            id: talk.allSent.last?.id ?? "",
            Talk.history(
                [Talk.row("user", "Hello?", key: "r1"), Talk.row("assistant", "Hi.")],
                more: #","sessionInfo":{"activeRunIds":[]}"#))
        #expect(talk.observations == [.said("r1", .finished(RunEnd(text: "Hi.")))])
    }

    @Test("without an answer the same key is tried three times, then the history decides", arguments: [true, false])
    func noAnswer(_ arrived: Bool) {
        let talk = Talk()
        talk.goLive()
        talk.clear()
        talk.send()
        for _ in 0..<2 {
            talk.pass(15)
            talk.event("tick", "{}")
        }
        talk.pass(15)
        #expect(talk.methods.filter { $0 == "chat.send" }.count == 3)
        #expect(talk.methods.last == "chat.history")
        talk.event("tick", "{}")
        talk.answer("chat.history", Talk.history(arrived ? [Talk.row("user", "Hello?", key: "r1")] : []))
        talk.answer("agent.wait", #"{"status":"timeout"}"#)
        if arrived {
            #expect(talk.observations == [.accepted("r1")])
        } else {
            #expect(
                talk.observations == [
                    .sendAnswered(asked: RunID("r1"), .refused(message: "The agent's gateway did not answer."))
                ])
        }
    }

    @Test("without an answer but with frames of the run the message was taken")
    func framesInstead() {
        let talk = Talk()
        talk.goLive()
        talk.send()
        talk.pass(10)
        talk.chat("delta", "Hi")
        talk.clear()
        talk.pass(5)
        #expect(talk.observations == [.accepted("r1")])
    }

    @Test("a message for an absent link is held, goes out with the link, and is refused after two minutes")
    func held() {
        let talk = Talk()
        talk.start()
        talk.send()
        #expect(talk.observations == [])
        talk.goLive()
        #expect(talk.methods.last == "chat.send")

        let other = Talk()
        other.start()
        other.send()
        other.pass(121)
        guard case .sendAnswered(_, .refused)? = other.observations.last else {
            Issue.record("the message is still held")
            return
        }
    }

    @Test("messages that a pairing kept for too long are refused with what to do")
    func unpaired() {
        let talk = Talk()
        talk.start()
        talk.send("r0")
        talk.send("r1")
        for _ in 0..<9 {
            talk.open()
            talk.challenge()
            talk.answer("connect", nil, error: #"{"code":"NOT_PAIRED","message":"pairing required"}"#)
            talk.pass(15)
        }
        #expect(talk.observations.count == 2)
        for said in talk.observations {
            guard case .sendAnswered(_, .refused(let message)) = said else {
                Issue.record("\(said)")
                continue
            }
            #expect(message.contains("openclaw devices approve"))
        }
    }

    @Test("a message larger than the gateway takes is refused before a byte leaves")
    func tooLarge() {
        let talk = Talk()
        talk.goLive()
        talk.clear()
        talk.send(text: String(repeating: "x", count: 600_000))
        #expect(talk.sent == [])
        #expect(talk.observations.count == 1)
    }

    // MARK: Stops

    @Test("a stop names the run, and is done when the gateway has answered")
    func abort() {
        let talk = Talk()
        talk.goLiveWithRun()
        talk.command(.abort(session: Talk.session, run: RunID("r1")))
        #expect(talk.sent.last?.method == "chat.abort")
        #expect(talk.sent.last?.params == #"{"sessionKey":"agent:main:phone-1","runId":"r1"}"#)
        talk.chat("aborted", "Once")
        talk.answer("chat.abort", #"{"ok":true,"aborted":true,"runIds":["r1"]}"#)
        #expect(talk.observations == [.said("r1", .finished(RunEnd(text: "Once", reason: .aborted)))])
        talk.clear()
        talk.close(1006)
        talk.pass(1)
        talk.goLive()
        #expect(!talk.methods.contains("chat.abort"))
    }

    @Test("a stop is kept while away, for a day at most", arguments: [60.0, 1_801, 86_401])
    func abortAway(_ away: Double) {
        let talk = Talk()
        talk.goLiveWithRun()
        talk.close(1006)
        talk.command(.abort(session: Talk.session, run: RunID("r1")))
        talk.pass(away)
        talk.goLive()
        #expect(talk.methods.contains("chat.abort") == (away < 86_400))
    }

    @Test("a message that is stopped before it left never leaves")
    func abortHeld() {
        let talk = Talk()
        talk.start()
        talk.send()
        talk.command(.abort(session: Talk.session, run: RunID("r1")))
        #expect(talk.observations == [.sendAnswered(asked: RunID("r1"), .noRun)])
        talk.goLive()
        #expect(!talk.methods.contains("chat.send"))
    }

    @Test("a message that was stopped while its answer was lost is not sent again")
    func abortUnanswered() {
        let talk = Talk()
        talk.goLive()
        talk.send()
        talk.close(1006)
        talk.command(.abort(session: Talk.session, run: RunID("r1")))
        talk.pass(1)
        talk.goLive()
        #expect(!talk.methods.contains("chat.send"))
        #expect(talk.methods.contains("chat.abort"))
    }

    @Test("where nothing was stopped the run is looked up")
    func nothingStopped() {
        let talk = Talk()
        talk.goLiveWithRun()
        talk.command(.abort(session: Talk.session, run: RunID("r1")))
        talk.answer("chat.abort", #"{"ok":true,"aborted":false,"runIds":[]}"#)
        #expect(talk.methods.last == "chat.history")
        #expect(talk.observations == [.abortAnswered(RunID("r1"))])
    }

    @Test("a stop that is not answered is asked again for as long as it takes, and said once while its answer may come")
    func deafToStops() {
        let talk = Talk()
        talk.goLiveWithRun()
        talk.command(.abort(session: Talk.session, run: RunID("r1")))
        talk.command(.abort(session: Talk.session, run: RunID("r1")))
        #expect(talk.methods.count { $0 == "chat.abort" } == 1)
        for _ in 0..<40 {
            talk.pass(10)
            talk.event("tick", "{}")
        }
        // Three attempts in a row, then one every 75 s.
        #expect((6...8).contains(talk.methods.count { $0 == "chat.abort" }))
        #expect(!talk.observations.contains(.abortAnswered(RunID("r1"))))
        let tries = talk.methods.count { $0 == "chat.abort" }
        while talk.methods.count(where: { $0 == "chat.abort" }) == tries {
            talk.pass(5)
            talk.event("tick", "{}")
        }
        talk.answer("chat.abort", #"{"ok":true,"aborted":true,"runIds":["r1"]}"#)
        #expect(talk.observations.contains(.abortAnswered(RunID("r1"))))
    }

    @Test("a stop that the gateway cannot take is not done", arguments: [true, false])
    func refusedStop(_ isRetryable: Bool) {
        let talk = Talk()
        talk.goLiveWithRun()
        talk.command(.abort(session: Talk.session, run: RunID("r1")))
        talk.clear()
        let code = isRetryable ? "UNAVAILABLE" : "INVALID_REQUEST"
        talk.answer("chat.abort", nil, error: #"{"code":"\#(code)","message":"unauthorized"}"#)
        #expect(talk.observations == [])
        talk.pass(isRetryable ? 3 : 25)
        talk.event("tick", "{}")
        if !isRetryable {
            talk.pass(25)
            talk.event("tick", "{}")
            talk.pass(12)
        }
        #expect(talk.methods.contains("chat.abort"))
    }

    @Test("a stop moves to the run that took the message only where it reaches that", arguments: [true, false])
    func takenByAnother(isPersons: Bool) {
        let talk = Talk()
        talk.goLive()
        talk.send()
        talk.command(.abort(session: Talk.session, run: RunID("r1"), reach: isPersons ? .everyRun : .ownRuns))
        talk.answer("chat.send", #"{"runId":"theirs","status":"started"}"#)
        let stopped = talk.allSent.filter { $0.method == "chat.abort" }.map(\.params)
        #expect(stopped.contains { $0.contains("theirs") } == isPersons)
        #expect(stopped.count == (isPersons ? 2 : 1))
        talk.close(1006)
        talk.pass(1)
        talk.goLive()
        #expect(talk.allSent.contains { $0.method == "chat.abort" && $0.params.contains("theirs") } == isPersons)
    }

    @Test("a stop does not move to the run of an earlier message, which took this one")
    func takenByOurs() {
        let talk = Talk()
        talk.goLiveWithRun("r0")
        talk.send()
        talk.command(.abort(session: Talk.session, run: RunID("r1")))
        talk.answer("chat.abort", #"{"ok":true,"aborted":false,"runIds":[]}"#)
        talk.clear()
        talk.answer("chat.send", #"{"runId":"r0","status":"in_flight"}"#)
        #expect(talk.observations == [.accepted("r1", as: "r0")])
        #expect(talk.methods == [])
        talk.close(1006)
        talk.pass(1)
        talk.goLive()
        #expect(!talk.allSent.contains { $0.method == "chat.abort" && $0.params.contains("r0") })
        // The core decides in the end.
        talk.command(.abort(session: Talk.session, run: RunID("r0")))
        #expect(talk.allSent.last?.params == #"{"sessionKey":"agent:main:phone-1","runId":"r0"}"#)
    }

    @Test("a run of an earlier process that was being stopped is not sent again")
    func adoptedStopped() {
        let talk = Talk()
        talk.session.adopt(
            RunID("r1"), in: Talk.session, text: "Hello?", stage: .handedOver, isStopped: true,
            sentAtMilliseconds: talk.wall - 1_000, at: talk.now, wallMilliseconds: talk.wall)
        talk.goLive()
        #expect(!talk.allSent.contains { $0.method == "chat.send" })
        #expect(talk.allSent.contains { $0.method == "chat.abort" })
    }

    @Test("the answer to a question beside the conversation is the run's")
    func besides() {
        let talk = Talk(era: .e3)
        talk.goLiveWithRun()
        talk.event(
            "chat.side_result",
            #"{"kind":"btw","runId":"r1","sessionKey":"\#(Talk.key)","text":"Four.","isError":false}"#)
        talk.chat("final", nil)
        #expect(
            talk.observations == [
                .said("r1", .text(.segment("Four."))), .said("r1", .finished(RunEnd(text: "Four.", scope: .segment))),
            ])
    }
}
