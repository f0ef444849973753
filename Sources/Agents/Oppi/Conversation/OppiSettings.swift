package import AgentKit
package import Vocabulary

/// The configuration of the server, and values that follow from it.
package struct OppiSettings: Hashable, Sendable {
    package var address: WebAddress
    package var trust: Trust
    /// The configured token, or nil for the one from pairing.
    package var token: Secret?
    package var invite: OppiInvite?
    /// Name or id of the workspace, or nil for the only one.
    package var workspace: String?
    /// The server's name for this bridge, set when it pairs.
    package var displayName: String

    package init(
        address: WebAddress, trust: Trust = Trust(), token: Secret? = nil, invite: OppiInvite? = nil,
        workspace: String? = nil, displayName: String = "Sophon bridge"
    ) {
        self.address = address
        self.trust = trust
        self.token = token
        self.invite = invite
        self.workspace = workspace
        self.displayName = displayName
    }

    /// The invite link supplies values that the configuration lacks.
    package init(_ values: OppiValues, isAddressSet: Bool, displayName: String) {
        let invite = values.invite.flatMap { OppiInvite($0.text) }
        let address = isAddressSet ? values.address : invite?.address ?? values.address
        // A link to another server has no valid pin for this one.
        let pin = values.pin ?? (invite?.address == address ? invite?.pin : nil)
        self.init(
            address: address,
            trust: Trust(
                pin.map { .leaf($0) } ?? values.authorityFile.map { .authority(file: $0) } ?? .system,
                listener: values.listener),
            token: values.token ?? invite?.token, invite: invite, workspace: values.workspace, displayName: displayName)
    }

    /// Room for pictures of one message, in base64: head accepts frames of 16 MiB (oppi.md#frame-limits).
    static let pictureRoom = 14 << 20

    /// `http` becomes `ws`, `https` `wss`.
    var streamURL: String { "ws" + base.dropFirst("http".count) + "/stream" }
    var base: String { address.description }
    /// Name of the secret with the device's token for this server.
    var secretName: String { "oppi-token-\(StableHash.text(of: base, length: 12))" }

    /// Origin of a token: a change in any part means another token.
    struct TokenSource: Hashable {
        var address: WebAddress
        var token: Secret?
        var pairingToken: Secret?
    }

    var tokenSource: TokenSource {
        TokenSource(address: address, token: token, pairingToken: invite?.pairingToken)
    }

    /// Settings with the pin from pairing, if the configuration has no rule for the certificate.
    func trusting(_ pin: [UInt8]?) -> Self {
        guard let pin, trust.certificates == .system else { return self }
        var settings = self
        settings.trust.certificates = .leaf(pin)
        return settings
    }

    func rest(_ token: Secret?) -> OppiRest { OppiRest(base: base, trust: trust, token: token) }

    func streamPlan(_ token: Secret) -> SocketPlan {
        var plan = SocketPlan(url: streamURL)
        plan.headers = OppiRest.headers(token)
        plan.trust = trust
        return plan
    }
}
