import RelayRules
import Simulator
import Testing
import WireTesting

/// `GET /v1/simulator/watch`.
@Suite struct WatchRouteTests {
    private func watcher(_ stage: Stage) throws -> Wire {
        let wire = try stage.wire()
        try wire.request("GET", "/v1/simulator/watch", headers: [stage.userHeader])
        let head = try wire.head()
        guard head.status == 200 else { throw Wire.Failure.malformed("no feed: \(head.status)") }
        return wire
    }

    @Test func whoeverBeginsToWatchIsToldHowThingsStand() throws {
        let stage = try Stage()
        _ = try stage.bridge("sendMessage", "{")
        let feed = try watcher(stage)
        let text = try feed.text(through: "event: breach\n")
        let names = text.split(whereSeparator: \.isNewline).filter { $0.hasPrefix("event: ") }
        #expect(names == ["event: buckets", "event: bridge", "event: call", "event: breach"])
        #expect(text.contains(#"data: {"state":"never","sockets":0}"#))
        #expect(text.contains(#""method":"sendMessage","status":400,"code":"invalid_request""#))
        #expect(try feed.text(through: "\n\n").contains(#""code":"malformedRequest""#))
    }

    @Test func callsBreachesAndFaultsAreToldAsTheyHappen() throws {
        let stage = try Stage()
        let feed = try watcher(stage)
        stage.simulator.plan(Fault(.status(500, retryAfterMilliseconds: nil)))
        #expect(try feed.text(through: #""left":1}]}"#).contains("event: fault\n"))
        _ = try stage.bridge("sendMessage", "{}")
        #expect(try feed.text(through: #"data: {"faults":[]}"#).contains(#""fault":"500""#))
        let (sent, _) = try stage.openTurn()
        #expect(try feed.text(through: #""status":200"#).contains(#""method":"sendMessage""#))
        #expect(try feed.text(through: "\n\n").contains(sent.interaction))
        _ = try stage.bridge("unheardOf", "{}")
        #expect(try feed.text(through: "event: breach\n").contains(#""code":"not_found""#))
    }

    @Test func aMixIsToldWhenItBeginsToWhoComesLaterAndWhenItEnds() throws {
        let stage = try Stage()
        let feed = try watcher(stage)
        let order = #"{"kind":"mix","seed":7,"rate":0.25,"kinds":["silent"]}"#
        #expect(try stage.user("POST", "/v1/simulator/faults", order).status == 200)
        let mix = #"data: {"faults":[],"mix":{"seed":7,"rate":0.25,"kinds":["silent"]}}"#
        #expect(try feed.text(through: mix).contains("event: fault\n"))
        #expect(try watcher(stage).text(through: mix).contains("event: fault\n"))
        #expect(try stage.user("DELETE", "/v1/simulator/faults").status == 200)
        _ = try feed.text(through: "data: {\"faults\":[]}\n")
    }

    @Test func levelsAreToldFiveTimesASecondUntilAllAreFullAndThenNoMore() throws {
        let stage = try Stage()
        let feed = try watcher(stage)
        _ = try feed.text(through: "event: bridge\n")
        // Two tokens of the bucket `msg`, which refills them in 200 ms.
        _ = try stage.bridge("sendMessage", "{}")
        _ = try stage.bridge("sendMessage", "{}")
        for _ in 0..<20 { stage.clock.advance(milliseconds: 50) }
        stage.say("the end of it")
        _ = try stage.bridge("marker", "{}")
        let seen = try feed.text(through: #""method":"marker""#)
        let levels = seen.split(whereSeparator: \.isNewline).filter { $0.contains(#""name":"msg""#) }.map { line in
            String(
                line[
                    (line.firstRange(of: #""name":"msg","capacity":30,"refill_per_second":10,"level":"#)?.upperBound
                        ?? line.startIndex)...
                ].prefix { $0 != "," })
        }
        #expect(levels.last == "30")
        #expect(levels.count { $0 == "30" } == 1)
        #expect(levels.count <= 3)
    }

    @Test func theBridgeIsToldWhenItComesAndGoes() throws {
        let stage = try Stage()
        let feed = try watcher(stage)
        _ = try feed.text(through: #"data: {"state":"never","sockets":0}"#)
        let phone = try stage.phone()
        do {
            let bridge = try stage.wire()
            try bridge.request(
                "GET", "/v1/bridge/ws",
                headers: [
                    stage.bridgeHeader, "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
                    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
                ])
            _ = try feed.text(through: #""state":"connected","sockets":1}"#)
            #expect(try phone.text(through: #""state":"connected""#).contains("installation_updated"))
        }
        #expect(try phone.text(through: #""state":"degraded""#).contains("installation_updated"))
    }

    @Test func withoutTheUsersTokenNobodyWatches() throws {
        let stage = try Stage()
        #expect(try stage.wire().exchange("GET", "/v1/simulator/watch").status == 401)
        #expect(try stage.wire().exchange("GET", "/v1/simulator/watch", headers: [stage.bridgeHeader]).status == 401)
    }

    @Test func watchingIsNoPhone() throws {
        let stage = try Stage()
        _ = try watcher(stage)
        #expect(stage.simulator.readerCount == 0)
    }
}
