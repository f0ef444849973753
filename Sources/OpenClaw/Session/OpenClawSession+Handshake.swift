import BridgeModel
import JSONReading

// From the dial to the greeting (openclaw.md#handshake).
extension OpenClawSession {
    mutating func dial(at now: Instant) {
        requests.dialled()
        life.dial(at: now)
        orders.append(.dial(url: settings.url, headers: []))
    }

    /// The first frame on a socket; the introduction is signed with the challenge's own time.
    mutating func challenged(_ root: FrameNode, _ type: FrameNode, at now: Instant) {
        guard case .greeting(.challenge, _) = life.state else { return }
        _ = decoder.read(root, type, at: now)
        let id = requests.nextID()
        let frame = request(
            id, "connect",
            introduction(
                nonce: root["payload"]?["nonce"]?.string ?? "",
                challengedAt: root["payload"]?["ts"]?.integer(in: .wallMilliseconds)
                    ?? Int(life.wallMilliseconds ?? 0)))
        _ = frame.withUnsafeBytes { decoder.sent($0, capacity: $0.count, at: now) }
        life.awaits(.hello(request: id), at: now)
        orders.append(.send(frame))
    }

    /// The token that is shown, and whether it is the device's own.
    private var credential: (token: String?, isDeviceToken: Bool) {
        if let token = settings.token, !token.isEmpty, !showsDeviceToken { return (token, false) }
        if settings.password != nil, !showsDeviceToken { return (nil, false) }
        return settings.deviceToken.map { ($0, true) } ?? (settings.token, false)
    }

    private func introduction(nonce: String, challengedAt: Int) -> [UInt8] {
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
        params.integer("minProtocol", Self.oldestProtocol)
        params.integer("maxProtocol", Self.newestProtocol)
        params.raw("client", names.finish())
        params.string("role", Self.role)
        params.raw("scopes", Self.list(settings.scopes))
        params.raw("caps", Self.list(capabilities))
        if token != nil || settings.password != nil { params.raw("auth", auth.finish()) }
        if let device = settings.device {
            let text = DeviceProof(
                deviceID: device.id, clientID: "gateway-client", clientMode: "backend", role: Self.role,
                scopes: settings.scopes, signedAtMilliseconds: challengedAt, token: token, nonce: nonce,
                platform: client.platform, deviceFamily: client.deviceFamily
            ).text(proof)
            params.raw("device", Self.proof(of: device, over: text, at: challengedAt, nonce))
        }
        return params.finish()
    }

