import RelayRules
import Simulator
import Testing
import WireTesting

/// The bridge's socket over real ones: decisions of the rules reach the bridge, and its frames reach the rules.
@Suite struct BridgeSocketRouteTests {
    private func ready(_ stage: Stage) throws -> BridgeSide {
        let bridge = BridgeSide(stage)
        try bridge.opened()
        #expect(try bridge.nextType() == "ready")
        #expect(try bridge.nextType() == "1 session.message")
        bridge.say(#"{"type":"ack","up_to_update_id":"1"}"#)
        try bridge.settle()
        return bridge
    }

    private func control(_ stage: Stage, _ path: String, _ body: String = "{}") throws {
        #expect(try stage.user("POST", "/v1/simulator/\(path)", body).status == 200)
    }

    @Test func updatesArePushedResentAndAcknowledged() throws {
        let stage = try Stage()
        let bridge = try ready(stage)
        stage.say("two")
        stage.say("three")
        for _ in 0..<2 {
            #expect(try bridge.nextType() == "2 session.message")
            #expect(try bridge.nextType() == "3 session.message")
            stage.clock.advance(milliseconds: 5_000)
        }
        #expect(try bridge.nextType() == "2 session.message")
        #expect(try bridge.nextType() == "3 session.message")
        bridge.say(#"{"type":"ack","up_to_update_id":"3"}"#)
        try bridge.settle()
        stage.clock.advance(milliseconds: 10_000)
        try bridge.settle()
        #expect(stage.simulator.breaches.isEmpty)
    }

    @Test func aForeignBridgeWorks() throws {
        let stage = try Stage()
        let root = #filePath.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 }
        let url = "ws://127.0.0.1:\(stage.simulator.port)/v1/bridge/ws"
        let bridge = try Peer("bridge_client.py", [url, stage.simulator.bridgeToken, "obey"], root: root)
        #expect(try bridge.line() == "ready inst_Simulator0000001")
        #expect(try bridge.line() == "update 1 session.message")
        #expect(try bridge.line() == "acknowledged")
        stage.clock.advance(milliseconds: 25_000)
        #expect(try bridge.line() == "ping")
        try control(stage, "requests", #"{"type":"models.list.req"}"#)
        #expect(try bridge.line() == "request models.list.req")
        try control(stage, "socket/close", #"{"code":4001,"reason":"enough"}"#)
        #expect(try bridge.line() == "closed 4001 enough")
        let stranger = try Peer("bridge_client.py", [url, "wrong", "obey"], root: root)
        #expect(try stranger.line() == "refused 401 invalid_token")
        #expect(stage.simulator.breaches.map(\.code) == [.badToken])
    }

    @Test func aMessageOf100MegabytesClosesTheSocketAndNothingElse() throws {
        let stage = try Stage()
        let root = #filePath.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 }
        let url = "ws://127.0.0.1:\(stage.simulator.port)/v1/bridge/ws"
        let bridge = try Peer("bridge_client.py", [url, stage.simulator.bridgeToken, "oversized"], root: root)
        #expect(try bridge.line() == "ready inst_Simulator0000001")
        // The reset of a connection that still receives may overtake the close.
        var line = try bridge.line()
        while !line.hasPrefix("closed") { line = try bridge.line() }
        #expect(line.hasPrefix("closed 10"))
        #expect(stage.simulator.breaches.map(\.code) == [.malformedFrame])
        #expect(try stage.wire().exchange("GET", "/healthz").status == 200)
        _ = BridgeSide(stage)
    }

    @Test func anUnmaskedFrameEndsTheSocketAndIsNoted() throws {
        let stage = try Stage()
        let wire = try stage.wire()
        try wire.request(
            "GET", "/v1/bridge/ws",
            headers: [
                stage.bridgeHeader, "Upgrade: websocket", "Connection: Upgrade",
                "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13",
            ])
        #expect(try wire.head().status == 101)
        try wire.send([0x81, 0x01, 97])
        wire.stopSending()
        #expect(wire.end().failure == .ended)
        #expect(stage.simulator.breaches.map(\.code) == [.malformedFrame])
    }

    @Test func badTokensAndTokensInTheURLAreRefused() throws {
        let stage = try Stage()
        #expect(try BridgeSide(stage, token: "wrong").next() == "refused 401")
        #expect(try BridgeSide(stage, query: "?token=\(stage.simulator.bridgeToken)").next() == "refused 400")
        #expect(try stage.wire().exchange("GET", "/v1/bridge/ws", headers: [stage.bridgeHeader]).status == 426)
        #expect(stage.simulator.sockets.isEmpty)
    }

    @Test func aNewSocketTakesThePlaceOfTheOld() throws {
        let stage = try Stage()
        let old = try ready(stage)
        let new = BridgeSide(stage)
        try new.opened()
        #expect(try new.nextType() == "ready")
        #expect(try old.next() == "closed 4000")
        stage.say("two")
        #expect(try new.nextType() == "2 session.message")
    }

    @Test func missedPongsCloseTheSocket() throws {
        let stage = try Stage()
        let bridge = try ready(stage)
        stage.clock.advance(milliseconds: 86_000)
        for _ in 0..<3 { #expect(try bridge.nextType() == "ping") }
        #expect(try bridge.next() == "closed 4001")
    }

    @Test func framesThatAreNoneAreNoted() throws {
        let stage = try Stage()
        let bridge = try ready(stage)
        bridge.say("no json")
        bridge.sayBinary([1])
        try bridge.settle()
        #expect(stage.simulator.breaches.map(\.code) == [.malformedFrame, .malformedFrame])
    }

    @Test func faultsOfTheNextConnections() throws {
        let stage = try Stage()
        try control(stage, "socket/faults", #"{"kind":"refused","status":503}"#)
        #expect(try BridgeSide(stage).next() == "refused 503")
        try control(stage, "socket/faults", #"{"kind":"accept_then_close","code":1013}"#)
        let closed = BridgeSide(stage)
        try closed.opened()
        #expect(try closed.next() == "closed 1013")
        try control(stage, "socket/faults", #"{"kind":"accept_then_drop"}"#)
        let dropped = BridgeSide(stage)
        try dropped.opened()
        #expect(try dropped.next() == "lost")
        try control(stage, "socket/faults", #"{"kind":"silent"}"#)
        let silent = BridgeSide(stage)
        try silent.opened()
        silent.say(#"{"type":"ping"}"#)
        silent.ping()
        #expect(try silent.next() == "pong of the protocol", "only the protocol below still speaks")
        #expect(silent.events.isEmpty)
        #expect(stage.simulator.breaches.isEmpty)
    }

    @Test func aHalfOpenSocketTakesNothingIn() throws {
        let stage = try Stage()
        try control(stage, "socket/faults", #"{"kind":"half_open"}"#)
        let bridge = BridgeSide(stage)
        try bridge.opened()
        #expect(try bridge.nextType() == "ready")
        bridge.say("no json")
        bridge.ping()
        stage.say("two")
        try control(stage, "socket/drop")
        #expect(try bridge.next() == "lost", "no pong and no update came before")
        #expect(stage.simulator.breaches.isEmpty)
    }

    @Test func openSocketsAreDroppedAndTheBacklogComesAgain() throws {
        let stage = try Stage()
        let first = try ready(stage)
        stage.say("two")
        #expect(try first.nextType() == "2 session.message")
        try control(stage, "socket/drop")
        #expect(try first.next() == "lost")
        stage.say("three")
        let second = BridgeSide(stage)
        try second.opened()
        #expect(try second.nextType() == "ready")
        #expect(try second.nextType() == "2 session.message")
        #expect(try second.nextType() == "3 session.message")
    }

    @Test func requestsOfTheRelayAreAnswered() throws {
        let stage = try Stage()
        let bridge = try ready(stage)
        let order = try stage.user(
            "POST", "/v1/simulator/requests", #"{"type":"cron.list.req","fields":{"params":{}}}"#)
        let id = try value(of: "req_id", in: order.text)
        #expect(try bridge.next() == #"{"type":"cron.list.req","req_id":"\#(id)","params":{}}"#)
        bridge.say(#"{"type":"cron.list.resp","req_id":"\#(id)","result":{"jobs":[]}}"#)
        try bridge.settle()
        let answer = try stage.user("GET", "/v1/simulator/requests/\(id)").text
        #expect(answer.contains(#""status":"answered""#))
        #expect(answer.contains(#""result":{"jobs":[]}"#))
    }

    @Test func thePhoneViewsAFileThroughTheBridge() throws {
        let stage = try Stage()
        let bridge = try ready(stage)
        let path = "/v1/me/sessions/\(stage.session)/file?path=/a.txt"
        let phone = try stage.wire()
        try phone.request("GET", path, headers: [stage.userHeader])
        let request = try bridge.next()
        #expect(request.contains(#""path":"/a.txt","server_vouched_path":"/a.txt""#))
        let id = try value(of: "req_id", in: request)
        let file = #""mime_type":"text/plain","size_bytes":1,"base64":"eA==""#
        bridge.say(#"{\#(file),"type":"file.read.resp","req_id":"\#(id)"}"#)
        #expect(try phone.reply().text == #"{"ok":true,"result":{\#(file)}}"#)

        let impatient = try stage.wire()
        try impatient.request("GET", path, headers: [stage.userHeader])
        _ = try bridge.next()
        stage.clock.advance(milliseconds: 16_000)
        #expect(try impatient.reply().status == 504)
    }

    @Test func aRevokedTokenEndsTheSocket() throws {
        let stage = try Stage()
        let bridge = try ready(stage)
        try control(stage, "revoke", #"{"what":"token"}"#)
        #expect(try bridge.next() == "closed 4003")
        #expect(try BridgeSide(stage).next() == "refused 401")
    }

    @Test func aSimulatorThatStopsLetsGoOfItsSockets() throws {
        let stage = try Stage()
        let bridge = try ready(stage)
        stage.simulator.stop()
        #expect(try bridge.next() == "lost")
        #expect(stage.simulator.sockets.isEmpty)
        try stage.simulator.start()
        let again = BridgeSide(stage)
        try again.opened()
        #expect(try again.nextType() == "ready")
    }

    @Test func theControlRoutesAreListed() throws {
        let stage = try Stage()
        let list = try stage.user("GET", "/v1/simulator").text
        for route in Relay.controlRoutes { #expect(list.contains(route)) }
        #expect(list.contains("POST /v1/simulator/sessions"))
    }

    @Test func theStateTellsOfBridges() throws {
        let stage = try Stage()
        let bridge = BridgeSide(stage)
        try bridge.opened()
        bridge.say(#"{"type":"hello","version":"1.2.3"}"#)
        #expect(try bridge.nextType() == "ready")
        #expect(try bridge.nextType() == "1 session.message")
        try bridge.settle()
        #expect(try stage.user("GET", "/v1/simulator/socket").text.contains(#""version":"1.2.3""#))
        #expect(try stage.user("GET", "/v1/simulator/state").text.contains(#""bridges":1"#))
    }
}
