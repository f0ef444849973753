import RelayRules
import Simulator
import Testing
import WireTesting

/// Pairing over real sockets, with the time that a poll is held back, which the rules cannot see.
@Suite struct PairingRouteTests {
    private func start(_ stage: Stage) throws -> String {
        let answer = try stage.wire().exchange(
            "POST", "/v1/pairing/start", body: Array(#"{"connector_type_id":"openclaw"}"#.utf8))
        return try value(of: "code", in: answer.text)
    }

    /// A poll that the simulator has read and holds back.
    private func poll(_ stage: Stage, _ code: String) throws -> Wire {
        let wire = try stage.wire()
        try wire.request("GET", "/v1/pairing/poll?code=\(code)&timeout=25")
        while stage.simulator.waitingPollCount == 0 { _ = try stage.wire().exchange("GET", "/healthz") }
        return wire
    }

    @Test func aPollHearsOfTheClaimAtOnceAndItsTokenConnects() throws {
        let stage = try Stage()
        let code = try start(stage)
        let wire = try poll(stage, code)
        #expect(try stage.user("POST", "/v1/me/pairing/claim", #"{"code":"\#(code)"}"#).status == 200)
        let reply = try wire.reply().text
        #expect(reply.contains(#""status":"claimed""#))
        #expect(try value(of: "sophon_ws_url", in: reply).hasPrefix("ws://127.0.0.1"))
        let bridge = BridgeSide(stage, token: try value(of: "bot_token", in: reply))
        try bridge.opened()
        #expect(try bridge.nextType() == "ready")
    }

    @Test func aPollIsAnsweredWhenItsTimeIsOver() throws {
        let stage = try Stage()
        let wire = try poll(stage, try start(stage))
        stage.clock.advance(milliseconds: 26_000)
        #expect(try wire.reply().text.contains(#""status":"pending""#))
        #expect(stage.simulator.waitingPollCount == 0)
    }

    @Test func aPollThatWaitsMeetsAResetAsOne() throws {
        let stage = try Stage()
        let code = try start(stage)
        stage.simulator.plan(Fault(.reset, method: "pairing/poll"))
        let wire = try poll(stage, code)
        stage.clock.advance(milliseconds: 26_000)
        let end = wire.end()
        #expect(end.count == 0)
        #expect(end.failure == .reset)
        #expect(try stage.wire().exchange("GET", "/v1/pairing/poll?code=\(code)").status == 200)
    }

    @Test func aPollWithoutATimeoutIsAnsweredAtOnce() throws {
        let stage = try Stage()
        let reply = try stage.wire().exchange("GET", "/v1/pairing/poll?code=\(try start(stage))")
        #expect(reply.text.contains(#""status":"pending""#))
    }
}
