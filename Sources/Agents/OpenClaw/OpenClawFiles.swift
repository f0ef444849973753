package import Files
import FoundationEssentials
package import Vocabulary

/// The bridge's own device towards OpenClaw gateways: its key and the tokens that gateways issued to it
/// (openclaw.md#device-identity-and-signature, openclaw.md#auth-and-pairing-rules-that-matter-to-a-bridge).
package struct OpenClawDeviceFiles: Sendable {
    private struct KeyForm: Codable {
        /// 64 hexadecimal digits.
        var seedHex: String
        var createdAt: String
    }

    private let directory: String

    package init(directory: String) { self.directory = directory }

    package var keyPath: String { directory + "/openclaw-device.json" }
    package static let tokensName = "openclaw-device-tokens.json"
    package var tokensPath: String { directory + "/" + Self.tokensName }

    /// The seed of the device's key; `make` creates it where no file exists. A damaged file throws instead
    /// of being replaced, since the gateway's owner would have to approve a new key.
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

    /// The token that this gateway issued to this device, or nil if there is none.
    package func token(gateway: String, device: String) throws(FileError) -> Secret? {
        let kept = try PrivateFile.read(tokensPath).map { Secret(String(decoding: $0.bytes, as: UTF8.self)) }
        return try Tokens(kept, in: tokensPath).token(gateway: gateway, device: device)
    }
}

extension OpenClawDeviceFiles {
    /// The file of all tokens that gateways issued, by the gateway's address.
    package struct Tokens {
        private struct Form: Codable {
            struct Entry: Codable {
                var deviceId: String
                var role: String
                var scopes: [String]
                var token: String
                var savedAt: String
            }
            var tokens: [String: Entry]
        }

        /// A machine knows few gateways; beyond this the oldest entry is dropped.
        private static let gatewayLimit = 64

        private var form: Form

        /// `kept`: content of the file, or nil if it does not exist.
        package init(_ kept: Secret?, in file: String = OpenClawDeviceFiles.tokensName) throws(FileError) {
            guard let kept else {
                form = Form(tokens: [:])
                return
            }
            // The decoder's own error may quote a secret.
            guard let form = try? JSONDecoder().decode(Form.self, from: Data(kept.text.utf8)) else {
                throw FileError(
                    .malformed, "\(file) is not what it should be; delete it, and gateways give new tokens")
            }
            self.form = form
        }

        package func token(gateway: String, device: String) -> Secret? {
            guard let entry = form.tokens[gateway], entry.deviceId == device else { return nil }
            return Secret(entry.token)
        }

        package mutating func add(_ token: OpenClawSession.DeviceToken, wallMilliseconds: Int64) {
            form.tokens[token.gateway] = .init(
                deviceId: token.deviceID, role: token.role, scopes: token.scopes, token: token.token,
                savedAt: JSONFile.timestamp(wallMilliseconds))
            while form.tokens.count > Self.gatewayLimit,
                let oldest = form.tokens.min(by: { $0.value.savedAt < $1.value.savedAt })
            {
                form.tokens[oldest.key] = nil
            }
        }

        package var secret: Secret { Secret(String(decoding: JSONFile.bytes(of: form), as: UTF8.self)) }
    }
}
