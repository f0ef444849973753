import AgentKit
import Oppi
import Testing
import Vocabulary

enum OppiLinks {
    /// `{"v":3,"host":"shed","port":7750,"token":"","pairingToken":"pt_abc","name":"Shed","scheme":"https","tlsCertFingerprint":"sha256:…"}`
    static func link(_ json: String) -> String { "oppi://connect?v=3&invite=" + Base64URL.encode(Array(json.utf8)) }
    static let pin = "sha256:" + Base64URL.encode([UInt8](repeating: 7, count: 32))
    static let plain = #"{"v":3,"host":"10.0.0.5","port":7750,"token":"","pairingToken":"pt_abc","name":"Shed"}"#
    static let full =
        #"{"v":3,"host":"10.0.0.5","port":7750,"scheme":"https","token":"","pairingToken":"pt_abc","name":"Shed","tlsCertFingerprint":"\#(pin)"}"#
}

@Suite("How the bridge comes by a token for Oppi")
struct OppiAccessTests {
    @Test("the link says address, pin and token; without a scheme it means http")
    func link() throws {
        let plain = try #require(OppiInvite(OppiLinks.link(OppiLinks.plain)))
        #expect(plain.address.description == "http://10.0.0.5:7750" && plain.pin == nil)
        let full = try #require(OppiInvite(OppiLinks.link(OppiLinks.full)))
        #expect(full.address.description == "https://10.0.0.5:7750" && full.pin == [UInt8](repeating: 7, count: 32))
        #expect(OppiInvite("pi://pair?payload=" + OppiLinks.plain.replacing("\"", with: "%22")) == plain)
    }

    @Test(
        "a link that is none is refused",
        arguments: [
            "https://connect?invite=e30", "oppi://other?invite=e30", "oppi://connect", "oppi://connect?invite=%%%",
            OppiLinks.link(#"{"v":2,"host":"h","port":1,"pairingToken":"pt"}"#),
            OppiLinks.link(#"{"v":3,"host":"","port":1,"pairingToken":"pt"}"#),
            OppiLinks.link(#"{"v":3,"host":"h","port":0,"pairingToken":"pt"}"#),
            OppiLinks.link(#"{"v":3,"host":"h","port":70000,"pairingToken":"pt"}"#),
            OppiLinks.link(#"{"v":3,"host":"h","port":1,"token":"","pairingToken":""}"#),
            OppiLinks.link(#"{"v":3,"host":"h","port":1,"scheme":"ftp","pairingToken":"pt"}"#),
        ])
    func noLink(_ text: String) { #expect(OppiInvite(text) == nil) }

    private static func settings(_ link: String?) -> OppiSettings {
        var values = OppiValues()
        values.invite = link.map { Secret($0) }
        var settings = OppiSettings(values, isAddressSet: false, displayName: "Bridge")
        settings.address = WebAddress(.http, "127.0.0.1", 7749)
        return settings
    }

    @Test("the settings take from the link what the configuration does not say")
    func settings() {
        var values = OppiValues()
        values.invite = Secret(OppiLinks.link(OppiLinks.full))
        let fromLink = OppiSettings(values, isAddressSet: false, displayName: "Bridge")
        #expect(fromLink.address.description == "https://10.0.0.5:7750")
        #expect(fromLink.trust == Trust(.leaf([UInt8](repeating: 7, count: 32))))
        values.address = WebAddress(.http, "127.0.0.1", 1)
        values.token = Secret("sk_own")
        let configured = OppiSettings(values, isAddressSet: true, displayName: "Bridge")
        #expect(configured.address == WebAddress(.http, "127.0.0.1", 1) && configured.trust == Trust())
        #expect(configured.token == Secret("sk_own"))
    }

    @Test("it pairs once, keeps the token, and then connects")
    func pairs() {
        var oppi = OppiConversation(settings: Self.settings(OppiLinks.link(OppiLinks.plain)))
        #expect(oppi.begun.first?.hasPrefix("secret oppi-token-") == true)
        #expect(oppi.finishes("secret", .secret(nil)) == ["POST /pair"])
        let kept = oppi.answers("POST /pair", 200, #"{"deviceToken":"dt_one"}"#)
        #expect(kept.first?.hasPrefix("keep secret oppi-token-") == true && kept.first?.contains("dt_one") == true)
        #expect(oppi.finishes("keep secret", .done) == ["open 1 ws://127.0.0.1:7749/stream"])
        // The next process has the token, and does not use the link.
        let file = String(kept[0].split(separator: " ").last ?? "")
        var next = OppiConversation(settings: Self.settings(OppiLinks.link(OppiLinks.plain)))
        #expect(next.finishes("secret", .secret(Secret(file))) == ["open 1 ws://127.0.0.1:7749/stream"])
        // Another link begins another pairing.
        let other = OppiLinks.link(OppiLinks.plain.replacing("pt_abc", with: "pt_new"))
        var again = OppiConversation(settings: Self.settings(other))
        #expect(again.finishes("secret", .secret(Secret(file))) == ["POST /pair"])
        // The other link is used up, so the earlier token stays in use.
        let refused = again.answers("POST /pair", 401, #"{"error":"Invalid or expired pairing token"}"#)
        #expect(refused.last == "open 1 ws://127.0.0.1:7749/stream")
    }

    @Test("a link that is used up says what to do, and is looked at again each minute")
    func usedUp() {
        var oppi = OppiConversation(settings: Self.settings(OppiLinks.link(OppiLinks.plain)))
        _ = oppi.finishes("secret", .secret(nil))
        let lines = oppi.answers("POST /pair", 401, #"{"error":"Invalid or expired pairing token"}"#)
        #expect(lines.first?.contains("make a new invite link") == true && lines.last == "read settings", "\(lines)")
        #expect(lines.first?.contains("pt_abc") == false)
        #expect(oppi.waits(61_000).first?.hasPrefix("secret") == true)
    }

    @Test("with neither token nor link it says so")
    func nothing() {
        var oppi = OppiConversation(settings: Self.settings(nil))
        let lines = oppi.finishes("secret", .secret(nil))
        #expect(lines.first?.hasPrefix("waits 60 s: there is no token for Oppi; make a new invite link") == true)
    }
}
