import COpenSSL

/// What libcrypto refused, in its own words.
package struct CryptoError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        /// A key of the wrong length.
        case badKey
        /// The library could not do it: no memory, no randomness, an algorithm that is switched off.
        case library
    }

    package var code: Code
    package var message: String

    package var description: String { message }

    /// The failure that libcrypto noted last on this thread.
    static func ofLibrary(_ doing: StaticString) -> CryptoError {
        var text = [CChar](repeating: 0, count: 256)
        ERR_error_string_n(ERR_get_error(), &text, text.count)
        let reason = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return CryptoError(
            code: .library, message: "libcrypto failed at \(doing): \(reason). Check the installation of OpenSSL 3.")
    }
}
