import COpenSSL

/// A failure of libcrypto, with the text of its error queue.
package struct CryptoError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        /// A device key whose seed has the wrong length.
        case badKey
        /// libcrypto itself failed: no memory, no randomness, or an algorithm that its configuration switches off.
        case library
    }

    package var code: Code
    package var message: String

    package var description: String { message }

    /// The oldest entry of libcrypto's error queue of this thread, removed from it.
    static func ofLibrary(_ doing: StaticString) -> CryptoError {
        var text = [CChar](repeating: 0, count: 256)
        ERR_error_string_n(ERR_get_error(), &text, text.count)
        let reason = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return CryptoError(
            code: .library, message: "libcrypto failed at \(doing): \(reason). Check the installation of OpenSSL 3.")
    }
}
