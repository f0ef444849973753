// The ports of sealing to the outside: a library's ciphers, and secret randomness.

/// The operations of sealed messages (relay.md#primitives). A caller cannot repair any failure: refusals are nil.
package protocol SealingLibrary: Sendable {
    /// HKDF-SHA256 with an empty salt.
    func derive(_ info: [UInt8], from key: SecretKey) -> SecretKey
    /// HMAC-SHA256: 32 bytes.
    func authenticationCode(of message: [UInt8], key: SecretKey) -> [UInt8]
    /// AES-256-GCM with a nonce of 12 bytes and without associated data: `header`, the nonce, the ciphertext and its tag of 16 bytes.
    func encrypt(_ plaintext: [UInt8], key: SecretKey, nonce: [UInt8], after header: [UInt8]) -> [UInt8]
    /// Opens `sealed` from `start` on: nonce, ciphertext, tag. Nil if it was made with another key, or altered.
    func decrypt(_ sealed: [UInt8], from start: Int, key: SecretKey) -> [UInt8]?
    /// The public half of an X25519 secret.
    func publicKey(of secret: SecretKey) -> [UInt8]
    /// X25519, then HSalsa20 (relay.md#key-agreement-the-trap). Nil if `publicKey` is degenerate: every secret would agree with it on the same key.
    func agree(_ secret: SecretKey, with publicKey: [UInt8]) -> SecretKey?
}

/// Randomness for keys and nonces.
package protocol SecretRandom: Sendable {
    func bytes(_ count: Int) -> [UInt8]
}
