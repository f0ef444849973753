import RelayRules
import Testing

/// Answers that are not the relay's, and codes that relay.md#codes does not list.
@Suite struct ProxyPageTests {
    @Test(arguments: ["proxy_html", "proxy_empty", "proxy_json"], [200, 204, 401, 403, 404, 410, 429, 502, 503])
    func aPageHasTheStatusThatWasAskedForAndTakesNoEffect(kind: String, status: Int) {
        var desk = SocketDesk()
        let sent = desk.relay.userSends(text: "x", session: nil, at: desk.at)
        let body = SocketDesk.placeholder(sent.session, sent.interaction)
        _ = desk.control("POST", "faults", #"{"kind":"\#(kind)","status":\#(status),"method":"sendMessage"}"#)
        let answer = desk.relay.respond(to: SocketDesk.bridgeCall("sendMessage", body), at: desk.at)
        #expect(answer.response.status == status)
        #expect(answer.fault == kind)
        #expect(!Self.isEnvelope(answer.response.body))
        #expect(desk.relay.sessions.first?.messages.count == 1, "only the user's message is there")
        #expect(!desk.asBridge("sendMessage", body).text.contains(#""idempotent":true"#))
        #expect(desk.relay.breaches.isEmpty)
    }

    @Test func aPageAfterTheWriteHidesAnAnswerThatIsRepeatedLater() {
        var desk = SocketDesk()
        let sent = desk.relay.userSends(text: "x", session: nil, at: desk.at)
        let body = SocketDesk.placeholder(sent.session, sent.interaction)
        _ = desk.control("POST", "faults", #"{"kind":"proxy_after"}"#)
        #expect(desk.asBridge("sendMessage", body).status == 502)
        #expect(desk.asBridge("sendMessage", body).text.contains(#""idempotent":true"#))
    }

    @Test func pagesOfJSONComeInManyShapesAndNoneIsAnEnvelope() {
        var desk = SocketDesk()
        _ = desk.control("POST", "faults", #"{"kind":"proxy_json","count":8}"#)
        let texts = (0..<8).map { _ in desk.asBridge("createSession", "{}").text }
        #expect(Set(texts).count == 8)
        #expect(texts.allSatisfy { !Self.isEnvelope(Array($0.utf8)) })
    }

    @Test(arguments: [401, 403, 404, 408, 410, 418, 425, 429, 451, 500, 503, 599])
    func anUnknownCodeComesInTheEnvelopeWithAnyStatus(status: Int) {
        var desk = SocketDesk()
        _ = desk.control("POST", "faults", #"{"kind":"unheard_of","status":\#(status),"code":"new_rule"}"#)
        let answer = desk.asBridge("createSession", "{}")
        #expect(answer.status == status)
        #expect(answer.text.hasPrefix(#"{"ok":false,"error":{"code":"new_rule""#))
        #expect(answer.text.contains("retry_after_ms") == [429, 503].contains(status))
    }

    @Test func aRefusalNamesTheFieldThatIsWrong() {
        var desk = SocketDesk()
        _ = desk.control("POST", "faults", #"{"kind":"invalid_request","path":"text"}"#)
        #expect(desk.asBridge("createSession", "{}").text.contains(#""errors":[{"path":"text","code":"too_big""#))
    }

    @Test func anEnvelopeThatRefusesHasTheStatusOfAnError() {
        var desk = SocketDesk()
        #expect(desk.control("POST", "faults", #"{"kind":"unheard_of","status":200}"#).status == 400)
        #expect(desk.control("POST", "socket/faults", #"{"kind":"refused","status":200}"#).status == 400)
        #expect(desk.control("POST", "socket/faults", #"{"kind":"upgrade_html","status":200}"#).status == 200)
    }

    @Test(arguments: [("upgrade_html", 403), ("upgrade_empty", 404), ("upgrade_json", 401)])
    func theUpgradeMeetsAPage(kind: String, status: Int) throws {
        var desk = SocketDesk()
        _ = desk.control("POST", "socket/faults", #"{"kind":"\#(kind)"}"#)
        let answer = desk.relay.refusesUpgrade(SocketDesk.upgrade(), at: desk.at)
        let refusal = try #require(answer)
        #expect(refusal.status == status)
        #expect(!Self.isEnvelope(refusal.body))
        #expect(desk.upgradeStatus() == 101, "the next one is let through")
    }

    @Test func theUpgradeMeetsARefusalWithAnyCode() throws {
        var desk = SocketDesk()
        _ = desk.control("POST", "socket/faults", #"{"kind":"refused","status":404,"error":"new_rule"}"#)
        let answer = desk.relay.refusesUpgrade(SocketDesk.upgrade(), at: desk.at)
        let refusal = try #require(answer)
        #expect(refusal.status == 404)
        #expect(String(decoding: refusal.body, as: UTF8.self).hasPrefix(#"{"ok":false,"error":{"code":"new_rule""#))
    }

    @Test func pairingAndHealthMeetOnlyTheFaultsThatNameThem() {
        var desk = SocketDesk()
        _ = desk.control("POST", "faults", #"{"kind":"proxy_html","status":401,"method":"pairing/start"}"#)
        _ = desk.control("POST", "faults", #"{"kind":"proxy_json","status":200,"method":"healthz"}"#)
        _ = desk.control("POST", "faults", #"{"kind":"500"}"#)
        let start = #"{"connector_type_id":"x"}"#
        #expect(desk.call("POST", "/v1/pairing/start", start).status == 401)
        #expect(desk.call("POST", "/v1/pairing/start", start).status == 200)
        #expect(desk.call("GET", "/healthz").text != #"{"ok":true}"#)
        #expect(desk.call("GET", "/healthz").text == #"{"ok":true}"#)
        #expect(desk.asBridge("createSession", "{}").status == 500)
    }

    /// Parses without the codec under test: `ok` is a boolean and, if it is false, `error.code` is text.
    private static func isEnvelope(_ body: [UInt8]) -> Bool {
        let text = String(decoding: body, as: UTF8.self)
        return text.hasPrefix(#"{"ok":true"#) || text.hasPrefix(#"{"ok":false,"error":{"code":""#)
    }
}
