import COpenSSL
package import Vocabulary

/// Sealing and secret randomness, over libcrypto (relay.md#primitives).
///
/// `init` fetches the algorithms once. Afterwards only missing memory or randomness can make libcrypto fail, and then
/// no caller could continue, so those failures stop the process.
package final class OpenSSLSealing: SealingLibrary, SecretRandom, @unchecked Sendable {
    // Unchecked: both pointers are constant, and libcrypto counts their references atomically.
    private let cipher: OpaquePointer
    private let derivation: OpaquePointer

    package init() throws(CryptoError) {
        guard let cipher = EVP_CIPHER_fetch(nil, "AES-256-GCM", nil) else { throw .ofLibrary("looking up AES-256-GCM") }
        guard let derivation = EVP_KDF_fetch(nil, "HKDF", nil) else {
            EVP_CIPHER_free(cipher)
            throw .ofLibrary("looking up HKDF")
        }
        self.cipher = cipher
        self.derivation = derivation
    }

    deinit {
        EVP_CIPHER_free(cipher)
        EVP_KDF_free(derivation)
    }

    package func bytes(_ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            let isDone = RAND_bytes(buffer.baseAddress, CInt(count)) == 1
            precondition(isDone, "the system gives no randomness")
            filled = count
        }
    }

    package func derive(_ info: [UInt8], from key: SecretKey) -> SecretKey {
        Self.key { derived in
            sb_hkdf_sha256(
                derivation, key.bytes, SecretKey.length, info, info.count, derived.baseAddress, derived.count) == 1
        }
    }

    package func authenticationCode(of message: [UInt8], key: SecretKey) -> [UInt8] {
        var code = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
        let isDone =
            HMAC(EVP_sha256(), key.bytes, CInt(SecretKey.length), message, message.count, &code, nil) != nil
        precondition(isDone, "no memory for an authentication code")
        return code
    }

    package func encrypt(_ plaintext: [UInt8], key: SecretKey, nonce: [UInt8], after header: [UInt8]) -> [UInt8] {
        precondition(nonce.count == sb_gcm_nonce && plaintext.count < Int(CInt.max), "no nonce")
        let start = header.count + nonce.count
        let count = start + plaintext.count + sb_gcm_tag
        return [UInt8](unsafeUninitializedCapacity: count) { sealed, filled in
            _ = sealed.update(fromContentsOf: header)
            _ = UnsafeMutableBufferPointer(rebasing: sealed[header.count...]).update(fromContentsOf: nonce)
            let isDone = sb_gcm_encrypt(
                cipher, key.bytes, nonce, plaintext, CInt(plaintext.count), sealed.baseAddress.map { $0 + start })
            precondition(isDone == 1, "no memory for a ciphertext")
            filled = count
        }
    }

    package func decrypt(_ sealed: [UInt8], from start: Int, key: SecretKey) -> [UInt8]? {
        let body = start + sb_gcm_nonce
        let count = sealed.count - body - sb_gcm_tag
        guard start >= 0, count >= 0, count < Int(CInt.max) else { return nil }
        var isRight = false
        let text = sealed.withUnsafeBufferPointer { sealed in
            [UInt8](unsafeUninitializedCapacity: count) { text, filled in
                guard let base = sealed.baseAddress else { return }
                // An empty array has no base address, and `sb_gcm_decrypt` needs a valid pointer.
                var none: UInt8 = 0
                isRight = withUnsafeMutablePointer(to: &none) { none in
                    sb_gcm_decrypt(
                        cipher, key.bytes, base + start, base + body, CInt(count), text.baseAddress ?? none) == 1
                }
                filled = isRight ? count : 0
            }
        }
        return isRight ? text : nil
    }

    package func publicKey(of secret: SecretKey) -> [UInt8] {
        var publicKey = [UInt8](repeating: 0, count: SecretKey.length)
        var count = publicKey.count
        let key = EVP_PKEY_new_raw_private_key(sb_x25519(), nil, secret.bytes, SecretKey.length)
        defer { EVP_PKEY_free(key) }
        // X25519 clamps the secret, so any 32 bytes are a valid one.
        let isDone = key != nil && EVP_PKEY_get_raw_public_key(key, &publicKey, &count) == 1
        precondition(isDone && count == publicKey.count, "no memory for a key")
        return publicKey
    }

    package func agree(_ secret: SecretKey, with publicKey: [UInt8]) -> SecretKey? {
        var product = Self.product(secret, publicKey)
        defer { product?.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) } }
        guard let product else { return nil }
        return SecretKey(HSalsa20.hash(product))
    }

    /// The bare X25519 product, without HSalsa20.
    static func product(_ secret: SecretKey, _ publicKey: [UInt8]) -> [UInt8]? {
        guard publicKey.count == SecretKey.length else { return nil }
        var product = [UInt8](repeating: 0, count: SecretKey.length)
        return sb_x25519_product(secret.bytes, publicKey, &product) == 1 ? product : nil
    }

    private static func key(_ fill: (UnsafeMutableBufferPointer<UInt8>) -> Bool) -> SecretKey {
        let bytes = [UInt8](unsafeUninitializedCapacity: SecretKey.length) { buffer, filled in
            // The buffer may be larger than the requested capacity.
            let isDone = fill(UnsafeMutableBufferPointer(rebasing: buffer[..<SecretKey.length]))
            precondition(isDone, "no memory for a key")
            filled = SecretKey.length
        }
        guard let key = SecretKey(bytes) else { preconditionFailure("32 bytes are a key") }
        return key
    }
}
