import AgentKit
import Vocabulary

/// The text that a device signs to prove its identity (openclaw.md#device-identity-and-signature).
struct DeviceProof {
    enum Version: String, Hashable, Sendable { case v2, v3 }

    var deviceID: String
    var clientID: String
    var clientMode: String
    var role: String
    /// Scopes of `connect`, in the same order.
    var scopes: [String]
    /// The challenge's own time, so the two clocks need not agree.
    var signedAtMilliseconds: Int
    /// The token that `connect` sends, or nil. A password is never part of the text.
    var token: String?
    var nonce: String
    var platform: String
    var deviceFamily: String?

    func text(_ version: Version) -> String {
        var fields = [
            version.rawValue, deviceID, clientID, clientMode, role, scopes.joined(separator: ","),
            String(signedAtMilliseconds), token ?? "", nonce,
        ]
        if version == .v3 { fields += [Self.normal(platform), Self.normal(deviceFamily ?? "")] }
        return fields.joined(separator: "|")
    }

    /// Trims the text and lowers A to Z; other letters stay.
    private static func normal(_ text: String) -> String {
        String(
            decoding: text.trimmed.utf8.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 + 32 : $0 },
            as: UTF8.self)
    }
}
