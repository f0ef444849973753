/// A code that a bridge polls until the user claims it.
struct PairingCode: Sendable {
    let code: String
    let pollToken: String
    let connector: String
    let startedAt: Moment
    /// The bridge's token, or nil before the claim.
    var token: String?
}

// Pairing (relay.md#pairing-the-shipping-form, relay.md#claiming). Starting and polling need no token. A claimed code returns the token at
// every poll, since the first answer may have been lost. All pairings lead to the one installation of this relay.
extension Relay {
    mutating func pairingCall(_ target: RequestTarget, _ request: RawRequest, headers: [RawHeader], at now: Moment)
        -> Exchange
    {
        let response: RawResponse
        do throws(Refusal) {
            let result = try pairingResult(target, request, at: now)
            let body = Array(#"{"ok":true,"result":"#.utf8) + result + Array("}".utf8)
            response = RawResponse(status: 200, headers: headers, body: body)
        } catch {
            response = RawResponse(status: error.status, headers: headers, body: error.body)
        }
        return Exchange(response: response, delivery: .normal)
    }

    private mutating func pairingResult(_ target: RequestTarget, _ request: RawRequest, at now: Moment) throws(Refusal)
        -> [UInt8]
    {
        switch (request.method, target.segments.dropFirst(2).first, target.segments.count) {
        case ("POST", "start", 3): return try startPairing(try Fields(body: request.body), at: now)
        case ("GET", "poll", 3):
            return status(of: try pairing(code: target.parameter("code")), .shipping, request, at: now)
        case ("POST", "poll", 3):
            var fields = try Fields(body: request.body)
            let (token, code) = (fields.optional("poll_token"), fields.optional("code"))
            try fields.check()
            let known = token == nil ? try pairing(code: code) : try pairing(pollToken: token)
            return status(of: known, .documented, request, at: now)
        default: throw Refusal(status: 404, code: "not_found", message: "There is nothing at this address.")
        }
    }

    /// Longest delay of a poll for news: its `timeout`, at most the relay's 25 s
    /// (relay.md#pairing-the-shipping-form). Nil if there are news, or the poll does not ask to wait.
    package func pairingWait(_ request: RawRequest, at now: Moment) -> Int64? {
        let target = RequestTarget(request.target)
        guard request.method == "GET", target.segments == ["v1", "pairing", "poll"],
            let seconds = target.parameter("timeout").flatMap({ Int64($0) }), seconds > 0,
            let pairing = try? pairing(code: target.parameter("code")), pairing.token == nil,
            !hasExpired(pairing, at: now)
        else { return nil }
        return min(seconds, 25) * 1_000
    }

    // MARK: Starting

    private mutating func startPairing(_ body: Fields, at now: Moment) throws(Refusal) -> [UInt8] {
        var body = body
        let shipped = body.optional("connector_type_id", atMost: 64)
        let documented = body.optional("connector_type", atMost: 64)
        _ = body.optional("host_label", atMost: 256)
        if (shipped ?? documented ?? "").isEmpty {
            body.complain("connector_type_id", .invalidType, "required", .malformedRequest)
        }
        try body.check()
        let pairing = addPairing(connector: shipped ?? documented ?? "", at: now)
        let form = options.pairingForm ?? (shipped == nil ? .documented : .shipping)
        let end = now.milliseconds + options.pairingLifetimeMilliseconds
        return JSONWriter.object { result in
            result.field("code", pairing.code)
            switch form {
            case .documented:
                result.field("expires_at", end / 1_000)
                result.field("poll_token", pairing.pollToken)
            case .shipping:
                result.field("expires_at", end)
                result.field("install_command", "")
                result.field("install_steps_md", "")
                result.object("connector") { connector in
                    connector.field("id", pairing.connector)
                    connector.field("display_name", pairing.connector)
                }
            }
        }
    }

    private mutating func addPairing(connector: String, at now: Moment) -> PairingCode {
        var code = ""
        repeat {
            code = String(identifiers.identifier("").uppercased().prefix(7))
        } while installation.isKnown(code: code)
        let pairing = PairingCode(
            code: code, pollToken: identifiers.identifier("p_"), connector: connector, startedAt: now)
        installation.add(pairing, limit: options.pairingLimit)
        return pairing
    }

    // MARK: Polling

    private func pairing(code: String?) throws(Refusal) -> PairingCode {
        guard let pairing = installation.pairing(where: { $0.code == code }) else {
            throw .notFound("pairing_not_found", "The code", breach: nil)
        }
        return pairing
    }

    private func pairing(pollToken: String?) throws(Refusal) -> PairingCode {
        guard let pairing = installation.pairing(where: { $0.pollToken == pollToken }) else {
            throw .notFound("pairing_not_found", "The poll token", breach: nil)
        }
        return pairing
    }

    private func hasExpired(_ pairing: PairingCode, at now: Moment) -> Bool {
        pairing.token == nil && now.milliseconds(since: pairing.startedAt) >= options.pairingLifetimeMilliseconds
    }

    private func status(
        of pairing: PairingCode, _ form: RelayOptions.PairingForm, _ request: RawRequest, at now: Moment
    ) -> [UInt8] {
        JSONWriter.object { result in
            guard let token = pairing.token else {
                result.field("status", hasExpired(pairing, at: now) ? "expired" : "pending")
                return
            }
            switch form {
            case .shipping:
                result.field("status", "claimed")
                result.field("bot_token", token)
                result.field("installation_id", options.installation)
                let host = request.headers.value(of: "host") ?? "localhost"
                result.field("sophon_ws_url", "ws://\(host)/v1/bridge/ws")
            case .documented:
                result.field("status", "paired")
                result.field("installation_id", options.installation)
                result.field("token", token)
            }
        }
    }

    // MARK: Claiming

    /// `POST /v1/me/pairing/claim`: the user has typed the code.
    mutating func claimPairing(_ body: Fields, at now: Moment) throws(Refusal) -> [UInt8] {
        var body = body
        let code = body.required("code", atMost: 64)
        try body.check()
        let known = try pairing(code: code.uppercased())
        guard !hasExpired(known, at: now) else {
            throw Refusal(status: 410, code: "pairing_expired", message: "The code has expired; start again.")
        }
        guard known.token == nil else {
            throw Refusal(status: 409, code: "pairing_claimed", message: "The code was claimed already.")
        }
        try claim(known.code)
        return JSONWriter.object { $0.field("installation_id", options.installation) }
    }

    /// A code that the phone made ("Custom Bridge"): the bridge only polls (relay.md#pairing-the-documented-form).
    mutating func makePairingOnPhone(_ body: Fields, at now: Moment) throws(Refusal) -> [UInt8] {
        var body = body
        let connector = body.optional("connector_type", atMost: 64)
        try body.check()
        let pairing = addPairing(connector: connector ?? "custom", at: now)
        try claim(pairing.code)
        return JSONWriter.object { $0.field("code", pairing.code) }
    }

    /// Adds a token to the existing ones. A revoked installation returns with it.
    private mutating func claim(_ code: String) throws(Refusal) {
        guard installation.tokenCount < 1_000 else {
            throw Refusal(status: 429, code: "rate_limited", message: "There are 1,000 tokens; start a new simulator.")
        }
        guard installation.isKnown(code: code) else { return }
        let secret = identifiers.identifier("") + identifiers.identifier("")
        installation.claim(code, token: "\(options.installation):s_test_\(secret)")
    }
}
