import RelayRules
import Testing

/// relay.md#pairing-the-shipping-form, relay.md#claiming.
@Suite struct PairingTests {
    private func start(_ desk: inout SocketDesk, _ body: String) throws -> (code: String, text: String) {
        let answer = desk.call("POST", "/v1/pairing/start", body)
        #expect(answer.status == 200)
        return (try #require(SocketDesk.value(of: "code", in: answer.text)), answer.text)
    }

    private func claim(_ desk: inout SocketDesk, _ code: String) -> Int {
        desk.asUser("POST", "pairing/claim", #"{"code":"\#(code)"}"#).status
    }

    @Test func theShippingFormFromStartToTheFirstCall() throws {
        var desk = SocketDesk()
        let (code, text) = try start(&desk, #"{"connector_type_id":"openclaw","host_label":"work-mac"}"#)
        #expect(code.utf8.count == 7)
        #expect(text.contains(#""expires_at":1770000120000"#), "milliseconds")
        #expect(text.contains(#""connector":{"id":"openclaw""#))
        let poll = "/v1/pairing/poll?code=\(code)&timeout=25"
        #expect(desk.call("GET", poll).text.contains(#""status":"pending""#))
        #expect(claim(&desk, code.lowercased()) == 200)
        for _ in 0..<2 {
            let claimed = desk.call("GET", poll).text
            #expect(claimed.contains(#""status":"claimed""#))
            #expect(claimed.contains(#""sophon_ws_url":"ws://relay.test/v1/bridge/ws""#))
            let token = try #require(SocketDesk.value(of: "bot_token", in: claimed))
            #expect(token.hasPrefix("inst_Simulator0000001:s_test_"))
            #expect(token.utf8.count >= 50)
            #expect(desk.upgradeStatus(token: token) == 101)
        }
        #expect(claim(&desk, code) == 409)
        #expect(desk.relay.breaches.isEmpty)
    }

    @Test func theDocumentedFormPollsWithItsToken() throws {
        var desk = SocketDesk()
        let (code, text) = try start(&desk, #"{"connector_type":"my-agent"}"#)
        #expect(text.contains(#""expires_at":1770000120,"#), "seconds")
        let poll = #"{"poll_token":"\#(try #require(SocketDesk.value(of: "poll_token", in: text)))"}"#
        #expect(desk.call("POST", "/v1/pairing/poll", poll).text.contains(#""status":"pending""#))
        #expect(claim(&desk, code) == 200)
        let paired = desk.call("POST", "/v1/pairing/poll", poll).text
        #expect(paired.contains(#""status":"paired","installation_id":"inst_Simulator0000001","token":"#))
        #expect(desk.call("POST", "/v1/pairing/poll", #"{"code":"\#(code)"}"#).text == paired)
    }

    @Test func whoAsksInBothFormsGetsTheOneThatIsSet() throws {
        let both = #"{"connector_type_id":"x","connector_type":"x"}"#
        var shipping = SocketDesk()
        #expect(try !start(&shipping, both).text.contains("poll_token"))
        var documented = SocketDesk { $0.pairingForm = .documented }
        #expect(try start(&documented, both).text.contains("poll_token"))
    }

    @Test func aCodeExpiresAfterTwoMinutes() throws {
        var desk = SocketDesk()
        let (code, _) = try start(&desk, #"{"connector_type_id":"x"}"#)
        desk.pass(seconds: 120)
        #expect(desk.call("GET", "/v1/pairing/poll?code=\(code)").text.contains(#""status":"expired""#))
        #expect(claim(&desk, code) == 410)
    }

    @Test func unknownCodesAndEmptyStartsAreRefused() {
        var desk = SocketDesk()
        #expect(desk.call("GET", "/v1/pairing/poll?code=NOTHERE").status == 404)
        #expect(desk.call("POST", "/v1/pairing/poll", "{}").status == 404)
        #expect(desk.call("POST", "/v1/pairing/start").status == 400)
        #expect(desk.call("POST", "/v1/pairing/else").status == 404)
        #expect(claim(&desk, "NOTHERE") == 404)
        #expect(desk.call("POST", "/v1/me/pairing/claim", #"{"code":"NOTHERE"}"#).status == 401)
    }

    @Test func aPollWaitsOnlyWhileThereIsNoNews() throws {
        var desk = SocketDesk()
        let (code, _) = try start(&desk, #"{"connector_type_id":"x"}"#)
        func wait(_ query: String) -> Int64? {
            desk.relay.pairingWait(
                RawRequest(method: "GET", target: "/v1/pairing/poll?code=\(code)\(query)"), at: desk.at)
        }
        #expect(wait("&timeout=25000") == 25_000)
        #expect(wait("&timeout=3") == 3_000)
        #expect(wait("") == nil)
        #expect(claim(&desk, code) == 200)
        #expect(wait("&timeout=25") == nil)
    }

    @Test func thePhoneMayHaveMadeTheCode() throws {
        var desk = SocketDesk()
        let made = desk.control("POST", "pairing").text
        let code = try #require(SocketDesk.value(of: "code", in: made))
        #expect(desk.call("POST", "/v1/pairing/poll", #"{"code":"\#(code)"}"#).text.contains(#""status":"paired""#))
    }

    @Test func pairingAgainAfterARevocationBringsTheInstallationBack() throws {
        var desk = SocketDesk()
        _ = desk.control("POST", "revoke", #"{"what":"token"}"#)
        _ = desk.control("POST", "revoke", #"{"what":"installation"}"#)
        #expect(desk.upgradeStatus() == 401)
        let (code, _) = try start(&desk, #"{"connector_type_id":"x"}"#)
        #expect(claim(&desk, code) == 200)
        let claimed = desk.call("GET", "/v1/pairing/poll?code=\(code)").text
        #expect(desk.upgradeStatus(token: try #require(SocketDesk.value(of: "bot_token", in: claimed))) == 101)
        #expect(desk.upgradeStatus() == 401, "the old token stays revoked")
    }
}
