import CCurl

/// The pinned certificate of one handle. The pin must live as long as the handle.
final class LeafPin {
    private let pin: UnsafeMutablePointer<sb_leaf_pin>

    /// Nil if the digest is no SHA-256, or if libcurl does not accept the pin; no request may leave then.
    init?(_ digest: [UInt8], for handle: UnsafeMutableRawPointer) {
        pin = .allocate(capacity: 1)
        pin.initialize(to: sb_leaf_pin())
        withUnsafeMutableBytes(of: &pin.pointee.expected) {
            $0.copyBytes(from: digest.prefix($0.count))
        }
        guard digest.count == 32, sb_curl_pin_leaf(handle, pin) == CURLE_OK else { return nil }
    }

    deinit { pin.deallocate() }

    /// Resets the finding. Called before each request.
    func forget() { pin.pointee.is_wrong = 0 }

    /// The finding if the server showed another certificate, else nil.
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
