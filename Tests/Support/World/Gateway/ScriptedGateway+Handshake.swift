import Vocabulary

// The introduction, judged in the documented order (openclaw.md#connect-params,
// openclaw.md#auth-and-pairing-rules-that-matter-to-a-bridge).
extension ScriptedGateway {
    private static let clientIDs: Set = [
        "webchat-ui", "openclaw-control-ui", "webchat", "cli", "gateway-client", "openclaw-macos", "openclaw-ios",
        "openclaw-android", "node-host", "test", "fingerprint", "openclaw-probe", "openclaw-tui",
    ]
    private static let clientModes: Set = ["webchat", "cli", "ui", "backend", "node", "probe", "test"]

    mutating func introduce(_ id: String, _ method: String, _ params: GatewayValue, at now: Instant) {
        guard method == "connect" else { return turnAway(id, "INVALID_REQUEST", "invalid handshake", at: now) }
        if let fault = faultOfIntroduction(params) {
            breaches.append("connect: \(fault)")
            return turnAway(id, "INVALID_REQUEST", "invalid connect params: \(fault)", at: now)
        }
        let range = (params["minProtocol"]?.number ?? 0)...max(params["maxProtocol"]?.number ?? 0, 1)
        guard range.contains(era.protocolVersion) else {
            refuse(
                id, "INVALID_REQUEST", "protocol mismatch",
                details: ["expectedProtocol": .integer(era.protocolVersion)])
            return close(1002, "protocol mismatch", at: now)
        }
        if let refusal { return turnAway(id, refusal, at: now) }
        let device = params["device"]
        if let device, let refusal = judge(device, params, at: now) {
            return turnAway(id, "INVALID_REQUEST", refusal.message, detail: refusal.detail, at: now)
        }
        connection?.isGreeted = true
        connection?.capabilities = Set(params["caps"]?.elements.compactMap(\.string) ?? [])
        connection?.hasDevice = device != nil
        // Early gateways drop the scopes of a client without a device
        // (openclaw.md#auth-and-pairing-rules-that-matter-to-a-bridge).
        let keepsScopes = device != nil || era.isNew
        connection?.scopes = keepsScopes ? Set(params["scopes"]?.elements.compactMap(\.string) ?? []) : []
        answer(id, greeting(params, at: now))
        schedule(
            .tick(connection: connections), after: .milliseconds(era.tickMilliseconds), at: now)
    }

    private func greeting(_ params: GatewayValue, at now: Instant) -> GatewayValue {
        let uptime = Int((now - startedAt).nanoseconds / 1_000_000)
        let features: GatewayValue = [
            "methods": .array(era.methods.map { .text($0) }), "events": ["agent", "chat", "tick", "shutdown"],
        ]
        let snapshot: GatewayValue = [
            "presence": [], "health": [:], "stateVersion": ["presence": 1, "health": 1], "uptimeMs": .integer(uptime),
            "sessionDefaults": ["defaultAgentId": "main", "mainKey": "main", "mainSessionKey": "agent:main:main"],
        ]
        let hello: GatewayValue = [
            "type": "hello-ok", "protocol": .integer(era.protocolVersion),
            "server": ["version": "\(era.version)", "connId": "c\(connections)"], "features": features,
            "snapshot": snapshot,
            "policy": [
                "maxPayload": 26_214_400, "maxBufferedBytes": 52_428_800,
                "tickIntervalMs": .integer(era.tickMilliseconds),
            ],
        ]
        let auth: GatewayValue = ["role": "operator", "scopes": params["scopes"] ?? []]
        return hello.with("auth", era.isNew ? auth : nil)
    }

