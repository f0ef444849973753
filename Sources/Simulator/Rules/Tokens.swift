/// The state of a bridge token.
enum TokenStanding: Sendable { case good, revoked }

// Checks of the bridge's token (relay.md#bridge-token).
extension Relay {
    static func bearer(_ request: RawRequest) -> String? {
        guard let header = request.headers.value(of: "authorization"), header.hasPrefix("Bearer ") else { return nil }
        return String(header.dropFirst("Bearer ".count))
    }

    mutating func checkURL(
        _ target: RequestTarget, _ request: RawRequest, _ trace: RequestTrace, at now: Moment
    ) throws(Refusal) {
        guard target.carriesToken(options) else { return }
        breach(.tokenInURL, "A token stands in the URL.", "url", trace, now)
        throw Refusal(
            status: 400, code: "invalid_token_location", message: "Tokens belong into the Authorization header.")
    }

    mutating func checkBridgeToken(
        _ request: RawRequest, _ method: String, _ trace: RequestTrace, at now: Moment
    ) throws(Refusal) {
        switch Self.bearer(request).flatMap({ installation.standing(of: $0) }) {
        case .good: break
        case .revoked:
            breach(.revokedToken, "The token was revoked.", method, trace, now)
            throw Refusal(status: 401, code: "invalid_token", message: "The token was revoked; pair again.")
        case nil:
            breach(.badToken, "The token is missing or not the one of this installation.", method, trace, now)
            throw Refusal(
                status: 401, code: "invalid_token", message: "The token is unknown, malformed or revoked.")
        }
        guard !installation.isRevoked else {
            // 410 for a call, 403 at the upgrade (relay.md#codes).
            throw Refusal(
                status: method == "ws" ? 403 : 410, code: "installation_revoked", message: "The installation is gone.")
        }
    }

    /// Adds a token of the same installation, good from now on.
    package mutating func admit(token: String) { installation.admit(token) }

    /// Revokes a token: it can neither connect nor post, and its sockets close. False if there is no such token.
    package mutating func revoke(token: String) -> Bool {
        guard installation.revoke(token) else { return false }
        for id in sockets.ids where sockets[id]?.token == token {
            sockets.close(id, code: options.socket.revokedCode, "the token was revoked")
        }
        return true
    }

    /// The user removes the installation: an update reports it, and later writes get 410
    /// (relay.md#others). The socket stays open for the acknowledgement.
    package mutating func revokeInstallation(reason: String, at now: Moment) {
        let id = options.installation
        queueUpdate("installation.revoked", session: nil, interaction: nil, at: now) { payload in
            payload.object("installation") { $0.field("id", id) }
            payload.field("reason", reason)
        }
        installation.revoke()
    }
}
