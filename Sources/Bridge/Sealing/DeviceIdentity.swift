import Vocabulary

/// This bridge as a device, for those who wrap keys for it.
struct DeviceIdentity: Sendable {
    let secret: SecretKey
    /// 64 hexadecimal digits.
    let publicKey: String

    init(_ secret: SecretKey, library: some SealingLibrary) {
        self.secret = secret
        publicKey = Hexadecimal.text(library.publicKey(of: secret))
    }
}
