import RelayProtocol
import Testing
import Vocabulary

/// One pairing and the runner's side of it, as lines.
private final class PairingConversation {
    static let wall: Int64 = 1_770_000_000_000

    var pairing: Pairing
    var now = Instant.zero
    private var collected: [String] = []

    init(code: String? = nil, relay: WebAddress = WebAddress(.https, "relay.example")) {
        pairing = Pairing(
            Pairing.Settings(relay: relay, connector: "openclaw", hostLabel: "work", code: code))
        pairing.start(at: now, wallMilliseconds: wall)
        collect()
    }

    var wall: Int64 { Self.wall + (now - Instant.zero).nanoseconds / 1_000_000 }

    var lines: [String] {
        defer { collected = [] }
        return collected
    }

    func answer(_ result: String, status: Int = 200) {
        respond(status, status < 300 ? #"{"ok":true,"result":\#(result)}"# : result)
    }

    func respond(_ status: Int, _ body: String) {
        pairing.answered(
            .success(HTTPResponse(status: status, body: Array(body.utf8))), at: now, wallMilliseconds: wall)
        collect()
    }

    func fail() {
        pairing.answered(
            .failure(HTTPFailure(.connectionRefused, "no route", mayHaveBeenApplied: false)), at: now,
            wallMilliseconds: wall)
        collect()
    }

    func pass(_ seconds: Double) {
        let end = now + .seconds(seconds)
        while let next = pairing.nextDeadline, next <= end {
            now = max(next, now)
            pairing.timePassed(at: now)
            collect()
        }
        now = end
    }

    private func collect() {
        for order in pairing.takeOrders() {
            switch order {
            case .request(let request):
                collected.append("\(request.method) \(request.url) \(String(decoding: request.body, as: UTF8.self))")
            case .invite(let invitation):
                collected.append(
                    "invite \(invitation.code) \(invitation.browserURL ?? "-") \(Int(invitation.lifetime.seconds))")
            case .waiting(let elapsed, let remaining):
                collected.append("waiting \(Int(elapsed.seconds)) \(Int(remaining.seconds))")
            case .claimed(let claim): collected.append("claimed \(claim.token.text) \(claim.installation ?? "-")")
            case .failed(let failure): collected.append("failed \(failure.kind)")
            }
        }
    }
}

@Suite("Pairing")
struct PairingTests {
    private static let poll = "GET https://relay.example/v1/pairing/poll?code=9FP9SVT&timeout=25 "

