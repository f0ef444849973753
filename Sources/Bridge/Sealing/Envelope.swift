package import Vocabulary

/// Content sealed under one key (relay.md#symmetric-envelope):
///
///     01 | nonce (12) | ciphertext | tag (16)
///     00                                         the empty content
///
/// Each sealing draws its own nonce. No envelope can be made twice: a caller that may have to resend one keeps it.
package enum Envelope {
    private static let version: UInt8 = 1
    private static let emptyVersion: UInt8 = 0
    static let nonceLength = 12
    /// Bytes beyond the content.
    package static let overhead = 1 + nonceLength + 16
    /// The empty content, which needs no key.
    package static let empty: [UInt8] = [emptyVersion]
    package static let emptyText = "AA=="

    package static func seal(
        _ content: [UInt8], with key: SecretKey, library: some SealingLibrary, random: some SecretRandom
    ) -> [UInt8] {
        guard !content.isEmpty else { return empty }
        return library.encrypt(content, key: key, nonce: random.bytes(nonceLength), after: [version])
    }

    /// Opens the empty content too: a caller that needs content refuses it (`SealingError.empty`).
    package static func open(
        _ sealed: [UInt8], with key: SecretKey, library: some SealingLibrary
    ) throws(SealingError) -> [UInt8] {
        guard let first = sealed.first else { throw .malformed }
        if sealed == empty { return [] }
        guard first == version else { throw .unsupportedVersion }
        guard sealed.count >= overhead else { throw .malformed }
        guard let content = library.decrypt(sealed, from: 1, key: key) else { throw .notAuthentic }
        return content
    }
}
