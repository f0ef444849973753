import RelayRules
import Simulator
import Testing
import WireTesting

/// A bridge and a phone talk to the simulator over real sockets.
@Suite struct RelayRoutesTests {
    @Test func aTurnIsWrittenAndReadBack() throws {
        let stage = try Stage()
        let (sent, bubble) = try stage.openTurn()
        #expect(try stage.bridge("sendMessageDelta", stage.delta(bubble, "Hel", key: "k-d-1")).status == 200)
        #expect(try stage.bridge("sendMessageDelta", stage.delta(bubble, "lo", key: "k-d-2")).status == 200)
        #expect(try stage.bridge("sendMessageEnd", stage.end(bubble, "Hello")).status == 200)

        let messages = try stage.user("GET", "/v1/me/sessions/\(sent.session)/messages")
        #expect(messages.text.contains(#""text":"Hello""#))
        #expect(try stage.user("GET", "/v1/me/sessions").text.contains(sent.session))
        #expect(try stage.user("GET", "/v1/me/snapshot").text.contains("pending_approvals"))
        #expect(stage.simulator.breaches.isEmpty)
        #expect(stage.simulator.tally.calls["sendMessageDelta"] == 2)
    }

    @Test func answersCarryTheHeadersOfTheRelay() throws {
        let stage = try Stage()
        let sent = stage.say("hello")
        let reply = try stage.bridge("sendMessage", stage.placeholder(sent, key: "k-open"))
        #expect(reply.headers["x-request-id"]?.hasPrefix("req_") == true)
        #expect(reply.headers["x-ratelimit-bucket"] == "msg")
        #expect(reply.headers["content-type"] == "application/json")
    }

    @Test func healthNeedsNoToken() throws {
        let stage = try Stage()
        #expect(try stage.wire().exchange("GET", "/healthz").status == 200)
        #expect(try stage.wire().exchange("HEAD", "/healthz").status == 200)
    }

    @Test(arguments: [("GET", "/elsewhere"), ("POST", "/v2/x"), ("BREW", "/v1/me/stream"), ("PUT", "/healthzz")])
    func unknownAddressesAreRefused(method: String, target: String) throws {
        let stage = try Stage()
        let reply = try stage.wire().exchange(method, target)
        #expect((400..<500).contains(reply.status))
        #expect(reply.text.contains(#""ok":false"#))
    }

    @Test func aWrongTokenIsRefusedAndNoted() throws {
        let stage = try Stage()
        let reply = try stage.wire().exchange(
            "POST", "/v1/bridge/sendMessage", headers: ["Authorization: Bearer wrong"], body: Array("{}".utf8))
        #expect(reply.status == 401)
        #expect(stage.simulator.breaches.map(\.code) == [.badToken])
    }

    @Test func aPageOfAnotherOriginIsRefused() throws {
        let stage = try Stage()
        let reply = try stage.wire().exchange("GET", "/healthz", headers: ["Origin: http://evil.example"])
        #expect(reply.status == 403)
    }

    /// The first delta of a bubble, whose answer takes five seconds of the simulator's clock.
    private func slowDelta(on stage: Stage, _ bubble: String) throws -> Wire {
        stage.simulator.plan(Fault(.slow(milliseconds: 5_000), method: "sendMessageDelta"))
        let first = try stage.wire()
        try first.request(
            "POST", "/v1/bridge/sendMessageDelta", headers: [stage.bridgeHeader],
            body: Array(stage.delta(bubble, "a", key: "k-d-1").utf8))
        #expect(stage.clock.delayed.wait())
        return first
    }

    @Test func twoCallsOfOneLaneAtOnceAreABreach() throws {
        let stage = try Stage()
        let (_, bubble) = try stage.openTurn()
        let first = try slowDelta(on: stage, bubble)
        #expect(try stage.bridge("sendMessageDelta", stage.delta(bubble, "b", key: "k-d-2")).status == 200)
        #expect(stage.simulator.breaches.map(\.code) == [.overlap])
        stage.clock.advance(milliseconds: 5_000)
        #expect(try first.reply().status == 200)
        #expect(try stage.bridge("sendMessageDelta", stage.delta(bubble, "c", key: "k-d-3")).status == 200)
        #expect(stage.simulator.breaches.count == 1, "the lane is free again")
    }

    @Test func theSameKeyAgainAndAnotherLaneAreNoOverlap() throws {
        let stage = try Stage()
        let (_, bubble) = try stage.openTurn()
        let first = try slowDelta(on: stage, bubble)
        #expect(try stage.bridge("sendMessageDelta", stage.delta(bubble, "a", key: "k-d-1")).status == 200)
        let other = stage.say("another")
        #expect(try stage.bridge("sendMessage", stage.placeholder(other, key: "k-open-2")).status == 200)
        #expect(stage.simulator.breaches.isEmpty)
        withExtendedLifetime(first) {}
    }

    @Test func anAnswerDelayHoldsBackEveryAnswer() throws {
        let stage = try Stage { $0.answerDelayMilliseconds = 250 }
        let sent = stage.say("hello")
        let wire = try stage.wire()
        try wire.request(
            "POST", "/v1/bridge/sendMessage", headers: [stage.bridgeHeader],
            body: Array(stage.placeholder(sent, key: "k-open").utf8))
        #expect(stage.clock.delayed.wait())
        #expect(stage.simulator.tally.calls["sendMessage"] == 1, "it has taken effect")
        stage.clock.advance(milliseconds: 250)
        #expect(try wire.reply().status == 200)
    }
}