    /// `chat-only-assistant-text` spares the assistant text that the decoder would drop (openclaw.md#client-caps-connectparamscaps). It is new, so it is said
    /// only to a gateway that has shown itself to be new enough.
    private var capabilities: [String] {
        (formerGateway?.protocolVersion ?? 0) >= 4 ? ["tool-events", "chat-only-assistant-text"] : ["tool-events"]
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

    // MARK: The answer

    mutating func introduced(_ root: FrameNode, at now: Instant) {
        if root["ok"]?.flag == true, let gateway = Gateway(root["payload"], at: now) {
            return greeted(by: gateway, at: now)
        }
        apply(ConnectRefusal(root["error"]), isSocketOpen: true, at: now)
    }

    private mutating func greeted(by gateway: Gateway, at now: Instant) {
        guard (Self.oldestProtocol...Self.newestProtocol).contains(gateway.protocolVersion) else {
            var refusal = ConnectRefusal(closeReason: "protocol mismatch")
            refusal.expectedProtocol = gateway.protocolVersion
            return apply(refusal, isSocketOpen: true, at: now)
        }
        life.greeted(Greeted(by: gateway), silence: gateway.tickInterval + gateway.tickInterval, at: now)
        sessionNames.defaultAgent = gateway.defaultAgent ?? "main"
        trouble = nil
        restartExpected = nil
        orders.append(
            .note(
                .connected(version: gateway.version, protocol: gateway.protocolVersion, scopes: gateway.scopes)))
        if let given = gateway.deviceToken, let device = settings.device {
            settings.deviceToken = given.token
            orders.append(
                .saveDeviceToken(
                    DeviceToken(
                        gateway: settings.url, deviceID: device.id, role: given.role, scopes: given.scopes,
                        token: given.token)))
        }
        let missing = settings.scopes.filter { gateway.grants($0) == false }
        if !missing.isEmpty { orders.append(.note(.missingScopes(missing, remedy: scopeRemedy(missing)))) }
        recover(at: now)
    }

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

    // MARK: Refusals and closes

    private mutating func apply(_ refusal: ConnectRefusal, isSocketOpen: Bool, at now: Instant) {
        let verdict = ConnectVerdict(
            refusal,
            tried: .init(
                proof: settings.device == nil ? nil : proof, hasKeptToken: settings.deviceToken != nil,
                usedKeptToken: credential.isDeviceToken, mayShowDeviceToken: settings.mayShowDeviceToken))
        let reason = "the gateway refused the connection: \(refusal.message)"
        if isSocketOpen { orders.append(.close(code: 1000, reason: "refused")) }
        switch verdict {
        case .again(let redial, let trouble):
            // What was refused may be mended by then: the next try begins with the first choice again.
            if trouble?.kind == .credential { showsDeviceToken = false }
            if trouble?.kind == .device { proof = .v3 }
            lose(trouble?.message ?? reason, redial, trouble, at: now)
        case .signTheOldWay:
            proof = .v2
            lose(reason, .atOnce, at: now)
        case .showDeviceToken:
            showsDeviceToken = true
            lose(reason, .atOnce, at: now)
        }
    }

    mutating func closedBeforeHello(_ code: Int, _ reason: String, at now: Instant) {
        let refusal = ConnectRefusal(closeReason: reason)
        switch code {
        case 1002 where refusal.detail == "PROTOCOL_MISMATCH", 1008 where refusal.detail != nil:
            apply(refusal, isSocketOpen: false, at: now)
        case 1008:
            let message = "the gateway closed the connection: \(reason)"
            lose(
                message, .byBackOff,
                Trouble(
                    kind: .passing, message: message,
                    remedy: "The gateway closed the connection (\(reason)). Look into its log with `openclaw logs`."),
                at: now)
        // A clean close is the gateway's own handshake timer (openclaw.md#challenge).
        case 1000: lose("the gateway was not quick enough to greet", .byBackOff, at: now)
        default: closedWhileLive(code, reason, at: now)
        }
    }

    mutating func closedWhileLive(_ code: Int, _ reason: String, at now: Instant) {
        let expected = restartExpected
        restartExpected = nil
        switch code {
        case 1012: lose("the gateway restarts", .after(expected ?? .seconds(1)), at: now)
        case 1013: lose("the gateway is starting", .after(expected ?? .seconds(2)), at: now)
        // Whatever was withdrawn in mid-session, the next introduction is told why in a form that can be acted on.
        case 1008: lose("the gateway closed the connection: \(reason)", .byBackOff, at: now)
        default:
            lose(
                reason.isEmpty
                    ? "the connection was closed (\(code))" : "the connection was closed (\(code), \(reason))",
                expected.map { .after($0) } ?? .byBackOff, at: now)
        }
    }

    /// A gateway has no credentials in the upgrade itself: such an answer comes from something before it, or instead of it.
    mutating func upgradeRefused(_ status: Int, at now: Instant) {
        let reason = "\(settings.url) answered with HTTP \(status)"
        switch status {
        case 401, 403:
            let message = "\(reason), not with a WebSocket: something before the gateway refuses us."
            lose(
                message, .after(ConnectVerdict.mendingInterval),
                Trouble(
                    kind: .credential, message: message,
                    remedy: "Set OPENCLAW_URL to the gateway itself, or let the proxy before it pass the bridge."),
                at: now)
        case 400..<500 where status != 408 && status != 425 && status != 429:
            lose(
                reason, .byBackOff,
                Trouble(
                    kind: .passing, message: reason,
                    remedy: "\(reason), which no OpenClaw gateway does: check OPENCLAW_URL and gateway.port."),
                at: now)
        default: lose(reason, .byBackOff, at: now)
        }
    }
}