    private func started(_ members: String = "") -> PairingConversation {
        let talk = PairingConversation()
        talk.answer(#"{"code":"9FP9SVT"\#(members)}"#)
        _ = talk.lines
        return talk
    }

    @Test("the shipping form: code in the address, polled again at once after a long wait, claimed")
    func shippingForm() {
        let talk = PairingConversation()
        #expect(
            talk.lines == [
                "POST https://relay.example/v1/pairing/start "
                    + #"{"connector_type_id":"openclaw","connector_type":"openclaw","host_label":"work"}"#
            ])
        let url = "https://relay.example/v1/pairing/redeem?code=9FP9SVT"
        talk.answer(#"{"code":"9FP9SVT","expires_at":\#(PairingConversation.wall + 120_000),"browser_url":"\#(url)"}"#)
        #expect(talk.lines == ["invite 9FP9SVT \(url) 120", Self.poll])
        talk.pass(14)
        talk.answer(#"{"status":"pending"}"#)
        talk.pass(0)
        #expect(talk.lines == [Self.poll])
        talk.answer(
            #"{"status":"claimed","bot_token":"inst_1:s","installation_id":"inst_1","sophon_ws_url":"wss://a"}"#)
        #expect(talk.lines == ["claimed inst_1:s inst_1"])
        #expect(talk.pairing.nextDeadline == nil)
    }

    @Test("the documented form: a poll token in the body, seconds, paired")
    func documentedForm() {
        let talk = PairingConversation()
        _ = talk.lines
        talk.answer(#"{"code":"9FP9SVT","expires_at":\#(PairingConversation.wall / 1_000 + 60),"poll_token":"p_1"}"#)
        let poll = #"POST https://relay.example/v1/pairing/poll {"poll_token":"p_1"}"#
        #expect(talk.lines == ["invite 9FP9SVT - 60", poll])
        talk.answer(#"{"status":"pending"}"#)
        talk.pass(1.5)
        #expect(talk.lines.isEmpty)
        talk.pass(0.5)
        #expect(talk.lines == [poll])
        talk.answer(#"{"status":"paired","installation_id":"inst_1","token":"inst_1:s"}"#)
        #expect(talk.lines == ["claimed inst_1:s inst_1"])
    }

    @Test("an installation whose name a shell or a terminal would take for its own is not paired with")
    func installationName() {
        let talk = PairingConversation()
        _ = talk.lines
        talk.answer(#"{"code":"9FP9SVT","expires_at":\#(PairingConversation.wall + 120_000)}"#)
        _ = talk.lines
        talk.answer(#"{"status":"claimed","bot_token":"inst_1:s","installation_id":"$(reboot)"}"#)
        #expect(talk.lines == ["failed refused"])
    }

    @Test("a code that the phone made needs no start, and nonsense is refused before it is sent")
    func phoneCode() {
        #expect(PairingConversation(code: "9FP9SVT").lines == ["invite 9FP9SVT - 120", Self.poll])
        #expect(PairingConversation(code: "a&b=c").lines == ["failed refused"])
    }

    @Test("waiting is told every 15 seconds, and the time that is left")
    func ticks() {
        let talk = started()
        talk.pass(31)
        #expect(talk.lines == ["waiting 15 105", "waiting 30 90"])
    }

    @Test("the relay's word that the code has expired, and its silence, are different ends")
    func ends() {
        let expired = started()
        expired.answer(#"{"status":"expired"}"#)
        #expect(expired.lines == ["failed codeExpired"])
        let silent = started()
        silent.pass(124)
        #expect(silent.lines.last == "waiting 120 0")
        silent.pass(1)
        #expect(silent.lines == ["failed timedOut"])
        silent.answer(#"{"status":"claimed","token":"late"}"#)
        #expect(silent.lines.isEmpty)
    }

    @Test("an expiry that cannot be true is not believed", arguments: ["1", "99999999999999", #""soon""#])
    func oddExpiry(expiresAt: String) {
        let talk = PairingConversation()
        _ = talk.lines
        talk.answer(#"{"code":"9FP9SVT","expires_at":\#(expiresAt)}"#)
        #expect(talk.lines.first == "invite 9FP9SVT - 120")
    }

    @Test(
        "an address that a browser should not be given is left out",
        arguments: ["http://relay.example/a", "file:///etc/passwd", "https://a/b c", "javascript:1", "https://a/'"])
    func oddBrowserURL(url: String) {
        let talk = PairingConversation()
        _ = talk.lines
        talk.answer(#"{"code":"9FP9SVT","browser_url":"\#(url)"}"#)
        #expect(talk.lines.first == "invite 9FP9SVT - 120")
    }

    @Test("a start that fails is tried three times, then the relay is unreachable")
    func unreachable() {
        let talk = PairingConversation()
        _ = talk.lines
        talk.fail()
        talk.pass(0.5)
        talk.respond(502, "<html>")
        #expect(talk.lines.count == 1)
        talk.pass(1)
        #expect(talk.lines.count == 1)
        talk.fail()
        #expect(talk.lines == ["failed unreachable"])
    }

    @Test("a refusal by the relay itself is final", arguments: [400, 403])
    func refused(status: Int) {
        let talk = PairingConversation()
        _ = talk.lines
        talk.respond(status, #"{"ok":false,"error":{"code":"invalid_request","message":"no"}}"#)
        #expect(talk.lines == ["failed refused"])
    }

    @Test("polls that fail are repeated with growing pauses, and as the relay asks")
    func failingPolls() {
        let talk = started()
        talk.fail()
        talk.pass(0.25)
        #expect(talk.lines.isEmpty)
        talk.pass(0.25)
        #expect(talk.lines == [Self.poll])
        talk.respond(429, #"{"ok":false,"error":{"code":"rate_limited","message":"m","retry_after_ms":4000}}"#)
        talk.pass(3.5)
        #expect(talk.lines.isEmpty)
        talk.pass(0.5)
        #expect(talk.lines == [Self.poll])
        talk.respond(404, "not here")
        talk.pass(5)
        #expect(talk.lines == [Self.poll])
        talk.respond(410, #"{"ok":false,"error":{"code":"gone","message":"m"}}"#)
        #expect(talk.lines == ["failed codeExpired"])
    }

    @Test("claimed without a token is no pairing")
    func noToken() {
        let talk = started()
        talk.answer(#"{"status":"claimed","installation_id":"inst_1"}"#)
        #expect(talk.lines == ["failed refused"])
    }
}
