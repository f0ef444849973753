/// Why something sealed could not be read. What it says is fixed: nothing of the content, and nothing that the sender chose.
package enum SealingError: Error, Hashable, Sendable, CaseIterable, CustomStringConvertible {
    /// Not the base64 or the hexadecimal digits that it must be.
    case badEncoding
    /// Too short for an envelope, or nothing at all.
    case malformed
    /// A first byte of another form than ours: a later version, or no envelope.
    case unsupportedVersion
    /// Made with another key, or altered.
    case notAuthentic
    /// The empty form, which anyone can substitute for a text, where a text is required.
    case empty
    /// The content is not UTF-8.
    case notText
    /// The content is not a key of 32 bytes.
    case notAKey
    /// A public key that agrees with every secret on the same.
    case weakPublicKey

    package var description: String {
        switch self {
        case .badEncoding: "not in base64"
        case .malformed: "malformed envelope"
        case .unsupportedVersion: "unsupported version of the envelope"
        case .notAuthentic: "made with another key, or altered"
        case .empty: "empty where a text must be"
        case .notText: "not UTF-8"
        case .notAKey: "no key of 32 bytes"
        case .weakPublicKey: "a public key that keeps nothing secret"
        }
    }
}
