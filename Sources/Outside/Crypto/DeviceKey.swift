import COpenSSL
import Vocabulary

/// Ed25519 key by which a device proves its identity to an OpenClaw gateway
/// (openclaw.md#device-identity-and-signature).
///
/// The seed is the whole secret: anybody who has it can sign as this device. `description` never contains it.
package struct DeviceKey: Signer, CustomStringConvertible {
    private static let length = 32

    /// 32 bytes. The caller stores them in a file that the owner alone can read.
    package let seed: [UInt8]
    package let publicKey: [UInt8]

    /// Makes a key from libcrypto's randomness.
    package static func generate() throws(CryptoError) -> DeviceKey {
        guard let context = EVP_PKEY_CTX_new_id(sb_ed25519(), nil) else { throw .ofLibrary("making a key") }
        defer { EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard EVP_PKEY_keygen_init(context) == 1, EVP_PKEY_keygen(context, &key) == 1, let key else {
            throw .ofLibrary("making a key")
        }
        defer { EVP_PKEY_free(key) }
        return DeviceKey(
            seed: try raw(key, EVP_PKEY_get_raw_private_key), publicKey: try raw(key, EVP_PKEY_get_raw_public_key))
    }

    package init(seed: [UInt8]) throws(CryptoError) {
        guard seed.count == Self.length else {
            throw CryptoError(
                code: .badKey,
                message: "A device key has \(Self.length) bytes, this one has \(seed.count); "
                    + "delete its file and a new one is made, which the gateway's owner must approve.")
        }
        guard let key = Self.load(seed) else { throw .ofLibrary("reading a key") }
        defer { EVP_PKEY_free(key) }
        self.init(seed: seed, publicKey: try Self.raw(key, EVP_PKEY_get_raw_public_key))
    }

    private init(seed: [UInt8], publicKey: [UInt8]) {
        self.seed = seed
        self.publicKey = publicKey
    }

    /// The gateway's id of this device: the SHA-256 of the public key, in hexadecimal.
    package var deviceID: String { SHA256.hex(publicKey) }

    package var description: String { "device \(deviceID)" }

    /// Returns a signature of 64 bytes.
    package func sign(_ text: [UInt8]) -> [UInt8] {
        var count = 64
        var signature = [UInt8](repeating: 0, count: count)
        guard let key = Self.load(seed), let context = EVP_MD_CTX_new() else {
            preconditionFailure("no memory for a signature")
        }
        defer {
            EVP_MD_CTX_free(context)
            EVP_PKEY_free(key)
        }
        // `init` loaded the same key and Ed25519 signs any text, so nothing but missing memory can fail here.
        let isSigned =
            EVP_DigestSignInit(context, nil, nil, nil, key) == 1
            && EVP_DigestSign(context, &signature, &count, text, text.count) == 1
        precondition(isSigned && count == 64, "libcrypto would not sign")
        return signature
    }

    private static func load(_ seed: [UInt8]) -> OpaquePointer? {
        EVP_PKEY_new_raw_private_key(sb_ed25519(), nil, seed, seed.count)
    }

    private static func raw(
        _ key: OpaquePointer,
        _ read: (OpaquePointer?, UnsafeMutablePointer<UInt8>?, UnsafeMutablePointer<Int>?) -> CInt
    ) throws(CryptoError) -> [UInt8] {
        var count = length
        var bytes = [UInt8](repeating: 0, count: count)
        guard read(key, &bytes, &count) == 1, count == length else { throw .ofLibrary("reading a key") }
        return bytes
    }
}
