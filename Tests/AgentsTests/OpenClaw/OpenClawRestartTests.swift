import AgentKit
import BridgeModel
import BridgeTesting
import OpenClaw
import Testing

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
        #expect(talk.sent.last?.params == #"{"sessionKey":"agent:main:phone-1","limit":200}"#)
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
}
