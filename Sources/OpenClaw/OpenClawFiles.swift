package import BridgeModel
package import Files

/// The bridge's own device towards OpenClaw gateways: its key and the tokens that gateways gave it (openclaw.md#device-identity-and-signature, openclaw.md#auth-and-pairing-rules-that-matter-to-a-bridge).
package struct OpenClawDeviceFiles: Sendable {
    private struct KeyForm: Codable {
        /// 64 hexadecimal digits.
        var seedHex: String
        var createdAt: String
    }

    private struct TokensForm: Codable {
        struct Entry: Codable {
            var deviceId: String
            var role: String
            var scopes: [String]
            var token: String
            var savedAt: String
        }
        /// By the gateway's address.
        var tokens: [String: Entry]
    }

    /// A machine knows few gateways; beyond this the oldest is forgotten.
    private static let gatewayLimit = 64

    private let directory: String

    package init(directory: String) { self.directory = directory }

    package var keyPath: String { directory + "/openclaw-device.json" }
    package var tokensPath: String { directory + "/openclaw-device-tokens.json" }

    /// The seed of the device's key. `make` gives a new one where there is none yet. A damaged file is not replaced in silence: a
    /// new key would have to be approved by the gateway's owner.
    package func seed(wallMilliseconds: Int64, make: () throws -> [UInt8]) throws -> (seed: [UInt8], warning: String?) {
        let remedy = "delete it, and a new key is made, which the gateway's owner must approve"
        if let (form, warning) = try JSONFile.read(KeyForm.self, from: keyPath, remedy: remedy) {
            guard let seed = Hexadecimal.bytes(form.seedHex), seed.count == 32 else {
                throw FileError(.malformed, "\(keyPath) holds no device key; \(remedy)")
            }
            return (seed, warning)
        }
        let seed = try make()
        try JSONFile.write(
            KeyForm(seedHex: Hexadecimal.text(seed), createdAt: JSONFile.timestamp(wallMilliseconds)), to: keyPath)
        return (seed, nil)
    }

    /// Nil when this gateway gave this device none.
    package func token(gateway: String, device: String) throws(FileError) -> Secret? {
        guard let entry = try tokens().tokens[gateway], entry.deviceId == device else { return nil }
        return Secret(entry.token)
    }

    package func save(
        token: Secret, gateway: String, device: String, role: String, scopes: [String], wallMilliseconds: Int64
    ) throws(FileError) {
        var form = try tokens()
        form.tokens[gateway] = .init(
            deviceId: device, role: role, scopes: scopes, token: token.text,
            savedAt: JSONFile.timestamp(wallMilliseconds))
        while form.tokens.count > Self.gatewayLimit,
            let oldest = form.tokens.min(by: { $0.value.savedAt < $1.value.savedAt })
        {
            form.tokens[oldest.key] = nil
        }
        try JSONFile.write(form, to: tokensPath)
    }

    package func forgetToken(gateway: String) throws(FileError) {
        var form = try tokens()
        guard form.tokens.removeValue(forKey: gateway) != nil else { return }
        try JSONFile.write(form, to: tokensPath)
    }

    private func tokens() throws(FileError) -> TokensForm {
        let remedy = "delete it, and gateways give new tokens"
        return try JSONFile.read(TokensForm.self, from: tokensPath, remedy: remedy)?.value ?? TokensForm(tokens: [:])
    }
}
