import CCurl

/// The one certificate that a server may show, for the handle that it was given to. Lives as long as the handle.
final class LeafPin {
    private let pin: UnsafeMutablePointer<sb_leaf_pin>

    /// Nil: the digest does not have the 32 bytes of SHA-256, or libcurl does not take it; then nothing may be sent.
    init?(_ digest: [UInt8], for handle: UnsafeMutableRawPointer) {
        pin = .allocate(capacity: 1)
        pin.initialize(to: sb_leaf_pin())
        withUnsafeMutableBytes(of: &pin.pointee.expected) {
            $0.copyBytes(from: digest.prefix($0.count))
        }
        guard digest.count == 32, sb_curl_pin_leaf(handle, pin) == CURLE_OK else { return nil }
    }

    deinit { pin.deallocate() }

    /// Before each connection.
    func forget() { pin.pointee.is_wrong = 0 }

    /// What was shown instead of the pinned certificate.
    var finding: String? {
        guard pin.pointee.is_wrong != 0 else { return nil }
        let found = withUnsafeBytes(of: pin.pointee.found) { Self.hexadecimal($0) }
        let expected = withUnsafeBytes(of: pin.pointee.expected) { Self.hexadecimal($0) }
        return
            "the server's certificate is not the pinned one: its SHA-256 is \(found), expected \(expected); "
            + "if the server renewed it, pair again"
    }

    static let unusable =
        "the pinned certificate cannot be held to: expected the 32 bytes of a SHA-256, and a libcurl over OpenSSL"

    private static func hexadecimal(_ bytes: UnsafeRawBufferPointer) -> String {
        bytes.map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0" + digits : digits
        }.joined()
    }
}
