import RelayProtocol
import Sealing
import Testing
import Vocabulary

@Suite("The calls of the ring of keys")
struct KeyRingCallsTests {
    private func answer(_ status: Int, _ body: String, expecting: RelayDecoder.Expected) -> RelayAnswer {
        RelayDecoder.answer(
            to: .success(HTTPResponse(status: status, body: Array(body.utf8))), expecting: expecting, wall: 0)
    }

    private func registered(_ status: Int, _ body: String) -> KeyCallAnswer<RegistrationReceipt> {
        KeyCallAnswer<RegistrationReceipt>(answer(status, body, expecting: .device))
    }

    @Test("a registration's body")
    func registration() {
        #expect(
            String(decoding: KeyRingCalls.registration(publicKey: "ab", label: "work-mac"), as: UTF8.self)
                == #"{"pubkey":"ab","label":"work-mac"}"#)
        #expect(
            String(decoding: KeyRingCalls.registration(publicKey: "ab", label: nil), as: UTF8.self)
                == #"{"pubkey":"ab"}"#)
    }

    @Test("a grant's body, for several devices, with and without our own name")
    func grant() throws {
        var talk = try RingConversation()
        _ = talk.linkUp()
        _ = talk.announced(try talk.phone(1))
        _ = talk.announced(try talk.phone(2))
        _ = talk.kept()
        _ = talk.kept()
        _ = talk.makeKey("ses_1")
        _ = talk.kept()
        var grant = try #require(talk.grants.last)
        let boxes = grant.recipients.map(\.wrappedKey)
        let list =
            #"[{"device_id":"phone-1","wrapped_session_key":"\#(boxes[0])"},{"device_id":"phone-2","wrapped_session_key":"\#(boxes[1])"}]"#
        #expect(String(decoding: grant.body, as: UTF8.self) == #"{"recipients":\#(list)}"#)
        grant.wrappedBy = DeviceID("b")
        #expect(
            String(decoding: grant.body, as: UTF8.self) == #"{"recipients":\#(list),"wrapped_by_device_id":"b"}"#)
        #expect(grant.path == "/v1/bridge/sessions/ses_1/recipients")
    }

    @Test(
        "a session's name that leads elsewhere has no path", arguments: ["", "a/b", "../x", "a?b", "a b", "ä", "%2e"])
    func path(session: String) throws {
        var talk = try RingConversation()
        _ = talk.linkUp()
        _ = talk.announced(try talk.phone(1))
        _ = talk.kept()
        _ = talk.makeKey("ses_1")
        _ = talk.kept()
        var grant = try #require(talk.grants.last)
        grant.session = SessionID(session)
        #expect(grant.path == nil)
    }

    @Test("a registration is answered with what the bridge is called")
    func answers() {
        #expect(
            registered(200, #"{"ok":true,"result":{"device_id":"d1","pubkey_changed":true}}"#)
                == .delivered(RegistrationReceipt(device: DeviceID("d1"), keyChanged: true)))
        #expect(
            registered(200, #"{"ok":true,"result":{"device_id":"d1"}}"#)
                == .delivered(RegistrationReceipt(device: DeviceID("d1"), keyChanged: false)))
    }

    @Test(
        "an answer that says too little, comes from a relay in trouble or not from it at all is asked for again",
        arguments: [
            (200, #"{"ok":true,"result":{}}"#), (200, #"{"ok":true,"result":{"device_id":7}}"#),
            (200, #"{"ok":true,"result":{"device_id":""}}"#), (200, "<html>"), (502, ""), (401, "sign in"),
            (503, #"{"ok":false,"error":{"code":"temporarily_unavailable"}}"#),
            (500, #"{"ok":false,"error":{"code":"internal_error"}}"#),
        ])
    func again(status: Int, body: String) {
        #expect(registered(status, body) == .later(nil))
    }

    @Test("how long the relay wants to wait is told, and a refusal is one")
    func refusals() {
        #expect(
            registered(429, #"{"ok":false,"error":{"code":"rate_limited","retry_after_ms":1500}}"#)
                == .later(.milliseconds(1_500)))
        #expect(registered(400, #"{"ok":false,"error":{"code":"invalid_request"}}"#) == .refused)
        let granted = answer(404, #"{"ok":false,"error":{"code":"session_not_found"}}"#, expecting: .nothing)
        #expect(KeyCallAnswer<GrantReceipt>(granted) == .refused)
        let taken = answer(200, #"{"ok":true,"result":{}}"#, expecting: .nothing)
        #expect(KeyCallAnswer<GrantReceipt>(taken) == .delivered(GrantReceipt()))
    }
}
