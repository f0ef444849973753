import AgentKit
import Oppi
import Testing
import Vocabulary

@Suite("Oppi, when the configuration or the token changes")
struct OppiReloadTests {
    private static let address = WebAddress(.http, "127.0.0.1", 7749)
    private static let stream = "open 1 ws://127.0.0.1:7749/stream"
    private static let file = Secret(#"{"deviceToken":"dt_one","pairing":"\#(StableHash.text(of: "pt_abc"))"}"#)

    private static func settings(_ pairingToken: String = "pt_abc") -> OppiSettings {
        let link = OppiLinks.link(OppiLinks.plain.replacing("pt_abc", with: pairingToken))
        return OppiSettings(address: address, invite: OppiInvite(link))
    }

    /// Live with a token from pairing.
    private func paired() -> OppiConversation {
        var oppi = OppiConversation(settings: Self.settings())
        _ = oppi.finishes("secret", .secret(Self.file))
        _ = oppi.greets()
        return oppi
    }

    @Test("what has nothing to do with the link leaves it alone")
    func workspace() {
        var oppi = paired()
        var changed = Self.settings()
        changed.workspace = "garden"
        changed.displayName = "Shed"
        #expect(oppi.uses(changed) == [])
        #expect(oppi.sends("r1", "Hi") == ["POST /workspaces/w1/sessions"])
        _ = oppi.answers("POST /workspaces/w1/sessions", 201, #"{"session":{"id":"s1"}}"#)
        #expect(oppi.keeps() == ["open 2 ws://127.0.0.1:7749/stream"])
    }

    @Test("another token moves the link at once, and so does another address")
    func moved() {
        var oppi = OppiConversation.running()
        let other = OppiSettings(address: Self.address, token: Secret("sk_two"))
        #expect(oppi.uses(other) == ["close 1", "close 2", "link lost", Self.stream])
        var away = OppiConversation.live()
        let elsewhere = OppiSettings(address: WebAddress(.http, "127.0.0.1", 7750), token: Secret("sk_one"))
        #expect(away.uses(elsewhere) == ["close 1", "link lost", "open 1 ws://127.0.0.1:7750/stream"])
    }

    @Test("another certificate needs no other token, be it one that could not be kept")
    func trust() {
        var oppi = OppiConversation(settings: Self.settings())
        _ = oppi.finishes("secret", .secret(nil))
        _ = oppi.answers("POST /pair", 200, #"{"deviceToken":"dt_one"}"#)
        _ = oppi.finishes("keep secret", .failed(WorkFailure(.other, "no room")))
        _ = oppi.greets()
        var changed = Self.settings()
        changed.trust = Trust(.leaf([UInt8](repeating: 9, count: 32)))
        #expect(oppi.uses(changed) == ["close 1", "link lost", Self.stream])
    }

    @Test("a pairing that is under way is finished, whatever is changed")
    func duringPairing() {
        var oppi = OppiConversation(settings: Self.settings())
        _ = oppi.finishes("secret", .secret(nil))
        var changed = Self.settings()
        changed.workspace = "garden"
        #expect(oppi.uses(changed) == [])
        let kept = oppi.answers("POST /pair", 200, #"{"deviceToken":"dt_one"}"#)
        #expect(kept.first?.hasPrefix("keep secret") == true && kept.count == 1, "\(kept)")
        #expect(oppi.finishes("keep secret", .done) == [Self.stream])
    }

    @Test("another link that comes during a pairing is used after it")
    func otherLinkDuringPairing() {
        var oppi = OppiConversation(settings: Self.settings())
        _ = oppi.finishes("secret", .secret(nil))
        #expect(oppi.uses(Self.settings("pt_new")) == [])
        _ = oppi.answers("POST /pair", 200, #"{"deviceToken":"dt_one"}"#)
        #expect(oppi.finishes("keep secret", .done).first?.hasPrefix("secret oppi-token-") == true)
        #expect(oppi.finishes("secret", .secret(Self.file)) == ["POST /pair"])
        // If the first pairing fails, the new link is used at once.
        var failing = OppiConversation(settings: Self.settings())
        _ = failing.finishes("secret", .secret(nil))
        _ = failing.uses(Self.settings("pt_new"))
        let lines = failing.answers("POST /pair", 401, #"{"error":"Invalid or expired pairing token"}"#)
        #expect(lines.count == 1 && lines[0].hasPrefix("secret oppi-token-"), "\(lines)")
    }

    @Test("a sleep during a pairing does not lose the token")
    func sleepDuringPairing() {
        var oppi = OppiConversation(settings: Self.settings())
        _ = oppi.finishes("secret", .secret(nil))
        _ = oppi.sleeps()
        #expect(oppi.openCalls == ["POST /pair"])
        #expect(oppi.answers("POST /pair", 200, #"{"deviceToken":"dt_one"}"#).first?.hasPrefix("keep secret") == true)
        #expect(oppi.finishes("keep secret", .done) == [Self.stream])
    }

    @Test("the file of the address before is not taken for the one of now")
    func lateFile() {
        var oppi = OppiConversation(settings: Self.settings())
        var elsewhere = Self.settings()
        elsewhere.address = WebAddress(.http, "127.0.0.1", 7750)
        #expect(oppi.uses(elsewhere).last?.hasPrefix("secret oppi-token-") == true)
        #expect(oppi.finishes("secret", .secret(Self.file)) == [])
        #expect(oppi.finishes("secret", .secret(Self.file)) == ["open 1 ws://127.0.0.1:7750/stream"])
    }

    @Test("a certificate that is not believed is tried again each minute, and the remedy is said")
    func untrusted() {
        var oppi = OppiConversation()
        let lines = oppi.happens(.failed(message: "another certificate", .untrusted))
        #expect(
            lines.count == 1 && lines[0].hasPrefix("waits 60 s: another certificate; if Oppi's certificate"), "\(lines)"
        )
        var pairing = OppiConversation(settings: Self.settings())
        _ = pairing.finishes("secret", .secret(nil))
        let refused = pairing.finishes("POST /pair", .failed(WorkFailure(.untrusted, "another certificate")))
        #expect(refused.first?.hasPrefix("waits 60 s: another certificate; if Oppi's certificate") == true)
        #expect(pairing.waits(61_000).first?.hasPrefix("secret") == true)
    }

    // MARK: Answers of the link before

    @Test("a token that was refused on the link before says nothing of this one")
    func lateRefusal() {
        var oppi = OppiConversation.live()
        _ = oppi.sends("r1", "Hi")
        _ = oppi.happens(.closed(code: 1006, reason: ""))
        #expect(oppi.waits(1_500).contains(Self.stream))
        #expect(oppi.answers("POST /workspaces/w1/sessions", 401, #"{"error":"Unauthorized"}"#) == [])
        #expect(oppi.greets().contains("POST /workspaces/w1/sessions"))
    }

    @Test("a list of permissions that was asked for on the link before settles none")
    func lateList() {
        var oppi = OppiConversation.running()
        let permission =
            #"{"type":"permission_request","id":"p1","sessionId":"s1","tool":"bash","input":{},"displaySummary":"ls","reason":"r","#
            + #""timeoutAt":\#(OppiConversation.wall + 600_000)}"#
        #expect(!oppi.hears(permission, on: 2).isEmpty)
        #expect(oppi.waits(3_500).contains("GET /permissions/pending"))
        _ = oppi.happens(.closed(code: 1006, reason: ""))
        _ = oppi.waits(1_500)
        _ = oppi.opens()
        _ = oppi.hears(#"{"type":"stream_connected","userName":"shed"}"#, on: 1)
        _ = oppi.answersNewest("GET /server/info", 200, "{}")
        _ = oppi.answersNewest("GET /workspaces", 200, OppiConversation.workspaces)
        #expect(oppi.answersNewest("GET /permissions/pending", 200, oppi.pending("[]")).contains("link back"))
        #expect(oppi.answers("GET /permissions/pending", 200, oppi.pending("[]")) == [])
        let lines = oppi.answersNewest("GET /permissions/pending", 200, oppi.pending("[]"))
        #expect(lines.contains { $0.contains("approval settled p1") }, "\(lines)")
    }

    @Test(
        "a refused token ends the message that was about to leave, and holds its chat back no longer",
        arguments: [true, false])
    func refusedPlace(_ isMade: Bool) {
        let several = #"{"workspaces":[{"id":"w1","name":"garden"},{"id":"w2","name":"shed"}]}"#
        var oppi = OppiConversation()
        _ = oppi.greets(workspaces: isMade ? OppiConversation.workspaces : several)
        let call = isMade ? "POST /workspaces/w1/sessions" : "GET /workspaces"
        #expect(oppi.sends("r1", "Hi") == [call])
        let lines = oppi.answers(call, 401, #"{"error":"Unauthorized"}"#)
        #expect(lines.count > 1 && lines[0].hasPrefix("send r1 not made") && lines[1] == "close 1", "\(lines)")
        _ = oppi.waits(61_000)
        _ = oppi.greets()
        #expect(oppi.sends("r2", "Hi") == ["POST /workspaces/w1/sessions"])
    }

    @Test("a session is where it was made, whatever the configuration says by then")
    func otherWorkspaceMeanwhile() {
        var oppi = OppiConversation.live()
        _ = oppi.sends("r1", "Hi")
        var changed = OppiSettings(address: Self.address, token: Secret("sk_one"))
        changed.workspace = "nowhere"
        _ = oppi.uses(changed)
        let lines = oppi.answers("POST /workspaces/w1/sessions", 201, #"{"session":{"id":"s1"}}"#)
        #expect(lines.first?.hasPrefix("keep session:oppi:ses_1=w1 s1 r1") == true, "\(lines)")
    }
}
