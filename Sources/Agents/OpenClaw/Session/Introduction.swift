import Vocabulary

/// How the bridge introduces itself on the next socket, from the configuration and from
/// the gateways of earlier sockets (openclaw.md#handshake).
///
/// - The device token is shown after the shared one was refused, and signed text v2 is used after v3 was refused,
///   each until a person must mend something: the next try then begins with the first choice.
struct Introduction {
    private(set) var settings: OpenClawSettings
    /// The gateway that was lost last. Shows whether the next one is that gateway restarted.
    private(set) var formerGateway: Gateway?
    private var proof = DeviceProof.Version.v3
    private var showsDeviceToken = false

    init(_ settings: OpenClawSettings) { self.settings = settings }

    /// True if the credentials differ.
    mutating func use(_ new: OpenClawSettings) -> Bool {
        let isNews =
            new.token != settings.token || new.password != settings.password || new.device?.id != settings.device?.id
            || new.deviceToken != settings.deviceToken
        settings = new
        guard isNews else { return false }
        showsDeviceToken = false
        proof = .v3
        return true
    }

    // MARK: The answer

    /// The device token that the gateway issued, if any, is shown from now on.
    mutating func accepted(by gateway: Gateway) -> OpenClawSession.DeviceToken? {
        guard let given = gateway.deviceToken, let device = settings.device else { return nil }
        settings.deviceToken = given.token
        return OpenClawSession.DeviceToken(
            gateway: settings.url, deviceID: device.id, role: given.role, scopes: given.scopes, token: given.token)
    }

    /// The next step. The next introduction takes it into account.
    mutating func refused(_ refusal: ConnectRefusal) -> ConnectVerdict {
        let verdict = ConnectVerdict(
            refusal,
            tried: .init(
                proof: settings.device == nil ? nil : proof, hasKeptToken: settings.deviceToken != nil,
                usedKeptToken: credential.isDeviceToken, mayShowDeviceToken: settings.mayShowDeviceToken))
        switch verdict {
        case .again(_, let trouble):
            // A person may have mended the refused credential by then: the next try begins with the first choice.
            if trouble?.kind == .credential { showsDeviceToken = false }
            if trouble?.kind == .device { proof = .v3 }
        case .signTheOldWay: proof = .v2
        case .showDeviceToken: showsDeviceToken = true
        }
        return verdict
    }

    mutating func lost(_ gateway: Gateway) { formerGateway = gateway }

    func scopeRemedy(_ missing: [String]) -> String {
        let what = missing.joined(separator: ", ")
        guard let device = settings.device else {
            return
                "The gateway did not grant \(what), because the bridge has no device key: give it a state directory, "
                + "so that one is made, and approve it with `openclaw devices approve`."
        }
        return "The gateway did not grant \(what): approve device \(device.id.prefix(12))… for them with "
            + "`openclaw devices list` and `openclaw devices approve <request id>`."
    }

    // MARK: Connect

    /// The token to show, and whether it is the device's own.
    private var credential: (token: String?, isDeviceToken: Bool) {
        if let token = settings.token, !token.isEmpty, !showsDeviceToken { return (token, false) }
        if settings.password != nil, !showsDeviceToken { return (nil, false) }
        return settings.deviceToken.map { ($0, true) } ?? (settings.token, false)
    }

    /// Parameters of `connect`. `challengedAt`: the gateway's own time.
    func params(nonce: String, challengedAt: Int) -> [UInt8] {
        let client = settings.client
        var names = JSONObjectWriter()
        names.string("id", "gateway-client")
        names.string("displayName", client.displayName)
        names.string("version", client.version)
        names.string("platform", client.platform)
        names.string("deviceFamily", client.deviceFamily)
        names.string("mode", "backend")
        names.string("instanceId", client.instanceID)

        let (token, isDeviceToken) = credential
        var auth = JSONObjectWriter()
        auth.string("token", token)
        if isDeviceToken { auth.string("deviceToken", token) }
        auth.string("password", settings.password)

        var params = JSONObjectWriter()
        params.integer("minProtocol", OpenClawSession.oldestProtocol)
        params.integer("maxProtocol", OpenClawSession.newestProtocol)
        params.raw("client", names.finish())
        params.string("role", OpenClawSession.role)
        params.raw("scopes", Self.list(settings.scopes))
        // Without `chat-only-assistant-text`, which would drop the frames that
        // supply the text (openclaw.md#client-caps-connectparamscaps).
        params.raw("caps", Self.list(["tool-events"]))
        if token != nil || settings.password != nil { params.raw("auth", auth.finish()) }
        if let device = settings.device {
            let text = DeviceProof(
                deviceID: device.id, clientID: "gateway-client", clientMode: "backend", role: OpenClawSession.role,
                scopes: settings.scopes, signedAtMilliseconds: challengedAt, token: token, nonce: nonce,
                platform: client.platform, deviceFamily: client.deviceFamily
            ).text(proof)
            params.raw("device", Self.proof(of: device, over: text, at: challengedAt, nonce))
        }
        return params.finish()
    }

    private static func proof(of device: OpenClawDevice, over text: String, at time: Int, _ nonce: String) -> [UInt8] {
        var proof = JSONObjectWriter()
        proof.string("id", device.id)
        proof.string("publicKey", Base64URL.encode(device.signer.publicKey))
        proof.string("signature", Base64URL.encode(device.signer.sign(Array(text.utf8))))
        proof.integer("signedAt", time)
        proof.string("nonce", nonce)
        return proof.finish()
    }

    private static func list(_ texts: [String]) -> [UInt8] {
        Array("[\(texts.map { JSONText.string($0).text }.joined(separator: ","))]".utf8)
    }
}
