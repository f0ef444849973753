import AgentKit
import OpenClaw
import Testing
import Vocabulary
import Worlds

@Suite("What an OpenClaw gateway has after a restart")
struct OpenClawRestartTests {
    private typealias Talk = OpenClawConversation

    @Test("a row that is too large is fetched before its run counts as dead with its gateway")
    func tooLargeAfterRestart() {
        let talk = Talk(era: .e3)
        talk.lacks = []
        talk.goLiveWithRun()
        talk.close(1006)
        talk.pass(2)
        talk.gatewayBegan = talk.now
        talk.goLive()
        let cut = Talk.row(
            "assistant", "[chat.history omitted: message too large]", mark: #""id":"m1","truncated":true"#)
        let over = #","sessionInfo":{"activeRunIds":[]}"#
        talk.answer("chat.history", Talk.history([Talk.row("user", "Hello?", key: "r1:user"), cut], more: over))
        #expect(talk.methods.last == "chat.message.get")
        let whole = Talk.row("assistant", "All of it.", more: #","stopReason":"stop""#)
        talk.answer("chat.message.get", #"{"ok":true,"message":\#(whole)}"#)
        #expect(talk.observations.last == .lookedUp(RunID("r1"), .ended(RunEnd(text: "All of it."))))
    }

    @Test("the time for a run to go on after a restart is not that of each link")
    func resumption() {
        let talk = Talk(era: .e3)
        talk.goLiveWithRun()
        talk.close(1006)
        talk.pass(2)
        talk.gatewayBegan = talk.now
        var last: Observation?
        for _ in 0..<6 {
            talk.goLive()
            talk.answer(
                "chat.history",
                Talk.history(
                    [Talk.row("user", "Hello?", key: "r1:user")], more: #","sessionInfo":{"activeRunIds":[]}"#))
            last = talk.observations.last
            talk.close(1006)
            talk.pass(10)
        }
        guard case .lookedUp(_, .failed)? = last else {
            Issue.record("still waited for: \(String(describing: last))")
            return
        }
    }

    @Test("a row that is too long for the length that was asked for is asked for without one")
    func tooLong() {
        let talk = Talk(era: .e2)
        talk.goLiveWithRun()
        talk.close(1006)
        talk.pass(5)
        talk.goLive()
        let user = Talk.row("user", "Hello?")
        let cut = Talk.row(
            "assistant", "[chat.history omitted: message too large]", more: #","stopReason":"stop""#,
            mark: #""truncated":true"#)
        talk.answer("chat.history", Talk.history([user, cut]))
        #expect(talk.sent.last?.params == #"{"sessionKey":"agent:main:phone-1","limit":1000}"#)
        let begun = Talk.row("assistant", "The beginning ...(truncated)...", more: #","stopReason":"stop""#)
        talk.answer("chat.history", Talk.history([user, begun]))
        let end = RunEnd(text: "The beginning ...(truncated)...", truncated: true)
        #expect(talk.observations.last == .lookedUp(RunID("r1"), .ended(end)))
    }

    @Test(
        "a question of an earlier process of the bridge that died with its gateway is withdrawn",
        arguments: [true, false])
    func questionDied(_ isYounger: Bool) {
        let talk = Talk(era: .e3)
        talk.session.adopt(
            RunID("r1"), in: Talk.session, text: "Hello?", stage: .accepted, asks: [ApprovalID("ap-1")],
            sentAtMilliseconds: talk.wall - 20_000, at: talk.now, wallMilliseconds: talk.wall)
        if isYounger { talk.gatewayBegan = talk.now - .seconds(5) }
        talk.goLive()
        talk.answer("exec.approval.list", "[]")
        talk.answer("plugin.approval.list", "[]")
        #expect(talk.observations.contains(.settled("ap-1", .cancelled)) == isYounger)
    }

    @Test("a gateway that greets slowly is no younger than a run that it has", arguments: [GatewayEra.e1, .e2, .e3])
    func slowGreeting(_ era: GatewayEra) {
        let talk = Talk(era: era)
        talk.gatewayBegan = talk.now - .seconds(1)
        talk.goLiveWithRun()
        talk.close(1006)
        talk.pass(2)
        talk.open()
        talk.challenge()
        let hello = talk.hello
        talk.pass(4)
        talk.clear()
        talk.answer(id: talk.allSent.last?.id ?? "", hello)
        talk.answer("chat.history", Talk.history([Talk.row("user", "Hello?", key: era == .e3 ? "r1:user" : nil)]))
        talk.answer("agent.wait", #"{"runId":"r1","status":"timeout"}"#)
        #expect(talk.observations.last == .lookedUp(RunID("r1"), .running(text: nil)))
        talk.clear()
        talk.pass(25)
        #expect(talk.observations == [])
    }

    @Test("a gateway that greets slowly is the next one where that is known", arguments: [GatewayEra.e1, .e2])
    func slowSuccessor(_ era: GatewayEra) {
        let talk = Talk(era: era)
        talk.goLiveWithRun()
        talk.pass(1)
        talk.close(1006)
        talk.gatewayBegan = talk.now
        talk.pass(1)
        talk.open()
        talk.challenge()
        talk.pass(5)
        talk.clear()
        talk.answer(id: talk.allSent.last?.id ?? "", talk.hello)
        talk.answer("chat.history", Talk.history([]))
        guard case .lookedUp(_, .failed)? = talk.observations.last else {
            Issue.record("\(String(describing: talk.observations.last))")
            return
        }
    }

    private static let ours = Talk.row("user", "Hello?", key: "r1:user")
    private static let goesOn = Talk.row(
        "user", "[System] Your previous turn was interrupted by a gateway restart while it was at work. Continue.")

    /// The gateway has restarted, and reported nothing about the run.
    private static func restarted(status: String) -> OpenClawConversation {
        let talk = Talk(era: .e3)
        talk.goLiveWithRun()
        talk.close(1006)
        talk.pass(2)
        talk.gatewayBegan = talk.now
        talk.goLive()
        talk.answer("chat.history", history(status: status))
        return talk
    }

    private static func history(status: String) -> String {
        Talk.history([ours], more: #","sessionInfo":{"activeRunIds":[],"status":"\#(status)"}"#)
    }

    private static func tookMessage(_ talk: OpenClawConversation) {
        talk.event("sessions.changed", #"{"sessionKey":"\#(Talk.key)","reason":"send"}"#)
    }

    private static func isGivenUp(_ talk: OpenClawConversation) -> Bool {
        talk.observations.contains {
            if case .signal(let signal) = $0, case .failed = signal.event { true } else { false }
        }
    }

    @Test("a run that a slow gateway is about to go on with is waited for")
    func slowResumption() {
        let talk = Self.restarted(status: "failed")
        talk.pass(14)
        Self.tookMessage(talk)
        talk.pass(12)
        #expect(!Self.isGivenUp(talk))
        talk.lifecycle("own-1", #""phase":"start""#)
        talk.wrote(Self.goesOn)
        talk.clear()
        talk.assistant("own-1", "And more.")
        #expect(talk.observations == [.said("r1", .text(.segment("And more.")))])
    }

    @Test("messages of others put that off for two minutes at most")
    func busyAfterRestart() {
        let talk = Self.restarted(status: "failed")
        for _ in 0..<14 {
            talk.pass(10)
            Self.tookMessage(talk)
        }
        talk.answer("chat.history", Self.history(status: "failed"))
        #expect(Self.isGivenUp(talk))
    }

    @Test("a session whose run has no end yet is not given up before the gateway settles it", arguments: [true, false])
    func unsettled(_ isSettled: Bool) {
        let talk = Self.restarted(status: "running")
        talk.pass(16)
        talk.answer("chat.history", Self.history(status: isSettled ? "failed" : "running"))
        #expect(Self.isGivenUp(talk) == isSettled)
        for _ in 0..<8 where !isSettled {
            talk.pass(16)
            talk.answer("chat.history", Self.history(status: "running"))
        }
        #expect(Self.isGivenUp(talk))
    }

    @Test("a page behind a restart that has all the rows there are is not cut", arguments: [2, 3])
    func wholePage(_ rows: Int) {
        let talk = Talk(era: .e3)
        talk.goLiveWithRun()
        let told = "[System] Your previous turn was interrupted by a gateway restart. Go on."
        talk.lookUp("r1")
        talk.answer(
            "chat.history",
            Talk.history(
                [Talk.row("user", told), Talk.row("assistant", "All done.", more: #","stopReason":"stop""#)],
                more: #","hasMore":true,"totalMessages":\#(rows),"sessionInfo":{"hasActiveRun":false}"#))
        guard case .lookedUp(_, .ended(let end))? = talk.observations.last else {
            Issue.record("\(talk.observations)")
            return
        }
        #expect(end.truncated == (rows > 2))
        #expect(end.text == "All done.")
    }

    @Test("words that were on their way in a restart stay in front of the rows that follow it")
    func wordsOnTheirWay() {
        let talk = Self.restarted(status: "running")
        talk.lifecycle("own-1", #""phase":"start""#)
        talk.wrote(Self.goesOn)
        talk.assistant("own-1", "And more.")
        talk.clear()
        talk.chat("final", "And more.", run: "own-1")
        let stop = #","stopReason":"stop""#
        let rows = [
            Self.ours, Talk.row("assistant", "Before the tool.", more: #","stopReason":"toolUse""#), Self.goesOn,
            Talk.row("assistant", "And more.", more: stop),
        ]
        talk.answer("chat.history", Talk.history(rows, more: #","sessionInfo":{"activeRunIds":[]}"#))
        guard case .signal(let signal)? = talk.observations.last, case .finished(let end) = signal.event else {
            Issue.record("\(talk.observations)")
            return
        }
        #expect(
            end.joined(along: "Before the tool.\n\nI was at\n\nAnd more.").text
                == "Before the tool.\n\nI was at\n\nAnd more.")
    }
}
