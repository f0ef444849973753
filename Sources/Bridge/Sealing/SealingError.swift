/// Reason why something sealed is unreadable. Its text is fixed, without content or any choice of the sender.
package enum SealingError: Error, Hashable, Sendable, CaseIterable, CustomStringConvertible {
    /// Neither the base64 nor the hexadecimal digits that the place requires.
    case badEncoding
    /// Too short for an envelope, or empty.
    case malformed
    /// A first byte of another form: a later version, or no envelope.
    case unsupportedVersion
    /// Made with another key, or altered.
    case notAuthentic
    /// The empty form, which anyone can substitute for a text, where a text is required.
    case empty
    /// The content is not UTF-8.
    case notText
    /// The content is not a key of 32 bytes.
    case notAKey
    /// A public key that agrees with every secret on the same key.
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
