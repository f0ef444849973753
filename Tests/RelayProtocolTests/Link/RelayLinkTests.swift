import RelayProtocol
import Testing
import Vocabulary

@Suite("The link to the relay")
struct RelayLinkTests {
    @Test("the token goes in a header, and the address is the relay's with its path")
    func address() throws {
        let talk = LinkConversation()
        talk.start()
        #expect(talk.orders == [LinkConversation.dial])
        let local = LinkConversation(relay: try WebAddress("http://127.0.0.1:8787/relay/"))
        local.start()
        #expect(
            local.orders == [.dial(url: "ws://127.0.0.1:8787/relay/v1/bridge/ws", headers: LinkConversation.headers)])
    }

    @Test("hello comes first and only where a feature level is set; ready makes the link live")
    func greeting() {
        let talk = LinkConversation(helloVersion: "0.6.0")
        talk.start()
        _ = talk.orders
        talk.open()
        #expect(talk.sent == [#"{"type":"hello","version":"0.6.0"}"#])
        talk.receive(#"{"type":"ready","installation_id":"inst_1"}"#)
        #expect(talk.orders == [.ready(installation: "inst_1")])

        let silent = LinkConversation()
        silent.start()
        _ = silent.orders
        silent.open()
        #expect(silent.orders.isEmpty)
    }

    @Test("no update is taken before ready")
    func updateBeforeReady() {
        let talk = LinkConversation()
        talk.start()
        talk.open()
        talk.receive(1)
        talk.receive(#"{"type":"ready"}"#)
        #expect(talk.updates.isEmpty)
        talk.receive(1)
        #expect(talk.updates.map(\.id) == [UpdateID("1")])
    }

    @Test("a ping is answered at once, before ready as well")
    func ping() {
        let talk = LinkConversation()
        talk.start()
        talk.open()
        _ = talk.orders
        talk.receive(#"{"type":"ping"}"#)
        talk.receive(#"{"type":"ready"}"#, #"{"type":"pong"}"#, #"{"type":"ping"}"#)
        #expect(talk.sent == [#"{"type":"pong"}"#, #"{"type":"pong"}"#])
    }

    @Test(
        "a request is answered as unknown, under the name of its reply",
        arguments: [
            (
                #"{"type":"cron.dance.req","req_id":"r1"}"#,
                #"{"error":{"code":"unknown_request","type":"cron.dance.req"},"type":"cron.dance.resp","req_id":"r1"}"#
            ),
            (
                #"{"req_id":"r2"}"#,
                #"{"error":{"code":"unknown_request","type":""},"type":"rpc.resp","req_id":"r2"}"#
            ),
        ])
    func request(frame: String, reply: String) {
        let talk = LinkConversation.live()
        talk.receive(frame)
        #expect(talk.sent == [reply])
    }

    @Test(
        "no request is answered before ready, of whatever kind",
        arguments: [
            #"{"type":"cron.dance.req","req_id":"r1"}"#, #"{"type":"cron.list.req","req_id":"r1","params":7}"#,
            #"{"type":"models.list.req","req_id":"r1"}"#,
        ])
    func requestBeforeReady(frame: String) {
        let talk = LinkConversation()
        talk.start()
        talk.open()
        _ = talk.orders
        talk.receive(frame)
        #expect(talk.orders.allSatisfy { if case .note = $0 { true } else { false } })
        #expect(talk.link.unknown.counts.keys.allSatisfy { $0.hasPrefix("request before ready") })
        #expect(!talk.link.unknown.counts.isEmpty)
    }

    @Test("what is no JSON, no object or of no known type is counted and does no harm")
    func unknownFrames() {
        let talk = LinkConversation.live()
        talk.receive("hello", "[]", "{}", #"{"type":7}"#, #"{"type":"weather"}"#, #"{"type":"ready"}"#)
        #expect(talk.link.unknown.malformed == 4)
        #expect(talk.link.unknown.counts == ["frame weather": 1])
        #expect(talk.sent.isEmpty)
    }

    // MARK: Losing it

    @Test("45 seconds without a frame end the link; any frame counts")
    func silence() {
        let talk = LinkConversation.live()
        talk.pass(44)
        talk.receive(#"{"type":"weather"}"#)
        talk.pass(44)
        talk.link.heard(at: talk.now)
        _ = talk.orders
        talk.pass(44)
        #expect(talk.orders.isEmpty)
        talk.pass(1)
        #expect(
            talk.orders == [
                .close(code: 1000, reason: "timeout"),
                .lost(reason: "the relay fell silent", retryAt: talk.now + .seconds(1)),
            ])
        talk.pass(1)
        #expect(talk.orders == [LinkConversation.dial])
    }

    @Test("the waits double to 30 seconds, whatever the relay does in between, until a link held for a minute")
    func backOff() {
        let talk = LinkConversation()
        talk.start()
        var waits: [Double] = []
        func wait() {
            for case .lost(_, let at) in talk.orders {
                waits.append((at - talk.now).seconds)
                talk.pass((at - talk.now).seconds)
            }
        }
        for _ in 0..<4 {
            // The relay accepts the socket and closes it at once (W36).
            talk.open()
            talk.receive(#"{"type":"ready"}"#)
            talk.close(1000)
            wait()
        }
        talk.fail("connection refused")
        wait()
        talk.refuse(502)
        wait()
        talk.fail("connection refused")
        wait()
        #expect(waits == [1, 2, 4, 8, 16, 30, 30])
        talk.open()
        talk.receive(#"{"type":"ready"}"#)
        for _ in 0..<3 {
            talk.pass(20)
            talk.receive(#"{"type":"ping"}"#)
        }
        waits = []
        talk.close(1006)
        wait()
        #expect(waits == [1])
    }

    @Test("each step to a link has its time limit")
    func handshakeLimits() {
        let talk = LinkConversation()
        talk.start()
        _ = talk.orders
        talk.pass(30)
        #expect(
            talk.orders == [
                .close(code: 1000, reason: "timeout"),
                .lost(reason: "the relay did not answer the call", retryAt: talk.now + .seconds(1)),
            ])
        talk.pass(1)
        talk.open()
        _ = talk.orders
        talk.pass(15)
        #expect(
            talk.orders == [
                .close(code: 1000, reason: "timeout"),
                .lost(reason: "the relay did not say that it is ready", retryAt: talk.now + .seconds(2)),
            ])
    }

    @Test("a machine that slept dials anew at once, whichever clock tells it")
    func slept() {
        let talk = LinkConversation.live()
        talk.tick()
        talk.pass(3_600, asleep: true)
        let anew: [RelayLink.Order] = [
            .close(code: 1000, reason: "machine slept"), .lost(reason: "the machine slept", retryAt: talk.now),
            LinkConversation.dial,
        ]
        #expect(talk.orders == anew)
        talk.open()
        talk.receive(#"{"type":"ready"}"#)
        _ = talk.orders
        talk.standStill(3_600)
        #expect(talk.orders == anew)
    }

    @Test("a relay that asks for patience gets it")
    func retryHint() {
        let talk = LinkConversation()
        talk.start()
        _ = talk.orders
        talk.refuse(
            503,
            #"{"ok":false,"error":{"code":"temporarily_unavailable","message":"later","retry_after_ms":20000}}"#)
        #expect(
            talk.orders == [
                .lost(
                    reason: "the relay refused the connection (HTTP 503): later", retryAt: talk.now + .seconds(20))
            ])
    }

    @Test(
        "no code is final with a status that says that the relay is in trouble",
        arguments: [408, 425, 429, 500, 502, 503], ["agent_not_found", "invalid_token", "installation_revoked"])
    func trouble(status: Int, code: String) {
        let talk = LinkConversation()
        talk.start()
        _ = talk.orders
        talk.refuse(status, #"{"ok":false,"error":{"code":"\#(code)","message":"later"}}"#)
        #expect(talk.link.nextDeadline == talk.now + .seconds(1))
    }

    @Test(
        "a wait of hours is believed, up to a day",
        arguments: [(7_200_000, 7_200), (172_800_000, 86_400)] as [(Int64, Int64)])
    func longHint(milliseconds: Int64, seconds: Int64) {
        let talk = LinkConversation()
        talk.start()
        _ = talk.orders
        talk.refuse(
            503, #"{"ok":false,"error":{"code":"temporarily_unavailable","retry_after_ms":\#(milliseconds)}}"#)
        #expect(talk.link.nextDeadline == talk.now + .seconds(seconds))
    }

    // MARK: Pages of something in between

    @Test(
        "a page is never the end of the link, whatever its status",
        arguments: [200, 401, 403, 404, 410, 502],
        ["", "<html>no</html>", #"{"error":"forbidden"}"#, #"{"ok":false,"error":{"code":401}}"#])
    func page(status: Int, body: String) {
        let talk = LinkConversation()
        talk.start()
        _ = talk.orders
        for _ in 0..<20 {
            talk.refuse(status, body)
            let orders = talk.orders
            let remedies = orders.compactMap { if case .note(.remedy(let words)) = $0 { words } else { nil } }
            #expect(remedies.first?.hasPrefix("something between here and the relay answers: HTTP \(status)") == true)
            #expect(!orders.contains { if case .stop = $0 { true } else { false } })
            guard let deadline = talk.link.nextDeadline else { return #expect(Bool(false), "it dials no more") }
            #expect(deadline - talk.now <= .seconds(300))
            talk.pass((deadline - talk.now).seconds)
            #expect(talk.orders.contains(LinkConversation.dial))
        }
    }

    @Test("what only a person can mend is tried every 5 minutes in the end, what may pass every half minute")
    func pageBackOff() {
        func wait(_ status: Int) -> Duration {
            let talk = LinkConversation()
            talk.start()
            var wait = Duration.zero
            for _ in 0..<12 {
                _ = talk.orders
                talk.refuse(status, "<html>")
                guard let deadline = talk.link.nextDeadline else { return .zero }
                wait = deadline - talk.now
                talk.pass(wait.seconds)
            }
            return wait
        }
        #expect(wait(403) >= .seconds(225))
        #expect(wait(502) <= .seconds(38))
    }

    // MARK: Giving up

    private static let otherDial = RelayLink.Order.dial(
        url: LinkConversation.url, headers: [HTTPHeader("Authorization", "Bearer inst_1:s_test_2")])

    @Test("another token moves the socket at once, and what was durable is acknowledged on the old one")
    func moves() {
        let talk = LinkConversation.live()
        talk.receive(7)
        _ = talk.orders
        talk.acknowledge(7)
        talk.use("inst_1:s_test_2")
        let orders = talk.orders
        #expect(orders.first == .send(Array(#"{"type":"ack","up_to_update_id":"7"}"#.utf8)))
        #expect(orders.contains(.close(code: 1000, reason: "another token")))
        #expect(orders.last == Self.otherDial)
        talk.open()
        talk.receive(#"{"type":"ready","installation_id":"inst_1"}"#)
        #expect(talk.orders == [.ready(installation: "inst_1")])
    }

    @Test("another token ends the wait for the next try, and a stop")
    func triesAnotherToken() {
        let waiting = LinkConversation()
        waiting.start()
        waiting.fail("no network")
        _ = waiting.orders
        waiting.use("inst_1:s_test_2")
        #expect(waiting.orders == [Self.otherDial])
        let stopped = LinkConversation()
        stopped.start()
        stopped.refuse(401, #"{"ok":false,"error":{"code":"invalid_token","message":"no"}}"#)
        _ = stopped.orders
        stopped.use("inst_1:s_test_2")
        #expect(stopped.orders == [Self.otherDial])
    }

    @Test("a sleep that is told from elsewhere is one reconnection, also when a late timer tells of it too")
    func sleepToldTwice() {
        let talk = LinkConversation.live()
        talk.pass(100, asleep: true)
        #expect(talk.orders.contains(LinkConversation.dial))
        talk.slept()
        #expect(talk.orders == [])
        let other = LinkConversation.live()
        other.slept()
        #expect(other.orders.contains(LinkConversation.dial))
    }

    @Test("401 and 403 in the relay's envelope are final whatever their code", arguments: [401, 403])
    func unknownCode(status: Int) {
        let talk = LinkConversation()
        talk.start()
        _ = talk.orders
        talk.refuse(status, #"{"ok":false,"error":{"code":"new_rule"}}"#)
        #expect(talk.orders.contains { if case .stop = $0 { true } else { false } })
    }

    @Test("a refused token is final", arguments: [401, 403])
    func refusedToken(status: Int) {
        let talk = LinkConversation()
        talk.start()
        _ = talk.orders
        talk.refuse(status, #"{"ok":false,"error":{"code":"invalid_token","message":"no"}}"#)
        let stop = talk.orders.compactMap { if case .stop(let stop) = $0 { stop } else { nil } }
        #expect(stop.map(\.kind) == [.tokenRefused])
        #expect(stop.map(\.exitCode) == [.tokenRefused])
        talk.pass(3_600)
        #expect(talk.orders.isEmpty)
        #expect(talk.link.nextDeadline == nil)
        talk.start()
        #expect(talk.orders == [LinkConversation.dial])
    }

    @Test(
        "other refusals stop only where the relay says that nothing will change",
        arguments: [
            (410, "installation_revoked", RelayLink.Stop.Kind.installationRevoked as RelayLink.Stop.Kind?),
            (400, "invalid_token_location", .tokenLocation), (404, "agent_not_found", .tokenRefused),
            (404, "weather", nil), (429, "rate_limited", nil), (500, "internal_error", nil),
        ])
    func refusals(status: Int, code: String, kind: RelayLink.Stop.Kind?) {
        let talk = LinkConversation()
        talk.start()
        _ = talk.orders
        talk.refuse(status, #"{"ok":false,"error":{"code":"\#(code)","message":"no"}}"#)
        let orders = talk.orders
        let kinds = orders.compactMap { if case .stop(let stop) = $0 { stop.kind } else { nil } }
        #expect(kinds == (kind.map { [$0] } ?? []))
        #expect((talk.link.nextDeadline == nil) == (kind != nil))
    }

    @Test("an installation that was revoked is told, acknowledged, and stops the link; an earlier one's is old news")
    func revoked() {
        let talk = LinkConversation.live()
        talk.receive(1, type: "installation.revoked", payload: #"{"installation":{"id":"inst_0"}}"#)
        #expect(talk.sent == [#"{"type":"ack","up_to_update_id":"1"}"#])
        talk.receive(
            2, type: "installation.revoked", payload: #"{"installation":{"id":"inst_1"},"reason":"user_uninstalled"}"#)
        let orders = talk.orders
        #expect(orders.count == 4)
        #expect(orders.dropFirst().first == .send(Array(#"{"type":"ack","up_to_update_id":"2"}"#.utf8)))
        guard case .stop(let stop) = orders.last else {
            Issue.record("no stop")
            return
        }
        #expect(stop.kind == .installationRevoked)
        #expect(talk.link.nextDeadline == nil)
    }

    @Test("after its end nothing of the old socket counts, and a stop says goodbye")
    func shutDown() {
        let talk = LinkConversation.live()
        talk.receive(1)
        let update = talk.updates[0]
        talk.link.acknowledge(update, at: talk.now)
        talk.shutDown()
        #expect(
            talk.orders == [
                .send(Array(#"{"type":"ack","up_to_update_id":"1"}"#.utf8)),
                .close(code: 1000, reason: "bridge stops"),
            ])
        talk.receive(2)
        talk.close(1000)
        talk.pass(100)
        #expect(talk.orders.isEmpty)
    }
}
