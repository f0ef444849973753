import AgentKit
import OpenClaw
import Testing
import Vocabulary
import Worlds

@Suite("The handshake with an OpenClaw gateway")
struct OpenClawHandshakeTests {
    /// A conversation up to the gateway's answer to the introduction.
    private static func introduced(
        era: GatewayEra = .e3, _ change: (inout OpenClawSettings) -> Void = { _ in }
    ) -> OpenClawConversation {
        let talk = OpenClawConversation(era: era, change: change)
        talk.start()
        talk.open()
        talk.challenge()
        return talk
    }

    private static func refused(
        _ error: String, _ change: (inout OpenClawSettings) -> Void = { _ in }
    ) -> OpenClawConversation {
        let talk = introduced(change)
        talk.answer("connect", nil, error: error)
        return talk
    }

    private static func error(_ detail: String, code: String = "INVALID_REQUEST", more: String = "") -> String {
        #"{"code":"\#(code)","message":"no","details":{"code":"\#(detail)"\#(more)}}"#
    }

    @Test("the bridge waits for the challenge, then introduces itself with a signature over it")
    func introduction() {
        let talk = OpenClawConversation()
        talk.start()
        #expect(talk.orders == [.dial(url: "ws://127.0.0.1:18789", headers: [])])
        talk.open()
        #expect(talk.sent.isEmpty)
        talk.challenge(nonce: "n1")
        let scopes = "operator.read,operator.write,operator.approvals"
        let signed = "v3|d1|gateway-client|backend|operator|\(scopes)|1770000000000|secret|n1|linux|"
        let signature = Base64URL.encode(Array(signed.utf8.reversed()))
        #expect(
            talk.sent.last?.params == """
                {"minProtocol":3,"maxProtocol":4,"client":{"id":"gateway-client","displayName":"Test bridge",\
                "version":"1.0.0","platform":"linux","mode":"backend"},"role":"operator",\
                "scopes":["operator.read","operator.write","operator.approvals"],"caps":["tool-events"],\
                "auth":{"token":"secret"},"device":{"id":"d1","publicKey":"\(Base64URL.encode(MirrorSigner().publicKey))",\
                "signature":"\(signature)","signedAt":1770000000000,"nonce":"n1"}}
                """)
    }

    @Test("the greeting of each era makes the link, and nothing is observed before it", arguments: GatewayEra.allCases)
    func greeting(_ era: GatewayEra) {
        let talk = Self.introduced(era: era)
        #expect(talk.observations == [])
        talk.answer("connect", talk.hello)
        #expect(talk.observations == [.linkBack])
        #expect(talk.methods.contains("sessions.subscribe") == (era != .e1))
        #expect(talk.methods.contains("exec.approval.list") == (era != .e1))
        let granted = era == .e1 || era == .e2 ? nil : talk.scopes
        #expect(
            talk.notes == [.connected(version: era.version, protocol: era.protocolVersion, scopes: granted)])
    }

    @Test("a device token is kept, and used where there is no other")
    func deviceToken() {
        let talk = Self.introduced { $0.token = nil }
        #expect(talk.sent.last?.params.contains("\"auth\"") == false)
        talk.answer("connect", talk.hello)
        let expected = OpenClawSession.DeviceToken(
            gateway: "ws://127.0.0.1:18789", deviceID: "d1", role: "operator",
            scopes: ["operator.read", "operator.write", "operator.approvals"], token: "dt-1")
        #expect(talk.orders.contains(.saveDeviceToken(expected)))
        talk.close(1006)
        talk.pass(2)
        talk.open()
        talk.clear()
        talk.challenge()
        #expect(talk.sent.last?.params.contains(#""auth":{"token":"dt-1","deviceToken":"dt-1"}"#) == true)
    }

    @Test(
        "the newer cap is declared only to a gateway that has shown itself to be new", arguments: [GatewayEra.e2, .e3])
    func capabilities(_ era: GatewayEra) {
        let talk = OpenClawConversation(era: era)
        talk.goLive()
        talk.close(1006)
        talk.pass(2)
        talk.open()
        talk.clear()
        talk.challenge()
        #expect(talk.sent.last?.params.contains("chat-only-assistant-text") == false)
    }

    @Test("scopes that are missing are named with the remedy, and the link stays")
    func missingScopes() {
        let talk = Self.introduced()
        talk.scopes = ["operator.read"]
        talk.answer("connect", talk.hello)
        #expect(talk.observations == [.linkBack])
        #expect(
            talk.notes.contains { note in
                guard case .missingScopes(let missing, let remedy) = note else { return false }
                return missing == ["operator.write", "operator.approvals"] && remedy.contains("openclaw devices")
            })
        #expect(!talk.methods.contains("exec.approval.list"))
        talk.clear()
        talk.send()
        #expect(talk.sent.isEmpty)
        guard case .sendAnswered(_, .refused(let message))? = talk.observations.last else {
            Issue.record("the message was not refused")
            return
        }
        #expect(message.contains("operator.write"))
    }

    @Test("a signature that is refused is made the old way once, on a new socket, and then waited out")
    func signature() {
        let talk = Self.refused(Self.error("DEVICE_AUTH_SIGNATURE_INVALID"))
        #expect(talk.closeCodes == [1000])
        #expect(talk.dials == 2)
        talk.open()
        talk.clear()
        talk.challenge()
        let scopes = "operator.read,operator.write,operator.approvals"
        let signed = "v2|d1|gateway-client|backend|operator|\(scopes)|1770000000000|secret|n1"
        #expect(talk.sent.last?.params.contains(Base64URL.encode(Array(signed.utf8.reversed()))) == true)
        talk.answer("connect", nil, error: Self.error("DEVICE_AUTH_SIGNATURE_INVALID"))
        #expect(talk.trouble?.kind == .device)
        #expect(talk.wait == 60)
        talk.pass(60)
        talk.open()
        talk.clear()
        talk.challenge()
        #expect(!talk.sent.isEmpty)
        #expect(talk.sent.last?.params.contains(Base64URL.encode(Array(signed.utf8.reversed()))) == false)
    }

    @Test("a shared token that is refused gives way once to the device's own, where that may be shown")
    func tokenMismatch() {
        let mismatch = Self.error("AUTH_TOKEN_MISMATCH")
        let talk = Self.refused(mismatch) {
            $0.deviceToken = "kept"
            $0.mayShowDeviceToken = true
        }
        #expect(talk.dials == 2)
        talk.open()
        talk.clear()
        talk.challenge()
        #expect(talk.sent.last?.params.contains(#""token":"kept","deviceToken":"kept""#) == true)
        talk.answer("connect", nil, error: mismatch)
        #expect(talk.trouble?.kind == .credential)
        #expect(Self.refused(mismatch) { $0.deviceToken = "kept" }.trouble?.kind == .credential)
    }

    @Test(
        "what only a person can mend is tried again each minute, and says what to do",
        arguments: [
            ("AUTH_TOKEN_MISSING", "OPENCLAW_TOKEN"), ("AUTH_PASSWORD_MISSING", "password"),
            ("AUTH_PASSWORD_MISMATCH", "password"),
            ("AUTH_BOOTSTRAP_TOKEN_INVALID", "OPENCLAW_TOKEN"), ("AUTH_DEVICE_TOKEN_MISMATCH", "approve"),
            ("AUTH_SCOPE_MISMATCH", "approve"), ("CONTROL_UI_DEVICE_IDENTITY_REQUIRED", "device key"),
            ("DEVICE_IDENTITY_REQUIRED", "device key"), ("CLIENT_VERSION_MISMATCH", "Update"),
            ("PAIRING_REJECTED", "openclaw devices approve"), ("AUTH_TOKEN_MISMATCH", "OPENCLAW_TOKEN"),
            ("DEVICE_AUTH_DEVICE_ID_MISMATCH", "device key"), ("DEVICE_AUTH_PUBLIC_KEY_INVALID", "device key"),
        ])
    func mendable(_ detail: String, _ word: String) {
        let talk = Self.refused(Self.error(detail))
        #expect(talk.trouble?.remedy.contains(word) == true)
        #expect([.agentUnreachable, .agentTokenMissing].contains(talk.trouble?.exitCode))
        #expect(talk.wait == 60)
        talk.pass(59)
        #expect(talk.dials == 1)
        talk.pass(1)
        #expect(talk.dials == 2)
        talk.open()
        talk.challenge()
        talk.answer("connect", talk.hello)
        #expect(talk.observations.last == .linkBack)
    }

    @Test("after too many attempts the gateway is left alone for a quarter of an hour")
    func rateLimited() {
        let talk = Self.refused(Self.error("AUTH_RATE_LIMITED"))
        #expect(talk.wait == 900)
        #expect(talk.trouble?.remedy.contains("Wait") == true)
        talk.pass(899)
        #expect(talk.dials == 1)
        talk.pass(1)
        #expect(talk.dials == 2)
    }

    @Test("other credentials are tried at once where the link waits, and only then")
    func renewed() {
        let talk = Self.refused(Self.error("AUTH_TOKEN_MISMATCH"))
        var settings = talk.settings
        talk.use(settings)
        #expect(talk.dials == 1)
        settings.token = "other"
        talk.use(settings)
        #expect(talk.dials == 2)
        talk.open()
        talk.clear()
        talk.challenge()
        #expect(talk.sent.last?.params.contains(#""token":"other""#) == true)
        talk.answer("connect", talk.hello)
        settings.token = "third"
        talk.use(settings)
        #expect(talk.closeCodes == [])
        #expect(talk.dials == 0)
    }

    @Test(
        "what may mend itself is tried again, with what a person could do meanwhile",
        arguments: [
            "OPERATOR_ACCESS_DENIED", "AUTH_UNAUTHORIZED", "AUTH_TOKEN_NOT_CONFIGURED", "DEVICE_AUTH_SIGNATURE_EXPIRED",
            "DEVICE_AUTH_NONCE_MISMATCH", "PAIRING_EXPIRED", "AUTH_TAILSCALE_WHOIS_FAILED", "SOMETHING_NEW",
        ])
    func retries(_ detail: String) {
        let talk = Self.refused(Self.error(detail))
        #expect(talk.wait == 1)
        #expect(talk.trouble?.kind == .passing)
        #expect(talk.trouble?.remedy.isEmpty == false)
    }

    @Test("a request to pair is tried again every 15 s, and names the command")
    func pairing() {
        let wait = Self.error(
            "PAIRING_REQUIRED", code: "NOT_PAIRED",
            more: #","requestId":"req-1","reason":"not-paired","recommendedNextStep":"wait_then_retry""#)
        let talk = Self.refused(wait)
        #expect(
            talk.trouble?.remedy == "Approve this bridge on the gateway's machine: openclaw devices approve req-1")
        #expect(talk.wait == 15)
        let pausing = Self.error("PAIRING_REQUIRED", code: "NOT_PAIRED", more: #","pauseReconnect":true"#)
        #expect(Self.refused(pausing).wait == 15)
        for hint in ["600000", "0"] {
            let hinted = Self.error("PAIRING_REQUIRED", code: "NOT_PAIRED", more: #","retryAfterMs":\#(hint)"#)
            #expect(Self.refused(hinted).wait == 15)
        }
        let early = #"{"code":"NOT_PAIRED","message":"pairing required","details":{"requestId":"a;rm -rf"}}"#
        #expect(Self.refused(early).trouble?.kind == .pairing)
        #expect(Self.refused(early).trouble?.remedy.contains("rm") == false)
    }

    @Test(
        "a gateway that speaks another protocol says which side to update",
        arguments: [(5, "Update sophon-bridge."), (2, "Update OpenClaw.")])
    func version(_ theirs: Int, _ remedy: String) {
        let talk = Self.refused(
            #"{"code":"INVALID_REQUEST","message":"protocol mismatch","details":{"expectedProtocol":\#(theirs)}}"#)
        #expect(talk.trouble?.kind == .version)
        #expect(talk.trouble?.remedy == remedy)
        #expect(talk.trouble?.exitCode == .agentUnreachable)
        #expect(talk.wait == 60)
    }

    @Test(
        "gateways that send no details are understood by their words",
        arguments: [
            ("unauthorized: gateway token missing (provide token)", OpenClawSession.Trouble.Kind.credential),
            ("unauthorized: gateway token mismatch", .credential), ("device identity required", .device),
            ("unauthorized: gateway password mismatch", .credential),
        ])
    func words(_ message: String, _ kind: OpenClawSession.Trouble.Kind) {
        #expect(Self.refused(#"{"code":"INVALID_REQUEST","message":"\#(message)"}"#).trouble?.kind == kind)
        let talk = Self.introduced()
        talk.close(1008, message)
        #expect(talk.trouble?.kind == kind)
    }

    @Test("a gateway that starts up is tried again after its own delay, which does not grow the back-off")
    func startingUp() {
        let talk = Self.refused(
            """
            {"code":"UNAVAILABLE","message":"starting","retryable":true,"retryAfterMs":700,\
            "details":{"reason":"startup-sidecars"}}
            """)
        #expect(talk.wait == 0.7)
        talk.pass(1)
        talk.fail("refused")
        #expect(talk.wait == 1)
    }

    @Test(
        "each close before the greeting has its own meaning",
        arguments: [
            (1000, "", 1.0), (1006, "", 1), (1008, "something", 1), (1012, "service restart", 1), (1013, "", 2),
        ])
    func closes(_ code: Int, _ reason: String, _ seconds: Double) {
        let talk = Self.introduced()
        talk.close(code, reason)
        #expect(talk.wait == seconds)
    }

    @Test("a close for the protocol's sake is tried again each minute")
    func protocolClose() {
        let talk = Self.introduced()
        talk.close(1002, "protocol mismatch")
        #expect(talk.trouble?.kind == .version)
        #expect(talk.wait == 60)
    }

    @Test(
        "an answer that is no WebSocket is told apart: refused, not there, not now",
        arguments: [401, 403, 404, 426, 429, 502])
    func upgrade(_ status: Int) {
        let talk = OpenClawConversation()
        talk.start()
        talk.refuse(status)
        #expect((talk.trouble?.kind == .credential) == [401, 403].contains(status))
        #expect((talk.trouble == nil) == [429, 502].contains(status))
        #expect(talk.wait == (talk.trouble?.kind == .credential ? 60 : 1))
    }

    @Test("each step of the handshake has its time limit")
    func limits() {
        let talk = OpenClawConversation()
        talk.start()
        talk.pass(30)
        #expect(talk.closeCodes == [1000])
        talk.pass(1)
        #expect(talk.dials == 2)
        talk.open()
        talk.pass(15)
        #expect(talk.closeCodes == [1000, 1000])
        talk.pass(2)
        talk.open()
        talk.challenge()
        talk.pass(15)
        #expect(talk.closeCodes == [1000, 1000, 1000])
        #expect(talk.observations == [])
    }
}
