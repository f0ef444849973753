import RelayRules
import Testing

/// Orders of a tester: faults of the socket, requests to the bridge, updates, revocation.
@Suite struct SocketControlTests {
    // MARK: Faults

    @Test func anUpgradeIsRefusedAsOftenAsAskedFor() {
        var desk = SocketDesk()
        #expect(desk.control("POST", "socket/faults", #"{"kind":"refused","status":403,"count":2}"#).status == 200)
        #expect([desk.upgradeStatus(), desk.upgradeStatus(), desk.upgradeStatus()] == [403, 403, 101])
        #expect(desk.relay.breaches.isEmpty)
    }

    @Test(arguments: [
        ("silent", []), ("half_open", ["ready", "stop reading"]), ("accept_then_close", ["close 1013"]),
        ("accept_then_drop", ["cut"]), ("no_pings", ["ready", "update 1"]),
    ])
    func aFaultOfTheNextConnection(kind: String, first: [String]) {
        var desk = SocketDesk()
        _ = desk.relay.userSends(text: "x", session: nil, at: desk.at)
        #expect(desk.control("POST", "socket/faults", #"{"kind":"\#(kind)","code":1013}"#).status == 200)
        let socket = desk.open()
        #expect(desk.heard() == first)
        desk.say(#"{"type":"ping"}"#, on: socket)
        #expect(desk.heard() == (kind == "no_pings" ? ["pong"] : []))
        desk.pass(seconds: 60)
        #expect(desk.heard() == (kind == "no_pings" ? ["update 1"] : []))
        #expect(desk.relay.breaches.isEmpty)
        desk.relay.socketEnded(socket)
        _ = desk.open()
        #expect(desk.heard() == ["ready", "update 1"], "the next one is well again")
    }

    @Test func openSocketsCanBeClosedDroppedAndSilenced() {
        for (path, order) in [
            ("close", ["close 4001"]), ("drop", ["cut"]), ("silence", []), ("half-open", ["stop reading"]),
        ] {
            var desk = SocketDesk()
            _ = desk.open()
            _ = desk.heard()
            #expect(desk.control("POST", "socket/\(path)", #"{"code":4001}"#).status == 200)
            _ = desk.relay.userSends(text: "x", session: nil, at: desk.at)
            desk.pass(seconds: 60)
            #expect(desk.heard() == order)
        }
    }

    @Test func aCodeThatMayNotBeSentIsRefused() {
        var desk = SocketDesk()
        #expect(desk.control("POST", "socket/close", #"{"code":1006}"#).status == 400)
        #expect(desk.control("POST", "socket/faults", #"{"kind":"accept_then_close","code":1005}"#).status == 400)
        #expect(desk.control("POST", "socket/faults", #"{"kind":"unheard of"}"#).status == 400)
        #expect(desk.control("POST", "nowhere").status == 0)
    }

    @Test func updatesComeTwiceUnderASecondIdAndFlat() {
        var desk = SocketDesk()
        let socket = desk.open()
        _ = desk.heard()
        for kind in ["doubled", "second_id", "flat"] {
            _ = desk.control("POST", "socket/faults", #"{"kind":"\#(kind)"}"#)
        }
        _ = desk.relay.userSends(text: "x", session: nil, at: desk.at)
        #expect(desk.heard() == ["update 1", "update 1", "update node2-1", "update node2-1"])
        let pending = desk.relay.pendingUpdates()
        let messages = Set(
            pending.map {
                SocketDesk.value(of: "id", in: String(decoding: $0.frame, as: UTF8.self).suffixFrom("message"))
            })
        #expect(messages.count == 1, "it is one message of the user")
        desk.pass(seconds: 5)
        let frames = desk.relay.takeSocketInstructions()
        guard case .send(let frame)? = frames.first?.order else { Issue.record("nothing was sent again"); return }
        #expect(
            String(decoding: frame, as: UTF8.self).hasPrefix(#"{"update_id":1,"type":"session.message","agent_id":"#))
        desk.say(#"{"type":"ack","up_to_update_id":"node2-1"}"#, on: socket)
        #expect(desk.relay.pendingUpdates().isEmpty)
        #expect(desk.relay.breaches.isEmpty)
    }

    @Test func plannedFaultsCanBeForgotten() {
        var desk = SocketDesk()
        _ = desk.control("POST", "socket/faults", #"{"kind":"refused","count":9}"#)
        _ = desk.control("DELETE", "socket/faults")
        #expect(desk.upgradeStatus() == 101)
    }

    // MARK: Requests to the bridge

    @Test func aRequestIsSentAndItsAnswerCanBeRead() throws {
        var desk = SocketDesk()
        #expect(desk.control("POST", "requests", #"{"type":"models.list.req"}"#).status == 409)
        let socket = desk.open()
        _ = desk.heard()
        let order = #"{"type":"file.read.req","fields":{"path":"/a","type":"x"}}"#
        let text = desk.control("POST", "requests", order).text
        let id = try #require(SocketDesk.value(of: "req_id", in: text))
        let instructions = desk.relay.takeSocketInstructions()
        let frame = try #require(instructions.first?.order)
        #expect(frame == .send(Array(#"{"type":"file.read.req","req_id":"\#(id)","path":"/a"}"#.utf8)))
        #expect(desk.control("GET", "requests/\(id)").text.contains(#""status":"waiting""#))
        let reply =
            #"{"mime_type":"text/plain","size_bytes":1,"base64":"eA==","type":"file.read.resp","req_id":"\#(id)"}"#
        desk.say(reply, on: socket)
        #expect(desk.control("GET", "requests/\(id)").text.contains(#""status":"answered","reply":"# + reply))
        #expect(desk.relay.breaches.isEmpty)
        desk.say(reply, on: socket)
        #expect(desk.relay.breaches.map(\.code) == [.unknownRequest], "once is enough")
    }

    @Test(arguments: [
        ("models.list.req", #"{"models":[{"id":"m"}],"type":"models.list.resp""#, true),
        ("models.list.req", #"{"models":[{"name":"m"}],"type":"models.list.resp""#, false),
        ("models.list.req", #"{"models":[],"type":"models.resp""#, false),
        ("cron.list.req", #"{"result":{},"type":"cron.list.resp""#, true),
        ("cron.list.req", #"{"type":"cron.list.resp""#, false),
        ("file.read.req", #"{"error":{"code":"not_found"},"type":"file.read.resp""#, true),
        ("file.read.req", #"{"error":{"message":"no"},"type":"file.read.resp""#, false),
        ("file.read.req", #"{"type":"file.read.resp""#, false),
        ("new.thing.req", #"{"error":{"code":"unknown_request","type":"new.thing.req"},"type":"new.thing.resp""#, true),
        ("new.thing.req", #"{"type":"new.thing.resp""#, false),
    ])
    func anAnswerIsJudged(type: String, reply: String, isGood: Bool) throws {
        var desk = SocketDesk()
        let socket = desk.open()
        let asked = desk.relay.ask(type: type, fields: Array("{}".utf8))
        let id = try #require(asked)
        desk.say(reply + #","req_id":"\#(id)"}"#, on: socket)
        #expect(desk.relay.breaches.map(\.code) == (isGood ? [] : [.malformedFrame]))
    }

    @Test func aRequestWithoutATypeIsAnsweredByRpcResp() throws {
        var desk = SocketDesk()
        let socket = desk.open()
        let asked = desk.relay.ask(type: nil, fields: Array("{}".utf8))
        let id = try #require(asked)
        desk.say(#"{"error":{"code":"unknown_request"},"type":"rpc.resp","req_id":"\#(id)"}"#, on: socket)
        #expect(desk.relay.breaches.isEmpty)
    }

    @Test func onlySoManyBytesOfAnswersAreKept() throws {
        var desk = SocketDesk { $0.socket.answerLimit = 200 }
        let socket = desk.open()
        var asked: [String] = []
        for _ in 0..<3 {
            let id = try #require({ desk.relay.ask(type: "cron.list.req", fields: Array("{}".utf8)) }())
            desk.say(#"{"type":"cron.list.resp","req_id":"\#(id)","result":{}}"#, on: socket)
            asked.append(id)
        }
        #expect(asked.map { desk.relay.remoteRequest($0)?.outcome == .forgotten } == [true, false, false])
    }

    @Test func aRequestIsLostWithItsSocket() throws {
        var desk = SocketDesk()
        let socket = desk.open()
        let asked = desk.relay.ask(type: "models.list.req", fields: Array("{}".utf8))
        let id = try #require(asked)
        desk.relay.socketEnded(socket)
        #expect(desk.relay.remoteRequest(id)?.outcome == .lost)
    }

    // MARK: Updates and tokens

    @Test func anyUpdateCanBeProvoked() {
        var desk = SocketDesk()
        let socket = desk.open()
        let order =
            #"{"type":"session_key_granted","session_id":"ses_x","payload":{"session_id":"ses_x","device_id":"d"}}"#
        #expect(desk.control("POST", "updates", order).text.contains(#""update_id":"1""#))
        #expect(desk.heard(on: socket) == ["ready", "update 1"])
        #expect(desk.control("POST", "updates", "{}").status == 400)
    }

    @Test func aRevokedTokenNeitherConnectsNorPosts() {
        var desk = SocketDesk()
        _ = desk.open()
        _ = desk.heard()
        #expect(desk.control("POST", "revoke", #"{"what":"token"}"#).status == 200)
        #expect(desk.heard() == ["close 4003"])
        #expect(desk.upgradeStatus() == 401)
        #expect(desk.asBridge("sendMessage", "{}").status == 401)
        #expect(desk.relay.breaches.map(\.code) == [.revokedToken, .revokedToken])
    }

    @Test func aRevokedInstallationIsToldAndThenGone() {
        var desk = SocketDesk()
        let socket = desk.open()
        #expect(desk.control("POST", "revoke", #"{"what":"installation"}"#).status == 200)
        #expect(desk.heard() == ["ready", "update 1"])
        #expect(desk.asBridge("sendMessage", "{}").status == 410)
        #expect(desk.upgradeStatus() == 403)
        desk.say(#"{"type":"ack","up_to_update_id":"1"}"#, on: socket)
        #expect(desk.relay.breaches.isEmpty)
    }
}

extension String {
    fileprivate func suffixFrom(_ mark: String) -> String {
        firstRange(of: "\"\(mark)\":{").map { String(self[$0.lowerBound...]) } ?? ""
    }
}
