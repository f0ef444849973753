package import Vocabulary

/// A session's key, sealed for one device alone (relay.md#sealed-box-wraps-a-session-key-for-one-device):
///
///     02 | ephemeral public key (32) | envelope
///
/// The box does not name its maker: any holder of a device's public key can make one for it.
package enum SealedBox {
    private static let version: UInt8 = 2
    private static let info = Array("sophon/v1/sealed-box".utf8)
    private static let headLength = 1 + SecretKey.length

    /// Draws an ephemeral pair each time.
    package static func seal(
        _ key: SecretKey, for publicKey: [UInt8], library: some SealingLibrary, random: some SecretRandom
    ) throws(SealingError) -> [UInt8] {
        guard let ephemeral = SecretKey(random.bytes(SecretKey.length)) else { throw .notAKey }
        guard let shared = library.agree(ephemeral, with: publicKey) else { throw .weakPublicKey }
        let inner = library.derive(info, from: shared)
        return [version] + library.publicKey(of: ephemeral)
            + Envelope.seal(key.bytes, with: inner, library: library, random: random)
    }

    package static func open(
        _ box: [UInt8], with secret: SecretKey, library: some SealingLibrary
    ) throws(SealingError) -> SecretKey {
        guard let first = box.first else { throw .malformed }
        guard first == version else { throw .unsupportedVersion }
        guard box.count > headLength else { throw .malformed }
        guard let shared = library.agree(secret, with: Array(box[1..<headLength])) else { throw .weakPublicKey }
        let inner = library.derive(info, from: shared)
        let content = try Envelope.open(Array(box[headLength...]), with: inner, library: library)
        guard let key = SecretKey(content) else { throw .notAKey }
        return key
    }
}
