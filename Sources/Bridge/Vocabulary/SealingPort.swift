// The ports to what sealing needs of the outside: a library's ciphers, and secret randomness.

/// The operations that sealed messages are made of (relay.md#primitives). None of them fails for a reason that the caller could
/// mend: what can be refused is answered by nil.
package protocol SealingLibrary: Sendable {
    /// HKDF-SHA256 with an empty salt.
    func derive(_ info: [UInt8], from key: SecretKey) -> SecretKey
    /// HMAC-SHA256: 32 bytes.
    func authenticationCode(of message: [UInt8], key: SecretKey) -> [UInt8]
    /// AES-256-GCM with a nonce of 12 bytes and without associated data: `header`, the nonce, the ciphertext and its tag of 16 bytes.
    func encrypt(_ plaintext: [UInt8], key: SecretKey, nonce: [UInt8], after header: [UInt8]) -> [UInt8]
    /// `sealed` from `start` on: nonce, ciphertext, tag. Nil: it was not made with this key, or is not what was made.
    func decrypt(_ sealed: [UInt8], from start: Int, key: SecretKey) -> [UInt8]?
    /// The public half of an X25519 secret.
    func publicKey(of secret: SecretKey) -> [UInt8]
    /// X25519, then HSalsa20 (relay.md#key-agreement-the-trap). Nil: the public key is none, because every secret agrees with it on
    /// the same.
    func agree(_ secret: SecretKey, with publicKey: [UInt8]) -> SecretKey?
}

/// Randomness for keys and nonces.
package protocol SecretRandom: Sendable {
    func bytes(_ count: Int) -> [UInt8]
}