    /// Params are a closed schema: the gateway refuses unknown members (openclaw.md#frames).
    private func faultOfIntroduction(_ params: GatewayValue) -> String? {
        let known: Set = [
            "minProtocol", "maxProtocol", "client", "caps", "commands", "permissions", "pathEnv", "role", "scopes",
            "device", "auth", "locale", "userAgent",
        ]
        if let name = params.names.first(where: { !known.contains($0) }) { return "unexpected property '\(name)'" }
        guard let client = params["client"] else { return "no client" }
        var clientFields: Set = [
            "id", "displayName", "version", "platform", "deviceFamily", "modelIdentifier", "mode", "instanceId",
        ]
        if era == .e4 { clientFields.formUnion(["buildId", "timeZone"]) }
        if let name = client.names.first(where: { !clientFields.contains($0) }) {
            return "unexpected property 'client.\(name)'"
        }
        guard let name = client["id"]?.string, Self.clientIDs.contains(name.lowercased()) else { return "client.id" }
        guard let mode = client["mode"]?.string, Self.clientModes.contains(mode.lowercased()) else {
            return "client.mode"
        }
        guard client["version"]?.string != nil, client["platform"]?.string != nil else { return "client" }
        let auth: Set = ["token", "deviceToken", "password", "bootstrapToken"]
        if let name = params["auth"]?.names.first(where: { !auth.contains($0) }) { return "auth.\(name)" }
        guard let device = params["device"] else { return nil }
        return Set(device.names) == ["id", "publicKey", "signature", "signedAt", "nonce"] ? nil : "device"
    }

    private func judge(_ device: GatewayValue, _ params: GatewayValue, at now: Instant) -> (
        message: String, detail: String
    )? {
        let skew = abs((device["signedAt"]?.number ?? 0) - milliseconds(now))
        guard skew <= (era == .e4 ? 120_000 : 600_000) else {
            return ("device signature expired", "DEVICE_AUTH_SIGNATURE_EXPIRED")
        }
        guard device["nonce"]?.string == connection?.nonce else {
            return ("device nonce mismatch", "DEVICE_AUTH_NONCE_MISMATCH")
        }
        guard let checksSignature else { return nil }
        let versions = era.knowsNewerProof ? ["v3", "v2"] : ["v2"]
        let isGood = versions.contains {
            checksSignature(
                signedText($0, device, params), device["signature"]?.string ?? "", device["publicKey"]?.string ?? "")
        }
        return isGood ? nil : ("device signature invalid", "DEVICE_AUTH_SIGNATURE_INVALID")
    }

    private func signedText(_ version: String, _ device: GatewayValue, _ params: GatewayValue) -> String {
        let client = params["client"]
        let auth = params["auth"]
        let scopes = params["scopes"]?.elements.compactMap(\.string) ?? []
        let token = auth?["token"]?.string ?? auth?["deviceToken"]?.string ?? auth?["bootstrapToken"]?.string ?? ""
        var fields = [
            version, device["id"]?.string ?? "", client?["id"]?.string ?? "", client?["mode"]?.string ?? "",
            params["role"]?.string ?? "operator", scopes.joined(separator: ","),
            "\(device["signedAt"]?.number ?? 0)", token, connection?.nonce ?? "",
        ]
        if version == "v3" {
            fields += [client?["platform"]?.string ?? "", client?["deviceFamily"]?.string ?? ""].map { $0.lowercased() }
        }
        return fields.joined(separator: "|")
    }

    private mutating func turnAway(_ id: String, _ refusal: GatewayRefusal, at now: Instant) {
        introductionsRefused += 1
        guard !refusal.onlyCloses else { return close(1008, refusal.message, at: now) }
        var details: GatewayValue = [:]
        if era != .e1 { details = details.with("code", refusal.detail.map { .text($0) }) }
        details = details.with("requestId", refusal.request.map { .text($0) })
        refuse(id, refusal.code, refusal.message, details: details.names.isEmpty ? nil : details)
        close(1008, refusal.message, at: now)
    }

    /// E1 sends no details (openclaw.md#auth-and-pairing-rules-that-matter-to-a-bridge).
    private mutating func turnAway(
        _ id: String, _ code: String, _ message: String, detail: String? = nil, at now: Instant
    ) {
        refuse(id, code, message, details: era == .e1 ? nil : detail.map { ["code": "\($0)"] })
        close(1008, message, at: now)
    }
}
