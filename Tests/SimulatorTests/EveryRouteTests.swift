import Simulator
import Testing
import WireTesting

/// The headers of every answer under `/v1` (relay.md#headers), and the further ones of every answer to a bridge
/// (11.2).
@Suite struct EveryRouteTests {
    private static let traceParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    private static let bridgeMethods = [
        "sendMessage", "sendMessageDelta", "sendMessageEnd", "createTask", "updateTask", "finishTask",
        "requestApproval", "createSession", "devices", "sessions/ses_x/recipients", "notifyToolFile", "getMemory",
        "setMemory", "unheardOf",
    ]

    private static func phoneRoutes(_ session: String) -> [(method: String, path: String, body: String?)] {
        let own = "/v1/me/sessions/\(session)"
        return [
            ("GET", "/v1/me", nil), ("GET", "/v1/me/snapshot", nil), ("GET", "/v1/me/sessions", nil),
            ("POST", "/v1/me/sessions", "{}"), ("GET", "\(own)/messages", nil),
            ("POST", "\(own)/send", #"{"text":"hi"}"#), ("POST", "\(own)/send", "{"), ("POST", "\(own)/stop", "{}"),
            ("PATCH", own, #"{"title":"Work"}"#), ("POST", "\(own)/archive", nil), ("POST", "\(own)/unarchive", nil),
            ("GET", "/v1/me/devices", nil), ("POST", "/v1/me/devices", "{}"), ("DELETE", "/v1/me/devices/none", nil),
            ("GET", "/v1/me/devices/none/keys", nil), ("POST", "/v1/me/devices/none/announce", nil),
            ("POST", "\(own)/recipients", "{}"),
            ("GET", "\(own)/file?path=a", nil), ("GET", "/v1/me/models", nil), ("GET", "/v1/me/cron", nil),
            ("POST", "/v1/me/cron/run", "{}"), ("POST", "/v1/me/approvals/none", #"{"decision":"deny"}"#),
            ("POST", "/v1/me/pairing/claim", #"{"code":"NONE"}"#),
            ("PATCH", "/v1/me/installations/inst_Simulator0000001", #"{"custom_emoji":"x"}"#),
            ("PUT", "/v1/me/sessions", "{}"), ("GET", "/v1/me/nothing", nil), ("DELETE", own, nil),
            ("GET", "\(own)/messages", nil),
        ]
    }

    private static let open: [(method: String, path: String, body: String?)] = [
        ("POST", "/v1/pairing/start", #"{"connector_type_id":"python"}"#), ("POST", "/v1/pairing/start", "{}"),
        ("GET", "/v1/pairing/poll?code=NONE", nil), ("POST", "/v1/pairing/poll", #"{"poll_token":"p_none"}"#),
        ("GET", "/v1/files/u/none", nil), ("GET", "/v1/me", nil), ("GET", "/v1/me/stream", nil),
        ("GET", "/v1/me/models", nil), ("GET", "/v1/simulator", nil), ("GET", "/v1/bridge/ws", nil),
        ("POST", "/v1/bridge/sendMessage", "{}"), ("GET", "/v1/nowhere", nil), ("GET", "/v1", nil),
    ]

    private static let control: [(method: String, path: String, body: String?)] = [
        ("GET", "/v1/simulator", nil), ("GET", "/v1/simulator/state", nil), ("GET", "/v1/simulator/breaches", nil),
        ("GET", "/v1/simulator/faults", nil), ("GET", "/v1/simulator/socket", nil),
        ("POST", "/v1/simulator/files?name=a", "a"), ("POST", "/v1/simulator/sessions", "{}"),
        ("GET", "/v1/simulator/nothing", nil),
    ]

    private func check(_ reply: Wire.Reply, _ what: String) {
        #expect(reply.headers["x-request-id"] == "test.1", "\(what)")
        let parent = reply.headers["traceparent"] ?? ""
        #expect(parent.hasPrefix("00-0af7651916cd43dd8448eb211c80319c-") && parent.hasSuffix("-01"), "\(what)")
        #expect(parent != Self.traceParent, "\(what): a parent id of its own")
        #expect(reply.headers["tracestate"] == "vendor=1", "\(what)")
    }

    private var trace: [String] {
        ["X-Request-ID: test.1", "traceparent: \(Self.traceParent)", "tracestate: vendor=1"]
    }

    @Test func everyAnswerNamesItsRequestAndItsTrace() throws {
        let stage = try Stage()
        let groups = [
            (stage.userHeader, Self.phoneRoutes(stage.session)), (stage.userHeader, Self.control),
            ("X-Nobody: 1", Self.open),
        ]
        for (header, routes) in groups {
            for route in routes {
                let reply = try stage.wire().exchange(
                    route.method, route.path, headers: trace + [header], body: route.body.map { Array($0.utf8) })
                check(reply, "\(route.method) \(route.path): \(reply.status)")
            }
        }
        for stream in ["/v1/me/stream", "/v1/simulator/watch"] {
            let wire = try stage.wire()
            try wire.request("GET", stream, headers: trace + [stage.userHeader])
            check(try wire.head(), stream)
        }
    }

    @Test func everyAnswerToABridgeTellsHowItsBucketStands() throws {
        let stage = try Stage()
        for method in Self.bridgeMethods {
            let reply = try stage.wire().exchange(
                "POST", "/v1/bridge/\(method)", headers: trace + [stage.bridgeHeader], body: Array("{}".utf8))
            check(reply, method)
            let missing = ["limit", "remaining", "reset", "reset-after", "bucket", "scope"].filter {
                reply.headers["x-ratelimit-\($0)"] == nil
            }
            #expect(missing.isEmpty, "\(method)")
        }
        stage.simulator.revokeInstallation()
        let gone = try stage.bridge("sendMessage", "{}")
        #expect(gone.status == 410)
        #expect(gone.headers["x-ratelimit-bucket"] == "msg")
    }

    @Test func withoutIdsOfItsOwnARequestIsGivenFreshOnes() throws {
        let stage = try Stage()
        let replies = try ["/v1/me", "/v1/simulator/state", "/v1/me/models"].map { try stage.user("GET", $0) }
        let ids = replies.compactMap { $0.headers["x-request-id"] }
        #expect(Set(ids).count == 3)
        #expect(ids.allSatisfy { $0.wholeMatch(of: /req_[0-9a-f]{16}/) != nil })
        #expect(
            replies.allSatisfy { $0.headers["traceparent"]?.wholeMatch(of: /00-[0-9a-f]{32}-[0-9a-f]{16}-01/) != nil })
    }
}
